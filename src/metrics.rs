//! The paper's metrics, each with its standard error.
//!
//! A metric is placed in a program beside the denoisers that it measures, and can be measured as often as
//! needed after loading. Everything that touches images runs on the engine; only four sums per row
//! ([`row_compare`]) are read back.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use crate::compute::{Buffer, Engine, Loaded, Program, Routine, View};
use crate::data::TrainingSets;
use crate::denoiser::{Empirical, Neighbours, Placed, PlacedEmpirical};
use crate::error::{Error, Result};
use crate::kernels::nearest_tile::CANDIDATES;
use crate::kernels::{Sigma, axpby, noise, row_compare};
use crate::rng::{Draw, Philox, Stream};

/// A mean over samples with its standard error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Estimate {
    /// The mean of the samples.
    #[serde(deserialize_with = "number")]
    pub mean: f64,
    /// The standard error of the mean: the samples' standard deviation over `√count`.
    #[serde(deserialize_with = "number")]
    pub standard_error: f64,
    /// The number of samples.
    pub count: usize,
}

/// Reads a number. JSON has no NaN, so a diverged member's numbers are null there.
fn number<'de, D: Deserializer<'de>>(json: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(json)?.unwrap_or(f64::NAN))
}

impl Estimate {
    /// Returns the mean and standard error of `values`.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        // Welford's update: no cancellation, one pass.
        let (mut count, mut mean, mut squares) = (0_usize, 0.0, 0.0);
        for value in values {
            count += 1;
            let delta = value - mean;
            mean += delta / count as f64;
            squares += delta * (value - mean);
        }
        let variance = if count > 1 { squares / (count - 1) as f64 } else { 0.0 };
        Self { mean, standard_error: (variance / count.max(1) as f64).sqrt(), count }
    }
}

/// Two vectors compared: their norms, product and distance, which [`row_compare`] computes per row.
#[derive(Debug, Clone, Copy)]
pub struct RowComparison {
    /// `‖a‖`.
    pub norm_a: f64,
    /// `‖b‖`.
    pub norm_b: f64,
    /// `a·b`.
    pub dot: f64,
    /// `‖a - b‖`.
    pub distance: f64,
}

impl RowComparison {
    /// Iterates over the rows of a [`row_compare`] buffer.
    pub fn rows(sums: &[f32]) -> impl Iterator<Item = Self> + '_ {
        sums.chunks_exact(4).map(|s| Self {
            norm_a: f64::from(s[0]).sqrt(),
            norm_b: f64::from(s[1]).sqrt(),
            dot: f64::from(s[2]),
            distance: f64::from(s[3]).sqrt(),
        })
    }

    /// The cosine of the angle between both vectors; 0 if one of them vanishes.
    #[must_use]
    pub fn cosine(&self) -> f64 {
        ratio(self.dot, self.norm_a * self.norm_b)
    }

    /// How close both vectors are to lying on one line, whatever their directions: `|cos|`.
    #[must_use]
    pub fn alignment(&self) -> f64 {
        self.cosine().abs()
    }

    /// `‖a - b‖ / ‖a‖`: the paper's NMSE, which is not squared (eq. 12 of the full text).
    #[must_use]
    pub fn nmse(&self) -> f64 {
        ratio(self.distance, self.norm_a)
    }
}

/// A quotient that is 0 where both numbers vanish. NaN stays NaN: a broken network is close to nothing.
fn ratio(numerator: f64, denominator: f64) -> f64 {
    if numerator == 0.0 && denominator == 0.0 { 0.0 } else { numerator / denominator }
}

/// How close samples come to the training set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Closeness {
    /// The generalization score, mean `‖x - NN(x)‖ / ‖x‖`: 0 for copies. It is scale-free, as in the full text.
    pub gl: Estimate,
    /// The generalization score with `‖x‖²` in the denominator, as the abstract prints it; it depends on the
    /// scale of the data.
    pub gl_squared: Estimate,
    /// Fraction of memorized samples, those with `d₁ / d₂ < 1/3`: far nearer to one training image than to
    /// any other.
    pub memorized: Estimate,
}

impl Closeness {
    /// Computes the scores from each sample's comparison with its two nearest training images.
    #[must_use]
    pub fn of(first: &[RowComparison], second: &[RowComparison]) -> Self {
        let gl = |square: i32| first.iter().map(move |c| ratio(c.distance, c.norm_a.powi(square)));
        let copied = |(a, b): (&RowComparison, &RowComparison)| match 3.0 * a.distance < b.distance
        {
            _ if a.distance.is_nan() || b.distance.is_nan() => f64::NAN,
            copied => f64::from(u8::from(copied)),
        };
        Self {
            gl: Estimate::of(gl(1)),
            gl_squared: Estimate::of(gl(2)),
            memorized: Estimate::of(first.iter().zip(second).map(copied)),
        }
    }
}

/// The training images nearest to samples.
#[derive(Debug, Clone)]
pub struct NearestImages {
    /// Index in the pool of each sample's nearest image.
    pub index: Vec<u32>,
    /// Distance of each sample to its nearest image.
    pub d1: Vec<f32>,
    /// Distance of each sample to its second nearest image.
    pub d2: Vec<f32>,
    /// The scores that follow from both distances.
    pub closeness: Closeness,
}

/// The search for the training images nearest to samples, placed in a program.
#[derive(Debug, Clone, Copy)]
pub struct Nearest {
    neighbours: Neighbours,
}

impl Nearest {
    /// Records the search for the neighbours of `x` into the current routine.
    pub fn record(program: &mut Program, images: &PlacedEmpirical, x: View) -> Result<Self> {
        let neighbours = Neighbours::new(program, images.rows())?;
        images.record_nearest(program, x, neighbours)?;
        Ok(Self { neighbours })
    }

    /// Reads what the last run found, per member.
    pub async fn read(&self, loaded: &mut Loaded) -> Result<Vec<NearestImages>> {
        let members = loaded.program().members();
        let index: Vec<u32> = loaded.read(self.neighbours.index).await?;
        let [first, second] = [self.neighbours.first, self.neighbours.second];
        let first: Vec<_> = RowComparison::rows(&loaded.read::<f32>(first).await?).collect();
        let mut second: Vec<_> = RowComparison::rows(&loaded.read::<f32>(second).await?).collect();
        for (second, nearest) in second.iter_mut().zip(index.as_chunks::<CANDIDATES>().0) {
            if nearest[0] == nearest[1] {
                // With a single training image, the second nearest is infinitely far away.
                second.distance = f64::INFINITY;
            }
        }
        let rows = first.len() / members;
        let member = |m: usize| {
            let range = m * rows..(m + 1) * rows;
            let (first, second) = (&first[range.clone()], &second[range]);
            NearestImages {
                index: index
                    .iter()
                    .step_by(CANDIDATES)
                    .skip(m * rows)
                    .take(rows)
                    .copied()
                    .collect(),
                d1: first.iter().map(|c| c.distance as f32).collect(),
                d2: second.iter().map(|c| c.distance as f32).collect(),
                closeness: Closeness::of(first, second),
            }
        };
        Ok((0..members).map(member).collect())
    }
}

/// Finds the training images nearest to `images`, per training set.
pub async fn nearest_images(
    engine: &Engine,
    sets: &TrainingSets,
    images: &[f32],
) -> Result<Vec<NearestImages>> {
    let rows = images.len() / sets.dim();
    if rows == 0 {
        return Err(Error::bad_input("No images to compare", "Hold out at least one"));
    }
    let mut program = engine.program(sets.ranges().len())?;
    let x = program.constant("images", &images[..rows * sets.dim()].into())?;
    let placed = Empirical::new(sets.clone()).place_in(&mut program, rows)?;
    let neighbours = Neighbours::new(&mut program, rows)?;
    let routine = program.routine("nearest", |p| placed.record_nearest(p, x.into(), neighbours))?;
    let mut loaded = engine.load(program).await?;
    loaded.run_cooperative(routine, 1).await?;
    Nearest { neighbours }.read(&mut loaded).await
}

/// Noisy images `y + σ n` on which denoisers are compared: the same for all of them.
#[derive(Debug, Clone, Copy)]
struct NoisyImages {
    clock: Buffer,
    sigma: Buffer,
    images: Buffer,
    noisy: Buffer,
    shape: [usize; 2],
}

impl NoisyImages {
    /// `step` separates the noise of several batches under one seed; `sigma` holds one number.
    fn new(
        program: &mut Program,
        images: &Arc<[f32]>,
        dim: usize,
        sigma: Buffer,
        [seed, step]: [u64; 2],
    ) -> Result<Self> {
        if dim == 0 || images.is_empty() || !images.len().is_multiple_of(dim) {
            return Err(Error::bad_input("A metric needs at least one whole image", ""));
        }
        let clock: Arc<[f32]> = noise::clock(seed, step as u32).map(f32::from_bits).into();
        Ok(Self {
            clock: program.constant("metric clock", &clock)?,
            sigma,
            images: program.constant("metric images", images)?,
            noisy: program.buffer("noisy images", images.len())?,
            shape: [images.len() / dim, dim],
        })
    }

    fn record(&self, program: &mut Program) -> Result<()> {
        let (images, noisy) = (Some(self.images.into()), self.noisy.into());
        let sigma = Sigma::shared(self.sigma);
        noise::record(
            program,
            self.clock.into(),
            Stream::MetricNoise,
            sigma,
            images,
            noisy,
            self.shape,
        )
    }
}

fn per_member(values: impl Iterator<Item = f64>, members: usize) -> Vec<Estimate> {
    let values: Vec<f64> = values.collect();
    values.chunks(values.len() / members).map(|v| Estimate::of(v.iter().copied())).collect()
}

/// How linear a denoiser is at one noise level, per member.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Linearity {
    /// `|cos|` between `D(αx₁ + βx₂)` and `αD(x₁) + βD(x₂)`, as in Figure 1. The paper takes the absolute
    /// value; its published code keeps the sign, which matters for a network that memorizes.
    pub cosine: Estimate,
    /// `‖difference‖ / ‖D(αx₁ + βx₂)‖`.
    pub nmse: Estimate,
    /// The cosine without the affine part, with `αD(x₁) + βD(x₂) + (1 - α - β) D(0)` instead, so that
    /// every affine denoiser scores 1.
    pub corrected_cosine: Estimate,
    /// The NMSE without the affine part: 0 for every affine denoiser.
    pub corrected_nmse: Estimate,
}

/// The linearity score, placed in a program.
///
/// An affine denoiser such as D_G does not score 1: with `α + β ≠ 1` its constant part counts more than
/// once. So the reference line is D_G's own score, not 1.
#[derive(Debug)]
pub struct LinearityProbe {
    routine: Routine,
    sigma: Buffer,
    plain: Buffer,
    corrected: Buffer,
}

impl LinearityProbe {
    /// Places the measurement of `denoiser` on `pairs` random pairs of `images`, with `α = β = 1/√2`.
    ///
    /// `denoiser` is placed for `pairs` rows and `alone` for one; `images` should be held out from
    /// training.
    pub fn place(
        program: &mut Program,
        [denoiser, alone]: [&dyn Placed; 2],
        images: &[f32],
        dim: usize,
        pairs: usize,
        seed: u64,
    ) -> Result<Self> {
        let count = images.len() / dim.max(1);
        if count < 2 || pairs == 0 {
            return Err(Error::bad_input(
                "Linearity needs pairs of two different images",
                "Hold out at least two images",
            ));
        }
        let weight = std::f32::consts::FRAC_1_SQRT_2;
        let mut rng = Philox::new(seed, Stream::MetricPairs);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for _ in 0..pairs {
            let i = rng.below(count as u32) as usize;
            let j = (i + 1 + rng.below(count as u32 - 1) as usize) % count;
            first.extend_from_slice(&images[i * dim..][..dim]);
            second.extend_from_slice(&images[j * dim..][..dim]);
        }
        let sigma = program.shared("metric σ", 1)?;
        let inputs = [
            NoisyImages::new(program, &first.into(), dim, sigma, [seed, 1])?,
            NoisyImages::new(program, &second.into(), dim, sigma, [seed, 2])?,
        ];
        let len = pairs * dim;
        let plain = program.buffer("linearity", 4 * pairs)?;
        let corrected = program.buffer("corrected linearity", 4 * pairs)?;
        let routine = program.routine("linearity", |p| {
            let sigma = Sigma::shared(sigma);
            let denoise = |p: &mut Program, denoiser: &dyn Placed, x: Buffer| -> Result<View> {
                let out = p.buffer("D(x)", x.len())?;
                denoiser.record(p, x.into(), sigma, out.into())?;
                Ok(out.into())
            };
            let zero = p.buffer("zero image", dim)?;
            let mixed = p.buffer("mixed images", len)?;
            for input in &inputs {
                input.record(p)?;
            }
            let [x1, x2] = inputs.map(|input| View::from(input.noisy));
            axpby::record(p, [x1, x2, mixed.into()], [weight, weight], len)?;
            let of_mixed = denoise(p, denoiser, mixed)?;
            let d1 = denoise(p, denoiser, inputs[0].noisy)?;
            let d2 = denoise(p, denoiser, inputs[1].noisy)?;
            let d0 = denoise(p, alone, zero)?;
            let sum: View = p.buffer("αD(x₁) + βD(x₂)", len)?.into();
            let affine: View = p.buffer("αD(x₁) + βD(x₂) + (1-α-β) D(0)", len)?.into();
            axpby::record(p, [d1, d2, sum], [weight, weight], len)?;
            axpby::record_rows(p, [sum, d0, affine], [1.0, 1.0 - 2.0 * weight], [pairs, dim])?;
            row_compare::record(p, [of_mixed, sum, plain.into()], [pairs, dim])?;
            row_compare::record(p, [of_mixed, affine, corrected.into()], [pairs, dim])
        })?;
        Ok(Self { routine, sigma, plain, corrected })
    }

    /// Measures each member's score at noise level `sigma`.
    pub async fn measure(&self, loaded: &mut Loaded, sigma: f32) -> Result<Vec<Linearity>> {
        let members = loaded.program().members();
        loaded.upload(self.sigma, &[sigma])?;
        loaded.run_cooperative(self.routine, 1).await?;
        let [plain, corrected]: [Vec<f32>; 2] =
            [loaded.read(self.plain).await?, loaded.read(self.corrected).await?];
        let estimates = |sums: &[f32], of: fn(&RowComparison) -> f64| {
            per_member(RowComparison::rows(sums).map(|c| of(&c)), members)
        };
        let cosine = estimates(&plain, RowComparison::alignment);
        let nmse = estimates(&plain, RowComparison::nmse);
        let corrected_cosine = estimates(&corrected, RowComparison::alignment);
        let corrected_nmse = estimates(&corrected, RowComparison::nmse);
        Ok((0..members)
            .map(|m| Linearity {
                cosine: cosine[m],
                nmse: nmse[m],
                corrected_cosine: corrected_cosine[m],
                corrected_nmse: corrected_nmse[m],
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network whose samples are NaN neither memorizes nor is orthogonal to anything.
    #[test]
    fn what_is_not_a_number_is_null() {
        let broken: Vec<_> = RowComparison::rows(&[f32::NAN; 8]).collect();
        let Closeness { gl, gl_squared, memorized } = Closeness::of(&broken, &broken);
        let cosine = Estimate::of(broken.iter().map(RowComparison::cosine));
        let nmse = Estimate::of(broken.iter().map(RowComparison::nmse));
        for estimate in [gl, gl_squared, memorized, cosine, nmse] {
            assert!(estimate.mean.is_nan() && estimate.count == 2, "{estimate:?}");
            let json = serde_json::to_string(&estimate).unwrap();
            assert!(json.contains("\"mean\":null"), "{json}");
            assert!(serde_json::from_str::<Estimate>(&json).unwrap().mean.is_nan());
        }
    }

    /// Good samples do not hide a broken one among them.
    #[test]
    fn one_broken_sample_shows() {
        let rows: Vec<_> =
            RowComparison::rows(&[4.0, 1.0, 2.0, 1.0, f32::NAN, 1.0, 1.0, 1.0]).collect();
        assert_eq!((rows[0].cosine(), rows[0].nmse()), (1.0, 0.5));
        assert!(rows[1].alignment().is_nan());
        assert!(Closeness::of(&rows, &rows).gl.mean.is_nan());
        // The norms are numbers and the product is not.
        let [norm_a, norm_b, dot, distance] = [1.0, 0.0, f64::NAN, f64::NAN];
        assert!(RowComparison { norm_a, norm_b, dot, distance }.cosine().is_nan());
    }

    #[test]
    fn alignment_ignores_which_way_two_images_point() {
        let against = RowComparison::rows(&[4.0, 1.0, -1.0, 7.0]).next().unwrap();
        assert_eq!((against.cosine(), against.alignment()), (-0.5, 0.5));
    }

    /// A black sample is not a copy of an image that is not black.
    #[test]
    fn what_vanishes_is_near_to_what_vanishes_only() {
        let black = RowComparison::rows(&[0.0, 4.0, 0.0, 4.0]).next().unwrap();
        assert_eq!((black.cosine(), black.nmse()), (0.0, f64::INFINITY));
        assert_eq!(Closeness::of(&[black], &[black]).gl.mean, f64::INFINITY);
    }

    #[test]
    fn images_that_vanish_score_zero() {
        let zero: Vec<_> = RowComparison::rows(&[0.0; 4]).collect();
        assert_eq!((zero[0].cosine(), zero[0].nmse()), (0.0, 0.0));
        let closeness = Closeness::of(&zero, &zero);
        assert_eq!((closeness.gl.mean, closeness.memorized.mean), (0.0, 0.0));
    }
}
