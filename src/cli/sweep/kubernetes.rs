//! A manifest that runs a sweep on Kubernetes: an indexed job with one pod per shard, and a job for the
//! merge, which waits until someone starts it.

use clap::Args;
use hidden_gaussian::experiment::sweep::folder::Folder;
use hidden_gaussian::{Error, Result};

use super::STOPPED;
use super::plan::Resources;

#[derive(Debug, Args)]
pub(super) struct Kubernetes {
    /// Container image with this program, for Kubernetes
    #[arg(long, value_name = "IMAGE", default_value = IMAGE)]
    image: String,
    /// Volume claim whose root is the folder of the plan, for Kubernetes
    #[arg(long, value_name = "NAME", default_value = "sweep")]
    claim: String,
}

const IMAGE: &str = concat!("hidden-gaussian:", env!("CARGO_PKG_VERSION"));

/// How often a shard may fail for reasons other than being stopped.
const FAILURES: usize = 6;

/// The exit status for bad input, which retrying would not change.
const BAD_INPUT: u8 = 2;

/// Creates the manifest, for `kubectl apply`.
pub(super) fn manifest(
    folder: &Folder,
    resources: &Resources,
    kubernetes: &Kubernetes,
) -> Result<String> {
    let Kubernetes { image, claim } = kubernetes;
    let Resources { cpus, memory } = resources;
    // Both are written in quotes.
    let ends_quotes = |c: char| c.is_whitespace() || c.is_control() || c == '"' || c == '\\';
    if let Some(name) = [image, claim].into_iter().find(|n| n.is_empty() || n.contains(ends_quotes))
    {
        let message = format!("“{name}” is not a name in Kubernetes");
        return Err(Error::bad_input(message, "Use letters, digits and punctuation"));
    }
    let name = format!("hidden-gaussian-{}", &folder.plan.hash[..8]);
    let count = folder.plan.shards.len();
    let pod = |command: &str| {
        format!(
            r#"      restartPolicy: Never
      terminationGracePeriodSeconds: 60
      containers:
        - name: sweep
          image: "{image}"
          command: ["hidden-gaussian", "sweep", {command}]
          resources:
            requests: {{ cpu: "{cpus}", memory: {memory}Gi }}
            limits: {{ cpu: "{cpus}", memory: {memory}Gi }}
          volumeMounts:
            - name: sweep
              mountPath: /sweep
      volumes:
        - name: sweep
          persistentVolumeClaim:
            claimName: "{claim}"
"#
        )
    };
    let run = pod(r#""run", "--plan", "/sweep/plan.json""#);
    let merge = pod(concat!(
        r#""merge", "--plan", "/sweep/plan.json", "#,
        r#""--out", "/sweep/report.json", "--csv", "/sweep/report.csv""#,
    ));
    Ok(format!(
        r#"# One pod per shard. An evicted pod saves its state and exits with {STOPPED}; another one resumes.
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  completionMode: Indexed
  completions: {count}
  parallelism: {count}
  backoffLimitPerIndex: {FAILURES}
  podFailurePolicy:
    rules:
      - action: Ignore
        onPodConditions:
          - type: DisruptionTarget
            status: "True"
      - action: Ignore
        onExitCodes:
          containerName: sweep
          operator: In
          values: [{STOPPED}]
      - action: FailIndex
        onExitCodes:
          containerName: sweep
          operator: In
          values: [{BAD_INPUT}]
  template:
    spec:
{run}---
# The merge. Start it when all shards are done:
#   kubectl wait --for=condition=complete --timeout=-1s job/{name} &&
#     kubectl patch job/{name}-merge --patch '{{"spec": {{"suspend": false}}}}'
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}-merge
spec:
  suspend: true
  backoffLimit: 2
  template:
    spec:
{merge}"#
    ))
}
