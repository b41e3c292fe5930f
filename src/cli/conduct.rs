//! Conducts an experiment: a bar while it runs, a table and a report when it is done.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hidden_gaussian::compute::Engine;
use hidden_gaussian::data::Split;
use hidden_gaussian::experiment::run::{Report, Run};
use hidden_gaussian::experiment::{Detail, Experiment, Progress};
use hidden_gaussian::{Error, ErrorKind, Result};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use pollster::block_on;

use super::table::Tabulate;
use super::{Asked, file_error, json};

/// How long the experiment runs between two looks at the keyboard.
pub(super) const SLICE: Duration = Duration::from_millis(150);

/// Runs an experiment as the command line asks for it.
pub(super) fn command<E>(run: &Asked) -> Result<bool>
where
    E: Experiment<Findings: Tabulate>,
{
    let source = &run.common.source;
    let preset = run.preset.into();
    // How many images to draw depends on the configuration, which depends on their shape.
    let shape = source.dataset(preset, 1)?.shape();
    let config = match &run.config {
        Some(path) => read_config::<E>(path)?,
        None => E::preset(preset, shape, source.seed),
    };
    if run.show_config {
        println!("{}", json(&config)?);
        return Ok(true);
    }
    let split = source.split(&source.dataset(preset, E::images(&config))?)?;
    let engine = run.common.engine.open()?;
    let report = conduct::<E>(&engine, &split, config)?;
    let text = json(&report)?;
    if let Some(path) = &run.out {
        fs::write(path, &text).map_err(|error| file_error(path, &error))?;
    }
    if run.json {
        println!("{text}");
    } else {
        print!("{}", report.findings.table(E::look(&report.config)));
    }
    Ok(true)
}

/// The configuration in a file: alone, or in a report.
fn read_config<E: Experiment>(path: &Path) -> Result<E::Config> {
    let text = fs::read_to_string(path).map_err(|error| file_error(path, &error))?;
    let read = |error: serde_json::Error| file_error(path, &error);
    let mut value: serde_json::Value = serde_json::from_str(&text).map_err(read)?;
    if let Some(config) = value.get_mut("config") {
        value = config.take();
    }
    serde_json::from_value(value).map_err(read)
}

/// Runs an experiment to its end, or until the reader presses Ctrl-C.
pub(super) fn conduct<E: Experiment>(
    engine: &Engine,
    split: &Split,
    config: E::Config,
) -> Result<Report<E::Config, E::Findings>> {
    let stopped = stop_signal()?;
    block_on(async {
        let mut run = Run::<E>::start(engine, split, config).await?;
        let bar = Bar::new(E::NAME, engine);
        loop {
            let Progress { step, total, seconds_left, .. } = run.advance(SLICE).await?;
            bar.show(step, total, seconds_left);
            if step >= total {
                break;
            }
            if stopped.load(Ordering::Relaxed) {
                bar.clear();
                return Err(Error::new(ErrorKind::Cancelled, "Stopped", ""));
            }
        }
        bar.say("measuring");
        let report = run.report(Detail::Full).await;
        bar.clear();
        report
    })
}

/// Becomes true when the reader presses Ctrl-C.
pub(super) fn stop_signal() -> Result<&'static AtomicBool> {
    static STOPPED: AtomicBool = AtomicBool::new(false);
    static HANDLER: OnceLock<Result<(), String>> = OnceLock::new();
    let set = || ctrlc::set_handler(|| STOPPED.store(true, Ordering::Relaxed));
    match HANDLER.get_or_init(|| set().map_err(|error| error.to_string())) {
        Ok(()) => Ok(&STOPPED),
        Err(error) => Err(Error::bad_input(format!("Ctrl-C can't be caught: {error}"), "")),
    }
}

/// How far it is, and how long it still takes.
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new(name: &str, engine: &Engine) -> Self {
        let template = "{prefix} {wide_bar} {pos}/{len} steps  {msg}";
        let style = ProgressStyle::with_template(template);
        let bar = ProgressBar::new(1).with_prefix(format!("{name} ({})", engine.name()));
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
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
