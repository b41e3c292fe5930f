//! Figure 1: with more training images, fewer samples are memorized, and the network becomes more
//! linear. All sizes train together, as one ensemble.

use serde::{Deserialize, Serialize};

use super::ensemble::{Ensemble, Member, Networks, Point};
use super::evaluation::EvalConfig;
use super::{Detail, Experiment, Preset, cost, cut_networks, largest};
use crate::compute::Engine;
use crate::data::Split;
use crate::error::Result;
use crate::shape::Shape;
use crate::train;

/// Configuration of the experiment: what to train and how to evaluate it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// Sizes of the training sets, which are nested.
    pub sizes: Vec<usize>,
    /// Each size is trained once from each seed.
    pub seeds: Vec<u64>,
    /// How the networks are trained.
    pub train: train::Config,
    /// How the networks are evaluated.
    pub evaluation: EvalConfig,
}

/// The experiment of Figure 1.
#[derive(Debug)]
pub struct Transition {
    config: Config,
    networks: Networks,
}

impl Experiment for Transition {
    type Config = Config;
    type Findings = Vec<Point>;
    const NAME: &'static str = "transition";
    const TITLE: &'static str = "From memorization to generalization";
    const FIGURE: Option<u32> = Some(1);

    fn preset(preset: Preset, shape: Shape, seed: u64) -> Config {
        let sizes = match preset {
            Preset::Quick => vec![16, 32, 64, 256, 1024, 4096],
            Preset::Main => vec![8, 16, 32, 64, 128, 256, 512, 1024, 4096],
            Preset::Faithful => vec![8, 16, 32, 64, 128, 256, 512, 1024, 2048, 8192],
            Preset::CifarQuick => vec![64, 256, 1024, 4096],
            Preset::Cifar => vec![64, 128, 256, 512, 1024, 4096, 16_384, 50_000],
        };
        let train = preset.train(shape, Vec::new());
        let evaluation = EvalConfig { shown: 12, ..preset.evaluation(seed) };
        Config { sizes, seeds: vec![seed], train, evaluation }
    }

    fn images(config: &Config) -> usize {
        largest(&config.sizes)
    }

    fn evaluation(config: &Config) -> &EvalConfig {
        &config.evaluation
    }

    fn shards(config: &Config, parts: usize) -> Vec<Config> {
        let shards = cut_networks(&config.sizes, &config.seeds, parts).into_iter();
        shards.map(|(sizes, seeds)| Config { sizes, seeds, ..config.clone() }).collect()
    }

    fn flop(config: &Config, dim: usize) -> Result<f64> {
        let Config { sizes, seeds, train, evaluation } = config;
        Ok(cost::networks(sizes, train, evaluation, 1, dim)? * seeds.len() as f64)
    }

    async fn new(engine: &Engine, split: &Split, config: Config) -> Result<Self> {
        let Config { sizes, seeds, train, evaluation } = &config;
        let members = Member::nested(sizes, seeds);
        let networks = Networks::new(engine, split, &members, train, evaluation).await?;
        Ok(Self { config, networks })
    }

    async fn findings(&mut self, detail: Detail) -> Result<Vec<Point>> {
        self.networks.points(detail).await
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn ensembles(&mut self) -> Vec<&mut Ensemble> {
        vec![&mut self.networks.ensemble]
    }
}
