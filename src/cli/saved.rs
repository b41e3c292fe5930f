//! Saved runs: the networks of a `.safetensors` file, and the images that they learnt from.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use hidden_gaussian::compute::Engine;
use hidden_gaussian::data::Split;
use hidden_gaussian::denoiser::TrainingSets;
use hidden_gaussian::train::{Checkpoint, Session};
use hidden_gaussian::{Error, Result};

use super::{EngineName, data, file_error};

/// Which run, and where to compute.
#[derive(Debug, Args)]
pub(super) struct Saved {
    /// A run that `train` saved
    run: PathBuf,
    /// Its images, if they came from a file: where that is now
    #[arg(long, value_name = "FILE")]
    data: Option<String>,
    /// Where to compute
    #[arg(long, value_enum, default_value = "auto")]
    engine: EngineName,
}

impl Saved {
    /// Reads the run.
    pub(super) fn open(&self) -> Result<(Engine, SavedRun)> {
        Ok((self.engine.open()?, SavedRun::read(&self.run, self.data.as_deref())?))
    }
}

/// A saved run beside its images.
#[derive(Debug)]
pub(super) struct SavedRun {
    pub(super) checkpoint: Checkpoint,
    pub(super) split: Split,
    pub(super) sets: TrainingSets,
}

impl SavedRun {
    /// Reads the file and makes its images again; `data` is where they are, if not where they were.
    pub(super) fn read(path: &Path, data: Option<&str>) -> Result<Self> {
        let bytes = fs::read(path).map_err(|error| file_error(path, &error))?;
        let checkpoint = Checkpoint::from_bytes(&bytes)?;
        let recipe = checkpoint.recipe.as_ref().ok_or_else(|| {
            let message = format!("{} does not say which images it learnt", path.display());
            Error::bad_input(message, "Choose a run that `train` has saved")
        })?;
        let split = data::again(recipe, data)?;
        let end = checkpoint.ranges.iter().map(|range| range.end).max().unwrap_or(0);
        let ranges = checkpoint.ranges.clone();
        let sets = TrainingSets::new(split.subset(0..end)?, split.dim(), ranges)?;
        if sets.fingerprint() != checkpoint.data {
            return Err(Error::bad_input(
                format!("{} learnt other images", path.display()),
                "Say with --data where its images are",
            ));
        }
        Ok(Self { checkpoint, split, sets })
    }

    /// The networks, ready to go on.
    pub(super) async fn session(&self, engine: &Engine) -> Result<Session> {
        let config = self.checkpoint.config.clone();
        let mut session = Session::new(engine, config, &self.sets).await?;
        session.restore(&self.checkpoint)?;
        Ok(session)
    }
}
