//! The edge of memorization: the noise level σ_c(N) below which a noisy image reveals which of `N` training
//! images it came from. It is predicted from the covariance alone (Hunt, Kamb and Ganguli, 2026; for isotropic
//! data Biroli et al., 2024), and measured on the posterior of D_M, which needs no training.

use serde::{Deserialize, Serialize};

use crate::compute::Engine;
use crate::data::Split;
use crate::denoiser::{GaussianFit, critical_sigma, information, window_thresholds};
use crate::error::{Error, Result};
use crate::metrics::Estimate;
use crate::rng::{Stream, fill_normals};
use crate::sampler::check_sigma;
use crate::serial::decimal;

/// Configuration of the measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// Sizes of the training sets.
    pub sizes: Vec<usize>,
    /// Noise levels.
    #[serde(serialize_with = "decimal::serialize")]
    pub sigmas: Vec<f32>,
    /// Number of training images to which noise is added at each level.
    pub images: usize,
    /// Seed of the noise.
    pub seed: u64,
}

impl Config {
    /// The configuration for images of `dim` numbers. The more there are, the more noise it takes to hide an
    /// image among others.
    #[must_use]
    pub fn for_images(dim: usize) -> Self {
        // Eight levels per decade, from 0.1 on.
        let last: u8 = if dim > 1024 { 20 } else { 16 };
        let sigmas = (0..=last).map(|i| 10.0_f32.powf(f32::from(i) / 8.0 - 1.0)).rev();
        let sigmas = sigmas.map(|sigma| (sigma * 1e4).round() / 1e4).collect();
        Self { sizes: vec![16, 64, 256, 1024, 4096], sigmas, images: 100, seed: 1 }
    }
}

/// The edge for one training set. Lists run over the noise levels.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Edge {
    /// Number of training images.
    pub n: usize,
    /// σ_c, at which the information of a noisy image is `ln N`.
    pub predicted: f64,
    /// The noise level below which half of the noisy images give one training image more than half of the
    /// weight; `None` if they do so at no level or at all levels.
    pub measured: Option<f64>,
    /// Entropy of the posterior in nats.
    pub entropy: Vec<Estimate>,
    /// The predicted entropy: `ln N` minus the information.
    pub predicted_entropy: Vec<f64>,
    /// The median, over noisy images, of the largest weight.
    pub largest_weight: Vec<f64>,
    /// Pixels per side of the largest window that does not reveal the training image.
    pub windows: Vec<usize>,
}

/// Measures the edge for each size, on the first images of the training pool.
pub async fn measure(engine: &Engine, split: &Split, config: &Config) -> Result<Vec<Edge>> {
    let Config { sizes, sigmas, images, seed } = config;
    sigmas.iter().try_for_each(|&sigma| check_sigma(sigma))?;
    if sizes.is_empty() || sigmas.len() < 2 || !(1..=4096).contains(images) {
        return Err(Error::bad_input(
            format!(
                "Cannot measure {} sizes at {} noise levels on {images} images",
                sizes.len(),
                sigmas.len()
            ),
            "Choose at least one size, two noise levels, and 1 to 4096 images",
        ));
    }
    let dim = split.dim();
    let mut noise = vec![0.0; images * dim];
    fill_normals(*seed, Stream::MetricNoise, 0, &mut noise);
    let mut edges = Vec::new();
    for &n in sizes {
        let set = split.subset(0..n)?;
        let fit = GaussianFit::new(set, dim)?;
        let variances = fit.eigenvalues.as_slice();
        let nats = (n as f64).ln();
        let thresholds = window_thresholds(&fit, split.shape(), n, false)?;
        let (mut entropy, mut largest_weight) = (Vec::new(), Vec::new());
        for &sigma in sigmas {
            let clean = set.iter().cycle();
            let noisy: Vec<f32> = clean.zip(&noise).map(|(y, n)| y + sigma * n).collect();
            let mut weights = Vec::new();
            let mut entropies = Vec::new();
            for x in noisy.chunks_exact(dim) {
                let posterior = Posterior::of(set, x, sigma);
                weights.push(posterior.largest);
                entropies.push(posterior.entropy);
                engine.yield_now().await?;
            }
            weights.sort_by(f64::total_cmp);
            largest_weight.push(weights[weights.len() / 2]);
            entropy.push(Estimate::of(entropies));
        }
        edges.push(Edge {
            n,
            predicted: critical_sigma(variances, nats),
            measured: crossing(sigmas, &largest_weight),
            entropy,
            predicted_entropy: sigmas
                .iter()
                .map(|&sigma| (nats - information(variances, sigma.into())).max(0.0))
                .collect(),
            largest_weight,
            windows: sigmas
                .iter()
                .map(|sigma| 1 + 2 * thresholds.iter().filter(|&t| t <= sigma).count())
                .collect(),
        });
    }
    Ok(edges)
}

/// The probabilities of the training images given a noisy image: the weights of D_M (eq. 4).
#[derive(Debug, Clone, Copy)]
pub struct Posterior {
    /// Entropy of the probabilities in nats.
    pub entropy: f64,
    /// The largest probability.
    pub largest: f64,
}

impl Posterior {
    /// The posterior over the rows of `images`, given `x` with noise of level `sigma`.
    #[must_use]
    pub fn of(images: &[f32], x: &[f32], sigma: f32) -> Self {
        let scale = -0.5 / f64::from(sigma).powi(2);
        let logit = |image: &[f32]| {
            // Sums of squares do not cancel, and a row has too few values to need more digits.
            let distance: f32 = image.iter().zip(x).map(|(a, b)| (a - b) * (a - b)).sum();
            f64::from(distance) * scale
        };
        let logits: Vec<f64> = images.chunks_exact(x.len()).map(logit).collect();
        let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut moment) = (0.0, 0.0);
        for logit in logits {
            let weight = (logit - top).exp();
            sum += weight;
            moment += weight * (logit - top);
        }
        Self { entropy: sum.ln() - moment / sum, largest: 1.0 / sum }
    }
}

/// The noise level at which the median weight crosses one half, interpolated on a logarithmic scale.
fn crossing(sigmas: &[f32], weights: &[f64]) -> Option<f64> {
    let mut points: Vec<_> = sigmas.iter().map(|&s| f64::from(s).ln()).zip(weights).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.windows(2).find_map(|pair| {
        let &[(low, &before), (high, &after)] = pair else { return None };
        let part = (before - 0.5) / (before - after);
        (before >= 0.5 && after < 0.5).then(|| (low + part * (high - low)).exp())
    })
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::data::Faces;
    use pollster::block_on;

    #[test]
    fn the_posterior_of_two_images() {
        let sigma = 0.7_f32;
        let Posterior { entropy, largest } =
            Posterior::of(&[0.0, 0.0, 1.0, 1.0], &[0.0, 0.5], sigma);
        // Distances 0.25 and 1.25.
        let odds = (-0.5_f64 / 0.49).exp();
        let [p, q] = [1.0 / (1.0 + odds), odds / (1.0 + odds)];
        assert!((largest - p).abs() < 1e-6);
        assert!((entropy + p * p.ln() + q * q.ln()).abs() < 1e-6);
        // At high noise all images are equally likely; at low noise one is certain.
        let uniform = Posterior::of(&[0.0, 0.0, 1.0, 1.0], &[0.0, 0.5], 1e4);
        assert!((uniform.entropy - 2.0_f64.ln()).abs() < 1e-6);
        assert!(Posterior::of(&[0.0, 0.0, 1.0, 1.0], &[0.0, 0.5], 0.002).entropy < 1e-12);
    }

    #[test]
    fn the_crossing_is_between_two_levels() {
        let found = crossing(&[4.0, 1.0, 0.25], &[0.1, 0.4, 0.6]).unwrap();
        assert!((found - 0.5).abs() < 1e-6, "{found}");
        assert_eq!(crossing(&[1.0, 0.5], &[0.1, 0.2]), None);
    }

    /// On faces, as on Gaussian samples, the prediction is slightly below the measurement, and more images
    /// move the edge to lower noise.
    #[test]
    fn the_edge_is_where_it_is_predicted() {
        let split = Faces { size: 8, count: 300, seed: 3 }.draw().unwrap().split(3, 20).unwrap();
        let config = Config { sizes: vec![64, 256], images: 40, ..Config::for_images(1) };
        let edges = block_on(measure(&Engine::cpu(), &split, &config)).unwrap();
        for edge in &edges {
            let ratio = edge.measured.unwrap() / edge.predicted;
            assert!((0.9..1.6).contains(&ratio), "N = {}: {ratio}", edge.n);
            assert!(edge.windows.is_sorted_by(|a, b| a >= b), "{:?}", edge.windows);
            for (measured, predicted) in edge.entropy.iter().zip(&edge.predicted_entropy) {
                assert!((measured.mean - predicted).abs() < 1.3, "{measured:?} {predicted}");
            }
        }
        assert!(edges[1].predicted < edges[0].predicted);
        let bad = Config { sigmas: vec![1.0], ..config };
        assert!(block_on(measure(&Engine::cpu(), &split, &bad)).is_err());
    }
}
