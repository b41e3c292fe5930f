//! Runs an experiment to its end: a progress bar, then a table and a report.

use std::fs;
use std::path::Path;
use std::time::Duration;

use hidden_gaussian::compute::Engine;
use hidden_gaussian::data::Split;
use hidden_gaussian::experiment::run::{Report, Run, SavedRun, check_format};
use hidden_gaussian::experiment::{Detail, Experiment, Progress};
use hidden_gaussian::{Error, ErrorKind, Result, serial};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use pollster::block_on;

use super::checkpoint::Checkpoint;
use super::stop::was_stopped;
use super::table::Tabulate;
use super::{RunArgs, data, file_error, json};

/// How long the experiment runs between updates of the progress bar.
pub(super) const SLICE: Duration = Duration::from_millis(150);

/// Runs an experiment with the options of the command line.
pub(super) fn command<E>(args: &RunArgs) -> Result<bool>
where
    E: Experiment<Findings: Tabulate>,
{
    let source = &args.common.source;
    let preset = args.preset.into();
    let saved = match &args.resume {
        Some(path) => Some(fs::read(path).map_err(|error| file_error(path, &error))?),
        None => None,
    };
    let (config, split) = match &saved {
        Some(bytes) => again::<E>(bytes, source.named())?,
        None => {
            // The number of images to draw depends on the configuration, which depends on their shape.
            let shape = source.dataset(preset, 1)?.shape();
            let config = match &args.config {
                Some(path) => read_config::<E>(path)?,
                None => E::preset(preset, shape, source.seed),
            };
            let split = source.split(&source.dataset(preset, E::images(&config))?)?;
            (config, split)
        }
    };
    if args.show_config {
        println!("{}", json(&config)?);
        return Ok(true);
    }
    let engine = args.common.engine.open()?;
    let interval = args.checkpoints.interval()?;
    let mut checkpoint = match &args.resume {
        Some(path) => Checkpoint::resumed(path, interval),
        None => Checkpoint::new(Path::new(&format!("{}.run", E::NAME)), interval),
    };
    let outcome = run::<E>(&engine, &split, config, saved.as_deref(), Some(&mut checkpoint))?;
    let report = match outcome {
        Outcome::Done(report) => report,
        Outcome::Stopped(steps) => {
            let out = args.out.as_ref().map(|out| format!(" --out {}", out.display()));
            let rest = args.common.again() + &out.unwrap_or_default();
            return Err(stopped(steps, checkpoint.path(), E::NAME, &rest));
        }
    };
    let text = json(&report)?;
    if let Some(path) = &args.out {
        fs::write(path, &text).map_err(|error| file_error(path, &error))?;
    }
    checkpoint.remove();
    if args.json {
        println!("{text}");
    } else {
        print!("{}", report.findings.table(E::evaluation(&report.config))?);
    }
    Ok(true)
}

/// Reads the configuration and the images of a saved run.
fn again<E: Experiment>(bytes: &[u8], data: Option<&str>) -> Result<(E::Config, Split)> {
    let SavedRun { experiment, config, data: recipe } = SavedRun::read(bytes)?;
    if experiment != E::NAME {
        return Err(Error::bad_input(
            format!("The file is a saved run of {experiment}"),
            format!("Resume it with: hidden-gaussian {experiment} --resume"),
        ));
    }
    let config = serial::read(config).map_err(|error| {
        let message = format!("The configuration of the saved run is not valid: {}", error.message);
        Error::bad_input(message, "Start the experiment again")
    })?;
    Ok((config, data::again(&recipe, data)?))
}

/// The error after the user stopped `command` and its state was saved.
pub(super) fn stopped([step, total]: [u32; 2], path: &Path, command: &str, rest: &str) -> Error {
    let path = path.display();
    Error::new(
        ErrorKind::Cancelled,
        format!("Stopped at step {step} of {total}, saved in {path}"),
        format!("Resume with: hidden-gaussian {command} --resume {path}{rest}"),
    )
}

/// Reads a configuration from a file that holds it alone or in a report.
fn read_config<E: Experiment>(path: &Path) -> Result<E::Config> {
    let text = fs::read_to_string(path).map_err(|error| file_error(path, &error))?;
    let mut value: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| file_error(path, &error))?;
    if value.get("config").is_some() {
        check_format(&value)?;
        value = value["config"].take();
    }
    serial::read(value).map_err(|error| file_error(path, &error.message))
}

/// How an experiment ended.
pub(super) enum Outcome<E: Experiment> {
    Done(Report<E::Config, E::Findings>),
    /// The user pressed Ctrl-C after this many steps of the total.
    Stopped([u32; 2]),
}

/// Runs an experiment, from `saved` on if it was stopped before, until it ends or the user presses
/// Ctrl-C. It is saved at intervals, and when it is stopped.
pub(super) fn run<E: Experiment>(
    engine: &Engine,
    split: &Split,
    config: E::Config,
    saved: Option<&[u8]>,
    mut checkpoint: Option<&mut Checkpoint>,
) -> Result<Outcome<E>> {
    block_on(async {
        let mut run = Run::<E>::start(engine, split, config).await?;
        if let Some(saved) = saved {
            run.restore(saved).map_err(|error| {
                let path = checkpoint.as_ref().map(|one| one.path().display().to_string());
                let message = format!("{}: {}", path.unwrap_or_default(), error.message);
                Error::new(error.kind.clone(), message, "Move the file away to start again")
            })?;
        }
        let bar = Bar::new(E::NAME, engine);
        if let (Some(_), Some(checkpoint)) = (saved, &checkpoint) {
            let [step, total] = run.steps();
            eprintln!("Resuming from {}: step {step} of {total}", checkpoint.path().display());
        }
        let report = async {
            loop {
                let Progress { step, total, seconds_left, .. } = run.advance(SLICE).await?;
                bar.show(step, total, seconds_left);
                if let Some(due) = checkpoint.as_deref_mut().filter(|one| one.is_due()) {
                    due.save(&mut run).await?;
                }
                if step >= total {
                    break;
                }
            }
            bar.say("measuring");
            run.report(Detail::Full).await
        };
        let report = report.await;
        bar.clear();
        if was_stopped(&report) {
            if let Some(checkpoint) = checkpoint {
                checkpoint.save(&mut run).await?;
            }
            return Ok(Outcome::Stopped(run.steps()));
        }
        Ok(Outcome::Done(report?))
    })
}

/// Runs an experiment to its end, resuming it if it is saved at `path`, and saves it there at intervals.
/// The file is removed when the report is complete.
pub(super) fn run_or_resume<E: Experiment>(
    engine: &Engine,
    split: &Split,
    config: E::Config,
    (path, interval): (&Path, Duration),
) -> Result<Report<E::Config, E::Findings>> {
    let (mut checkpoint, saved) = Checkpoint::open(path, interval)?;
    match run::<E>(engine, split, config, saved.as_deref(), Some(&mut checkpoint))? {
        Outcome::Done(report) => {
            checkpoint.remove();
            Ok(report)
        }
        Outcome::Stopped([step, total]) => Err(Error::new(
            ErrorKind::Cancelled,
            format!(
                "Stopped in {}, at step {step} of {total}, saved in {}",
                E::NAME,
                path.display()
            ),
            "Run the same command again to resume",
        )),
    }
}

/// Runs an experiment to its end; Ctrl-C saves nothing.
pub(super) fn run_to_end<E: Experiment>(
    engine: &Engine,
    split: &Split,
    config: E::Config,
) -> Result<Report<E::Config, E::Findings>> {
    match run::<E>(engine, split, config, None, None)? {
        Outcome::Done(report) => Ok(report),
        Outcome::Stopped([step, total]) => Err(Error::new(
            ErrorKind::Cancelled,
            format!("Stopped in {}, at step {step} of {total}", E::NAME),
            "",
        )),
    }
}

/// The progress bar.
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new(name: &str, engine: &Engine) -> Self {
        let template = "{prefix} {wide_bar} {pos}/{len} steps  {msg}";
        let style = ProgressStyle::with_template(template);
        let bar = ProgressBar::new(1).with_prefix(format!("{name} ({})", engine.name()));
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        if bar.is_hidden() {
            eprintln!("Running {name} on the {}; press Ctrl-C to stop", engine.name());
        }
        Self(bar)
    }

    pub(super) fn show(&self, step: u32, total: u32, seconds_left: Option<f64>) {
        self.0.set_length(u64::from(total));
        self.0.set_position(u64::from(step));
        if let Some(left) = seconds_left.filter(|left| left.is_finite()) {
            let left = HumanDuration(Duration::from_secs_f64(left));
            self.0.set_message(format!("{left:#} left"));
        }
    }

    pub(super) fn say(&self, message: &'static str) {
        self.0.set_message(message);
    }

    pub(super) fn clear(&self) {
        self.0.finish_and_clear();
    }
}
