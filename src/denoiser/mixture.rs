//! A mixture of Gaussians: a denoiser between D_G and D_M.
//!
//! With one component it is D_G; with one component without covariance per image it is D_M. In between,
//! k-means finds the components.

use rand::RngExt;

use super::{Denoiser, GaussianFit, Placed};
use crate::compute::{Buffer, Engine, Program, View};
use crate::data::TrainingSets;
use crate::error::{Error, Result};
use crate::kernels::matmul::{Keep, Layout, Matmul};
use crate::kernels::mixture_posterior::{self, MixtureShape};
use crate::kernels::{Sigma, pairwise_distances};
use crate::rng::{Philox, Stream};

/// Most rounds of k-means; it seldom needs half as many.
const ROUNDS: usize = 50;

/// One Gaussian of a mixture.
#[derive(Debug, Clone)]
struct Component {
    /// Fraction of the training images in this component.
    weight: f64,
    fit: GaussianFit,
}

/// The optimal denoiser of a mixture of low-rank Gaussians (Wang and Vastola, 2024),
///
/// `D(x; σ) = Σₖ πₖ(x; σ) (mₖ + Uₖ Λₖ(Λₖ + σ²)⁻¹ Uₖᵀ (x - mₖ))`,
///
/// where `π` is the posterior of the components.
#[derive(Debug, Clone)]
pub struct Mixture {
    members: Vec<Vec<Component>>,
    dim: usize,
}

impl Mixture {
    /// Fits `components` Gaussians, with at most `rank` axes each, to each training set: k-means with
    /// k-means++ seeds, then mean and covariance of each cluster.
    pub async fn fit(
        engine: &Engine,
        sets: &TrainingSets,
        components: usize,
        rank: usize,
        seed: u64,
    ) -> Result<Self> {
        let dim = sets.dim();
        let mut members = Vec::new();
        for member in 0..sets.ranges().len() {
            let images = sets.images(member);
            let clusters = k_means(engine, images, dim, components, seed).await?;
            let mut fitted = Vec::new();
            for cluster in clusters {
                let own: Vec<f32> =
                    cluster.iter().flat_map(|&i| &images[i * dim..][..dim]).copied().collect();
                let mut fit = GaussianFit::new(&own, dim)?;
                let kept = fit.eigenvalues.len().min(rank);
                fit.eigenvalues = fit.eigenvalues.rows(0, kept).into_owned();
                fit.eigenvectors = fit.eigenvectors.columns(0, kept).into_owned();
                fitted.push(Component { weight: (own.len() as f64) / (images.len() as f64), fit });
            }
            members.push(fitted);
        }
        Ok(Self { members, dim })
    }
}

/// Clusters the rows of `images` by Lloyd's algorithm from k-means++ seeds, and returns lists of their
/// indices. None is empty, so there may be fewer than asked for.
pub async fn k_means(
    engine: &Engine,
    images: &[f32],
    dim: usize,
    clusters: usize,
    seed: u64,
) -> Result<Vec<Vec<usize>>> {
    let n = images.len() / dim.max(1);
    if clusters == 0 || clusters > n {
        return Err(Error::bad_input(
            format!("Cannot find {clusters} clusters among {n} images"),
            "Choose at least one cluster, and at most one per image",
        ));
    }
    let mut centres = seeds(images, dim, clusters, seed);
    let mut assigned: Vec<usize> = Vec::new();
    for _ in 0..ROUNDS {
        let next = nearest_centres(engine, images, &centres, dim).await?;
        if next == assigned {
            break;
        }
        assigned = next;
        let mut sums = vec![0.0_f64; centres.len()];
        let mut counts = vec![0_usize; centres.len() / dim];
        for (image, &k) in images.chunks_exact(dim).zip(&assigned) {
            counts[k] += 1;
            for (sum, &v) in sums[k * dim..][..dim].iter_mut().zip(image) {
                *sum += f64::from(v);
            }
        }
        for (k, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            for (centre, sum) in centres[k * dim..][..dim].iter_mut().zip(&sums[k * dim..]) {
                *centre = (sum / count as f64) as f32;
            }
        }
    }
    let mut lists = vec![Vec::new(); clusters];
    for (i, k) in assigned.into_iter().enumerate() {
        lists[k].push(i);
    }
    lists.retain(|list| !list.is_empty());
    Ok(lists)
}

/// k-means++: each seed is an image, drawn with probability proportional to its squared distance from the
/// seeds so far.
fn seeds(images: &[f32], dim: usize, clusters: usize, seed: u64) -> Vec<f32> {
    let mut random = Philox::new(seed, Stream::Clusters);
    let n = images.len() / dim;
    let image = |i: usize| &images[i * dim..][..dim];
    let mut centres = image(random.random_range(0..n)).to_vec();
    let mut distances = vec![f64::MAX; n];
    while centres.len() < clusters * dim {
        let last = centres[centres.len() - dim..].to_vec();
        for (distance, image) in distances.iter_mut().zip(images.chunks_exact(dim)) {
            let new: f64 = image.iter().zip(&last).map(|(a, b)| f64::from(a - b).powi(2)).sum();
            *distance = distance.min(new);
        }
        let mut left = random.random::<f64>() * distances.iter().sum::<f64>();
        let drawn = distances.iter().position(|distance| {
            left -= distance;
            left < 0.0
        });
        centres.extend_from_slice(image(drawn.unwrap_or(n - 1)));
    }
    centres
}

/// The index of the centre nearest to each image.
async fn nearest_centres(
    engine: &Engine,
    images: &[f32],
    centres: &[f32],
    dim: usize,
) -> Result<Vec<usize>> {
    /// Images per batch.
    const ROWS: usize = 512;
    let points = centres.len() / dim;
    let rows = ROWS.min(images.len() / dim);
    let mut program = engine.program(1)?;
    let x = program.shared("images", rows * dim)?;
    let y = program.shared("centres", points * dim)?;
    let out = program.buffer("distances", rows * points)?;
    let routine = program.routine("distances", |p| {
        pairwise_distances::record(p, [x.into(), y.into(), out.into()], [rows, points, dim])
    })?;
    let mut loaded = engine.load(program).await?;
    loaded.upload(y, centres)?;
    let mut nearest = Vec::new();
    let mut padded = vec![0.0; rows * dim];
    for batch in images.chunks(rows * dim) {
        padded[..batch.len()].copy_from_slice(batch);
        loaded.upload(x, &padded)?;
        loaded.run(routine, 1)?;
        let distances: Vec<f32> = loaded.read(out).await?;
        nearest.extend(distances.chunks_exact(points).take(batch.len() / dim).map(|row| {
            let smallest = row.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
            smallest.map_or(0, |(k, _)| k)
        }));
    }
    Ok(nearest)
}

impl Denoiser for Mixture {
    fn dim(&self) -> usize {
        self.dim
    }

    fn members(&self) -> usize {
        self.members.len()
    }

    fn place(&self, program: &mut Program, rows: usize) -> Result<Box<dyn Placed>> {
        program.check_members("mixtures", self.members.len())?;
        let dim = self.dim;
        let components = self.members.iter().map(Vec::len).max().unwrap_or(1);
        let ranks = self.members.iter().flatten().map(|component| component.fit.eigenvalues.len());
        let rank = ranks.clone().max().unwrap_or(0).max(1);
        let full = ranks.min() == Some(dim);
        let (mut basis, mut lambda, mut shift) = (Vec::new(), Vec::new(), Vec::new());
        let (mut means, mut log_weights) = (Vec::new(), Vec::new());
        for member in &self.members {
            for k in 0..components {
                // Missing components get no weight.
                let (weight, fit) = match member.get(k) {
                    Some(component) => (component.weight.ln() as f32, &component.fit),
                    None => (-1e30, &member[0].fit),
                };
                log_weights.push(weight);
                means.extend(fit.mean.iter().map(|&v| v as f32));
                let offset = fit.eigenvectors.tr_mul(&fit.mean);
                for i in 0..rank {
                    let axis = |j: usize| fit.eigenvectors.get((j, i)).map_or(0.0, |&v| v as f32);
                    basis.extend((0..dim).map(axis));
                    lambda.push(fit.eigenvalues.get(i).map_or(0.0, |&v| v as f32));
                    shift.push(-offset.get(i).map_or(0.0, |&v| v as f32));
                }
            }
        }
        Ok(Box::new(PlacedMixture {
            basis: program.buffer_with("mixture axes", basis)?,
            lambda: program.buffer_with("mixture variances", lambda)?,
            shift: program.buffer_with("mixture offsets", shift)?,
            means: program.buffer_with("mixture means", means)?,
            log_weights: program.buffer_with("mixture weights", log_weights)?,
            z: program.buffer("mixture coordinates", rows * components * rank)?,
            distances: program.buffer("distances from the means", rows * components)?,
            posterior: program.buffer("mixture posterior", rows * components)?,
            shape: MixtureShape { rows, components, rank, full },
            dim,
        }))
    }
}

/// A [`Mixture`] placed in a program.
#[derive(Debug, Clone, Copy)]
struct PlacedMixture {
    basis: Buffer,
    lambda: Buffer,
    shift: Buffer,
    means: Buffer,
    log_weights: Buffer,
    z: Buffer,
    distances: Buffer,
    posterior: Buffer,
    shape: MixtureShape,
    dim: usize,
}

impl Placed for PlacedMixture {
    fn record(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()> {
        let MixtureShape { rows, components, rank, .. } = self.shape;
        let (dim, axes) = (self.dim, components * rank);
        Matmul::new(Layout::Nt, x, self.basis, self.z, [rows, axes, dim])
            .bias(self.shift)
            .record(program)?;
        let pairs = [x, self.means.into(), self.distances.into()];
        pairwise_distances::record(program, pairs, [rows, components, dim])?;
        let views = [self.lambda, self.log_weights, self.distances, self.z, self.posterior];
        mixture_posterior::record(program, self.shape, sigma, views.map(Into::into))?;
        Matmul::new(Layout::Nn, self.z, self.basis, out, [rows, dim, axes]).record(program)?;
        Matmul::new(Layout::Nn, self.posterior, self.means, out, [rows, dim, components])
            .keep(Keep::All)
            .record(program)
    }
}
