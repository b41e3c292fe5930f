//! Checkpoints of long runs, so that an interruption costs at most a few minutes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use hidden_gaussian::data::cifar10::fetch;
use hidden_gaussian::experiment::Experiment;
use hidden_gaussian::experiment::run::Run;
use hidden_gaussian::experiment::sweep::folder;
use hidden_gaussian::{Error, Result};

use super::file_error;

/// How often a run is saved.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct CheckpointEvery {
    /// Seconds between two checkpoints: the most work that a crash can cost
    #[arg(long = "checkpoint-every", value_name = "SECONDS", default_value = "180")]
    seconds: f64,
}

impl CheckpointEvery {
    pub(super) fn interval(self) -> Result<Duration> {
        Duration::try_from_secs_f64(self.seconds).map_err(|_| {
            let hint = "Pass a positive number of seconds to --checkpoint-every";
            Error::bad_input("The time between two checkpoints is not valid", hint)
        })
    }
}

/// The default folder for checkpoints of recordings, in the user's cache folder.
pub(super) fn default_folder() -> Result<PathBuf> {
    let images = fetch::path().map_err(|problem| {
        Error::bad_input(problem.to_string(), "Choose a folder with --checkpoint")
    })?;
    Ok(images.with_file_name("runs"))
}

/// Saves a run at intervals, in one file.
#[derive(Debug)]
pub(super) struct Checkpoint {
    path: PathBuf,
    interval: Duration,
    last: Instant,
    /// Whether the file belongs to this run.
    is_ours: bool,
}

impl Checkpoint {
    /// Prepares checkpoints of a new run. If another run's checkpoint is at `path`, the file gets a number.
    pub(super) fn new(path: &Path, interval: Duration) -> Self {
        let (stem, ending) = (path.with_extension(""), path.extension().unwrap_or_default());
        let numbered = |i: u32| {
            let name = format!("{}-{i}", stem.display());
            PathBuf::from(name).with_extension(ending)
        };
        let free = std::iter::once(path.to_owned()).chain((2..).map(numbered));
        let path = free.into_iter().find(|path| !path.exists()).unwrap_or_else(|| path.to_owned());
        Self { path, interval, last: Instant::now(), is_ours: false }
    }

    /// Prepares checkpoints of a run that is resumed from the file.
    pub(super) fn resumed(path: &Path, interval: Duration) -> Self {
        Self { path: path.to_owned(), interval, last: Instant::now(), is_ours: true }
    }

    /// Reads the checkpoint at `path`, if there is one, and prepares the next.
    pub(super) fn open(path: &Path, interval: Duration) -> Result<(Self, Option<Vec<u8>>)> {
        let saved = path.exists().then(|| fs::read(path)).transpose();
        let saved = saved.map_err(|error| file_error(path, &error))?;
        Ok((Self::resumed(path, interval), saved))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is time to save.
    pub(super) fn is_due(&self) -> bool {
        self.last.elapsed() >= self.interval
    }

    /// Saves the run. If that fails, the previous checkpoint remains.
    pub(super) async fn save<E: Experiment>(&mut self, run: &mut Run<E>) -> Result<()> {
        let snapshot = run.snapshot().await?;
        folder::write(&self.path, &snapshot).map_err(|error| file_error(&self.path, &error))?;
        self.is_ours = true;
        self.last = Instant::now();
        Ok(())
    }

    /// Removes the file once the run is done.
    pub(super) fn remove(&self) {
        if self.is_ours {
            // If the file remains, resuming it finds nothing left to do.
            let _ = fs::remove_file(&self.path);
        }
    }
}
