//! Figure 2: a network that generalizes is close to D_L and D_G, one that memorizes is close to D_M;
//! and the singular vectors of D_L are the principal axes of the training images.

use std::time::Duration;

use nalgebra::DMatrix;
use serde::Serialize;

use super::gallery::{Images, nearest};
use super::portrait::{Look, Portrait};
use super::references::{Reference, References};
use super::study::{Differences, Member, Point, Study};
use super::{Detail, Experiment, Preset, Progress, cut_evenly};
use crate::compute::Engine;
use crate::compute::breath::breathe;
use crate::data::{Shape, Split};
use crate::denoiser::{Distill, GaussianFit, LinearFit};
use crate::error::Result;
use crate::json::from_json;
use crate::metrics::Estimate;
use crate::train::{self, Session};

/// What to train and what to look at.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    pub paths: usize,
}

from_json!(Config { sizes, seed, train, look, axes, paths });

/// What Figure 2 shows of one network.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bias {
    /// The network beside D_G and D_M.
    #[serde(flatten)]
    pub point: Point,
    /// Score difference between D_G and D_M.
    pub difference_gaussian_empirical: Differences,
    /// Score difference between D_θ and D_L; nothing about D_L is known at a glance.
    pub difference_linear: Option<Differences>,
    /// Score difference between D_L and D_G.
    pub difference_linear_gaussian: Option<Differences>,
    /// Score difference between D_L and D_M.
    pub difference_linear_empirical: Option<Differences>,
    /// Cosine between the samples of D_θ and D_L.
    pub cosine_linear: Option<Estimate>,
    /// Cosine between the samples of D_L and D_G.
    pub cosine_linear_gaussian: Option<Estimate>,
    /// At each noise level that is looked at.
    pub alignment: Option<Vec<Alignment>>,
    /// At each noise level that is looked at.
    pub weights: Option<Vec<Weights>>,
    /// The leading principal axes of the training images, as pictures.
    pub axes: Images,
    /// The ways of D_θ, D_L, D_G and D_M from the same noise.
    pub paths: Vec<Path>,
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

/// What some pixels of the denoised image are made of: rows of `W_σ`, as pictures. Those of one pixel
/// have the same scale.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Weights {
    /// The noise level.
    pub sigma: f32,
    /// Row and column of each pixel.
    pub pixels: Vec<[usize; 2]>,
    /// Those of D_L.
    pub linear: Images,
    /// Those of D_G.
    pub gaussian: Images,
}

impl Weights {
    /// Of the pixels where a face has its nose, its eyes and its mouth.
    fn of(sigma: f32, linear: &DMatrix<f64>, gaussian: &GaussianFit, shape: Shape) -> Self {
        let sites = [[6, 6], [4, 4], [4, 8], [9, 6]];
        let pixels = sites.map(|[y, x]| [y * shape.height / 12, x * shape.width / 12]).to_vec();
        let axes = &gaussian.eigenvectors;
        let noise = f64::from(sigma).powi(2);
        let gain = gaussian.eigenvalues.map(|lambda| lambda / (lambda + noise));
        let rows = pixels.iter().map(|&[y, x]| {
            let value = (y * shape.width + x) * shape.channels;
            let gaussian = axes * axes.row(value).transpose().component_mul(&gain);
            let linear = linear.row(value).transpose();
            let largest = linear.amax().max(gaussian.amax());
            [linear, gaussian].map(|row| (row.iter().copied().collect::<Vec<_>>(), largest))
        });
        let (linear, gaussian): (Vec<_>, Vec<_>) = rows.map(Into::into).unzip();
        let [linear, gaussian] = [linear, gaussian].map(Images::signed);
        Self { sigma, pixels, linear, gaussian }
    }
}

/// The way of some samples from noise to image.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Path {
    /// `"trained"`, `"linear"`, `"gaussian"` or `"empirical"`.
    pub denoiser: &'static str,
    /// The sampler's noise levels.
    pub sigmas: Vec<f32>,
    /// `D(x_t)` at each of them.
    pub denoised: Vec<Images>,
    /// The images reached.
    pub samples: Images,
    /// The training images nearest to them.
    pub nearest: Images,
}

/// The experiment.
#[derive(Debug)]
pub struct GaussianBias {
    config: Config,
    study: Study,
    references: References,
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
            Preset::CifarQuick => vec![64, 4096],
            Preset::Cifar => vec![64, 16_384],
        };
        let (train, look) = (preset.train(shape, Vec::new()), preset.look(seed));
        let look = Look { distillation: Some(Distill::default()), ..look };
        Config { sizes, seed, train, look, axes: 16, paths: 4 }
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
        let seed = config.seed;
        let members: Vec<_> = config.sizes.iter().map(|&n| Member { first: 0, n, seed }).collect();
        let study = Study::new(engine, split, &members, &config.train, &config.look).await?;
        let references = References::new(engine, split, &members, &config.look)?;
        Ok(Self { config, study, references })
    }

    async fn advance(&mut self, slice: Duration) -> Result<Progress> {
        Ok(Progress::of(self.study.advance(slice).await?))
    }

    async fn findings(&mut self, detail: Detail) -> Result<Vec<Bias>> {
        let portraits = self.study.portraits(detail).await?;
        let references = self.references.at(detail).await?;
        let points = self.study.describe(&portraits, references).await?;
        let distilled = match detail {
            Detail::Full if self.config.look.distillation.is_some() => {
                Some(self.study.distil().await?)
            }
            _ => None,
        };
        let mut biases = Vec::new();
        for (m, (point, trained)) in points.into_iter().zip(&portraits).enumerate() {
            let reference = Reference::of(references, &point.member.range())?;
            let linear = distilled.as_ref().map(|(linear, all)| (&linear.fits()[m], &all[m]));
            biases.push(bias(&self.config, &self.study, point, trained, reference, linear).await?);
        }
        Ok(biases)
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn sessions(&mut self) -> Vec<&mut Session> {
        vec![self.study.session_mut()]
    }
}

/// One network beside its references, and D_L, if it is known.
async fn bias(
    config: &Config,
    study: &Study,
    point: Point,
    trained: &Portrait,
    reference: &Reference,
    distilled: Option<(&LinearFit, &Portrait)>,
) -> Result<Bias> {
    let Reference { gaussian, empirical, fit, .. } = reference;
    let (shape, mean) = (study.split().shape(), reference.mean());
    let (fit_linear, linear) = distilled.unzip();
    let to = |other: &Portrait| Some(Differences::between(linear?, other, shape.dim()));
    let (mut alignment, mut weights) = (Vec::new(), Vec::new());
    for &sigma in &config.look.sigmas {
        let known = fit_linear.and_then(|fit| {
            let level = fit.sigmas.iter().position(|&s| s == sigma)?;
            fit.weights.get(level)
        });
        if let Some(weight) = known {
            alignment.push(align(sigma, weight, fit, config.axes));
            weights.push(Weights::of(sigma, weight, fit, shape));
            breathe().await?;
        }
    }
    let denoisers = [
        ("trained", Some(trained)),
        ("linear", linear),
        ("gaussian", Some(gaussian)),
        ("empirical", Some(empirical)),
    ];
    let path = |(name, portrait): (_, Option<_>)| Some(path(config, study, name, portrait?));
    let axes = fit.eigenvectors.column_iter().take(config.axes);
    let axes = axes.map(|axis| (axis.iter().copied().collect(), axis.amax()));
    Ok(Bias {
        difference_gaussian_empirical: Differences::between(gaussian, empirical, shape.dim()),
        difference_linear: to(trained),
        difference_linear_gaussian: to(gaussian),
        difference_linear_empirical: to(empirical),
        cosine_linear: linear.map(|linear| trained.sample_cosine(linear, &mean)),
        cosine_linear_gaussian: linear.map(|linear| linear.sample_cosine(gaussian, &mean)),
        alignment: linear.map(|_| alignment),
        weights: linear.map(|_| weights),
        axes: Images::signed(axes),
        paths: denoisers.into_iter().filter_map(path).collect::<Result<_>>()?,
        point,
    })
}

fn path(
    config: &Config,
    study: &Study,
    denoiser: &'static str,
    portrait: &Portrait,
) -> Result<Path> {
    let (split, count) = (study.split(), config.paths);
    let show = |rows: &[f32]| {
        Images::of(
            &rows[..rows.len().min(count.saturating_mul(split.dim()))],
            split.standardization(),
        )
    };
    let schedule = config.look.sampler()?.schedule;
    Ok(Path {
        denoiser,
        sigmas: schedule.sigmas()[..schedule.steps()].to_vec(),
        denoised: portrait.path.iter().map(|images| show(images)).collect(),
        samples: show(&portrait.samples),
        nearest: show(&nearest(portrait, study.sets(), count)),
    })
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
