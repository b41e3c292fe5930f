//! Figure 1: the more training images, the fewer copies among the samples, and the more linear the
//! network. All sizes train together, as one ensemble.

use std::time::Duration;

use serde::Serialize;

use super::portrait::Look;
use super::references::References;
use super::study::{Member, Point, Study};
use super::{Detail, Experiment, Preset, Progress, cut_evenly};
use crate::compute::Engine;
use crate::data::{Shape, Split};
use crate::error::Result;
use crate::json::from_json;
use crate::train::{self, Session};

/// What to train and what to look at.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    /// Sizes of the training sets, which are nested.
    pub sizes: Vec<usize>,
    /// Each size is trained once from each seed.
    pub seeds: Vec<u64>,
    /// How they are trained.
    pub train: train::Config,
    /// How they are looked at.
    pub look: Look,
}

from_json!(Config { sizes, seeds, train, look });

/// The experiment.
#[derive(Debug)]
pub struct Transition {
    config: Config,
    study: Study,
    references: References,
}

impl Experiment for Transition {
    type Config = Config;
    type Findings = Vec<Point>;
    const NAME: &'static str = "transition";

    fn preset(preset: Preset, shape: Shape, seed: u64) -> Config {
        let sizes = match preset {
            Preset::Quick => vec![16, 32, 64, 256, 1024, 4096],
            Preset::Main => vec![8, 16, 32, 64, 128, 256, 512, 1024, 4096],
            Preset::Faithful => vec![8, 16, 32, 64, 128, 256, 512, 1024, 2048, 8192],
            Preset::CifarQuick => vec![64, 256, 1024, 4096],
            Preset::Cifar => vec![64, 256, 1024, 4096, 16_384],
        };
        let train = preset.train(shape, Vec::new());
        let look = Look { shown: 12, ..preset.look(seed) };
        Config { sizes, seeds: vec![seed], train, look }
    }

    fn images(config: &Config) -> usize {
        config.sizes.iter().copied().max().unwrap_or(0)
    }

    fn look(config: &Config) -> &Look {
        &config.look
    }

    fn shares(config: &Config, parts: usize) -> Vec<Config> {
        cut_evenly(&config.sizes, parts).map(|sizes| Config { sizes, ..config.clone() }).collect()
    }

    async fn new(engine: &Engine, split: &Split, config: Config) -> Result<Self> {
        let of_size = |&n| config.seeds.iter().map(move |&seed| Member { first: 0, n, seed });
        let members: Vec<_> = config.sizes.iter().flat_map(of_size).collect();
        let study = Study::new(engine, split, &members, &config.train, &config.look).await?;
        let references = References::new(engine, split, &members, &config.look)?;
        Ok(Self { config, study, references })
    }

    async fn advance(&mut self, slice: Duration) -> Result<Progress> {
        Ok(Progress::of(self.study.advance(slice).await?))
    }

    async fn findings(&mut self, detail: Detail) -> Result<Vec<Point>> {
        self.study.points(&mut self.references, detail).await
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn sessions(&mut self) -> Vec<&mut Session> {
        vec![self.study.session_mut()]
    }
}
