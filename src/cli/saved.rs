//! Saved networks: a `.safetensors` file, and the images that its networks were trained on.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::Args;
use hidden_gaussian::compute::Engine;
use hidden_gaussian::data::{Split, TrainingSets};
use hidden_gaussian::denoiser::{Distill, Linear};
use hidden_gaussian::experiment::ensemble::{Ensemble, Member};
use hidden_gaussian::experiment::evaluation::EvalConfig;
use hidden_gaussian::train::{Checkpoint, Session};
use hidden_gaussian::{Error, Result};

use super::{EngineName, data, file_error};

/// Arguments that name a saved run, and the engine.
#[derive(Debug, Args)]
pub(super) struct Saved {
    /// A file that `train` saved
    run: PathBuf,
    /// The images of the run, if their file has moved
    #[arg(long, value_name = "FILE")]
    data: Option<String>,
    /// Engine to compute on
    #[arg(long, value_enum, default_value = "auto")]
    engine: EngineName,
}

impl Saved {
    /// Reads the run.
    pub(super) fn open(&self) -> Result<(Engine, SavedNetworks)> {
        Ok((self.engine.open()?, SavedNetworks::read(&self.run, self.data.as_deref())?))
    }
}

/// Saved networks and their images.
#[derive(Debug)]
pub(super) struct SavedNetworks {
    pub(super) checkpoint: Checkpoint,
    pub(super) split: Split,
    pub(super) sets: TrainingSets,
}

impl SavedNetworks {
    /// Reads the file and reproduces its images; `data` is their path, if it has changed.
    pub(super) fn read(path: &Path, data: Option<&str>) -> Result<Self> {
        let bytes = fs::read(path).map_err(|error| file_error(path, &error))?;
        let checkpoint = Checkpoint::from_bytes(&bytes)?;
        let recipe = checkpoint.recipe.as_ref().ok_or_else(|| {
            let message = format!("{} does not say which images it was trained on", path.display());
            Error::bad_input(message, "Choose a run that `train` has saved")
        })?;
        let split = data::again(recipe, data)?;
        let end = checkpoint.ranges.iter().map(|range| range.end).max().unwrap_or(0);
        let ranges = checkpoint.ranges.clone();
        let sets = TrainingSets::new(split.subset(0..end)?, split.dim(), ranges)?;
        if sets.fingerprint() != checkpoint.data {
            return Err(Error::bad_input(
                format!("{} was trained on other images", path.display()),
                "Pass the images of the run with --data",
            ));
        }
        Ok(Self { checkpoint, split, sets })
    }

    /// Loads the networks, ready to train further.
    pub(super) async fn session(&self, engine: &Engine) -> Result<Session> {
        let config = self.checkpoint.config.clone();
        let mut session = Session::new(engine, config, &self.sets).await?;
        session.restore(&self.checkpoint)?;
        Ok(session)
    }

    /// Distils D_L of each network at the noise levels of `evaluation`.
    pub(super) async fn distil(&self, engine: &Engine, evaluation: &EvalConfig) -> Result<Linear> {
        let evaluation =
            EvalConfig { distillation: Some(Distill::default()), ..evaluation.clone() };
        let (Self { checkpoint, split, .. }, members) = (self, self.members());
        let config = &checkpoint.config;
        let mut ensemble = Ensemble::new(engine, split, &members, config, &evaluation).await?;
        ensemble.session_mut().restore(checkpoint)?;
        ensemble.distil().await
    }

    /// The networks by their training sets and seeds.
    pub(super) fn members(&self) -> Vec<Member> {
        let Checkpoint { ranges, config, .. } = &self.checkpoint;
        let member = |(range, &seed): (&Range<usize>, &u64)| Member {
            first: range.start,
            n: range.len(),
            seed,
        };
        ranges.iter().zip(&config.seeds).map(member).collect()
    }
}
