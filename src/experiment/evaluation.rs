//! The evaluation of a denoiser: everything that the figures show about it. All denoisers are evaluated
//! with the same noise on the same images, so that any two evaluations can be compared.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::images::{Images, nearest_images};
use crate::data::{Split, TrainingSets};
use crate::denoiser::{DenoiserId, Distill};
use crate::error::{Error, Result};
use crate::metrics::{Closeness, Estimate, Linearity, NearestImages, RowComparison};
use crate::sampler::{Method, NoiseSchedule, Sampler, check_sigma};
use crate::serial::decimal;

/// Configuration of an evaluation: what to measure, and with which noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EvalConfig {
    /// The fitted denoisers that are evaluated beside the networks.
    #[serde(default = "EvalConfig::default_denoisers")]
    pub denoisers: Vec<DenoiserId>,
    /// Number of samples to draw.
    pub samples: usize,
    /// Number of samples that are shown.
    pub shown: usize,
    /// Steps of the sampler.
    pub sampler_steps: usize,
    /// Lowest noise level of the sampler.
    pub sigma_min: f64,
    /// Highest noise level of the sampler.
    pub sigma_max: f64,
    /// The sampler's method.
    pub method: Method,
    /// Noise levels at which denoisers are compared.
    #[serde(serialize_with = "decimal::serialize")]
    pub sigmas: Vec<f32>,
    /// Images of each kind that are denoised per noise level, and pairs for the linearity.
    pub images: usize,
    /// How D_L is distilled; `None` omits it.
    pub distillation: Option<Distill>,
    /// Seed of all evaluation noise.
    pub seed: u64,
}

impl Default for EvalConfig {
    /// The recipe's sampler: Heun, 14 steps from σ = 40 to 0.02. The paper's 80 … 0.002 needs noise levels
    /// that tiny networks hardly see in training.
    fn default() -> Self {
        Self {
            denoisers: Self::default_denoisers(),
            samples: 100,
            shown: 8,
            sampler_steps: 14,
            sigma_min: 0.02,
            sigma_max: 40.0,
            method: Method::Heun,
            sigmas: vec![10.0, 3.0, 1.0, 0.55, 0.4, 0.27, 0.15, 0.05],
            images: 100,
            distillation: None,
            seed: 1,
        }
    }
}

/// Most samples and images of a preview.
const PREVIEW: usize = 24;
/// A preview measures at the noise levels nearest to these.
const PREVIEW_SIGMAS: [f32; 2] = [1.0, 0.4];

impl EvalConfig {
    fn default_denoisers() -> Vec<DenoiserId> {
        vec![DenoiserId::GAUSSIAN, DenoiserId::EMPIRICAL]
    }

    /// The configuration of a preview: fewer samples, images and noise levels, with the same noise. It costs
    /// about as much as ten training steps of the quick preset.
    #[must_use]
    pub fn preview(&self) -> Self {
        let levels = self.preview_levels();
        Self {
            samples: self.samples.min(PREVIEW),
            images: self.images.min(PREVIEW),
            sigmas: levels.into_iter().map(|level| self.sigmas[level]).collect(),
            distillation: None,
            ..self.clone()
        }
    }

    /// The indices in `sigmas` of a preview's noise levels, in order.
    #[must_use]
    pub fn preview_levels(&self) -> Vec<usize> {
        let distance = |level: usize, sigma: f32| (self.sigmas[level] / sigma).ln().abs();
        let nearest = |&sigma: &f32| {
            let levels = 0..self.sigmas.len();
            levels.min_by(|&a, &b| distance(a, sigma).total_cmp(&distance(b, sigma)))
        };
        let mut levels: Vec<usize> = PREVIEW_SIGMAS.iter().filter_map(nearest).collect();
        levels.sort_unstable();
        levels.dedup();
        levels
    }

    /// Creates the sampler.
    pub fn sampler(&self) -> Result<Sampler> {
        let schedule = NoiseSchedule::edm(self.sampler_steps, self.sigma_min, self.sigma_max, 7.0)?;
        Ok(Sampler { schedule, method: self.method })
    }

    /// Finds the index in `sigmas` of the noise level that equals `sigma` up to 0.1 %.
    pub fn level(&self, sigma: f32) -> Result<usize> {
        let found = self.sigmas.iter().position(|&s| (s / sigma - 1.0).abs() < 1e-3);
        found.ok_or_else(|| {
            Error::bad_input(
                format!("There is no measurement at σ = {sigma}"),
                format!("Add {sigma} to evaluation.sigmas"),
            )
        })
    }

    /// Every noise level at which a denoiser is evaluated: first those of the sampler, then `sigmas`.
    pub fn all_sigmas(&self) -> Result<Vec<f32>> {
        let schedule = self.sampler()?.schedule;
        Ok([&schedule.sigmas()[..schedule.steps()], &self.sigmas].concat())
    }

    pub(super) fn check(&self) -> Result<()> {
        if !(1..=4096).contains(&self.samples) || !(1..=4096).contains(&self.images) {
            return Err(Error::bad_input(
                format!("Cannot evaluate {} samples and {} images", self.samples, self.images),
                "Choose 1 to 4096 of each",
            ));
        }
        if self.sigmas.is_empty() {
            return Err(Error::bad_input(
                "There are no noise levels to measure at",
                "Choose at least one σ",
            ));
        }
        self.sigmas.iter().try_for_each(|&sigma| check_sigma(sigma))
    }
}

/// The measures of one denoiser. Lists run over the noise levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Measures {
    /// How close the denoiser's samples come to the training set.
    pub closeness: Closeness,
    /// How linear the denoiser is; absent for denoisers that are linear by construction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linearity: Option<Vec<Linearity>>,
    /// The denoising error.
    pub error: BySet,
    /// Comparison with each denoiser that comes later in the table.
    pub against: BTreeMap<DenoiserId, Comparison>,
    /// Some of the denoiser's samples. Those of all denoisers start from the same noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<Images>,
    /// The training image nearest to each of these samples, for a trained network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Images>,
}

/// A comparison of two denoisers, a and b.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// Cosine between samples from the same noise, after subtracting the mean training image.
    pub cosine: Estimate,
    /// `‖x_a - x_b‖ / ‖x_b - mean‖` of samples from the same noise.
    pub distance: Estimate,
    /// Score difference (eq. 6).
    pub difference: BySet,
}

/// Estimates per noise level, on two sets of images.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BySet {
    /// Estimates on held-out images.
    pub held_out: Vec<Estimate>,
    /// Estimates on training images.
    pub train: Vec<Estimate>,
}

impl BySet {
    fn keep(&mut self, levels: &[usize]) {
        keep(&mut self.held_out, levels);
        keep(&mut self.train, levels);
    }
}

/// Keeps the entries at `levels`.
fn keep<T: Clone>(list: &mut Vec<T>, levels: &[usize]) {
    *list = levels.iter().filter_map(|&level| list.get(level).cloned()).collect();
}

impl Measures {
    /// Computes the measures of each denoiser, in the order of the table, each against those that follow.
    #[must_use]
    pub fn of(
        evaluations: &BTreeMap<DenoiserId, &Evaluation>,
        mean: &[f32],
        sets: &TrainingSets,
        split: &Split,
        shown: usize,
    ) -> BTreeMap<DenoiserId, Self> {
        let show = |rows: &[f32]| {
            let rows = &rows[..rows.len().min(shown.saturating_mul(split.dim()))];
            Images::of(rows, split.standardization())
        };
        let measures = |(at, (&id, &a)): (usize, (&DenoiserId, &&Evaluation))| {
            let later = evaluations.iter().skip(at + 1);
            let against = later.map(|(&other, b)| (other, a.compare(b, mean))).collect();
            let error = |denoised: &Denoised| denoised.error.clone();
            let of_network = id == DenoiserId::TRAINED;
            let measures = Self {
                closeness: a.nearest.closeness.clone(),
                linearity: (!a.linearity.is_empty()).then(|| a.linearity.clone()),
                error: BySet { held_out: error(&a.held_out), train: error(&a.train) },
                against,
                samples: Some(show(&a.samples)),
                nearest: of_network.then(|| show(&nearest_images(&a.nearest, sets, shown))),
            };
            (id, measures)
        };
        evaluations.iter().enumerate().map(measures).collect()
    }

    /// Keeps only these noise levels in every list.
    pub fn keep(&mut self, levels: &[usize]) {
        if let Some(linearity) = &mut self.linearity {
            keep(linearity, levels);
        }
        self.error.keep(levels);
        self.against.values_mut().for_each(|comparison| comparison.difference.keep(levels));
    }
}

/// A batch of images, denoised at every noise level.
#[derive(Debug, Clone, Default)]
pub struct Denoised {
    /// `D(y + σ n; σ)` per noise level.
    pub images: Vec<Vec<f32>>,
    /// `‖D(y + σ n; σ) - y‖ / √d` per noise level.
    pub error: Vec<Estimate>,
}

impl Denoised {
    /// Adds the next noise level: the denoised versions of the first of the `clean` images.
    pub(super) fn push(&mut self, images: Vec<f32>, clean: &[f32], dim: usize) {
        let (zero, scale) = (vec![0.0; dim], (dim as f64).sqrt());
        self.error.push(Estimate::of(compare(&images, clean, &zero).map(|c| c.distance / scale)));
        self.images.push(images);
    }
}

/// The evaluation of a denoiser.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// `D(x_t)` along the sampler's path per noise level, for all samples.
    pub path: Vec<Vec<f32>>,
    /// Generated images.
    pub samples: Vec<f32>,
    /// The training images nearest to the samples.
    pub nearest: NearestImages,
    /// Denoised held-out images.
    pub held_out: Denoised,
    /// Denoised training images.
    pub train: Denoised,
    /// Linearity on held-out images per noise level; empty if not measured.
    pub linearity: Vec<Linearity>,
}

impl Evaluation {
    /// Compares this denoiser with `other`, where `mean` is the mean training image.
    #[must_use]
    pub fn compare(&self, other: &Self, mean: &[f32]) -> Comparison {
        let dim = mean.len();
        let relative = compare(&other.samples, &self.samples, mean).map(|row| row.nmse());
        Comparison {
            cosine: self.sample_cosine(other, mean),
            distance: Estimate::of(relative),
            difference: BySet {
                held_out: score_difference(&self.held_out, &other.held_out, dim),
                train: score_difference(&self.train, &other.train, dim),
            },
        }
    }

    /// Cosine between the samples of two denoisers from the same noise, after subtracting `mean`.
    #[must_use]
    pub fn sample_cosine(&self, other: &Self, mean: &[f32]) -> Estimate {
        Estimate::of(compare(&self.samples, &other.samples, mean).map(|row| row.cosine()))
    }
}

/// Score difference (eq. 6) at each noise level between two denoisers on the same noisy images.
#[must_use]
pub fn score_difference(a: &Denoised, b: &Denoised, dim: usize) -> Vec<Estimate> {
    let zero = vec![0.0; dim];
    let level = |(a, b): (&Vec<f32>, &Vec<f32>)| {
        Estimate::of(compare(a, b, &zero).map(|c| c.distance / (dim as f64).sqrt()))
    };
    a.images.iter().zip(&b.images).map(level).collect()
}

/// Compares two sets of rows in f64, after subtracting `mean` from both.
pub(super) fn compare<'a>(
    a: &'a [f32],
    b: &'a [f32],
    mean: &'a [f32],
) -> impl Iterator<Item = RowComparison> + 'a {
    a.chunks_exact(mean.len()).zip(b.chunks_exact(mean.len())).map(move |(a, b)| {
        let mut sums = [0.0_f64; 4];
        for ((a, b), mean) in a.iter().zip(b).zip(mean) {
            let (a, b) = (f64::from(a - mean), f64::from(b - mean));
            sums[0] += a * a;
            sums[1] += b * b;
            sums[2] += a * b;
            sums[3] += (a - b) * (a - b);
        }
        let [norm_a, norm_b, dot, distance] = sums;
        RowComparison {
            norm_a: norm_a.sqrt(),
            norm_b: norm_b.sqrt(),
            dot,
            distance: distance.sqrt(),
        }
    })
}
