//! `record`: records the runs that are shipped with the page: reports in the form of live runs, with how
//! they were made, and their pictures beside them.

mod sheets;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, fs, process};

use clap::Args;
use hidden_gaussian::compute::Engine;
use hidden_gaussian::denoiser::DenoiserId;
use hidden_gaussian::experiment::run::{FORMAT, check_format};
use hidden_gaussian::experiment::{
    Experiment, Preset, clocks::Clocks, emergence, emergence::Emergence,
    gaussian_bias::GaussianBias, league::League, modes::Modes,
    strong_generalization::StrongGeneralization, transition::Transition,
};
use hidden_gaussian::sampler::Method;
use hidden_gaussian::{Error, Result, serial};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::checkpoint::{CheckpointEvery, default_folder};
use super::data::Source;
use super::league::measure_edge;
use super::run_to_end::run_or_resume;
use super::sweep::swept;
use super::{EngineName, file_error, json};

/// Arguments of `record`.
#[derive(Debug, Args)]
pub(super) struct Record {
    /// Record only this run, such as transition-main-faces
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Record again even if the configuration has not changed
    #[arg(long)]
    force: bool,
    /// Record the result of this sweep plan instead of computing it here
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Record this report, which `--out` wrote, instead of computing it here
    #[arg(long, value_name = "FILE", conflicts_with = "plan")]
    report: Option<PathBuf>,
    /// Folder for checkpoints [default: in the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    checkpoint: Option<PathBuf>,
    #[command(flatten)]
    checkpoints: CheckpointEvery,
    /// Folder of the recorded runs
    #[arg(long, value_name = "FOLDER", default_value = "www/public/runs")]
    folder: PathBuf,
    /// Engine to compute on
    #[arg(long, value_enum, default_value = "auto")]
    engine: EngineName,
    /// Print the list of recorded runs as JSON
    #[arg(long)]
    json: bool,
}

/// Most bytes of all runs together.
const MOST_BYTES: u64 = 8_000_000;

/// The first seed of every run. Figures draw the numbers of all seeds, and the pictures of this one.
const SEED: u64 = 1;

/// The seeds of Figures 1 to 3 and of the disjoint halves.
const SEEDS: Range<u64> = SEED..SEED + 3;

/// A run that is shipped with the page.
struct Recording {
    experiment: &'static str,
    preset: Preset,
    data: &'static str,
    /// Pixels per side, if they are not the preset's.
    side: Option<usize>,
    /// What sets it apart from another recording of the same experiment, preset and data.
    variant: Option<&'static str>,
    title: &'static str,
    run: fn(&Self, &Session<'_>) -> Result<Option<Value>>,
}

const fn transition(preset: Preset, data: &'static str, title: &'static str) -> Recording {
    let run = |this: &Recording, session: &Session<'_>| {
        session.run::<Transition>(this, |config| {
            config.seeds = SEEDS.collect();
            // A CIFAR-10 image takes as much space as twelve faces.
            config.evaluation.shown = if this.preset == Preset::Cifar { 8 } else { 12 };
        })
    };
    Recording { run, ..plain::<Transition>(preset, data, title) }
}

/// The two ends of Figure 1, sampled as in the paper: 10 Euler steps from σ = 80 to 0.002.
const fn paper_sampler(preset: Preset, data: &'static str, title: &'static str) -> Recording {
    let run = |this: &Recording, session: &Session<'_>| {
        session.run::<Transition>(this, |config| {
            config.sizes = vec![64, 16_384];
            let evaluation = &mut config.evaluation;
            evaluation.method = Method::Euler;
            evaluation.sampler_steps = 10;
            [evaluation.sigma_max, evaluation.sigma_min] = [80.0, 0.002];
            evaluation.shown = 8;
        })
    };
    let variant = Some("paper-sampler");
    Recording { variant, run, ..plain::<Transition>(preset, data, title) }
}

const fn gaussian_bias(preset: Preset, data: &'static str, title: &'static str) -> Recording {
    let run = |this: &Recording, session: &Session<'_>| {
        session.run::<GaussianBias>(this, |config| config.seeds = SEEDS.collect())
    };
    Recording { run, ..plain::<GaussianBias>(preset, data, title) }
}

const fn strong(preset: Preset, data: &'static str, title: &'static str) -> Recording {
    let run = |this: &Recording, session: &Session<'_>| {
        let report = session.run::<StrongGeneralization>(this, |config| {
            config.seeds = SEEDS.map(|pair| [2 * pair - 1, 2 * pair]).collect();
        })?;
        Ok(report.map(|mut report| {
            // The two networks are compared only with each other.
            leave_out(&mut report["findings"], &["error", "linearity", "against"]);
            report
        }))
    };
    Recording { run, ..plain::<StrongGeneralization>(preset, data, title) }
}

const fn emergence(preset: Preset, data: &'static str, title: &'static str) -> Recording {
    let run = |this: &Recording, session: &Session<'_>| {
        let change = |config: &mut emergence::Config| config.seeds = SEEDS.collect();
        let report = session.run::<Emergence>(this, change)?;
        Ok(report.map(|mut report| {
            // There are many networks at many checkpoints. Figure 3 draws no list over noise levels.
            for point in points(&mut report) {
                leave_out(point, &["error", "linearity", "difference"]);
                let denoisers = point["denoisers"].as_object_mut().into_iter().flatten();
                // What D_G and D_M are compared with is the network alone.
                for (_, measures) in denoisers.filter(|(id, _)| *id != DenoiserId::TRAINED.name()) {
                    leave_out(measures, &["against"]);
                }
            }
            report
        }))
    };
    Recording { run, ..plain::<Emergence>(preset, data, title) }
}

/// A recording of an unchanged preset.
const fn plain<E: Experiment>(
    preset: Preset,
    data: &'static str,
    title: &'static str,
) -> Recording {
    let run = |this: &Recording, session: &Session<'_>| session.run::<E>(this, |_| ());
    Recording { experiment: E::NAME, preset, data, side: None, variant: None, title, run }
}

/// Modes in order, of an MLP and a U-Net, which needs images that it can halve twice.
const fn modes(preset: Preset, data: &'static str, title: &'static str) -> Recording {
    Recording { side: Some(16), ..plain::<Modes>(preset, data, title) }
}

/// The edge of memorization, which trains nothing.
const fn edge(preset: Preset, data: &'static str, title: &'static str) -> Recording {
    let run = |this: &Recording, session: &Session<'_>| session.edge(this);
    Recording { experiment: "edge", preset, data, side: None, variant: None, title, run }
}

/// The findings of a report, by network or by pair: one list, or several with names.
fn findings(report: &mut Value) -> Vec<&mut Vec<Value>> {
    match &mut report["findings"] {
        Value::Array(list) => vec![list],
        Value::Object(lists) => lists.values_mut().filter_map(Value::as_array_mut).collect(),
        _ => Vec::new(),
    }
}

fn points(report: &mut Value) -> impl Iterator<Item = &mut Value> {
    findings(report).into_iter().flatten()
}

/// Keeps pictures, and what is drawn beside them, only for the first seed.
fn keep_first_pictures(report: &mut Value) {
    for point in points(report) {
        let seed = [&point["seed"], &point["networks"][0]["seed"]].into_iter().find(|s| s.is_u64());
        if seed.is_some_and(|seed| *seed != SEED) {
            leave_out(point, &["samples", "nearest", "axes", "filters", "alignment", "paths"]);
        }
    }
}

/// Removes fields everywhere under `value`.
pub(super) fn leave_out(value: &mut Value, fields: &[&str]) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|value| leave_out(value, fields)),
        Value::Object(map) => {
            map.retain(|name, _| !fields.contains(&name.as_str()));
            map.values_mut().for_each(|value| leave_out(value, fields));
        }
        _ => {}
    }
}

/// All recordings, short ones first.
static RECORDINGS: [Recording; 35] = [
    edge(Preset::Main, "faces", "The edge of memorization on faces"),
    edge(Preset::Main, "fashion", "The edge of memorization on Fashion-MNIST"),
    edge(Preset::Main, "mnist", "The edge of memorization on MNIST"),
    edge(Preset::Cifar, "cifar10", "The edge of memorization on CIFAR-10"),
    transition(Preset::Quick, "faces", "Figure 1: a small MLP on faces, three seeds"),
    gaussian_bias(Preset::Main, "faces", "Figure 2: an MLP on faces, three seeds"),
    gaussian_bias(Preset::Main, "mnist", "Figure 2: an MLP on MNIST, three seeds"),
    strong(Preset::Main, "faces", "Disjoint halves: an MLP on faces, three pairs of seeds"),
    strong(Preset::Main, "mnist", "Disjoint halves: an MLP on MNIST, three pairs of seeds"),
    emergence(Preset::Main, "faces", "Figure 3: MLPs on faces over width and time, three seeds"),
    emergence(Preset::Main, "mnist", "Figure 3: MLPs on MNIST over width and time, three seeds"),
    transition(Preset::Main, "faces", "Figure 1: an MLP on faces, three seeds"),
    transition(Preset::Main, "patches", "Figure 1: an MLP on photographs' patches, three seeds"),
    transition(Preset::Main, "fashion", "Figure 1: an MLP on Fashion-MNIST, three seeds"),
    transition(Preset::Main, "mnist", "Figure 1: an MLP on MNIST, three seeds"),
    plain::<Modes>(Preset::Main, "faces", "Modes in order: an MLP and a U-Net on faces"),
    modes(Preset::Main, "mnist", "Modes in order: an MLP and a U-Net on MNIST"),
    modes(Preset::Main, "fashion", "Modes in order: an MLP and a U-Net on Fashion-MNIST"),
    plain::<Modes>(Preset::Cifar, "cifar10", "Modes in order: a U-Net on CIFAR-10"),
    plain::<Clocks>(Preset::Main, "faces", "Two clocks: MLPs on faces, with SGD and Adam"),
    plain::<Clocks>(Preset::Main, "mnist", "Two clocks: MLPs on MNIST, with SGD and Adam"),
    plain::<Clocks>(
        Preset::Main,
        "fashion",
        "Two clocks: MLPs on Fashion-MNIST, with SGD and Adam",
    ),
    plain::<Clocks>(
        Preset::CifarQuick,
        "cifar10",
        "Two clocks: U-Nets on CIFAR-10, with SGD and Adam",
    ),
    gaussian_bias(Preset::Faithful, "faces", "Figure 2: a U-Net on faces, three seeds"),
    transition(Preset::Faithful, "faces", "Figure 1: a U-Net on faces, three seeds"),
    plain::<League>(Preset::Main, "faces", "The league of theories: an MLP on faces"),
    plain::<League>(Preset::Main, "fashion", "The league of theories: an MLP on Fashion-MNIST"),
    plain::<League>(Preset::Main, "mnist", "The league of theories: an MLP on MNIST"),
    plain::<League>(Preset::Faithful, "faces", "The league of theories: a U-Net on faces"),
    plain::<League>(Preset::Cifar, "cifar10", "The league of theories: a U-Net on CIFAR-10"),
    transition(Preset::Cifar, "cifar10", "Figure 1: a U-Net on CIFAR-10, three seeds"),
    paper_sampler(Preset::Cifar, "cifar10", "A U-Net on CIFAR-10 with the paper's sampler"),
    gaussian_bias(Preset::Cifar, "cifar10", "Figure 2: a U-Net on CIFAR-10, three seeds"),
    strong(Preset::Cifar, "cifar10", "Disjoint halves: a U-Net on CIFAR-10, three pairs of seeds"),
    emergence(
        Preset::Cifar,
        "cifar10",
        "Figure 3: U-Nets on CIFAR-10 over width and time, three seeds",
    ),
];

impl Recording {
    fn name(&self) -> String {
        let variant = self.variant.map_or(String::new(), |variant| format!("-{variant}"));
        format!("{}-{}-{}{variant}", self.experiment, self.preset.name(), self.data)
    }

    fn file(&self) -> String {
        format!("{}.json", self.name())
    }
}

/// Where runs are recorded, and how.
struct Session<'a> {
    args: &'a Record,
    engine: Engine,
    device: String,
    commit: Option<String>,
    /// A report that was computed before, from a sweep or a file.
    given: Option<Value>,
}

pub(super) fn command(args: &Record) -> Result<bool> {
    let chosen = |recording: &&Recording| args.only.as_ref().is_none_or(|o| *o == recording.name());
    if !RECORDINGS.iter().any(|recording| chosen(&recording)) {
        let names: Vec<String> = RECORDINGS.iter().map(Recording::name).collect();
        return Err(Error::bad_input(
            "No recorded run has this name",
            format!("Choose one of {}", names.join(", ")),
        ));
    }
    fs::create_dir_all(&args.folder).map_err(|error| file_error(&args.folder, &error))?;
    let engine = args.engine.open()?;
    let given = match &args.report {
        Some(path) => Some(read_report(path)?),
        None => args.plan.as_deref().map(swept).transpose()?,
    };
    let device = if given.is_some() { "a cluster".into() } else { device(&engine) };
    let session = Session { args, engine, device, commit: commit(), given };
    let mut written = 0;
    for recording in RECORDINGS.iter().filter(chosen) {
        let path = args.folder.join(recording.file());
        let Some(mut report) = (recording.run)(recording, &session)? else {
            if session.given.is_none() {
                eprintln!("{} is up to date", path.display());
            }
            continue;
        };
        round(&mut report);
        // A report to which networks were added has its pictures in sheets already.
        if report.get("sheets").is_none() {
            session.take_pictures(recording, &mut report, true)?;
        }
        write(&path, &report.to_string())?;
        written += 1;
        eprintln!("Wrote {}", path.display());
        write_index(&args.folder)?;
    }
    if session.given.is_some() && written == 0 {
        return Err(Error::bad_input(
            "None of these runs has this configuration and these images",
            "Name one with --only, and compute its preset with three seeds",
        ));
    }
    let list = write_index(&args.folder)?;
    let total: u64 = list.iter().filter_map(|entry| entry["bytes"].as_u64()).sum();
    if args.json {
        println!("{}", json(&list)?);
    } else {
        println!("{} runs, {total} bytes of {MOST_BYTES}", list.len());
    }
    if total > MOST_BYTES {
        let hint = "Show fewer samples or measure at fewer noise levels";
        return Err(Error::limit("All recorded runs", total, MOST_BYTES, hint));
    }
    Ok(true)
}

impl Session<'_> {
    /// Runs an experiment, with `change` applied to its preset, unless there is a file of the same
    /// format, images and configuration. If a report is given, only that one is accepted.
    fn run<E: Experiment>(
        &self,
        recording: &Recording,
        change: impl FnOnce(&mut E::Config),
    ) -> Result<Option<Value>> {
        let source = Source::new(recording.data, SEED).with_side(recording.side);
        let shape = source.dataset(recording.preset, 1)?.shape();
        let mut config = E::preset(recording.preset, shape, SEED);
        change(&mut config);
        let split = source.split(&source.dataset(recording.preset, E::images(&config))?)?;
        let mut expected = json!({
            "format": FORMAT,
            "data": split.recipe(),
            "config": config,
        });
        round(&mut expected);
        let known = fs::read(self.args.folder.join(recording.file())).ok();
        let known = known.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let same = |known: &Value| {
            expected
                .as_object()
                .into_iter()
                .flatten()
                .all(|(key, value)| agrees(&known[key], value))
        };
        let compute = |config| {
            let folder = self.args.checkpoint.clone().map_or_else(default_folder, Ok)?;
            let path = folder.join(format!("{}.run", recording.name()));
            let place = (path.as_path(), self.args.checkpoints.interval()?);
            serial::to_value(&run_or_resume::<E>(&self.engine, &split, config, place)?)
        };
        let mut report = match (&self.given, known) {
            (Some(given), _) => {
                let mut rounded = given.clone();
                round(&mut rounded);
                if !same(&rounded) {
                    return Ok(None);
                }
                given.clone()
            }
            (None, Some(known)) if !self.args.force => {
                if same(&known) {
                    return Ok(None);
                }
                let lacks = |list| {
                    let missing = missing(&known["config"][list], &expected["config"][list])?;
                    let mut all = known.clone();
                    all["config"][list] = expected["config"][list].clone();
                    same(&all).then_some((list, missing, all))
                };
                match ["seeds", "sizes"].into_iter().find_map(lacks) {
                    Some((list, missing, mut all)) => {
                        let mut config = serial::to_value(&config)?;
                        config[list] = missing;
                        let mut further = compute(serial::read(config)?)?;
                        self.take_pictures(recording, &mut further, false)?;
                        add_networks(&mut all, &mut further);
                        all["record"] = self.how(recording);
                        all
                    }
                    None => compute(config)?,
                }
            }
            _ => compute(config)?,
        };
        // A report that was recorded before already says how.
        if report.get("record").is_none() {
            report["record"] = self.how(recording);
        }
        Ok(Some(report))
    }

    /// Moves the pictures of a report into sheets, in place of those there or beside them.
    fn take_pictures(
        &self,
        recording: &Recording,
        report: &mut Value,
        replace: bool,
    ) -> Result<()> {
        keep_first_pictures(report);
        let pictures = sheets::take(report, &recording.name())?;
        if replace {
            sheets::remove(&self.args.folder, &recording.name())?;
        }
        sheets::write(&self.args.folder, &recording.name(), &pictures)
    }

    /// Measures the edge of memorization, which takes a second, unless it is already recorded.
    fn edge(&self, recording: &Recording) -> Result<Option<Value>> {
        let known = self.args.folder.join(recording.file()).exists();
        if self.given.is_some() || (known && !self.args.force) {
            return Ok(None);
        }
        let source = Source::new(recording.data, SEED);
        let (_, mut report) = measure_edge(recording.preset, &source, &self.engine)?;
        report["record"] = self.how(recording);
        Ok(Some(report))
    }

    /// How a run is recorded.
    fn how(&self, recording: &Recording) -> Value {
        json!({
            "command": format!("cargo run --release -- record --force --only {}", recording.name()),
            "date": Timestamp::now().strftime("%Y-%m-%d").to_string(),
            "device": self.device,
            "commit": self.commit,
        })
    }
}

/// Lists the runs in `folder`, and how they were made.
fn index(folder: &Path) -> Vec<Value> {
    let entry = |recording: &Recording| {
        let Recording { experiment, preset, data, title, .. } = recording;
        let text = fs::read(folder.join(recording.file())).ok()?;
        let report: Value = serde_json::from_slice(&text).ok()?;
        Some(json!({
            "file": recording.file(), "experiment": experiment, "preset": preset, "data": data,
            "title": title, "bytes": text.len() as u64 + sheets::bytes(folder, &report), "seconds": report["seconds"],
            "engine": report["engine"], "version": report["version"], "seeds": report["config"]["seeds"],
            "record": report["record"],
        }))
    };
    RECORDINGS.iter().filter_map(entry).collect()
}

/// Reads a report that was computed before.
fn read_report(path: &Path) -> Result<Value> {
    let text = fs::read(path).map_err(|error| file_error(path, &error))?;
    let report = serde_json::from_slice(&text).map_err(|error| file_error(path, &error))?;
    check_format(&report)?;
    Ok(report)
}

fn write_index(folder: &Path) -> Result<Vec<Value>> {
    let list = index(folder);
    write(&folder.join("index.json"), &format!("{}\n", json(&list)?))?;
    Ok(list)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| file_error(path, &error))
}

/// The values that are not recorded yet, if the recorded ones are among those that are expected.
fn missing(recorded: &Value, expected: &Value) -> Option<Value> {
    let (recorded, expected) = (recorded.as_array()?, expected.as_array()?);
    let known = recorded.iter().all(|value| expected.contains(value));
    let missing: Vec<_> = expected.iter().filter(|v| !recorded.contains(v)).cloned().collect();
    (known && !missing.is_empty()).then_some(Value::Array(missing))
}

/// Adds what networks from further seeds or on further training sets found to a recorded report. Networks do not
/// depend on each other, so this is what all of them would have found together.
fn add_networks(report: &mut Value, further: &mut Value) {
    let seeds = report["config"]["seeds"].clone();
    let place = |seed: &Value| seeds.as_array().and_then(|all| all.iter().position(|s| s == seed));
    for (all, new) in findings(report).into_iter().zip(findings(further)) {
        all.append(new);
        // The order of a run of all networks. The steps of a network are in order already.
        all.sort_by_key(|point| {
            let width = point["architecture"]["width"].as_u64();
            (width, point["n"].as_u64(), place(&point["seed"]))
        });
    }
    if let (Some(all), Some(new)) =
        (report["sheets"].as_array_mut(), further["sheets"].as_array_mut())
    {
        all.append(new);
        all.sort_by_key(|file| file.as_str().map(str::to_owned));
    }
    let seconds = [&report["seconds"], &further["seconds"]].map(|v| v.as_f64().unwrap_or(0.0));
    report["seconds"] = json!(seconds[0] + seconds[1]);
    report["version"] = further["version"].clone();
}

/// Whether a recorded value equals the expected one. A field that was added later has its former value
/// there.
fn agrees(known: &Value, expected: &Value) -> bool {
    match (known, expected) {
        (Value::Object(known), Value::Object(expected)) => known
            .iter()
            .all(|(key, value)| expected.get(key).is_some_and(|other| agrees(value, other))),
        _ => known == expected,
    }
}

/// Rounds every number that is not an integer to 5 significant digits.
fn round(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(round),
        Value::Object(map) => map.values_mut().for_each(round),
        Value::Number(number) if number.is_f64() => {
            let rounded = number.as_f64().and_then(|v| format!("{v:.4e}").parse::<f64>().ok());
            *value = rounded.into();
        }
        _ => {}
    }
}

/// The device on which a run is recorded.
fn device(engine: &Engine) -> String {
    match engine.adapter() {
        Some(adapter) => adapter,
        None => {
            let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
            let model =
                about.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
            let model = model.map_or(env::consts::ARCH, |(_, name)| name);
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            format!("{model}, {threads} threads")
        }
    }
}

/// The commit that this program was built from, if this is its repository: the last one before it was built,
/// marked if the source had changed since.
fn commit() -> Option<String> {
    let git = |args: &[&str]| {
        let output = process::Command::new("git").args(args).output().ok()?;
        let text = output.status.success().then_some(output.stdout)?;
        Some(String::from_utf8(text).ok()?.trim().to_owned())
    };
    let modified = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    let built = modified(&env::current_exe().ok()?)?;
    let seconds = built.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    let before = format!("--before={seconds}");
    let commit = git(&["rev-list", "-1", "--abbrev-commit", "--abbrev=10", &before, "HEAD"])?;
    let others = git(&["diff", "--name-only", "--relative", &commit, "--", "src", "shaders"])?;
    // A file that was changed after the build is not in the program.
    let changed = others.lines().filter_map(|path| modified(Path::new(path))).any(|at| at <= built);
    Some(if changed { format!("{commit} and changes") } else { commit })
}
