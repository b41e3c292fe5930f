//! Figure 3: with few training images, small networks and young networks find the Gaussian
//! structure, too; only large ones that train for long memorize.
//!
//! Networks of different widths are different programs. They take turns, so that all of them are
//! done at about the same time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::portrait::Look;
use super::study::{Member, Point, References, Study};
use super::{Experiment, Preset, Progress};
use crate::compute::Engine;
use crate::data::{Shape, Split};
use crate::error::{Error, Result};
use crate::model::Architecture;
use crate::train;

/// What to train and what to look at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    /// Sizes of the training sets.
    pub sizes: Vec<usize>,
    /// Seed of all networks.
    pub seed: u64,
    /// Widths of the networks that are looked at when they are done.
    pub widths: Vec<usize>,
    /// How they are trained.
    pub train: train::Config,
    /// How the network is trained that is looked at on the way.
    pub train_long: train::Config,
    /// Steps at which it is looked at.
    pub checkpoints: Vec<u32>,
    /// How they are looked at.
    pub look: Look,
    /// Samples of each that are shown.
    pub shown: usize,
}

/// One network at one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sitting {
    /// Its architecture.
    pub architecture: Architecture,
    /// Numbers that it learns.
    pub parameters: usize,
    /// Its figures.
    #[serde(flatten)]
    pub point: Point,
    /// Some of its samples, as bytes to show.
    pub samples: Vec<u8>,
}

/// What Figure 3 shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Findings {
    /// Networks of each width at the end of their training, for each size of training set.
    pub over_width: Vec<Sitting>,
    /// One network at each checkpoint, for each size of training set.
    pub over_time: Vec<Sitting>,
}

/// The experiment.
#[derive(Debug)]
pub struct Emergence {
    config: Config,
    /// The long run, then one for each width.
    runs: Vec<Run>,
    references: References,
}

/// An ensemble, when it is to be looked at, and what was seen.
#[derive(Debug)]
struct Run {
    study: Study,
    checkpoints: Vec<u32>,
    sittings: Vec<Sitting>,
    seconds_left: Option<f64>,
}

impl Run {
    fn share(&self) -> f64 {
        let session = self.study.session();
        f64::from(session.steps_done()) / f64::from(session.config().steps)
    }

    /// Trains for about `slice`, or to the next checkpoint, and looks there.
    async fn advance(
        &mut self,
        slice: Duration,
        references: &References,
        shown: usize,
    ) -> Result<train::Report> {
        let done = self.study.session().steps_done();
        let next = self.checkpoints.iter().copied().find(|&step| step > done);
        let report = self.study.advance_to(next.unwrap_or(u32::MAX), slice).await?;
        self.seconds_left = report.seconds_left;
        if Some(report.step) == next {
            self.look(references, shown).await?;
        }
        Ok(report)
    }

    async fn look(&mut self, references: &References, shown: usize) -> Result<()> {
        let portraits = self.study.portraits().await?;
        let points = self.study.describe(&portraits, references).await?;
        let (split, session) = (self.study.split(), self.study.session());
        self.sittings.extend(points.into_iter().zip(portraits).map(|(point, portrait)| {
            let shown = portrait.samples.len().min(shown * split.dim());
            Sitting {
                architecture: session.config().architecture.clone(),
                parameters: session.parameter_count(),
                point,
                samples: split.standardization().to_display(&portrait.samples[..shown]),
            }
        }));
        Ok(())
    }
}

impl Experiment for Emergence {
    type Config = Config;
    type Findings = Findings;
    const NAME: &'static str = "emergence";

    fn preset(preset: Preset, shape: Shape, seed: u64) -> Config {
        let train = preset.train(shape);
        // Time is to be the only thing that changes, so the learning rate does not.
        let long = train::Config { rate: 2e-3, floor: 1.0, ..train.clone() };
        let (sizes, widths, steps) = match preset {
            Preset::Quick => (vec![32], vec![16, 64, 192], 6400),
            Preset::Main => (vec![32, 128], vec![32, 64, 128, 256, 512], 6400),
            Preset::Faithful => (vec![64], vec![4, 8, 16, 32], 12_800),
        };
        Config {
            sizes,
            seed,
            widths,
            train,
            train_long: train::Config { steps, ..long },
            checkpoints: (0..).map(|i| 50 << i).take_while(|&step| step <= steps).collect(),
            look: preset.look(seed),
            shown: 8,
        }
    }

    fn images(config: &Config) -> usize {
        config.sizes.iter().copied().max().unwrap_or(0)
    }

    fn look(config: &Config) -> &Look {
        &config.look
    }

    async fn new(engine: &Engine, split: &Split, config: Config) -> Result<Self> {
        let seed = config.seed;
        let members: Vec<_> = config.sizes.iter().map(|&n| Member { first: 0, n, seed }).collect();
        let mut plans = vec![(config.train_long.clone(), config.checkpoints.clone())];
        plans.extend(config.widths.iter().map(|&width| {
            let architecture = config.train.architecture.with_width(width);
            let train = train::Config { architecture, ..config.train.clone() };
            let end = vec![train.steps];
            (train, end)
        }));
        let mut runs = Vec::new();
        for (train, checkpoints) in plans {
            let study = Study::new(engine, split, &members, &train, &config.look).await?;
            runs.push(Run { study, checkpoints, sittings: Vec::new(), seconds_left: None });
        }
        // All runs have the same training sets.
        let references = runs[0].study.references().await?;
        Ok(Self { config, runs, references })
    }

    async fn advance(&mut self, slice: Duration) -> Result<Progress> {
        let behind = self.runs.iter_mut().min_by(|a, b| a.share().total_cmp(&b.share()));
        let behind = behind.ok_or_else(|| Error::bad_input("There is nothing to train", ""))?;
        let training = behind.advance(slice, &self.references, self.config.shown).await?;
        let sessions = || self.runs.iter().map(|run| run.study.session());
        Ok(Progress {
            step: sessions().map(train::Session::steps_done).sum(),
            total: sessions().map(|session| session.config().steps).sum(),
            seconds_left: self.runs.iter().map(|run| run.seconds_left).sum(),
            training,
        })
    }

    async fn findings(&mut self) -> Result<Findings> {
        let sittings = |runs: &[Run]| runs.iter().flat_map(|r| r.sittings.clone()).collect();
        let (long, widths) = self.runs.split_at(1);
        Ok(Findings { over_width: sittings(widths), over_time: sittings(long) })
    }

    fn config(&self) -> &Config {
        &self.config
    }
}
