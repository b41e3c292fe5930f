//! Figure 2: a network that generalizes is close to D_L and D_G, and one that memorizes is close to D_M;
//! the singular vectors of D_L are the principal axes of the training images.

use std::collections::BTreeMap;

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

use super::ensemble::{Ensemble, Member, Networks, Point};
use super::evaluation::{EvalConfig, Evaluation};
use super::images::{Images, nearest_images};
use super::references::Reference;
use super::{Detail, Experiment, Preset, cost, cut_networks, largest};
use crate::compute::Engine;
use crate::data::Split;
use crate::denoiser::{DenoiserId, Distill, Gaussian, GaussianFit, LinearFit};
use crate::error::{Error, Result};
use crate::serial::decimal;
use crate::shape::Shape;
use crate::train;

/// Configuration of the experiment: what to train and how to evaluate it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// Sizes of the training sets: one that is memorized, and one from which networks generalize.
    pub sizes: Vec<usize>,
    /// Each size is trained once from each seed.
    pub seeds: Vec<u64>,
    /// How the networks are trained.
    pub train: train::Config,
    /// How the networks are evaluated.
    pub evaluation: EvalConfig,
    /// Number of singular vectors that are compared with principal axes.
    pub axes: usize,
    /// Number of samples whose path from noise to image is shown.
    pub paths: usize,
}

/// The contents of Figure 2 for one network.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bias {
    /// The network and the denoisers beside it.
    #[serde(flatten)]
    pub point: Point,
    /// Singular vectors and principal axes per noise level; absent if D_L was not distilled.
    pub alignment: Option<Vec<Alignment>>,
    /// Rows of D_L and D_G per noise level; absent if D_L was not distilled.
    pub filters: Option<Vec<Filters>>,
    /// The leading principal axes of the training images, as pictures.
    pub axes: Images,
    /// The sampler's noise levels.
    #[serde(serialize_with = "decimal::serialize")]
    pub path_sigmas: Vec<f32>,
    /// The path of each denoiser from the same noise.
    pub paths: BTreeMap<DenoiserId, Path>,
}

/// Singular vectors of `W_σ` beside the principal axes of the training images.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Alignment {
    /// The noise level.
    #[serde(serialize_with = "decimal::serialize")]
    pub sigma: f32,
    /// `|u_i · a_j|`, with one row per left singular vector `u_i` of `W_σ`.
    pub matrix: Vec<Vec<f64>>,
    /// Fraction of the leading singular vectors that lies in the span of equally many principal axes.
    pub overlap: f64,
}

/// How some output pixels are computed: rows of `W_σ`, as pictures. Those of one pixel share a
/// scale.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Filters {
    /// The noise level.
    #[serde(serialize_with = "decimal::serialize")]
    pub sigma: f32,
    /// Row and column of each pixel.
    pub pixels: Vec<[usize; 2]>,
    /// The rows of each denoiser, one per pixel.
    pub rows: BTreeMap<DenoiserId, Images>,
}

impl Filters {
    /// The filters of the pixels at a face's nose, eyes and mouth.
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
        let rows = [(DenoiserId::LINEAR, linear), (DenoiserId::GAUSSIAN, gaussian)];
        Self { sigma, pixels, rows: rows.map(|(id, rows)| (id, Images::signed(rows))).into() }
    }
}

/// The path of some samples from noise to image.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Path {
    /// `D(x_t)` at each of the sampler's noise levels.
    pub denoised: Vec<Images>,
    /// How far these images are from the network's: the root mean square in grey levels of 255.
    pub from_network: Vec<f64>,
    /// The final images.
    pub samples: Images,
    /// The training images nearest to the final images.
    pub nearest: Images,
}

/// The experiment of Figure 2.
#[derive(Debug)]
pub struct GaussianBias {
    engine: Engine,
    config: Config,
    networks: Networks,
}

impl Experiment for GaussianBias {
    type Config = Config;
    type Findings = Vec<Bias>;
    const NAME: &'static str = "gaussian-bias";
    const TITLE: &'static str = "The Gaussian bias";
    const FIGURE: Option<u32> = Some(2);

    fn preset(preset: Preset, shape: Shape, seed: u64) -> Config {
        let sizes = match preset {
            Preset::Quick => vec![16, 1024],
            Preset::Main => vec![32, 4096],
            Preset::Faithful => vec![32, 8192],
            Preset::CifarQuick => vec![64, 4096],
            Preset::Cifar => vec![64, 16_384],
        };
        let distillation = Some(Distill::of_dim(shape.dim()));
        let evaluation = EvalConfig { distillation, ..preset.evaluation(seed) };
        Config {
            sizes,
            seeds: vec![seed],
            train: preset.train(shape, Vec::new()),
            evaluation,
            axes: 16,
            paths: 4,
        }
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
        let Config { sizes, seeds, train, evaluation, .. } = config;
        Ok(cost::networks(sizes, train, evaluation, 1, dim)? * seeds.len() as f64)
    }

    async fn new(engine: &Engine, split: &Split, config: Config) -> Result<Self> {
        let Config { sizes, seeds, train, evaluation, .. } = &config;
        if !evaluation.denoisers.contains(&DenoiserId::GAUSSIAN) {
            return Err(Error::bad_input(
                "Figure 2 shows the principal axes of the Gaussian denoiser",
                "Add “gaussian” to evaluation.denoisers",
            ));
        }
        let members = Member::nested(sizes, seeds);
        let networks = Networks::new(engine, split, &members, train, evaluation).await?;
        Ok(Self { engine: engine.clone(), config, networks })
    }

    async fn findings(&mut self, detail: Detail) -> Result<Vec<Bias>> {
        let Self { engine, config, networks: Networks { ensemble, references } } = self;
        let evaluated = ensemble.evaluate(detail).await?;
        let references = references.at(detail).await?;
        let points = ensemble.describe(&evaluated, references).await?;
        let mut biases = Vec::new();
        for (m, point) in points.into_iter().enumerate() {
            let reference = Reference::of(references, &point.member.range())?;
            let linear = evaluated.linear.as_ref().map(|linear| &linear.fits()[m]);
            let own = evaluated.denoisers.iter().map(|(&id, all)| (id, &all[m]));
            let fitted = reference.denoisers.iter().map(|(&id, one)| (id, one));
            let network = &evaluated.denoisers[&DenoiserId::TRAINED][m];
            let paths = own.chain(fitted);
            let paths = paths.map(|(id, one)| (id, path(config, ensemble, one, network)));
            let paths = paths.collect();
            biases.push(bias(engine, config, ensemble, point, reference, linear, paths).await?);
        }
        Ok(biases)
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn ensembles(&mut self) -> Vec<&mut Ensemble> {
        vec![&mut self.networks.ensemble]
    }
}

/// Describes one network beside D_G, and beside D_L if it was distilled.
async fn bias(
    engine: &Engine,
    config: &Config,
    ensemble: &Ensemble,
    point: Point,
    reference: &Reference,
    linear: Option<&LinearFit>,
    paths: BTreeMap<DenoiserId, Path>,
) -> Result<Bias> {
    let shape = ensemble.split().shape();
    let gaussian = reference.fitted::<Gaussian>(DenoiserId::GAUSSIAN);
    let fit = gaussian.and_then(|gaussian| gaussian.fits().first());
    let fit = fit.ok_or_else(|| Error::internal("The Gaussian was not fitted"))?;
    let (mut alignment, mut filters) = (Vec::new(), Vec::new());
    for (level, &sigma) in config.evaluation.sigmas.iter().enumerate() {
        // The sampler's levels come first in D_L.
        let level = config.evaluation.sampler_steps + level;
        if let Some(linear) = linear {
            alignment.push(align(sigma, &linear.singular_vectors(level, config.axes)?, fit));
            filters.push(Filters::of(sigma, &linear.weights[level], fit, shape));
            engine.yield_now().await?;
        }
    }
    let axes = fit.eigenvectors.column_iter().take(config.axes);
    let axes = axes.map(|axis| (axis.iter().copied().collect(), axis.amax()));
    let schedule = config.evaluation.sampler()?.schedule;
    Ok(Bias {
        alignment: linear.map(|_| alignment),
        filters: linear.map(|_| filters),
        axes: Images::signed(axes),
        path_sigmas: schedule.sigmas()[..schedule.steps()].to_vec(),
        paths,
        point,
    })
}

fn path(
    config: &Config,
    ensemble: &Ensemble,
    evaluation: &Evaluation,
    network: &Evaluation,
) -> Path {
    let (split, count) = (ensemble.split(), config.paths);
    let show = |rows: &[f32]| {
        let rows = &rows[..rows.len().min(count.saturating_mul(split.dim()))];
        Images::of(rows, split.standardization())
    };
    let denoised: Vec<Images> = evaluation.path.iter().map(|images| show(images)).collect();
    let networks = network.path.iter().map(|images| show(images));
    Path {
        from_network: networks.zip(&denoised).map(|(theirs, ours)| theirs.distance(ours)).collect(),
        denoised,
        samples: show(&evaluation.samples),
        nearest: show(&nearest_images(&evaluation.nearest, ensemble.sets(), count)),
    }
}

/// Compares the leading left singular vectors of D_L at a noise level, one per column, with the leading
/// principal axes.
fn align(sigma: f32, vectors: &DMatrix<f64>, gaussian: &GaussianFit) -> Alignment {
    let count = vectors.ncols().min(gaussian.eigenvectors.ncols());
    let row = |i: usize| -> Vec<f64> {
        let u = vectors.column(i);
        (0..count).map(|j| u.dot(&gaussian.eigenvectors.column(j)).abs()).collect()
    };
    let matrix: Vec<Vec<f64>> = (0..count).map(row).collect();
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
        let linear =
            LinearFit { sigmas: vec![0.5], weights: vec![weight], biases: vec![fit.mean.clone()] };
        let alignment = align(0.5, &linear.singular_vectors(0, 4).unwrap(), &fit);
        assert!((alignment.overlap - 1.0).abs() < 1e-9);
        for (i, row) in alignment.matrix.iter().enumerate() {
            for (j, value) in row.iter().enumerate() {
                assert!((value - f64::from(u8::from(i == j))).abs() < 1e-6, "{alignment:?}");
            }
        }
    }
}
