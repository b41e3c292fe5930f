//! Records the runs that come with the page: reports as live runs make them, with how they were made.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use clap::Args;
use hidden_gaussian::compute::Engine;
use hidden_gaussian::denoiser::DenoiserId;
use hidden_gaussian::experiment::run::FORMAT;
use hidden_gaussian::experiment::{
    Experiment, Preset, emergence::Emergence, gaussian_bias::GaussianBias,
    strong_generalization::StrongGeneralization, transition::Transition,
};
use hidden_gaussian::{Error, Result, serial};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::data::Source;
use super::run_to_end::run_to_end;
use super::sweep::swept;
use super::{EngineName, file_error, json};

/// What to record.
#[derive(Debug, Args)]
pub(super) struct Record {
    /// Only this run, such as transition-main-faces
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Record again what is recorded already, with the same configuration
    #[arg(long)]
    force: bool,
    /// Record the run that this plan of a sweep has computed, instead of computing it here
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Where to
    #[arg(long, value_name = "FOLDER", default_value = "www/public/runs")]
    folder: PathBuf,
    /// Where to compute
    #[arg(long, value_enum, default_value = "auto")]
    engine: EngineName,
    /// Print the list of recorded runs as JSON
    #[arg(long)]
    json: bool,
}

/// Bytes that all runs may have together.
const MOST_BYTES: u64 = 8_000_000;

/// Seed of every run; a transition has two more.
const SEED: u64 = 1;

/// A run that comes with the page.
struct Recording {
    experiment: &'static str,
    preset: Preset,
    data: &'static str,
    title: &'static str,
    run: fn(&Self, &Session<'_>) -> Result<Option<Value>>,
}

const fn transition(preset: Preset, data: &'static str, title: &'static str) -> Recording {
    let run = |this: &Recording, session: &Session<'_>| {
        let report = session.run::<Transition>(this, |config| {
            // A network on photographs takes as long as a hundred on faces, and its images as much room
            // as twelve.
            let (seeds, shown) = if this.preset == Preset::Cifar { (1, 8) } else { (3, 12) };
            config.seeds = (SEED..SEED + seeds).collect();
            config.evaluation.shown = shown;
        })?;
        Ok(report.map(|mut report| {
            // Figures draw the numbers of all seeds, and the images of the first.
            let points = report["findings"].as_array_mut().into_iter().flatten();
            for point in points.filter(|point| point["seed"] != SEED) {
                leave_out(point, &["samples", "nearest"]);
            }
            report
        }))
    };
    Recording { experiment: Transition::NAME, preset, data, title, run }
}

const fn emergence(preset: Preset, data: &'static str, title: &'static str) -> Recording {
    let run = |this: &Recording, session: &Session<'_>| {
        let report = session.run::<Emergence>(this, |_| ())?;
        Ok(report.map(|mut report| {
            // Many networks at many checkpoints: of the lists over noise levels, Figure 3 draws only
            // the linearity of the networks.
            let lists = report["findings"].as_object_mut().into_iter().flatten();
            for point in lists.filter_map(|(_, list)| list.as_array_mut()).flatten() {
                leave_out(point, &["error"]);
                let denoisers = point["denoisers"].as_object_mut().into_iter().flatten();
                for (id, measures) in denoisers.filter_map(|(id, m)| Some((id, m.as_object_mut()?)))
                {
                    if id == DenoiserId::TRAINED.name() {
                        let against = measures["against"].as_object_mut().into_iter().flatten();
                        for (_, comparison) in against {
                            comparison.as_object_mut().map(|c| c.remove("difference"));
                        }
                    } else {
                        measures.remove("linearity");
                        measures.remove("against");
                    }
                }
            }
            report
        }))
    };
    Recording { experiment: Emergence::NAME, preset, data, title, run }
}

/// Removes fields from the measures of every denoiser.
fn leave_out(point: &mut Value, fields: &[&str]) {
    let denoisers = point["denoisers"].as_object_mut().into_iter().flatten();
    for measures in denoisers.filter_map(|(_, measures)| measures.as_object_mut()) {
        measures.retain(|name, _| !fields.contains(&name.as_str()));
    }
}

const fn plain<E: Experiment>(
    preset: Preset,
    data: &'static str,
    title: &'static str,
) -> Recording {
    let run = |this: &Recording, session: &Session<'_>| session.run::<E>(this, |_| ());
    Recording { experiment: E::NAME, preset, data, title, run }
}

/// All of them, short ones first.
static RECORDINGS: [Recording; 14] = [
    transition(Preset::Quick, "faces", "Figure 1: a small MLP on faces, three seeds"),
    plain::<GaussianBias>(Preset::Main, "faces", "Figure 2: an MLP on faces"),
    plain::<StrongGeneralization>(Preset::Main, "faces", "Disjoint halves: an MLP on faces"),
    emergence(Preset::Main, "faces", "Figure 3: MLPs on faces over width and time"),
    transition(Preset::Main, "faces", "Figure 1: an MLP on faces, three seeds"),
    transition(Preset::Main, "patches", "Figure 1: an MLP on photographs' patches, three seeds"),
    transition(Preset::Main, "fashion", "Figure 1: an MLP on Fashion-MNIST, three seeds"),
    transition(Preset::Main, "mnist", "Figure 1: an MLP on MNIST, three seeds"),
    plain::<GaussianBias>(Preset::Faithful, "faces", "Figure 2: a U-Net on faces"),
    transition(Preset::Faithful, "faces", "Figure 1: a U-Net on faces, three seeds"),
    transition(Preset::Cifar, "cifar10", "Figure 1: a U-Net on CIFAR-10"),
    plain::<GaussianBias>(Preset::Cifar, "cifar10", "Figure 2: a U-Net on CIFAR-10"),
    plain::<StrongGeneralization>(Preset::Cifar, "cifar10", "Disjoint halves: a U-Net on CIFAR-10"),
    emergence(Preset::Cifar, "cifar10", "Figure 3: U-Nets on CIFAR-10 over width and time"),
];

impl Recording {
    fn name(&self) -> String {
        format!("{}-{}-{}", self.experiment, self.preset.name(), self.data)
    }

    fn file(&self) -> String {
        format!("{}.json", self.name())
    }
}

/// Where, and with what, it is recorded.
struct Session<'a> {
    args: &'a Record,
    engine: Engine,
    device: String,
    commit: Option<String>,
    /// What a sweep has computed, if it comes from there.
    swept: Option<Value>,
}

pub(super) fn command(args: &Record) -> Result<bool> {
    let chosen = |recording: &&Recording| args.only.as_ref().is_none_or(|o| *o == recording.name());
    if !RECORDINGS.iter().any(|recording| chosen(&recording)) {
        let names: Vec<String> = RECORDINGS.iter().map(Recording::name).collect();
        return Err(Error::bad_input(
            "There is no such run",
            format!("Choose one of {}", names.join(", ")),
        ));
    }
    fs::create_dir_all(&args.folder).map_err(|error| file_error(&args.folder, &error))?;
    let engine = args.engine.open()?;
    let swept = args.plan.as_deref().map(swept).transpose()?;
    let device = if swept.is_some() { "a cluster".into() } else { device(&engine) };
    let session = Session { args, engine, device, commit: commit(), swept };
    let mut written = 0;
    for recording in RECORDINGS.iter().filter(chosen) {
        let path = args.folder.join(recording.file());
        let Some(mut report) = (recording.run)(recording, &session)? else {
            if session.swept.is_none() {
                eprintln!("{} is up to date", path.display());
            }
            continue;
        };
        round(&mut report);
        write(&path, &report.to_string())?;
        written += 1;
        eprintln!("{} is written", path.display());
        write_index(&args.folder)?;
    }
    if session.swept.is_some() && written == 0 {
        return Err(Error::bad_input(
            "None of these runs has the configuration and the images of the sweep",
            "Say which one with --only, and plan a sweep of its preset with three seeds",
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
        let hint = "Show fewer samples or look at fewer noise levels";
        return Err(Error::limit("All recorded runs", total, MOST_BYTES, hint));
    }
    Ok(true)
}

impl Session<'_> {
    /// Runs an experiment, with `change` made to its preset, unless there is a file of the same
    /// format, images and configuration. If a sweep did that already, nothing else will do.
    fn run<E: Experiment>(
        &self,
        recording: &Recording,
        change: impl FnOnce(&mut E::Config),
    ) -> Result<Option<Value>> {
        let source = Source::new(recording.data, SEED);
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
            expected.as_object().into_iter().flatten().all(|(key, value)| known[key] == *value)
        };
        let mut report = match &self.swept {
            Some(swept) => {
                let mut rounded = swept.clone();
                round(&mut rounded);
                if !same(&rounded) {
                    return Ok(None);
                }
                swept.clone()
            }
            None if !self.args.force && known.as_ref().is_some_and(same) => return Ok(None),
            None => serial::to_value(&run_to_end::<E>(&self.engine, &split, config)?)?,
        };
        report["record"] = json!({
            "command": format!("cargo run --release -- record --force --only {}", recording.name()),
            "date": Timestamp::now().strftime("%Y-%m-%d").to_string(),
            "device": self.device,
            "commit": self.commit,
        });
        Ok(Some(report))
    }
}

/// The runs in `folder`: which they are, and how they were made.
fn index(folder: &Path) -> Vec<Value> {
    let entry = |recording: &Recording| {
        let Recording { experiment, preset, data, title, .. } = recording;
        let text = fs::read(folder.join(recording.file())).ok()?;
        let report: Value = serde_json::from_slice(&text).ok()?;
        let seeds = match &report["config"]["seeds"] {
            Value::Null => json!([report["config"]["seed"]]),
            seeds => seeds.clone(),
        };
        Some(json!({
            "file": recording.file(), "experiment": experiment, "preset": preset, "data": data,
            "title": title, "bytes": text.len(), "seconds": report["seconds"],
            "engine": report["engine"], "version": report["version"], "seeds": seeds,
            "record": report["record"],
        }))
    };
    RECORDINGS.iter().filter_map(entry).collect()
}

fn write_index(folder: &Path) -> Result<Vec<Value>> {
    let list = index(folder);
    write(&folder.join("index.json"), &format!("{}\n", json(&list)?))?;
    Ok(list)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| file_error(path, &error))
}

/// Rounds every number that is not whole to 5 significant digits.
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

/// What it is recorded on.
fn device(engine: &Engine) -> String {
    match engine.adapter() {
        Some(adapter) => adapter,
        None => {
            let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
            let model =
                about.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
            let model = model.map_or(std::env::consts::ARCH, |(_, name)| name);
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            format!("{model}, {threads} threads")
        }
    }
}

/// The commit of the source, if this is a repository; marked where the source was changed since.
fn commit() -> Option<String> {
    let git = |args: &[&str]| {
        let output = process::Command::new("git").args(args).output().ok()?;
        let text = output.status.success().then_some(output.stdout)?;
        Some(String::from_utf8(text).ok()?.trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=10", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--", "src", "shaders", "Cargo.lock"])?;
    Some(if changed.is_empty() { commit } else { format!("{commit} and changes") })
}
