//! Sweeps as a cluster runs them: the merged report has the same bytes however the work was cut and
//! however often it was interrupted.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

/// The program, outside any scheduler.
fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hidden-gaussian"));
    for variable in [
        "SLURM_ARRAY_TASK_ID",
        "SLURM_ARRAY_TASK_MIN",
        "SLURM_ARRAY_TASK_COUNT",
        "SLURM_ARRAY_TASK_STEP",
        "SLURM_CPUS_PER_TASK",
        "JOB_COMPLETION_INDEX",
        "PBS_ARRAY_INDEX",
        "SGE_TASK_ID",
    ] {
        command.env_remove(variable);
    }
    command
}

/// An empty folder for one test.
fn fresh(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("sweep").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A planned sweep.
struct Sweep {
    folder: PathBuf,
}

impl Sweep {
    fn plan(folder: &Path, sweep: &Value, shards: usize) -> Self {
        let file = folder.with_extension("json");
        fs::create_dir_all(folder.parent().unwrap()).unwrap();
        fs::write(&file, sweep.to_string()).unwrap();
        let sweep = Self { folder: folder.to_owned() };
        let output = sweep.plan_again(&file, shards, &[]);
        assert!(output.status.success(), "{}", errors(&output));
        sweep
    }

    fn plan_again(&self, file: &Path, shards: usize, more: &[&str]) -> Output {
        let mut command = program();
        command.args(["sweep", "plan", "--config"]).arg(file);
        command.args(["--shards", &shards.to_string(), "--out"]).arg(&self.folder);
        command.args(more).output().unwrap()
    }

    fn command(&self, command: &str) -> Command {
        let mut program = program();
        program.args(["sweep", command, "--plan"]).arg(self.folder.join("plan.json"));
        program
    }

    fn run(&self) -> Command {
        let mut run = self.command("run");
        run.args(["--engine", "cpu"]);
        run
    }

    fn run_shard(&self, index: usize, of: usize) -> Command {
        let mut run = self.run();
        run.args(["--shard", &format!("{index}/{of}")]);
        run
    }

    fn run_all(&self) {
        succeed(self.run().arg("--all"));
    }

    fn merge(&self) -> Command {
        let mut merge = self.command("merge");
        merge.arg("--out").arg(self.folder.join("report.json"));
        merge.arg("--csv").arg(self.folder.join("report.csv"));
        merge
    }

    /// The bytes of the merged report, and of its table.
    fn merged(&self) -> [Vec<u8>; 2] {
        succeed(&mut self.merge());
        ["report.json", "report.csv"].map(|name| fs::read(self.folder.join(name)).unwrap())
    }

    fn shard_file(&self, index: usize, kind: &str) -> PathBuf {
        self.folder.join(format!("shards/{index:05}.{kind}"))
    }

    fn status(&self) -> Vec<String> {
        let output = succeed(self.command("status").arg("--json"));
        let status: Value = serde_json::from_slice(&output.stdout).unwrap();
        let shards = status["shards"].as_array().unwrap();
        shards.iter().map(|shard| shard["state"].as_str().unwrap().to_owned()).collect()
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", errors(&output));
    output
}

/// The error of a command that fails with this exit code.
fn refused(command: &mut Command, code: i32) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{command:?}: {}", errors(&output));
    errors(&output)
}

fn value(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// A small configuration, as changes to the quick preset.
fn small(experiment: &str) -> Value {
    let network = json!({ "kind": "mlp", "width": 16, "depth": 1 });
    let train = json!({ "steps": 30, "batch": 8, "architecture": network.clone() });
    let evaluation = json!({ "samples": 6, "images": 6, "sigmas": [1.0, 0.4], "shown": 2 });
    let mut config = json!({ "sizes": [4, 9, 16], "train": train, "evaluation": evaluation });
    match experiment {
        "transition" => config["seeds"] = json!([1, 2]),
        "strong-generalization" => config["seeds"] = json!([[1, 2], [3, 4]]),
        "gaussian-bias" => {
            config["seeds"] = json!([1, 2]);
            config["evaluation"]["distillation"] =
                json!({ "batches": 1, "images": "heldOut", "method": "normal" });
        }
        "emergence" => {
            config["trainLong"] = config["train"].clone();
            config["widths"] = json!([8, 16]);
            config["widthSizes"] = json!([4, 9]);
            config["seeds"] = json!([1, 2]);
            config["checkpoints"] = json!([10]);
        }
        "clocks" | "modes" => {
            // Lists are replaced whole.
            let sgd = json!({ "kind": "sgd", "momentum": 0.9 });
            config["others"] = json!([{
                "architecture": network, "batch": 8, "steps": 30, "optimizer": sgd, "rate": 0.01, "floor": 1.0,
                "warmUp": 1, "clip": null, "blowUp": 1000.0, "emaLimit": 0.0, "logSigmaMean": -0.6,
                "logSigmaDeviation": 1.0, "sigmaData": 0.5, "seeds": [],
            }]);
            config["seeds"] = json!([1, 2]);
            config["schedule"] = json!({ "first": 10, "perDoubling": 1 });
        }
        "league" => {
            config["calibration"] = json!(2);
            config["components"] = json!([1, 2]);
            config["sensitivity"] = json!([1.0]);
        }
        _ => {}
    }
    json!({ "experiment": experiment, "config": config })
}

const EXPERIMENTS: [&str; 7] = [
    "transition",
    "gaussian-bias",
    "emergence",
    "strong-generalization",
    "clocks",
    "modes",
    "league",
];

/// The report that the experiment's own command writes.
fn direct(folder: &Path, experiment: &str, config: &Value) -> Value {
    let file = folder.join("direct-config.json");
    fs::write(&file, config.to_string()).unwrap();
    let mut command = program();
    command.args([experiment, "--engine", "cpu", "--json", "--config"]).arg(&file);
    let mut report = value(&succeed(&mut command).stdout);
    report["seconds"] = Value::Null;
    report
}

#[test]
fn the_merged_report_is_the_unsharded_one() {
    for experiment in EXPERIMENTS {
        let folder = fresh(experiment);
        let merged = [1, 2, 3, 5].map(|shards| {
            let sweep = Sweep::plan(&folder.join(shards.to_string()), &small(experiment), shards);
            sweep.run_all();
            sweep.merged()
        });
        assert!(merged.iter().all(|one| *one == merged[0]), "{experiment}");
        let [report, _] = &merged[0];
        let report = value(report);
        assert_eq!(report["final"], true);
        assert!(report == direct(&folder, experiment, &report["config"]), "{experiment}");
    }
}

#[test]
fn a_grid_has_a_report_for_each_cell() {
    let folder = fresh("grid");
    let mut sweep = small("transition");
    sweep["grid"] =
        json!({ "config.train.architecture.width": [8, 12], "config.train.rate": [0.001, 0.004] });
    let merged = [1, 3].map(|shards| {
        let sweep = Sweep::plan(&folder.join(shards.to_string()), &sweep, shards);
        sweep.run_all();
        sweep.merged()
    });
    assert!(merged[0] == merged[1]);
    let [report, csv] = &merged[0];
    let report = value(report);
    assert_eq!(report["format"], 2);
    assert_eq!(report["experiment"], "sweep");
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    assert_eq!(
        cells[1]["axes"],
        json!({ "config.train.architecture.width": 8, "config.train.rate": 0.004 })
    );
    let config = &cells[1]["report"]["config"];
    assert_eq!(config["train"]["architecture"]["width"], 8);
    assert!(cells[1]["report"] == direct(&folder, "transition", config));
    let csv = String::from_utf8(csv.clone()).unwrap();
    let mut lines = csv.lines();
    let heading = lines.next().unwrap();
    assert!(
        heading.starts_with("config.train.architecture.width,config.train.rate,n,seed,step,"),
        "{heading}"
    );
    assert!(heading.contains("denoisers.trained.closeness.memorized.mean"), "{heading}");
    assert!(heading.contains("denoisers.trained.linearity@0.4.cosine.mean"), "{heading}");
    assert_eq!(lines.clone().count(), 4 * 3 * 2, "cells, sizes and seeds");
    assert!(lines.all(|line| line.split(',').count() == heading.split(',').count()));
}

#[test]
fn schedulers_say_which_shard_it_is() {
    let sweep = Sweep::plan(&fresh("schedulers").join("plan"), &small("transition"), 4);
    let task = [
        ("SLURM_ARRAY_TASK_ID", "3"),
        ("SLURM_ARRAY_TASK_MIN", "1"),
        ("SLURM_ARRAY_TASK_COUNT", "4"),
    ];
    let by: [(usize, &[(&str, &str)]); 4] = [
        (0, &[("JOB_COMPLETION_INDEX", "0")]),
        (1, &[("PBS_ARRAY_INDEX", "1")]),
        (2, &task),
        (3, &[("SGE_TASK_ID", "4"), ("SLURM_CPUS_PER_TASK", "1")]),
    ];
    for (index, variables) in by {
        assert_eq!(sweep.status()[index], "missing");
        succeed(sweep.run().envs(variables.iter().copied()));
        assert_eq!(sweep.status()[index], "done");
    }
    assert!(refused(&mut sweep.run(), 2).contains("no scheduler assigns one"));
    assert!(refused(sweep.run().env("JOB_COMPLETION_INDEX", "4"), 2).contains("shard 4"));
    assert!(refused(&mut sweep.run_shard(0, 3), 2).contains("has 4 shards"));
    sweep.merged();
}

#[test]
fn a_finished_shard_is_left_alone() {
    let sweep = Sweep::plan(&fresh("finished").join("plan"), &small("transition"), 2);
    let output = succeed(&mut sweep.run_shard(1, 2));
    let first: Value = serde_json::from_str(errors(&output).lines().next().unwrap()).unwrap();
    assert_eq!([&first["shard"], &first["state"]], [&json!(1), &json!("running")]);
    let last: Value = serde_json::from_str(errors(&output).lines().last().unwrap()).unwrap();
    assert_eq!(last["state"], "done");
    let written = fs::metadata(sweep.shard_file(1, "json")).unwrap().modified().unwrap();
    // If it is killed between its last two actions, it leaves a checkpoint behind.
    fs::write(sweep.shard_file(1, "checkpoint"), "left over").unwrap();
    assert!(errors(&succeed(&mut sweep.run_shard(1, 2))).contains("already done"));
    assert!(!sweep.shard_file(1, "checkpoint").exists());
    assert_eq!(fs::metadata(sweep.shard_file(1, "json")).unwrap().modified().unwrap(), written);
    let files = fs::read_dir(sweep.folder.join("shards")).unwrap().count();
    assert_eq!(files, 2, "a result and how long it took");
}

#[test]
fn missing_shards_are_listed() {
    let folder = fresh("missing");
    let sweep = Sweep::plan(&folder.join("plan"), &small("transition"), 3);
    succeed(&mut sweep.run_shard(1, 3));
    let error = refused(&mut sweep.merge(), 3);
    assert!(error.contains("2 of 3 shards have no result: 0,2"), "{error}");
    assert!(!sweep.folder.join("report.json").exists());
    succeed(sweep.merge().arg("--partial"));
    let report = value(&fs::read(sweep.folder.join("report.json")).unwrap());
    assert_eq!(report["final"], false);
    assert_eq!(report["findings"].as_array().unwrap().len(), 2, "one size, two seeds");
    assert_eq!(report["findings"][0]["n"], 9);
}

#[test]
fn files_of_other_plans_are_refused_and_kept() {
    let folder = fresh("foreign");
    let sweep = Sweep::plan(&folder.join("one"), &small("transition"), 2);
    let mut other = small("transition");
    other["seed"] = json!(2);
    let other = Sweep::plan(&folder.join("two"), &other, 2);
    succeed(&mut other.run_shard(0, 2));
    fs::create_dir_all(sweep.folder.join("shards")).unwrap();
    fs::copy(other.shard_file(0, "json"), sweep.shard_file(0, "json")).unwrap();
    for command in [&mut sweep.merge(), &mut sweep.run_shard(0, 2), &mut sweep.command("status")] {
        let error = refused(command, 2);
        assert!(error.contains("00000.json: The file belongs to another plan"), "{error}");
    }
    fs::write(sweep.shard_file(0, "json"), "{").unwrap();
    assert!(refused(&mut sweep.merge(), 2).contains("damaged"));
    fs::remove_file(sweep.shard_file(0, "json")).unwrap();
    fs::write(sweep.shard_file(0, "checkpoint"), "half of it").unwrap();
    assert!(refused(&mut sweep.run_shard(0, 2), 2).contains("The checkpoint is damaged"));
    assert_eq!(fs::read(sweep.shard_file(0, "checkpoint")).unwrap(), b"half of it");

    let again = sweep.plan_again(&folder.join("two.json"), 2, &[]);
    assert_eq!(again.status.code(), Some(2));
    assert!(errors(&again).contains("contains another plan"), "{}", errors(&again));
    assert!(sweep.plan_again(&folder.join("one.json"), 2, &[]).status.success());
}

#[test]
fn bad_sweeps_are_refused_with_a_sentence() {
    let folder = fresh("bad");
    let sweep = Sweep { folder: folder.join("plan") };
    let file = folder.join("sweep.json");
    let mut no_sizes = small("transition");
    no_sizes["config"]["sizes"] = json!([]);
    for (text, says) in [
        (json!({ "experiment": "transitoin" }), "No experiment is called"),
        (json!({ "experiment": "transition", "preset": "huge" }), "No preset is called"),
        (json!({ "experiment": "transition", "data": "nowhere.npy" }), "nowhere.npy"),
        (
            json!({ "experiment": "transition", "config": { "train": { "stepz": 1 } } }),
            "config.train.stepz",
        ),
        (
            json!({ "experiment": "transition", "config": { "train": { "steps": "many" } } }),
            "train.steps",
        ),
        (json!({ "experiment": "transition", "grid": { "config.train.rate": [] } }), "no values"),
        (json!({ "experiment": "transition", "shards": 3 }), "unknown field"),
        (no_sizes, "nothing to train"),
    ] {
        fs::write(&file, text.to_string()).unwrap();
        let output = sweep.plan_again(&file, 2, &[]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(errors(&output).contains(says), "{text}: {}", errors(&output));
    }
}

/// Printed for a folder whose name a shell would split.
#[test]
fn the_script_for_slurm_is_a_script() {
    let folder = fresh("slurm").join("my sweep's");
    let sweep = Sweep::plan(&folder, &small("transition"), 3);
    let output = sweep.plan_again(&folder.with_extension("json"), 3, &["--slurm", "--cpus", "2"]);
    let script = String::from_utf8(output.stdout).unwrap();
    for line in
        ["--array=0-2", "--cpus-per-task=2", "--signal=TERM@60", "--requeue", "afterany:$array"]
    {
        assert!(script.contains(line), "{line}: {script}");
    }
    let file = folder.with_extension("sh");
    fs::write(&file, &script).unwrap();
    succeed(Command::new("bash").arg("-n").arg(&file));
    assert!(script.contains(r"my sweep'\''s/plan.json'"), "{script}");
}

/// `cargo xtask test --only slurm` validates this against the schema of Kubernetes, line by line.
#[test]
fn the_manifest_for_kubernetes_has_all_parts() {
    let folder = fresh("kubernetes").join("plan");
    let sweep = Sweep::plan(&folder, &small("transition"), 3);
    let options = ["--kubernetes", "--claim", "results", "--image", "lab/hidden-gaussian:1"];
    let output = sweep.plan_again(&folder.with_extension("json"), 3, &options);
    let manifest = String::from_utf8(output.stdout).unwrap();
    for line in [
        "  completionMode: Indexed",
        "  completions: 3",
        "  backoffLimitPerIndex: 6",
        "      restartPolicy: Never",
        "          image: \"lab/hidden-gaussian:1\"",
        "            claimName: \"results\"",
        "  suspend: true",
    ] {
        assert!(manifest.lines().any(|l| l == line), "{line}: {manifest}");
    }
    let refused =
        sweep.plan_again(&folder.with_extension("json"), 3, &["--kubernetes", "--claim", "a\"b"]);
    assert_eq!(refused.status.code(), Some(2));
}

/// The result of a sweep becomes a run of the page, if it has the configuration of one.
#[test]
fn the_page_s_runs_can_come_from_a_sweep() {
    let folder = fresh("record");
    let sweep = json!({ "experiment": "transition", "config": { "seeds": [1, 2, 3] } });
    let sweep = Sweep::plan(&folder.join("plan"), &sweep, 1);
    let plan = value(&fs::read(sweep.folder.join("plan.json")).unwrap());
    let record = |sweep: &Sweep| {
        let mut record = program();
        record.args(["record", "--engine", "cpu", "--only", "transition-quick-faces", "--plan"]);
        record.arg(sweep.folder.join("plan.json")).arg("--folder").arg(folder.join("runs"));
        record
    };
    assert!(refused(&mut record(&sweep), 2).contains("all its results"));
    // Computing it takes a minute, so one finding has to suffice.
    let pieces = json!([{ "piece": plan["shards"][0]["pieces"][0], "engine": "cpu", "adapter": null,
        "sigmas": [1.0], "findings": [{ "n": 16, "seed": 1, "denoisers": {} }] }]);
    let result = json!({ "plan": plan["hash"], "shard": 0, "pieces": pieces });
    fs::create_dir_all(sweep.folder.join("shards")).unwrap();
    fs::write(sweep.shard_file(0, "json"), result.to_string()).unwrap();
    succeed(&mut record(&sweep));
    let run = value(&fs::read(folder.join("runs/transition-quick-faces.json")).unwrap());
    assert_eq!(run["findings"][0]["n"], 16);
    assert_eq!(run["record"]["device"], "a cluster");
    let other = Sweep::plan(&folder.join("other"), &small("transition"), 1);
    other.run_all();
    assert!(refused(&mut record(&other), 2).contains("None of these runs"));
}

#[cfg(unix)]
mod interrupted {
    use std::env;
    use std::io::Write;
    use std::process::{Child, Stdio};
    use std::thread::sleep;
    use std::time::{Duration, Instant, UNIX_EPOCH};

    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    const SHARDS: usize = 4;

    /// A sweep whose shards take a tenth of a second per 2500 steps or longer.
    fn long(steps: usize) -> Value {
        let mut sweep = small("transition");
        sweep["config"]["sizes"] = json!([4, 9, 16, 25]);
        sweep["config"]["train"]["steps"] = json!(steps);
        sweep["config"]["train"]["architecture"]["width"] = json!(32);
        sweep
    }

    fn start(sweep: &Sweep, index: usize) -> Child {
        let mut run = sweep.run_shard(index, SHARDS);
        run.args(["--checkpoint-every", "0.05", "--threads", "1"]);
        run.stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap()
    }

    fn signal(child: &Child, name: &str) {
        // Until it is waited for, it keeps its process id, even when it is done.
        let kill = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
        assert!(kill.success());
    }

    fn code(child: Child) -> (Option<i32>, String) {
        let output = child.wait_with_output().unwrap();
        (output.status.code(), errors(&output))
    }

    #[test]
    fn a_stopped_shard_goes_on_to_the_same_bytes() {
        let folder = fresh("stopped");
        let whole = Sweep::plan(&folder.join("whole"), &long(15_000), 1);
        whole.run_all();
        let sweep = Sweep::plan(&folder.join("parts"), &long(15_000), SHARDS);
        let mut stopped = 0;
        for (index, name) in (0..SHARDS).zip(["-TERM", "-INT", "-TERM", "-INT"]) {
            let child = start(&sweep, index);
            sleep(Duration::from_millis(150));
            signal(&child, name);
            let (code, text) = code(child);
            assert!(matches!(code, Some(0 | 75)), "{code:?} {text}");
            if code == Some(75) {
                stopped += 1;
                assert!(text.contains("the next start resumes from"), "{text}");
                assert_eq!(sweep.status()[index], "stopped");
            }
        }
        assert!(stopped > 0, "nothing was stopped: the shards are too short");
        refuses_half_a_checkpoint(&sweep);
        sweep.run_all();
        assert!(sweep.merged() == whole.merged());
    }

    /// A truncated checkpoint is refused and left unchanged.
    fn refuses_half_a_checkpoint(sweep: &Sweep) {
        let index = sweep.status().iter().position(|state| state == "stopped").unwrap();
        let path = sweep.shard_file(index, "checkpoint");
        let whole = fs::read(&path).unwrap();
        for length in [0, 20, 60, 300, whole.len() / 2, whole.len() - 1] {
            fs::write(&path, &whole[..length]).unwrap();
            let error = refused(&mut sweep.run_shard(index, SHARDS), 2);
            assert!(
                error.contains("damaged") && error.contains(".checkpoint"),
                "{length}: {error}"
            );
            assert!(fs::read(&path).unwrap() == whole[..length]);
        }
        fs::write(&path, &whole).unwrap();
    }

    /// Fills the file system of `folder` until it is dropped.
    struct Ballast(PathBuf);

    impl Ballast {
        fn fill(folder: &Path) -> Self {
            let path = folder.join("ballast");
            let mut file = fs::File::create(&path).unwrap();
            // Space that is freed between two writes is filled by the next one.
            while file.write_all(&[0; 4096]).is_ok() {}
            while file.write_all(&[0]).is_ok() {}
            Self(path)
        }
    }

    impl Drop for Ballast {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Blow {
        Term,
        Kill,
        FullDisk,
    }

    /// The shards of several sweeps are interrupted at random moments, until 20 of them were stopped before they
    /// were done. If `HG_TMPFS` is the folder of a small file system, some interruptions fill it. `HG_SEED`
    /// repeats the moments.
    #[test]
    #[ignore = "takes a minute; cargo xtask test --only slurm runs it"]
    fn blows_at_random_moments_leave_the_same_bytes() {
        let seed = env::var("HG_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed: u64 = seed.unwrap_or_else(|| UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64);
        let mut random = StdRng::seed_from_u64(seed);
        let folder = fresh("blows");
        let disk = env::var_os("HG_TMPFS").map(PathBuf::from);
        let whole = Sweep::plan(&folder.join("whole"), &long(2500), 1);
        whole.run_all();
        let expected = whole.merged();
        let timed = Sweep::plan(&folder.join("timed"), &long(2500), SHARDS);
        let begin = Instant::now();
        assert_eq!(code(start(&timed, 0)).0, Some(0));
        let takes = begin.elapsed().as_secs_f64();
        println!("seed {seed}; a shard takes {takes:.2} s");

        let (mut tally, mut in_time) = ([0; 3], 0);
        for round in 0.. {
            if in_time >= 20 {
                break;
            }
            assert!(round < 15, "almost no blow came in time: {in_time}");
            let home = disk.as_ref().unwrap_or(&folder).join(format!("round-{round}"));
            let sweep = Sweep::plan(&home, &long(2500), SHARDS);
            for index in 0..SHARDS {
                let blow = match random.random_range(0..if disk.is_some() { 3 } else { 2 }) {
                    0 => Blow::Term,
                    1 => Blow::Kill,
                    _ => Blow::FullDisk,
                };
                let child = start(&sweep, index);
                sleep(Duration::from_secs_f64(random.random_range(0.0..takes)));
                let before = fs::read(sweep.shard_file(index, "checkpoint")).ok();
                let ended = match blow {
                    Blow::Term => {
                        signal(&child, "-TERM");
                        code(child)
                    }
                    Blow::Kill => {
                        signal(&child, "-KILL");
                        code(child)
                    }
                    Blow::FullDisk => {
                        let _ballast = Ballast::fill(&home);
                        code(child)
                    }
                };
                // Before its signal handlers are installed, a signal ends the program. 0 means that it came too late.
                assert!(matches!(ended.0, None | Some(0 | 75)), "{blow:?}: {ended:?}");
                if ended.0 != Some(0) {
                    in_time += 1;
                    tally[blow as usize] += 1;
                    let after = sweep.shard_file(index, "checkpoint").exists();
                    assert!(before.is_none() || after, "{blow:?} lost a checkpoint");
                }
                let again = code(start(&sweep, index));
                assert_eq!(again.0, Some(0), "{blow:?}: {again:?}");
            }
            assert!(sweep.merged() == expected, "round {round}, seed {seed}");
            fs::remove_dir_all(&home).unwrap();
        }
        let [term, kill, full] = tally;
        println!(
            "{term} times SIGTERM, {kill} times SIGKILL, {full} times a full disk: the same bytes"
        );
    }

    /// The cost of cutting a sweep: the time of all shards over that of the whole, alternating.
    #[test]
    #[ignore = "measures time; cargo xtask test --only slurm runs it"]
    fn sharding_costs_little() {
        let folder = fresh("overhead");
        let seconds = |shards: usize, turn: usize| -> f64 {
            let sweep =
                Sweep::plan(&folder.join(format!("{shards}-{turn}")), &long(10_000), shards);
            let shard = |index: usize| {
                let begin = Instant::now();
                succeed(sweep.run_shard(index, shards).args(["--threads", "1"]));
                begin.elapsed().as_secs_f64()
            };
            (0..shards).map(shard).sum()
        };
        let mut ratios = [0, 1, 2].map(|turn| seconds(SHARDS, turn) / seconds(1, turn));
        ratios.sort_by(f64::total_cmp);
        let [_, ratio, _] = ratios;
        println!(
            "{SHARDS} shards, one after the other, take {ratio:.2} times as long as the whole"
        );
        assert!(ratio < 2.0, "{ratios:?}");
    }
}

/// The report that the page's tests open is what a merge writes today. `REPORT_FIXTURE=write` updates it.
#[test]
fn the_page_is_tested_with_a_report_of_today() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/fixtures");
    let text = fs::read_to_string(fixtures.join("sweep.json")).unwrap();
    let sweep =
        Sweep::plan(&fresh("fixture").join("sweep"), &serde_json::from_str(&text).unwrap(), 2);
    sweep.run_all();
    let [report, _] = sweep.merged();
    let file = fixtures.join("sweep-report.json");
    if std::env::var_os("REPORT_FIXTURE").is_some_and(|wish| wish == "write") {
        fs::write(&file, &report).unwrap();
    }
    // The same fields at every level; numbers may differ in their last digits between processors.
    let [now, then] = [report, fs::read(&file).unwrap()]
        .map(|bytes| serde_json::from_slice::<Value>(&bytes).unwrap())
        .map(|report| shape(&report));
    assert_eq!(now, then, "renew it with REPORT_FIXTURE=write");
}

/// The structure of a report, without its values.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| (name.clone(), shape(field))).collect()
        }
        Value::Array(list) => list.iter().map(shape).collect(),
        Value::String(_) => json!("text"),
        Value::Number(_) | Value::Null => json!(0),
        Value::Bool(_) => json!(true),
    }
}
