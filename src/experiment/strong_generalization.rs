//! Strong generalization: networks that share no training image generate the same images from the
//! same noise, once their training sets are large.

use serde::{Deserialize, Serialize};

use super::ensemble::{Ensemble, Member, Networks, Point};
use super::evaluation::{EvalConfig, Evaluation};
use super::{Detail, Experiment, Preset, cost, cut_networks, largest};
use crate::compute::Engine;
use crate::data::{Split, mean_image};
use crate::denoiser::DenoiserId;
use crate::error::Result;
use crate::metrics::Estimate;
use crate::shape::Shape;
use crate::train;

/// Configuration of the experiment: what to train and how to evaluate it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// Sizes of the training sets. Each is trained twice: on images `0..n` and on `n..2n`.
    pub sizes: Vec<usize>,
    /// Each size is trained once from each pair of seeds: one seed per network.
    pub seeds: Vec<[u64; 2]>,
    /// How the networks are trained.
    pub train: train::Config,
    /// How the networks are evaluated.
    pub evaluation: EvalConfig,
}

/// How well two networks agree.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Agreement {
    /// Images in each of the two training sets.
    pub n: usize,
    /// Cosine between their samples from the same noise, after subtracting the mean training image.
    pub cosine: Estimate,
    /// Cosine between their samples from different noise: the agreement by chance.
    pub cosine_other_noise: Estimate,
    /// The two networks.
    pub networks: [Point; 2],
}

/// The experiment with disjoint training sets.
#[derive(Debug)]
pub struct StrongGeneralization {
    config: Config,
    networks: Networks,
}

impl Experiment for StrongGeneralization {
    type Config = Config;
    type Findings = Vec<Agreement>;
    const NAME: &'static str = "strong-generalization";
    const TITLE: &'static str = "Disjoint training sets, same images";
    const FIGURE: Option<u32> = None;

    fn preset(preset: Preset, shape: Shape, seed: u64) -> Config {
        let sizes = match preset {
            Preset::Quick => vec![16, 1024],
            Preset::Main => vec![32, 128, 1024, 4096],
            Preset::Faithful => vec![32, 512, 4096],
            Preset::CifarQuick => vec![64, 2048],
            Preset::Cifar => vec![64, 1024, 16_384],
        };
        let train = preset.train(shape, Vec::new());
        // The two networks are compared only with each other.
        let evaluation = EvalConfig { denoisers: Vec::new(), ..preset.evaluation(seed) };
        Config { sizes, seeds: vec![[seed, seed.wrapping_add(1)]], train, evaluation }
    }

    fn images(config: &Config) -> usize {
        largest(&config.sizes).saturating_mul(2)
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
        Ok(cost::networks(sizes, train, evaluation, 1, dim)? * (2 * seeds.len()) as f64)
    }

    async fn new(engine: &Engine, split: &Split, config: Config) -> Result<Self> {
        let Config { sizes, seeds, train, evaluation } = &config;
        let pair = |n, [a, b]: [u64; 2]| {
            [Member { first: 0, n, seed: a }, Member { first: n, n, seed: b }]
        };
        let of_size = |&n| seeds.iter().flat_map(move |&seeds| pair(n, seeds));
        let members: Vec<_> = sizes.iter().flat_map(of_size).collect();
        let networks = Networks::new(engine, split, &members, train, evaluation).await?;
        Ok(Self { config, networks })
    }

    async fn findings(&mut self, detail: Detail) -> Result<Vec<Agreement>> {
        let Networks { ensemble, references } = &mut self.networks;
        let evaluated = ensemble.evaluate(detail).await?;
        let points = ensemble.describe(&evaluated, references.at(detail).await?).await?;
        let split = ensemble.split();
        let agreement = |([a, b], networks): (&[Evaluation; 2], &[Point; 2])| {
            let n = networks[0].member.n;
            let mean = mean_image(split.subset(0..2 * n)?, split.dim());
            let mut other_noise = b.clone();
            other_noise.samples.rotate_left(split.dim());
            Ok(Agreement {
                n,
                cosine: a.sample_cosine(b, &mean),
                cosine_other_noise: a.sample_cosine(&other_noise, &mean),
                networks: networks.clone(),
            })
        };
        let trained = &evaluated.denoisers[&DenoiserId::TRAINED];
        trained.as_chunks().0.iter().zip(points.as_chunks().0).map(agreement).collect()
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn ensembles(&mut self) -> Vec<&mut Ensemble> {
        vec![&mut self.networks.ensemble]
    }
}
