//! The inputs on which an output pixel depends: the mean absolute derivative of a denoiser with respect to
//! each input, over noisy images. It is exact for theories that are a softmax over training images; for the
//! others it is taken by differences.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Images, Match, Theory};
use crate::compute::Engine;
use crate::denoiser::{Denoiser, DenoiserId, denoise};
use crate::error::Result;
use crate::serial::decimal;
use crate::shape::Shape;

/// Number of noisy images over which derivatives are averaged.
const IMAGES: usize = 4;
/// Rows that are denoised at a time.
const ROWS: usize = 256;
/// The step of a finite difference in units of σ: over smaller distances, no denoiser changes much.
const STEP: f32 = 0.05;

/// The inputs on which the pixel in the middle of the image depends, at one noise level.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sensitivity {
    /// The noise level.
    #[serde(serialize_with = "decimal::serialize")]
    pub sigma: f32,
    /// Row and column of the pixel.
    pub pixel: [usize; 2],
    /// The sensitivity field of each denoiser.
    pub fields: BTreeMap<DenoiserId, Field>,
}

/// The derivatives of one denoiser with respect to its inputs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Field {
    /// The derivatives as a picture, where the largest is white.
    pub picture: Images,
    /// Mean distance of the inputs, weighted by their derivatives, in pixels.
    pub reach: f64,
    /// Cosine with the network's field.
    pub cosine: f64,
}

impl Match<'_> {
    /// The fields of the network and of the theories, except those whose cost is prohibitive.
    pub(super) async fn sensitivity(&self, theories: &[Theory]) -> Result<Vec<Sensitivity>> {
        let (to, shape, dim) = (self.to(), self.shape(), self.sets.dim());
        let pixel = [shape.height / 2, shape.width / 2];
        let mut all = Vec::new();
        for &sigma in &self.league.config.sensitivity {
            let level = self.evaluation.level(sigma)?;
            let x = &self.measured.levels[level];
            let x = &x[..x.len().min(IMAGES * dim)];
            let network = derivatives(self.engine(), self.network, x, sigma, shape, pixel).await?;
            let mut fields = BTreeMap::new();
            fields.insert(DenoiserId::TRAINED, Field::of(&network, &network, shape, pixel));
            for theory in theories {
                // Every shift of every image for every input would take hours, for the same window as LS.
                if theory.id == DenoiserId::ELS {
                    continue;
                }
                let own = match self.weights(theory, level, pixel).await? {
                    Some(weights) => {
                        let softmax = Softmax { images: self.sets.images(0), weights, sigma };
                        softmax.derivatives(x, shape, pixel)
                    }
                    None => {
                        let denoiser = match theory.id.entry() {
                            Some(entry) if theory.id == DenoiserId::GAUSSIAN => {
                                entry.fit(&to).await?
                            }
                            _ => theory.scores.setting.fit(theory.id, &to).await?,
                        };
                        derivatives(self.engine(), &*denoiser, x, sigma, shape, pixel).await?
                    }
                };
                fields.insert(theory.id, Field::of(&own, &network, shape, pixel));
            }
            all.push(Sensitivity { sigma, pixel, fields });
        }
        Ok(all)
    }

    /// The weights with which a theory that is a softmax over training images compares them for this pixel; `None`
    /// for the other theories.
    async fn weights(
        &self,
        theory: &Theory,
        level: usize,
        [row, column]: [usize; 2],
    ) -> Result<Option<Vec<f32>>> {
        let Shape { width, channels, .. } = self.shape();
        let (dim, setting) = (self.sets.dim(), &theory.scores.setting);
        if theory.id == DenoiserId::EMPIRICAL {
            return Ok(Some(vec![1.0; dim]));
        }
        if let Some(windows) = &setting.windows {
            let within = |a: usize, b: usize| a.abs_diff(b) <= windows[level] / 2;
            let inside = |i: usize| within(i / width, row) && within(i % width, column);
            return Ok(Some((0..dim).map(|i| f32::from(u8::from(inside(i / channels)))).collect()));
        }
        let Some(locality) = setting.locality(&self.sets)? else { return Ok(None) };
        let all = locality.weights(self.engine(), self.evaluation.sigmas[level]).await?;
        let output = (row * width + column) * channels;
        Ok(Some(all.into_iter().skip(output).step_by(dim).collect()))
    }
}

/// The coordinate `m` of a denoiser that weighs the training images by a softmax,
/// `D(x; σ)[m] = Σₙ πₙ yₙ[m]` with `π = softmaxₙ(-(1/2σ²) Σⱼ Q[j, m] (xⱼ - yₙⱼ)²)`.
struct Softmax<'a> {
    images: &'a [f32],
    /// `Q[·, m]`
    weights: Vec<f32>,
    sigma: f32,
}

impl Softmax<'_> {
    /// `|∂D[m] / ∂x[j]| = (Q[j, m] / σ²) |Cov(y[m], y[j])|` under `π`, summed over channels: exact, where
    /// differences would take two evaluations for each input.
    fn derivatives(&self, noisy: &[f32], shape: Shape, [row, column]: [usize; 2]) -> Vec<f64> {
        let (dim, channels) = (shape.dim(), shape.channels);
        let output = (row * shape.width + column) * channels;
        let variance = f64::from(self.sigma).powi(2);
        let mut field = vec![0.0; dim / channels];
        for x in noisy.chunks_exact(dim) {
            let logits = self.images.chunks_exact(dim).map(|y| {
                let squares = x.iter().zip(y).zip(&self.weights);
                let sum: f64 = squares.map(|((x, y), q)| f64::from(q * (x - y).powi(2))).sum();
                -sum / (2.0 * variance)
            });
            let mut posterior: Vec<f64> = logits.collect();
            let largest = posterior.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            posterior.iter_mut().for_each(|logit| *logit = (*logit - largest).exp());
            let total: f64 = posterior.iter().sum();
            let weighted = || {
                let images = self.images.chunks_exact(dim).zip(&posterior);
                images.map(|(y, p)| (y, p / total)).filter(|(_, p)| *p > 0.0)
            };
            let denoised: f64 = weighted().map(|(y, p)| p * f64::from(y[output])).sum();
            let mut covariance = vec![0.0; dim];
            for (y, p) in weighted() {
                let away = p * (f64::from(y[output]) - denoised);
                covariance.iter_mut().zip(y).for_each(|(sum, &y)| *sum += away * f64::from(y));
            }
            for (j, (c, q)) in covariance.iter().zip(&self.weights).enumerate() {
                field[j / channels] += (f64::from(*q) * c / variance).abs();
            }
        }
        let count = (noisy.len() / dim).max(1) as f64;
        field.iter_mut().for_each(|v| *v /= count);
        field
    }
}

impl Field {
    fn of(own: &[f64], network: &[f64], shape: Shape, [row, column]: [usize; 2]) -> Self {
        let largest = own.iter().copied().fold(0.0, f64::max);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let away = |i: usize| {
            let (y, x) = (i / shape.width, i % shape.width);
            (y as f64 - row as f64).hypot(x as f64 - column as f64)
        };
        let moment: f64 = own.iter().enumerate().map(|(i, v)| v * away(i)).sum();
        Self {
            picture: Images::heat(own, largest),
            reach: moment / own.iter().sum::<f64>(),
            cosine: dot(own, network) / (dot(own, own) * dot(network, network)).sqrt(),
        }
    }
}

/// `|∂D[pixel] / ∂x|` for each input pixel, summed over channels, by central differences.
async fn derivatives(
    engine: &Engine,
    denoiser: &dyn Denoiser,
    images: &[f32],
    sigma: f32,
    shape: Shape,
    [row, column]: [usize; 2],
) -> Result<Vec<f64>> {
    let (dim, channels) = (shape.dim(), shape.channels);
    let output = (row * shape.width + column) * channels;
    let step = STEP * sigma;
    let mut field = vec![0.0; dim / channels];
    for image in images.chunks_exact(dim) {
        let mut rows = Vec::new();
        for input in 0..dim {
            for sign in [1.0, -1.0] {
                rows.extend_from_slice(image);
                let at = rows.len() - dim + input;
                rows[at] += sign * step;
            }
        }
        let mut outputs = Vec::new();
        for chunk in rows.chunks(ROWS * dim) {
            let denoised = denoise(engine, denoiser, chunk, sigma).await?;
            outputs.extend(denoised.iter().skip(output).step_by(dim).copied());
        }
        for (input, pair) in outputs.as_chunks::<2>().0.iter().enumerate() {
            field[input / channels] += f64::from((pair[0] - pair[1]).abs() / (2.0 * step));
        }
    }
    let count = (images.len() / dim).max(1) as f64;
    field.iter_mut().for_each(|v| *v /= count);
    Ok(field)
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::data::{Faces, TrainingSets};
    use crate::denoiser::{Empirical, Gaussian, GaussianFit, Local, PcaLocality};
    use crate::kernels::locality::Locality;
    use pollster::block_on;

    /// D_G is linear: its derivatives are a row of its Wiener filter, whatever the image.
    #[test]
    fn the_gaussians_field_is_a_row_of_its_filter() {
        let split = Faces { size: 6, count: 90, seed: 3 }.draw().unwrap().split(3, 10).unwrap();
        let (shape, dim) = (split.shape(), split.dim());
        let sets = TrainingSets::single(split.train(), dim).unwrap();
        let fit = GaussianFit::new(split.train(), dim).unwrap();
        let gaussian = Gaussian::fit(&sets).unwrap();
        let (sigma, images) = (0.5, &split.held_out()[..2 * dim]);
        let field =
            block_on(derivatives(&Engine::cpu(), &gaussian, images, sigma, shape, [3, 2])).unwrap();
        let u = &fit.eigenvectors;
        let gain = fit.eigenvalues.map(|lambda| lambda / (lambda + 0.25));
        let row = u * u.row(3 * 6 + 2).transpose().component_mul(&gain);
        for (got, exact) in field.iter().zip(&row) {
            assert!((got - exact.abs()).abs() < 1e-3, "{got} {exact}");
        }
    }

    /// Differences of the denoisers themselves agree with the derivatives of a softmax.
    #[test]
    fn the_derivatives_of_softmaxes_are_their_slopes() {
        let split = Faces { size: 6, count: 90, seed: 3 }.draw().unwrap().split(3, 10).unwrap();
        let (shape, dim) = (split.shape(), split.dim());
        let sets = TrainingSets::single(split.train(), dim).unwrap();
        let (engine, sigma, pixel) = (Engine::cpu(), 0.7, [3, 2]);
        let noisy = &split.held_out()[..2 * dim];
        let gaussian = Gaussian::fit(&sets).unwrap();
        let locality = PcaLocality::new(sets.clone(), gaussian, Locality::Threshold(0.1)).unwrap();
        let mask = block_on(locality.weights(&engine, sigma)).unwrap();
        let mask: Vec<f32> = mask.into_iter().skip(3 * 6 + 2).step_by(dim).collect();
        assert!(mask.contains(&0.0) && mask.contains(&1.0));
        let window = |i: usize| (i / 6).abs_diff(3) <= 1 && (i % 6).abs_diff(2) <= 1;
        let window = (0..dim).map(|i| f32::from(u8::from(window(i)))).collect();
        let local = Local::new(sets.clone(), shape, Local::fixed_window(3)).unwrap();
        let cases: [(Box<dyn Denoiser>, Vec<f32>); 3] = [
            (Box::new(Empirical::new(sets.clone())), vec![1.0; dim]),
            (Box::new(locality), mask),
            (Box::new(local), window),
        ];
        for (denoiser, weights) in cases {
            let softmax = Softmax { images: sets.images(0), weights, sigma };
            let exact = softmax.derivatives(noisy, shape, pixel);
            let slopes = derivatives(&engine, &*denoiser, noisy, sigma, shape, pixel);
            let largest = exact.iter().copied().fold(0.0, f64::max);
            for (exact, slope) in exact.iter().zip(block_on(slopes).unwrap()) {
                assert!((exact - slope).abs() < 0.01 * largest, "{denoiser:?} {exact} {slope}");
            }
        }
    }

    /// A window's reach is its mean distance.
    #[test]
    fn reach_is_a_mean_distance() {
        let shape = Shape { height: 3, width: 3, channels: 1 };
        let mut own = [0.0; 9];
        (own[4], own[5], own[1]) = (1.0, 1.0, 2.0);
        let field = Field::of(&own, &own, shape, [1, 1]);
        assert_eq!(field.reach, 0.75);
        assert!((field.cosine - 1.0).abs() < 1e-12);
        assert_eq!(field.picture.bytes()[1], 255);
    }
}
