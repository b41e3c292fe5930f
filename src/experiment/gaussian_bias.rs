//! Figure 2: a network that generalizes is close to D_L and D_G, one that memorizes is close to D_M;
//! and the singular vectors of D_L are the principal axes of the training images.

use std::time::Duration;

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

use super::portrait::{Look, Portrait, score_difference};
use super::study::{Differences, Member, Point, Study};
use super::{Experiment, Preset, Progress};
use crate::compute::Engine;
use crate::data::{Shape, Split};
use crate::denoiser::{Distill, GaussianFit};
use crate::error::Result;
use crate::metrics::Estimate;
use crate::train;

/// What to train and what to look at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    /// Sizes of the training sets: one that is memorized, one that is generalized from.
    pub sizes: Vec<usize>,
    /// Seed of the networks.
    pub seed: u64,
    /// How they are trained.
    pub train: train::Config,
    /// How they are looked at.
    pub look: Look,
    /// Singular vectors that are compared with principal axes.
    pub axes: usize,
    /// Samples whose way from noise to image is shown.
    pub shown: usize,
}

/// What Figure 2 shows of one network.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bias {
    /// The network beside D_G and D_M.
    #[serde(flatten)]
    pub point: Point,
    /// Score difference between D_θ and D_L.
    pub difference_linear: Differences,
    /// Cosine between the samples of D_θ and D_L.
    pub cosine_linear: Estimate,
    /// Cosine between the samples of D_L and D_G.
    pub cosine_linear_gaussian: Estimate,
    /// At each noise level that is looked at.
    pub alignment: Vec<Alignment>,
    /// The ways of D_θ, D_L, D_G and D_M from the same noise.
    pub paths: [Path; 4],
}

/// Singular vectors of `W_σ` beside the principal axes of the training images.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Alignment {
    /// The noise level.
    pub sigma: f32,
    /// `|u_i · a_j|`, one row for each left singular vector `u_i` of `W_σ`.
    pub matrix: Vec<Vec<f64>>,
    /// Share of the leading singular vectors that lies in the span of as many principal axes.
    pub overlap: f64,
}

/// The way of some samples from noise to image.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Path {
    /// `"trained"`, `"linear"`, `"gaussian"` or `"empirical"`.
    pub denoiser: &'static str,
    /// `D(x_t)` at each noise level of the sampler, as bytes to show.
    pub denoised: Vec<Vec<u8>>,
    /// The images reached, as bytes to show.
    pub samples: Vec<u8>,
}

/// The experiment.
#[derive(Debug)]
pub struct GaussianBias {
    config: Config,
    study: Study,
}

impl Experiment for GaussianBias {
    type Config = Config;
    type Findings = Vec<Bias>;
    const NAME: &'static str = "gaussian-bias";

    fn preset(preset: Preset, shape: Shape, seed: u64) -> Config {
        let sizes = match preset {
            Preset::Quick => vec![16, 1024],
            Preset::Main => vec![32, 4096],
            Preset::Faithful => vec![32, 8192],
        };
        let (train, look) = (preset.train(shape), preset.look(seed));
        let look = Look { distillation: Some(Distill::default()), ..look };
        Config { sizes, seed, train, look, axes: 16, shown: 4 }
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
        let study = Study::new(engine, split, &members, &config.train, &config.look).await?;
        Ok(Self { config, study })
    }

    async fn advance(&mut self, slice: Duration) -> Result<Progress> {
        Ok(Progress::of(self.study.advance(slice).await?))
    }

    async fn findings(&mut self) -> Result<Vec<Bias>> {
        let references = self.study.references().await?;
        let trained = self.study.portraits().await?;
        let points = self.study.describe(&trained, &references).await?;
        let (linear, distilled) = self.study.distil().await?;
        let dim = self.study.split().dim();
        let bias = |(m, point): (usize, Point)| {
            let (trained, distilled) = (&trained[m], &distilled[m]);
            let (gaussian, empirical) = (&references.gaussian[m], &references.empirical[m]);
            let mean = references.mean(m);
            let (fit, axes) = (&linear.fits()[m], &references.fits.fits()[m]);
            let alignment = |&sigma: &f32| {
                let level = fit.sigmas.iter().position(|&s| s == sigma)?;
                Some(align(sigma, &fit.weights[level], axes, self.config.axes))
            };
            Bias {
                difference_linear: Differences {
                    held_out: score_difference(&trained.held_out, &distilled.held_out, dim),
                    train: score_difference(&trained.train, &distilled.train, dim),
                },
                cosine_linear: trained.sample_cosine(distilled, &mean),
                cosine_linear_gaussian: distilled.sample_cosine(gaussian, &mean),
                alignment: self.config.look.sigmas.iter().filter_map(alignment).collect(),
                paths: [
                    self.path("trained", trained),
                    self.path("linear", distilled),
                    self.path("gaussian", gaussian),
                    self.path("empirical", empirical),
                ],
                point,
            }
        };
        Ok(points.into_iter().enumerate().map(bias).collect())
    }

    fn config(&self) -> &Config {
        &self.config
    }
}

impl GaussianBias {
    fn path(&self, denoiser: &'static str, portrait: &Portrait) -> Path {
        let split = self.study.split();
        let show = |images: &Vec<f32>| {
            let shown = images.len().min(self.config.shown * split.dim());
            split.standardization().to_display(&images[..shown])
        };
        let denoised = portrait.path.iter().map(show).collect();
        Path { denoiser, denoised, samples: show(&portrait.samples) }
    }
}

/// The leading left singular vectors of `weight` beside the leading principal axes.
fn align(sigma: f32, weight: &DMatrix<f64>, gaussian: &GaussianFit, count: usize) -> Alignment {
    let count = count.min(gaussian.eigenvectors.ncols());
    // The eigenvectors of W Wᵀ: nalgebra decomposes symmetric matrices much faster than general ones.
    let eigen = (weight * weight.transpose()).symmetric_eigen();
    let order = crate::denoiser::descending(eigen.eigenvalues.as_slice());
    let row = |&i: &usize| -> Vec<f64> {
        let u = eigen.eigenvectors.column(i);
        (0..count).map(|j| u.dot(&gaussian.eigenvectors.column(j)).abs()).collect()
    };
    let matrix: Vec<Vec<f64>> = order.iter().take(count).map(row).collect();
    let overlap = matrix.iter().flatten().map(|v| v * v).sum::<f64>() / count.max(1) as f64;
    Alignment { sigma, matrix, overlap }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D_G's own weights align perfectly, up to the order of axes that no noise level changes.
    #[test]
    fn a_wiener_filter_is_aligned() {
        let dim = 6;
        let mut images = vec![0.0; 200 * dim];
        crate::rng::fill_normals(1, crate::rng::Stream::Test, 0, &mut images);
        images.iter_mut().enumerate().for_each(|(i, v)| *v /= (1 + i % dim) as f32);
        let fit = GaussianFit::new(&images, dim).unwrap();
        let u = &fit.eigenvectors;
        let gain = fit.eigenvalues.map(|lambda| lambda / (lambda + 0.25));
        let weight = u * DMatrix::from_diagonal(&gain) * u.transpose();
        let alignment = align(0.5, &weight, &fit, 4);
        assert!((alignment.overlap - 1.0).abs() < 1e-9);
        for (i, row) in alignment.matrix.iter().enumerate() {
            for (j, value) in row.iter().enumerate() {
                assert!((value - f64::from(u8::from(i == j))).abs() < 1e-6, "{alignment:?}");
            }
        }
    }
}
