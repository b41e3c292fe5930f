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
            // How many images to draw depends on the configuration, which depends on their shape.
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
    let report = match run::<E>(&engine, &split, config, saved.as_deref())? {
        Outcome::Done(report) => report,
        Outcome::Stopped { step, total, snapshot } => {
            let default = || format!("{}.run", E::NAME).into();
            let path = args.resume.clone().unwrap_or_else(default);
            fs::write(&path, snapshot).map_err(|error| file_error(&path, &error))?;
            let out = args.out.as_ref().map(|out| format!(" --out {}", out.display()));
            let rest = args.common.again() + &out.unwrap_or_default();
            return Err(stopped([step, total], &path, E::NAME, &rest));
        }
    };
    let text = json(&report)?;
    if let Some(path) = &args.out {
        fs::write(path, &text).map_err(|error| file_error(path, &error))?;
    }
    if args.json {
        println!("{text}");
    } else {
        print!("{}", report.findings.table(E::evaluation(&report.config))?);
    }
    Ok(true)
}

/// The configuration and the images of a saved run.
fn again<E: Experiment>(bytes: &[u8], data: Option<&str>) -> Result<(E::Config, Split)> {
    let SavedRun { experiment, config, data: recipe } = SavedRun::read(bytes)?;
    if experiment != E::NAME {
        return Err(Error::bad_input(
            format!("This is a saved run of {experiment}"),
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

/// The configuration in a file: alone, or in a report.
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
    /// By Ctrl-C.
    Stopped {
        step: u32,
        total: u32,
        snapshot: Vec<u8>,
    },
}

/// Runs an experiment, from `saved` on if it was stopped before, until it ends or the user presses
/// Ctrl-C.
pub(super) fn run<E: Experiment>(
    engine: &Engine,
    split: &Split,
    config: E::Config,
    saved: Option<&[u8]>,
) -> Result<Outcome<E>> {
    block_on(async {
        let mut run = Run::<E>::start(engine, split, config).await?;
        if let Some(saved) = saved {
            run.restore(saved)?;
        }
        let bar = Bar::new(E::NAME, engine);
        let report = async {
            loop {
                let Progress { step, total, seconds_left, .. } = run.advance(SLICE).await?;
                bar.show(step, total, seconds_left);
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
            let [step, total] = run.steps();
            return Ok(Outcome::Stopped { step, total, snapshot: run.snapshot().await? });
        }
        Ok(Outcome::Done(report?))
    })
}

/// Runs an experiment to its end; Ctrl-C saves nothing.
pub(super) fn run_to_end<E: Experiment>(
    engine: &Engine,
    split: &Split,
    config: E::Config,
) -> Result<Report<E::Config, E::Findings>> {
    match run::<E>(engine, split, config, None)? {
        Outcome::Done(report) => Ok(report),
        Outcome::Stopped { step, total, .. } => Err(Error::new(
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
            eprintln!("{name} on the {}; Ctrl-C stops it", engine.name());
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
