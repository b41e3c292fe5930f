//! An experiment that runs; its report: what was found, with all that is needed to find it again;
//! and how it is saved.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use web_time::Instant;

use super::portrait::Look;
use super::{Detail, Experiment, Progress};
use crate::compute::Engine;
use crate::data::{Recipe, Shape, Split};
use crate::error::{Error, Result};
use crate::train::{Checkpoint, Session};

/// What an experiment found.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report<C, F> {
    /// Which experiment.
    pub experiment: &'static str,
    /// Version of this crate.
    pub version: &'static str,
    /// `"cpu"` or `"gpu"`.
    pub engine: &'static str,
    /// Name of the GPU, if it was one.
    pub adapter: Option<String>,
    /// Shape of an image.
    pub shape: Shape,
    /// The images.
    pub data: Recipe,
    /// How long it ran so far.
    pub seconds: f64,
    /// Whether it was looked at in full.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// The noise levels over which lists run.
    pub sigmas: Vec<f32>,
    /// The configuration.
    pub config: C,
    /// The outcome.
    pub findings: F,
}

/// An experiment on its engine and its images.
#[derive(Debug)]
pub struct Run<E> {
    pub(super) experiment: E,
    pub(super) stage: Stage,
}

/// Where an experiment runs, and for how long it has.
#[derive(Debug)]
pub(super) struct Stage {
    engine: Engine,
    shape: Shape,
    data: Recipe,
    seconds: f64,
}

impl<E: Experiment> Run<E> {
    /// Makes everything ready.
    pub async fn start(engine: &Engine, split: &Split, config: E::Config) -> Result<Self> {
        let mut stage = Stage::new(engine, split);
        let start = Instant::now();
        let experiment = E::new(engine, split, config).await?;
        stage.spend(start);
        Ok(Self { experiment, stage })
    }

    /// Goes on for about `slice`.
    pub async fn advance(&mut self, slice: Duration) -> Result<Progress> {
        let start = Instant::now();
        let progress = self.experiment.advance(slice).await;
        self.stage.spend(start);
        progress
    }

    /// What there is to see now.
    pub async fn report(&mut self, detail: Detail) -> Result<Report<E::Config, E::Findings>> {
        let start = Instant::now();
        let findings = self.experiment.findings(detail).await?;
        self.stage.spend(start);
        let config = self.experiment.config().clone();
        let look = E::look(&config).clone();
        Ok(self.stage.report(E::NAME, detail, &look, config, findings))
    }

    /// Training steps done, and in all, of all ensembles.
    pub fn steps(&mut self) -> [u32; 2] {
        let sessions = self.experiment.sessions();
        let steps = sessions.iter().map(|s| [s.steps_done(), s.config().steps]);
        steps.fold([0, 0], |sum, steps| [0, 1].map(|i: usize| sum[i].saturating_add(steps[i])))
    }

    /// The networks as they are now: a safetensors file for each ensemble.
    pub async fn weights(&mut self) -> Result<Vec<Vec<u8>>> {
        self.stage.weights(self.experiment.sessions()).await
    }

    /// Everything that is needed to go on from here.
    pub async fn snapshot(&mut self) -> Result<Vec<u8>> {
        let files = self.weights().await?;
        let config = to_json(self.experiment.config())?;
        self.stage.pack(E::NAME, &config, &self.experiment.memory()?, &files)
    }

    /// Goes back, or on, to a [`snapshot`](Self::snapshot) of the same experiment with the same
    /// configuration and images, on whichever engine. If it fails, all stays what it was.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        let config = to_json(self.experiment.config())?;
        let (header, checkpoints) = check(bytes, E::NAME, &config, &self.experiment.sessions())?;
        // All that the files say has been checked, but for this: it changes nothing if it fails.
        self.experiment.recall(&header.memory)?;
        for (session, checkpoint) in self.experiment.sessions().into_iter().zip(&checkpoints) {
            session.restore(checkpoint)?;
        }
        self.stage.seconds = header.seconds;
        Ok(())
    }
}

// Apart from `Run`, so that it is compiled once and not once for each experiment.
impl Stage {
    fn new(engine: &Engine, split: &Split) -> Self {
        let (engine, data) = (engine.clone(), split.recipe().clone());
        Self { engine, shape: split.shape(), data, seconds: 0.0 }
    }

    /// Counts the time since `start`.
    pub(super) fn spend(&mut self, start: Instant) {
        self.seconds += start.elapsed().as_secs_f64();
    }

    pub(super) fn report<C, F>(
        &self,
        experiment: &'static str,
        detail: Detail,
        look: &Look,
        config: C,
        findings: F,
    ) -> Report<C, F> {
        Report {
            experiment,
            version: env!("CARGO_PKG_VERSION"),
            engine: self.engine.name(),
            adapter: match &self.engine {
                Engine::Cpu => None,
                Engine::Gpu(gpu) => Some(gpu.adapter()),
            },
            shape: self.shape,
            data: self.data.clone(),
            seconds: self.seconds,
            is_final: detail == Detail::Full,
            sigmas: match detail {
                Detail::Glance => look.glance().sigmas,
                Detail::Full => look.sigmas.clone(),
            },
            config,
            findings,
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

    fn pack(
        &self,
        experiment: &str,
        config: &str,
        memory: &str,
        files: &[Vec<u8>],
    ) -> Result<Vec<u8>> {
        let header = to_json(&json!({
            "experiment": experiment,
            "config": config,
            "seconds": self.seconds,
            "memory": memory,
            "files": files.iter().map(Vec::len).collect::<Vec<_>>(),
        }))?;
        let length = (header.len() as u64).to_le_bytes();
        let parts = [&MAGIC[..], &[0; 8], &length, header.as_bytes()];
        // Some ten megabytes: put together once.
        let parts: Vec<&[u8]> = parts.into_iter().chain(files.iter().map(Vec::as_slice)).collect();
        let mut bytes = parts.concat();
        let (head, content) = bytes.split_at_mut(MAGIC.len() + 8);
        head[MAGIC.len()..].copy_from_slice(&checksum(content).to_le_bytes());
        Ok(bytes)
    }
}

/// What is in a saved run, if it is one of this experiment, with this configuration and for these
/// ensembles.
fn check(
    bytes: &[u8],
    experiment: &str,
    config: &str,
    sessions: &[&mut Session],
) -> Result<(Header, Vec<Checkpoint>)> {
    let (header, files) = unpack(bytes)?;
    let hint = "Start the run that was saved, then restore it";
    if header.experiment != experiment {
        let message = format!("The saved run is of the experiment “{}”", header.experiment);
        return Err(Error::bad_input(message, hint));
    }
    if header.config != config {
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

/// What a saved run was begun with: enough to begin it again, and restore it.
#[derive(Debug)]
pub struct Saved {
    /// Which experiment.
    pub experiment: String,
    /// The configuration, as JSON.
    pub config: String,
    /// The images.
    pub data: Recipe,
}

impl Saved {
    /// Of a [`Run::snapshot`].
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let (Header { experiment, config, .. }, files) = unpack(bytes)?;
        let first = Checkpoint::from_bytes(files.first().ok_or_else(damaged)?)?;
        Ok(Self { experiment, config, data: first.recipe.ok_or_else(damaged)? })
    }
}

/// How a saved run begins. Then come a checksum of the rest, the length of the header, the header
/// as JSON, and a safetensors file for each ensemble.
const MAGIC: &[u8; 8] = b"HGRUN\0\0\x01";

/// What the header says.
struct Header {
    experiment: String,
    /// As JSON.
    config: String,
    seconds: f64,
    /// See [`Experiment::memory`].
    memory: String,
}

fn unpack(bytes: &[u8]) -> Result<(Header, Vec<&[u8]>)> {
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| {
        Error::bad_input(
            "This is no saved run, or one of another version",
            "Choose a run that this version has saved",
        )
    })?;
    let split = || {
        let (sum, content) = rest.split_first_chunk::<8>()?;
        let (length, rest) = content.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (header, mut rest) = rest.split_at_checked(length)?;
        if u64::from_le_bytes(*sum) != checksum(content) {
            return None;
        }
        let header: Value = serde_json::from_str(str::from_utf8(header).ok()?).ok()?;
        let mut files = Vec::new();
        for length in header.get("files")?.as_array()? {
            let (file, after) = rest.split_at_checked(length.as_u64()? as usize)?;
            files.push(file);
            rest = after;
        }
        let text = |name| Some(header.get(name)?.as_str()?.to_owned());
        let seconds = header.get("seconds")?.as_f64()?;
        let (experiment, config) = (text("experiment")?, text("config")?);
        let header = Header { experiment, config, seconds, memory: text("memory")? };
        rest.is_empty().then_some((header, files))
    };
    split().ok_or_else(damaged)
}

fn damaged() -> Error {
    Error::bad_input("The saved run is damaged", "Start the experiment anew")
}

/// Tells damaged bytes from whole ones: like FNV-1a, but over words, which is eight times as fast.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let rest = rest.iter().map(|&byte| u64::from(byte));
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(29);
    words.chain(rest).fold(0xcbf2_9ce4_8422_2325, mix)
}

pub(super) fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| Error::bad_input(format!("There is no JSON of this: {error}"), ""))
}
