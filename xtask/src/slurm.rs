//! The part `slurm`: sweeps on a cluster of four emulated nodes on this machine, interruptions at random
//! moments, and the manifest for Kubernetes against its schema.

use std::{
    collections::BTreeSet,
    env,
    ffi::OsString,
    fs,
    io::Read,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    process::{command, run, target_dir, which},
    test::{INTERRUPTED, Row, cargo_test, ignored},
    tools,
};

/// Debian's packages of Slurm, and those of its dependencies that a small system may lack.
const PACKAGES: [&str; 8] = [
    "slurmctld",
    "slurmd",
    "slurm-client",
    "slurm-wlm-basic-plugins",
    "munge",
    "libmunge2",
    "libhwloc15",
    "liblua5.1-0",
];

/// The Python package with the schema of Kubernetes, and the release that the manifest is for: the first one
/// where `backoffLimitPerIndex` is stable.
const VALIDATOR: &str = "kubernetes-validate==1.37.0";
const KUBERNETES: &str = "1.33";

/// How long the cluster may take in total.
const PATIENCE: Duration = Duration::from_secs(100);

/// Shards of a few seconds, so that none has ended before it is killed or requeued.
const SWEEP: &str = r#"{ "experiment": "transition", "config": {
    "sizes": [4, 9, 16, 25], "seeds": [1, 2],
    "train": { "steps": 20000, "batch": 8, "architecture": { "width": 32 } },
    "evaluation": { "samples": 6, "images": 6, "sigmas": [1.0, 0.4], "shown": 2 } } }"#;

pub(crate) fn test(row: &mut Row) -> Result<()> {
    // The tests of the command line have compiled the program; a build of its own would compile it again.
    run(&mut cargo_test(["--test", "native", "--no-run", "--quiet"]))?;
    let program = target_dir()?.join("debug/hidden-gaussian");
    let folder = env::temp_dir().join(format!("hidden-gaussian-slurm-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let tested = blows(row, &folder)
        .and_then(|()| manifest(row, &folder, &program))
        .and_then(|()| cluster(row, &folder, &program));
    if tested.is_ok() {
        fs::remove_dir_all(&folder)?;
    } else {
        println!("slurm  | logs are in {}", folder.display());
    }
    tested
}

/// Interrupts shards at random moments, and fills the disk in between if a small one can be mounted.
fn blows(row: &mut Row, folder: &Path) -> Result<()> {
    let disk = folder.join("disk");
    fs::create_dir_all(&disk)?;
    let mount = ["-t", "tmpfs", "-o", "size=3m", "tmpfs"];
    let mounted = command("mount", mount).arg(&disk).output();
    let mounted = mounted.is_ok_and(|output| output.status.success());
    let mut tests = ignored(&["--nocapture", INTERRUPTED]);
    if mounted {
        tests.env("HG_TMPFS", &disk);
    } else {
        row.skip("a full disk: this user may not mount a small one");
    }
    let tested = row.tests(&mut tests);
    if mounted {
        run(command("umount", [] as [&str; 0]).arg(&disk))?;
    }
    tested
}

/// Validates the manifest against the schema.
fn manifest(row: &mut Row, folder: &Path, program: &Path) -> Result<()> {
    let Some(python) = which(&["python3", "python"]) else {
        row.skip("the schema of Kubernetes: there is no Python to read it");
        return Ok(());
    };
    let home = tools::cache_folder()?.join(VALIDATOR.replace("==", "-"));
    if !home.join("kubernetes_validate").exists() {
        println!("Installing {VALIDATOR} into {}", home.display());
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"];
        run(command(&python, pip).arg(&home).arg(VALIDATOR))?;
    }
    let file = folder.join("job.yaml");
    let text = plan(folder, program, "kubernetes", 4, &["--kubernetes"])?;
    fs::write(&file, &text)?;
    let validate = |file: &Path| {
        let arguments =
            ["-m", "kubernetes_validate", "--strict", "--kubernetes-version", KUBERNETES];
        let mut validate = command(&python, arguments);
        validate.arg(file).env("PYTHONPATH", &home);
        validate
    };
    row.check(&mut validate(&file))?;
    // A validator that accepts everything proves nothing.
    let wrong = folder.join("wrong.yaml");
    fs::write(&wrong, text.replace("completionMode: Indexed", "completionMod: Indexed"))?;
    let refused = !validate(&wrong).output()?.status.success();
    ensure!(refused, "the validator accepts a wrong manifest");
    row.pass("a wrong manifest is refused");
    Ok(())
}

/// Plans the sweep and returns the program's output.
fn plan(folder: &Path, program: &Path, name: &str, shards: usize, more: &[&str]) -> Result<String> {
    let file = folder.join("sweep.json");
    fs::write(&file, SWEEP)?;
    let mut plan = command(program, ["sweep", "plan", "--shards", &shards.to_string()]);
    let output = plan.arg("--config").arg(file).arg("--out").arg(folder.join(name)).args(more);
    let output = output.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// Runs the sweep as an array followed by a merge; one task is killed, another requeued.
fn cluster(row: &mut Row, folder: &Path, program: &Path) -> Result<()> {
    let Some(slurm) = Slurm::find()? else {
        row.skip("Slurm: it is neither installed nor offered by apt");
        return Ok(());
    };
    let cluster = Cluster::start(&slurm, &folder.join("slurm"))?;
    row.pass("a cluster of four nodes starts");

    let script = plan(
        folder,
        program,
        "shards",
        4,
        &["--slurm", "--cpus", "1", "--memory", "1", "--time", "00:10:00"],
    )?;
    let often = script.replace("sweep run", "sweep run --engine cpu --checkpoint-every 0.2");
    ensure!(often != script, "the script does not run shards:\n{script}");
    let home = folder.join("shards");
    fs::write(folder.join("submit.sh"), often)?;
    let said = cluster.say("bash", &["submit.sh"])?;
    let array = said.split_whitespace().nth(5).context("no job was submitted")?.to_owned();

    let file = |shard: usize, kind: &str| home.join(format!("shards/{shard:05}.{kind}"));
    cluster.wait("checkpoints of two shards", || {
        Ok(file(0, "checkpoint").exists() && file(1, "checkpoint").exists())
    })?;
    let task = task_process(&home, 1)?.context("task 1 ended before it could be killed")?;
    run(&mut command("kill", ["-KILL", &task.to_string()]))?;
    cluster.say("scontrol", &["requeue", &format!("{array}_0")])?;

    let mut released = BTreeSet::new();
    cluster.wait("the end of all jobs", || {
        let jobs = cluster.say("squeue", &["--noheader", "--format=%A %T %r"])?;
        for job in jobs.lines() {
            // A requeued job waits for two minutes unless it is released. It must wait for two seconds: a node
            // refuses a job whose credential is not newer, by the second, than the one that it revoked.
            if let [id, "PENDING", "BeginTime"] = job.split_whitespace().collect::<Vec<_>>()[..]
                && released.insert(id.to_owned())
            {
                let soon = "StartTime=now+2seconds";
                cluster.say("scontrol", &["update", &format!("JobId={id}"), soon])?;
            }
        }
        Ok(jobs.trim().is_empty())
    })?;
    let log = |shard: usize| {
        let path = home.join(format!("shards/{shard}.log"));
        fs::read_to_string(&path).with_context(|| path.display().to_string())
    };
    let starts =
        |shard: usize| -> Result<usize> { Ok(log(shard)?.matches(r#""state":"running""#).count()) };
    ensure!(log(1)?.contains("Killed") && starts(1)? == 2, "task 1: {}", log(1)?);
    row.pass("a killed task resumes");
    let stopped = log(0)?.contains(r#""state":"stopped""#);
    ensure!(stopped && starts(0)? == 2, "task 0: {}", log(0)?);
    row.pass("a requeued task saves its state and resumes");
    ensure!(starts(2)? == 1 && starts(3)? == 1, "task 2: {}\ntask 3: {}", log(2)?, log(3)?);

    plan(folder, program, "whole", 1, &[])?;
    let whole = folder.join("whole");
    let sweep = |name: &str| {
        let mut sweep = command(program, ["sweep", name, "--plan"]);
        sweep.arg(whole.join("plan.json"));
        sweep
    };
    run(sweep("run").args(["--engine", "cpu", "--all"]))?;
    run(sweep("merge").arg("--out").arg(whole.join("report.json")))?;
    let merge_log = fs::read_to_string(home.join("merge.log")).unwrap_or_default();
    let merged = fs::read(home.join("report.json")).context(merge_log)?;
    ensure!(merged == fs::read(whole.join("report.json"))?, "the merged report differs");
    ensure!(home.join("report.csv").exists(), "there is no table");
    row.pass("the merged report is the unsharded one, byte for byte");
    Ok(())
}

/// The process that computes `shard` of the plan in `home`.
fn task_process(home: &Path, shard: usize) -> Result<Option<u32>> {
    let plan = home.join("plan.json");
    let plan = plan.to_string_lossy();
    let variable = format!("SLURM_ARRAY_TASK_ID={shard}");
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let Ok(id) = entry.file_name().to_string_lossy().parse() else { continue };
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let words = |name: &str| {
            let words = read(name);
            words
                .split(|&byte| byte == 0)
                .map(|w| String::from_utf8_lossy(w).into_owned())
                .collect()
        };
        let (arguments, variables): (Vec<String>, Vec<String>) =
            (words("cmdline"), words("environ"));
        // srun has the same arguments, but another name.
        let computes =
            arguments.first().is_some_and(|program| program.ends_with("hidden-gaussian"));
        if computes
            && arguments.contains(&plan.clone().into_owned())
            && variables.contains(&variable)
        {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Slurm's programs, either installed or in the user's cache.
struct Slurm {
    /// Folders that are searched first for programs and libraries.
    programs: Vec<PathBuf>,
    libraries: Vec<PathBuf>,
    /// The folders of its plugins and of the program for job steps, if they are not the system's.
    moved: Option<(PathBuf, PathBuf)>,
}

impl Slurm {
    /// Finds the installed Slurm, or unpacks one into the cache, which needs no root.
    fn find() -> Result<Option<Self>> {
        let system = |name: &&str| which(&[name]).is_some();
        if ["slurmctld", "slurmd", "sbatch", "munged"].iter().all(system) {
            let (programs, libraries) = (Vec::new(), Vec::new());
            return Ok(Some(Self { programs, libraries, moved: None }));
        }
        let home = tools::cache_folder()?.join("slurm");
        let unpacked = home.join("root");
        if !unpacked.exists() && !download(&home, &unpacked)? {
            return Ok(None);
        }
        let plugin = find(&unpacked, "auth_munge.so")?;
        let plugins = plugin.parent().context("a plugin in no folder")?.to_owned();
        let library = find(&unpacked, "libmunge.so.2")?;
        let libraries = library.parent().context("a library in no folder")?.to_owned();
        Ok(Some(Self {
            programs: vec![unpacked.join("usr/bin"), unpacked.join("usr/sbin")],
            libraries: vec![libraries, plugins.clone()],
            moved: Some((plugins, unpacked.join("usr/sbin/slurmstepd-wlm"))),
        }))
    }

    fn command(&self, program: &str, conf: &Path) -> Command {
        let join = |first: &[PathBuf], variable: &str| -> OsString {
            let rest = env::var_os(variable).unwrap_or_default();
            let all = first.iter().cloned().chain(env::split_paths(&rest));
            env::join_paths(all).unwrap_or(rest.clone())
        };
        let path = join(&self.programs, "PATH");
        // Installed as slurmctld, but called slurmctld-wlm in the package.
        let name = [program.to_owned(), format!("{program}-wlm")];
        let found = env::split_paths(&path)
            .find_map(|folder| name.iter().map(|n| folder.join(n)).find(|file| file.is_file()));
        let mut command = command(found.unwrap_or_else(|| program.into()), [] as [&str; 0]);
        command.env("PATH", path).env("SLURM_CONF", conf);
        if !self.libraries.is_empty() {
            command.env("LD_LIBRARY_PATH", join(&self.libraries, "LD_LIBRARY_PATH"));
        }
        command
    }
}

/// Unpacks Debian's packages, and returns whether apt offers them.
fn download(home: &Path, unpacked: &Path) -> Result<bool> {
    if which(&["apt-get"]).is_none() || which(&["dpkg"]).is_none() {
        return Ok(false);
    }
    println!("Unpacking {} into {}", PACKAGES.join(" "), home.display());
    let packages = home.join("packages");
    fs::create_dir_all(&packages)?;
    let get = || {
        command("apt-get", ["download", "--quiet"]).args(PACKAGES).current_dir(&packages).output()
    };
    if !get()?.status.success() {
        // The package lists may be missing or old.
        let _ = command("apt-get", ["update", "--quiet"]).output()?;
        let output = get()?;
        if !output.status.success() {
            println!("{}", String::from_utf8_lossy(&output.stderr));
            return Ok(false);
        }
    }
    let part = home.join("part");
    for entry in fs::read_dir(&packages)? {
        run(command("dpkg", ["-x"]).arg(entry?.path()).arg(&part))?;
    }
    fs::rename(&part, unpacked)?;
    Ok(true)
}

/// Finds the file called `name` in `folder` or below.
fn find(folder: &Path, name: &str) -> Result<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_name() == name {
                return Ok(entry.path());
            }
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    bail!("found no {name} in {}", folder.display())
}

/// A cluster that lives until it is dropped.
struct Cluster<'a> {
    slurm: &'a Slurm,
    folder: PathBuf,
    start: Instant,
}

const NODES: [&str; 4] = ["n0", "n1", "n2", "n3"];

impl<'a> Cluster<'a> {
    fn start(slurm: &'a Slurm, folder: &Path) -> Result<Self> {
        let cluster = Self { slurm, folder: folder.to_owned(), start: Instant::now() };
        fs::create_dir_all(folder.join("state"))?;
        cluster.configure()?;
        let in_folder =
            |option: &str, name: &str| format!("--{option}={}", folder.join(name).display());
        let mut key = [0; 1024];
        fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
        fs::write(folder.join("munge.key"), key)?;
        run(command("chmod", ["0700"]).arg(folder))?;
        run(command("chmod", ["0400"]).arg(folder.join("munge.key")))?;
        cluster.say(
            "munged",
            &[
                "--force",
                &in_folder("key-file", "munge.key"),
                &in_folder("socket", "munge.socket"),
                &in_folder("pid-file", "munged.pid"),
                &in_folder("log-file", "munged.log"),
                &in_folder("seed-file", "munged.seed"),
            ],
        )?;
        cluster.wait("munge", || Ok(folder.join("munge.socket").exists()))?;
        cluster.say("slurmctld", &["-c"])?;
        for node in NODES {
            fs::create_dir_all(folder.join(format!("spool-{node}")))?;
            let mut arguments = vec!["-N".to_owned(), node.to_owned()];
            if let Some((_, step)) = &slurm.moved {
                arguments.extend(["-d".to_owned(), step.display().to_string()]);
            }
            cluster.say("slurmd", &arguments.iter().map(String::as_str).collect::<Vec<_>>())?;
        }
        cluster.wait("four idle nodes", || {
            // The controller may not listen yet.
            let nodes = cluster.say("sinfo", &["--noheader", "--Node", "--format=%T"]);
            Ok(nodes.is_ok_and(|nodes| nodes.lines().filter(|state| *state == "idle").count() == 4))
        })?;
        Ok(cluster)
    }

    fn conf(&self) -> PathBuf {
        self.folder.join("slurm.conf")
    }

    /// A configuration without control groups and accounting, whose nodes are all this machine.
    fn configure(&self) -> Result<()> {
        let text = |command: &mut Command| -> Result<String> {
            Ok(String::from_utf8(command.output()?.stdout)?.trim().to_owned())
        };
        let host = fs::read_to_string("/proc/sys/kernel/hostname")?.trim().to_owned();
        let user = text(&mut command("id", ["-un"]))?;
        // The ports are free now, which is all that can be known.
        let listeners: Vec<_> = (0..=NODES.len())
            .map(|_| TcpListener::bind("127.0.0.1:0"))
            .collect::<Result<_, _>>()?;
        let ports = listeners.iter().map(|listener| Ok(listener.local_addr()?.port()));
        let ports = ports.collect::<Result<Vec<u16>>>()?;
        let folder = self.folder.display();
        let mut conf = format!(
            "ClusterName=ci
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
ReturnToService=2
KillWait=10
PartitionName=ci Nodes=ALL Default=YES MaxTime=INFINITE State=UP
",
            ports[0]
        );
        if let Some((plugins, _)) = &self.slurm.moved {
            conf += &format!("PluginDir={}\n", plugins.display());
        }
        for (node, port) in NODES.iter().zip(&ports[1..]) {
            conf += &format!(
                "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=2000 State=UNKNOWN\n"
            );
        }
        fs::write(self.conf(), conf)?;
        Ok(())
    }

    /// The output of one of Slurm's programs.
    fn say(&self, program: &str, arguments: &[&str]) -> Result<String> {
        let mut command = self.slurm.command(program, &self.conf());
        command.args(arguments).current_dir(self.folder.parent().unwrap_or(Path::new("/")));
        let output = command.output().with_context(|| program.to_owned())?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{program} {}: {errors}", arguments.join(" "));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Waits until `done`.
    fn wait(&self, what: &str, mut done: impl FnMut() -> Result<bool>) -> Result<()> {
        while !done()? {
            let jobs = || self.say("squeue", &[]).unwrap_or_default();
            ensure!(self.start.elapsed() < PATIENCE, "timed out waiting for {what}\n{}", jobs());
            sleep(Duration::from_millis(200));
        }
        Ok(())
    }
}

impl Drop for Cluster<'_> {
    fn drop(&mut self) {
        let _ = self.say("scancel", &["--state=RUNNING", "--signal=KILL", "--full"]);
        let nodes = NODES.iter().map(|node| format!("slurmd-{node}.pid"));
        for file in nodes.chain(["slurmctld.pid".into(), "munged.pid".into()]) {
            if let Ok(id) = fs::read_to_string(self.folder.join(file)) {
                let _ = command("kill", [id.trim()]).output();
            }
        }
        // They write their last lines and remove their files.
        sleep(Duration::from_secs(1));
    }
}
