//! A running experiment; its report, which holds everything that is needed to repeat it; and how it
//! is saved.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::evaluation::EvalConfig;
use super::{Detail, Experiment, Progress, steps};
use crate::compute::Engine;
use crate::data::{Recipe, Split};
use crate::error::{Error, Result};
use crate::platform::Instant;
use crate::serial::{self, decimal, to_json};
use crate::shape::Shape;
use crate::train::{Checkpoint, Session};

/// The format of reports. Version 0.1 wrote reports without one.
pub const FORMAT: u32 = 2;

/// The result of an experiment.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report<C, F> {
    /// The format of the report, [`FORMAT`].
    pub format: u32,
    /// Name of the experiment.
    pub experiment: &'static str,
    /// Version of this crate.
    pub version: &'static str,
    /// The engine, `"cpu"` or `"gpu"`.
    pub engine: &'static str,
    /// Name of the GPU, if any.
    pub adapter: Option<String>,
    /// Shape of an image.
    pub shape: Shape,
    /// How to obtain the images.
    pub data: Recipe,
    /// How long the experiment has run so far.
    pub seconds: f64,
    /// Whether everything was measured, not only a preview.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// The noise levels over which lists run.
    #[serde(serialize_with = "decimal::serialize")]
    pub sigmas: Vec<f32>,
    /// The configuration of the experiment.
    pub config: C,
    /// The outcome.
    pub findings: F,
}

/// Refuses a report of another format.
pub fn check_format(report: &Value) -> Result<()> {
    if report.get("format").and_then(Value::as_u64) == Some(FORMAT.into()) {
        return Ok(());
    }
    let version = report.get("version").and_then(Value::as_str).unwrap_or("another version");
    Err(Error::bad_input(
        format!("This report was saved by {version}, and this is {}", env!("CARGO_PKG_VERSION")),
        "Open it with that version, or record it again",
    ))
}

/// An experiment on its engine and its images.
#[derive(Debug)]
pub struct Run<E> {
    experiment: E,
    context: RunContext,
}

/// Where an experiment runs, and how long it has run.
#[derive(Debug)]
struct RunContext {
    engine: Engine,
    shape: Shape,
    data: Recipe,
    seconds: f64,
}

impl<E: Experiment> Run<E> {
    /// Prepares the experiment.
    pub async fn start(engine: &Engine, split: &Split, config: E::Config) -> Result<Self> {
        let mut context = RunContext::new(engine, split);
        let start = Instant::now();
        let experiment = E::new(engine, split, config).await?;
        context.spend(start);
        Ok(Self { experiment, context })
    }

    /// Trains for about `slice`.
    pub async fn advance(&mut self, slice: Duration) -> Result<Progress> {
        let start = Instant::now();
        let progress = self.experiment.advance(slice).await;
        self.context.spend(start);
        progress
    }

    /// The findings so far.
    pub async fn report(&mut self, detail: Detail) -> Result<Report<E::Config, E::Findings>> {
        let start = Instant::now();
        let findings = self.experiment.findings(detail).await?;
        self.context.spend(start);
        let config = self.experiment.config().clone();
        let sigmas = self.context.sigmas(E::evaluation(&config), detail);
        let RunContext { engine, shape, data, seconds } = &self.context;
        Ok(Report {
            format: FORMAT,
            experiment: E::NAME,
            version: env!("CARGO_PKG_VERSION"),
            engine: engine.name(),
            adapter: engine.adapter(),
            shape: *shape,
            data: data.clone(),
            seconds: *seconds,
            is_final: detail == Detail::Full,
            sigmas,
            config,
            findings,
        })
    }

    /// Training steps done, and in total, over all ensembles.
    pub fn steps(&mut self) -> [u32; 2] {
        steps(&self.experiment.sessions())
    }

    /// The networks as they are now: one safetensors file per ensemble.
    pub async fn weights(&mut self) -> Result<Vec<Vec<u8>>> {
        self.context.weights(self.experiment.sessions()).await
    }

    /// Saves everything that is needed to resume from here.
    pub async fn snapshot(&mut self) -> Result<Vec<u8>> {
        let files = self.weights().await?;
        let header = Header {
            experiment: E::NAME.into(),
            config: serial::to_value(self.experiment.config())?,
            seconds: self.context.seconds,
            memory: self.experiment.memory()?,
            files: files.iter().map(Vec::len).collect(),
        };
        pack(&header, &files)
    }

    /// Restores a [`snapshot`](Self::snapshot) of the same experiment with the same configuration
    /// and images, made on either engine. If it fails, the run stays unchanged.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        let config = serial::to_value(self.experiment.config())?;
        let (header, checkpoints) = check(bytes, E::NAME, &config, &self.experiment.sessions())?;
        // Everything else has been checked; if this fails, nothing has changed.
        self.experiment.recall(header.memory)?;
        for (session, checkpoint) in self.experiment.sessions().into_iter().zip(&checkpoints) {
            session.restore(checkpoint)?;
        }
        self.context.seconds = header.seconds;
        Ok(())
    }
}

// Apart from `Run`, so that it is compiled only once instead of once per experiment.
impl RunContext {
    fn new(engine: &Engine, split: &Split) -> Self {
        let (engine, data) = (engine.clone(), split.recipe().clone());
        Self { engine, shape: split.shape(), data, seconds: 0.0 }
    }

    /// Adds the time since `start`.
    fn spend(&mut self, start: Instant) {
        self.seconds += start.elapsed().as_secs_f64();
    }

    fn sigmas(&self, evaluation: &EvalConfig, detail: Detail) -> Vec<f32> {
        match detail {
            Detail::Preview => evaluation.preview().sigmas,
            Detail::Full => evaluation.sigmas.clone(),
        }
    }

    async fn weights(&self, sessions: Vec<&mut Session>) -> Result<Vec<Vec<u8>>> {
        let mut files = Vec::new();
        for session in sessions {
            let mut checkpoint = session.snapshot().await?;
            checkpoint.recipe = Some(self.data.clone());
            files.push(checkpoint.to_bytes()?);
        }
        Ok(files)
    }
}

/// The first bytes of a saved run. Then follow a checksum of the rest, the length of the header, the
/// header as JSON, and one safetensors file per ensemble. The last byte is the format.
const MAGIC: &[u8; 8] = b"HGRUN\0\0\x02";

/// The header of a saved run.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    experiment: String,
    config: Value,
    seconds: f64,
    /// The measurements of [`Experiment::memory`].
    memory: Value,
    /// The length of each safetensors file.
    files: Vec<usize>,
}

fn pack(header: &Header, files: &[Vec<u8>]) -> Result<Vec<u8>> {
    let header = to_json(header)?;
    let length = (header.len() as u64).to_le_bytes();
    let parts = [&MAGIC[..], &[0; 8], &length, header.as_bytes()];
    // Some ten megabytes, so they are concatenated only once.
    let parts: Vec<&[u8]> = parts.into_iter().chain(files.iter().map(Vec::as_slice)).collect();
    let mut bytes = parts.concat();
    let (head, content) = bytes.split_at_mut(MAGIC.len() + 8);
    head[MAGIC.len()..].copy_from_slice(&checksum(content).to_le_bytes());
    Ok(bytes)
}

/// Returns the contents of a saved run, if it belongs to this experiment, this configuration and these
/// sessions.
fn check(
    bytes: &[u8],
    experiment: &str,
    config: &Value,
    sessions: &[&mut Session],
) -> Result<(Header, Vec<Checkpoint>)> {
    let (header, files) = unpack(bytes)?;
    let hint = "Start the experiment that was saved, then restore it";
    if header.experiment != experiment {
        let message = format!("The saved run is of the experiment “{}”", header.experiment);
        return Err(Error::bad_input(message, hint));
    }
    if header.config != *config {
        return Err(Error::bad_input("The saved run has another configuration", hint));
    }
    if files.len() != sessions.len() {
        return Err(damaged());
    }
    let mut checkpoints = Vec::new();
    for (session, file) in sessions.iter().zip(files) {
        let checkpoint = Checkpoint::from_bytes(file)?;
        session.check(&checkpoint)?;
        checkpoints.push(checkpoint);
    }
    Ok((header, checkpoints))
}

/// What a saved run was started with: enough to start it again and restore it.
#[derive(Debug)]
pub struct SavedRun {
    /// Name of the experiment.
    pub experiment: String,
    /// The configuration of the experiment.
    pub config: Value,
    /// How to obtain the images.
    pub data: Recipe,
}

impl SavedRun {
    /// Reads a [`Run::snapshot`].
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let (Header { experiment, config, .. }, files) = unpack(bytes)?;
        let first = Checkpoint::from_bytes(files.first().ok_or_else(damaged)?)?;
        Ok(Self { experiment, config, data: first.recipe.ok_or_else(damaged)? })
    }
}

fn unpack(bytes: &[u8]) -> Result<(Header, Vec<&[u8]>)> {
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| {
        if bytes.starts_with(b"HGRUN\0\0\x01") {
            return Error::bad_input(
                "This saved run was made by version 0.1",
                "Resume it with that version, or start the experiment again",
            );
        }
        Error::bad_input("This is not a saved run", "Choose a run that this version has saved")
    })?;
    let split = || {
        let (sum, content) = rest.split_first_chunk::<8>()?;
        let (length, rest) = content.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (header, mut rest) = rest.split_at_checked(length)?;
        if u64::from_le_bytes(*sum) != checksum(content) {
            return None;
        }
        let header: Header = serial::parse(str::from_utf8(header).ok()?).ok()?;
        let mut files = Vec::new();
        for &length in &header.files {
            let (file, after) = rest.split_at_checked(length)?;
            files.push(file);
            rest = after;
        }
        rest.is_empty().then_some((header, files))
    };
    split().ok_or_else(damaged)
}

fn damaged() -> Error {
    Error::bad_input("The saved run is damaged", "Start the experiment again")
}

/// A checksum that detects damage: like FNV-1a, but over words, which is eight times as fast.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let rest = rest.iter().map(|&byte| u64::from(byte));
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(29);
    words.chain(rest).fold(0xcbf2_9ce4_8422_2325, mix)
}
