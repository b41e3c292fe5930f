//! Strong generalization: networks that share no training image make the same images from the same
//! noise, once their training sets are large.

use std::time::Duration;

use serde::Serialize;

use super::gallery::Gallery;
use super::portrait::{Look, Portrait};
use super::references::References;
use super::study::{Member, Point, Study};
use super::{Detail, Experiment, Preset, Progress, cut_evenly};
use crate::compute::Engine;
use crate::data::{Shape, Split};
use crate::error::Result;
use crate::json::from_json;
use crate::metrics::{Closeness, Estimate};
use crate::train::{self, Session, Status};

/// What to train and what to look at.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    /// Sizes of the training sets. Each is trained twice: on images `0..n` and on `n..2n`.
    pub sizes: Vec<usize>,
    /// Seeds of the two networks: their weights and batches.
    pub seeds: [u64; 2],
    /// How they are trained.
    pub train: train::Config,
    /// How they are looked at.
    pub look: Look,
}

from_json!(Config { sizes, seeds, train, look });

/// How far two networks agree.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Agreement {
    /// Images in each of the two training sets.
    pub n: usize,
    /// Whether the two still learn.
    pub status: [Status; 2],
    /// Cosine between their samples from the same noise, about the mean training image.
    pub cosine: Estimate,
    /// The same for different noise: what agrees by chance.
    pub cosine_other_noise: Estimate,
    /// How close the samples come to their network's training set.
    pub closeness: [Closeness; 2],
    /// Some samples of each, from the same noise.
    pub galleries: [Gallery; 2],
}

/// The experiment.
#[derive(Debug)]
pub struct StrongGeneralization {
    config: Config,
    study: Study,
    references: References,
}

impl Experiment for StrongGeneralization {
    type Config = Config;
    type Findings = Vec<Agreement>;
    const NAME: &'static str = "strong-generalization";

    fn preset(preset: Preset, shape: Shape, seed: u64) -> Config {
        let sizes = match preset {
            Preset::Quick => vec![16, 1024],
            Preset::Main => vec![32, 128, 1024, 4096],
            Preset::Faithful => vec![32, 512, 4096],
            Preset::CifarQuick => vec![64, 2048],
            Preset::Cifar => vec![64, 1024, 16_384],
        };
        let (train, look) = (preset.train(shape, Vec::new()), preset.look(seed));
        Config { sizes, seeds: [seed, seed.wrapping_add(1)], train, look }
    }

    fn images(config: &Config) -> usize {
        config.sizes.iter().copied().max().unwrap_or(0).saturating_mul(2)
    }

    fn look(config: &Config) -> &Look {
        &config.look
    }

    fn shares(config: &Config, parts: usize) -> Vec<Config> {
        cut_evenly(&config.sizes, parts).map(|sizes| Config { sizes, ..config.clone() }).collect()
    }

    async fn new(engine: &Engine, split: &Split, config: Config) -> Result<Self> {
        let [a, b] = config.seeds;
        let halves = |&n| [Member { first: 0, n, seed: a }, Member { first: n, n, seed: b }];
        let members: Vec<_> = config.sizes.iter().flat_map(halves).collect();
        let study = Study::new(engine, split, &members, &config.train, &config.look).await?;
        let references = References::new(engine, split, &members, &config.look)?;
        Ok(Self { config, study, references })
    }

    async fn advance(&mut self, slice: Duration) -> Result<Progress> {
        Ok(Progress::of(self.study.advance(slice).await?))
    }

    async fn findings(&mut self, detail: Detail) -> Result<Vec<Agreement>> {
        let portraits = self.study.portraits(detail).await?;
        let references = self.references.at(detail).await?;
        let points = self.study.describe(&portraits, references).await?;
        let dim = self.study.split().dim();
        let pairs = portraits.as_chunks::<2>().0.iter().zip(points.as_chunks::<2>().0);
        let agreement = |([a, b], points): (&[Portrait; 2], &[Point; 2])| {
            let n = points[0].member.n;
            let mean = mean_image(self.study.split().subset(0..2 * n)?, dim);
            let mut other_noise = b.clone();
            other_noise.samples.rotate_left(dim);
            Ok(Agreement {
                n,
                status: points.each_ref().map(|point| point.status),
                cosine: a.sample_cosine(b, &mean),
                cosine_other_noise: a.sample_cosine(&other_noise, &mean),
                closeness: points.each_ref().map(|point| point.closeness.clone()),
                galleries: points.each_ref().map(|point| point.gallery.clone()),
            })
        };
        pairs.map(agreement).collect()
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn sessions(&mut self) -> Vec<&mut Session> {
        vec![self.study.session_mut()]
    }
}

fn mean_image(images: &[f32], dim: usize) -> Vec<f32> {
    let count = (images.len() / dim) as f64;
    let mean = |i| images[i..].iter().step_by(dim).map(|&v| f64::from(v)).sum::<f64>() / count;
    (0..dim).map(|i| mean(i) as f32).collect()
}
