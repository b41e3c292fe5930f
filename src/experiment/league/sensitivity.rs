//! The inputs on which an output pixel depends: the mean absolute derivative of a denoiser with respect to
//! each input, over noisy images.

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
            for Theory { id, scores, .. } in theories {
                // Every shift of every image for every input would take hours, for the same window as LS.
                if *id == DenoiserId::ELS {
                    continue;
                }
                let denoiser = match id.entry() {
                    Some(entry) if [DenoiserId::GAUSSIAN, DenoiserId::EMPIRICAL].contains(id) => {
                        entry.fit(&to).await?
                    }
                    _ => scores.setting.fit(*id, &to).await?,
                };
                let own = derivatives(self.engine(), &*denoiser, x, sigma, shape, pixel).await?;
                fields.insert(*id, Field::of(&own, &network, shape, pixel));
            }
            all.push(Sensitivity { sigma, pixel, fields });
        }
        Ok(all)
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
    use crate::denoiser::{Gaussian, GaussianFit};
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
