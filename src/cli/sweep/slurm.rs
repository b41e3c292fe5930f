//! A script that submits a sweep to Slurm: an array with one task per shard, followed by the merge.

use std::path::{Path, absolute};

use clap::Args;
use hidden_gaussian::Result;
use hidden_gaussian::experiment::sweep::folder::Folder;

use super::super::file_error;
use super::plan::Resources;
use super::{STOPPED, shell_word};

#[derive(Debug, Args)]
pub(super) struct Slurm {
    /// Time limit of a shard on Slurm; a shard that needs longer is resumed in another job
    #[arg(long, value_name = "TIME", default_value = "04:00:00")]
    time: String,
}

/// Attempts after which a shard that is killed again and again is abandoned.
const ATTEMPTS: usize = 20;

/// Creates the script, which `bash` runs on a machine that can submit.
pub(super) fn script(folder: &Folder, resources: &Resources, slurm: &Slurm) -> Result<String> {
    let plan = folder.plan_path();
    let plan = absolute(&plan).map_err(|error| file_error(&plan, &error))?;
    let program = std::env::current_exe();
    let program = program.map_err(|error| file_error(Path::new("hidden-gaussian"), &error))?;
    let parent = plan.parent().unwrap_or(Path::new("/"));
    let [shards, log, report, table, merge_log] =
        ["shards", "shards/%a.log", "report.json", "report.csv", "merge.log"]
            .map(|file| shell_word(&parent.join(file)));
    let [plan, program] = [&plan, &program].map(|path| shell_word(path));
    let name = format!("sweep-{}", &folder.plan.hash[..8]);
    let last = folder.plan.shards.len() - 1;
    let Resources { cpus, memory } = resources;
    let time = &slurm.time;
    Ok(format!(
        r#"#!/bin/bash
# Submits a sweep to Slurm, and its merge, which waits for the end of all shards and names those that failed.
# Run it with bash.
set -euo pipefail
mkdir -p {shards}

array=$(sbatch --parsable <<'EOF'
#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --array=0-{last}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={cpus}
#SBATCH --mem={memory}G
#SBATCH --time={time}
#SBATCH --requeue
#SBATCH --signal=TERM@60
#SBATCH --open-mode=append
#SBATCH --output={log}
# A minute before the time limit, and when the job is preempted, the shard saves its state and exits with
# {STOPPED}. Then, or after it was killed, it is requeued and resumes.
status=0
srun --cpus-per-task={cpus} {program} sweep run --plan {plan} || status=$?
if [ "$status" -eq {STOPPED} ] || [ "$status" -gt 128 ]; then
  if [ "${{SLURM_RESTART_COUNT:-0}}" -lt {ATTEMPTS} ]; then
    scontrol requeue "$SLURM_JOB_ID"
  fi
fi
exit "$status"
EOF
)

merge=$(sbatch --parsable --dependency="afterany:$array" <<'EOF'
#!/bin/bash
#SBATCH --job-name={name}-merge
#SBATCH --ntasks=1
#SBATCH --time=00:10:00
#SBATCH --output={merge_log}
{program} sweep merge --plan {plan} --out {report} --csv {table}
EOF
)
echo "Submitted the shards as job $array and the merge as job $merge"
"#
    ))
}
