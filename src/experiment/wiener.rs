//! Theorem 1: gradient descent teaches a linear denoiser the Wiener filter, which is D_G.
//!
//! A linear denoiser `D(x) = W x + b` is trained on images `y` with noise: it minimizes
//! `E ‖D(y + σ n) - y‖² / 2`. Written about the images' mean μ, as `D(x) = W (x - μ) + c`, and with
//! their covariance `Σ = U Λ Uᵀ`, the gradients over all images and all noise are
//!
//! `∂/∂W = W (Σ + σ²I) - Σ`, `∂/∂c = c - μ`.
//!
//! They vanish at `W_G = U Λ(Λ + σ²I)⁻¹ Uᵀ` and `c = μ` alone, that is `b = (I - W_G) μ`: D_G (eq. 7).
//! A step of size η multiplies the error along a principal axis, `(W - W_G) u_i`, by
//! `1 - η (λ_i + σ²)`. So descent converges from anywhere if η is below `2 / (λ_1 + σ²)`, and
//! diverges beyond. It learns the strong axes first, which is why young networks have the Gaussian
//! coarse structure before any detail (Figure 3).
//!
//! Nothing is sampled here: a step uses the gradient of the exact expectation, averaged over all images
//! and all noise. The iterates are computed pixel by pixel from Σ itself. The closed form is computed
//! from U and Λ, so comparing the two checks the decomposition and the theorem's formula.

use nalgebra::{DMatrix, DVector};

use crate::data::Split;
use crate::denoiser::GaussianFit;
use crate::error::{Error, Result};

/// A linear denoiser `D(x) = W (x - μ) + c` at one noise level.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// The matrix W.
    pub matrix: DMatrix<f64>,
    /// The offset c.
    pub offset: DVector<f64>,
}

impl Weights {
    /// `b = c - W μ`, so that `D(x) = W x + b`.
    #[must_use]
    pub fn bias(&self, mean: &DVector<f64>) -> DVector<f64> {
        &self.offset - &self.matrix * mean
    }
}

/// Gradient descent on the denoising loss of some images at one noise level.
#[derive(Debug, Clone)]
pub struct Descent {
    /// Mean and principal axes of the images.
    pub fit: GaussianFit,
    /// The noise level.
    pub sigma: f64,
    /// The step size η.
    pub rate: f64,
    /// The covariance Σ of the pixels.
    covariance: DMatrix<f64>,
}

impl Descent {
    /// Prepares descent on the rows of `images`; the step size is the [`limit`](Self::limit) times
    /// `fraction`.
    pub fn new(images: &[f32], dim: usize, sigma: f64, fraction: f64) -> Result<Self> {
        if !(sigma > 0.0 && sigma.is_finite() && fraction > 0.0 && fraction.is_finite()) {
            return Err(Error::bad_input(
                "The noise level or the step size is not above 0",
                "Choose both above 0",
            ));
        }
        let fit = GaussianFit::new(images, dim)?;
        let covariance = covariance(images, &fit.mean);
        let mut descent = Self { fit, sigma, rate: 0.0, covariance };
        descent.rate = fraction * descent.limit();
        Ok(descent)
    }

    /// The step size beyond which descent diverges: 2 over the largest curvature of the loss, which
    /// is `λ_1 + σ²` along the strongest axis and 1 along c.
    #[must_use]
    pub fn limit(&self) -> f64 {
        let strongest = self.fit.eigenvalues.iter().copied().next().unwrap_or(0.0);
        2.0 / self.curvature(strongest).max(1.0)
    }

    /// `λ + σ²`.
    fn curvature(&self, variance: f64) -> f64 {
        variance + self.sigma * self.sigma
    }

    /// The factor by which a step multiplies the error along an axis of this variance: `1 - η (λ + σ²)`.
    #[must_use]
    pub fn factor(&self, variance: f64) -> f64 {
        1.0 - self.rate * self.curvature(variance)
    }

    /// The limit of descent: D_G.
    #[must_use]
    pub fn goal(&self) -> Weights {
        let axes = &self.fit.eigenvectors;
        let mut scaled = axes.clone();
        for (mut axis, &variance) in scaled.column_iter_mut().zip(&self.fit.eigenvalues) {
            axis *= self.gain(variance);
        }
        Weights { matrix: product(&scaled, &axes.transpose()), offset: self.fit.mean.clone() }
    }

    /// `λ / (λ + σ²)`.
    fn gain(&self, variance: f64) -> f64 {
        variance / self.curvature(variance)
    }

    /// Takes one step: `W - η (W (Σ + σ²I) - Σ)`, `c - η (c - μ)`.
    #[must_use]
    pub fn step(&self) -> Span {
        let dim = self.fit.mean.len();
        let push = &self.covariance * self.rate;
        let keep = DMatrix::from_diagonal_element(dim, dim, self.factor(0.0)) - &push;
        let keep_offset = 1.0 - self.rate;
        Span { steps: 1, keep, push, keep_offset, mean: self.fit.mean.clone() }
    }
}

/// Mean of `(y - μ)(y - μ)ᵀ` over the rows `y` of `images`.
fn covariance(images: &[f32], mean: &DVector<f64>) -> DMatrix<f64> {
    let (dim, n) = (mean.len(), images.len() / mean.len());
    let pixels = images[..n * dim].iter().map(|&value| f64::from(value));
    let mut centred = DMatrix::from_iterator(dim, n, pixels);
    for mut image in centred.column_iter_mut() {
        image -= mean;
    }
    product(&centred, &centred.transpose()) / n as f64
}

/// Some number of steps. Together they are one affine map, `W ↦ W K + P`, so doubling their number takes two
/// matrix multiplies, and a million steps cost as much as forty.
#[derive(Debug, Clone)]
pub struct Span {
    /// Number of steps.
    pub steps: u32,
    keep: DMatrix<f64>,
    push: DMatrix<f64>,
    keep_offset: f64,
    mean: DVector<f64>,
}

impl Span {
    /// Takes the steps from `weights`.
    #[must_use]
    pub fn from(&self, weights: &Weights) -> Weights {
        let offset = &self.mean + (&weights.offset - &self.mean) * self.keep_offset;
        Weights { matrix: product(&weights.matrix, &self.keep) + &self.push, offset }
    }

    /// Takes the steps from `W = 0`, `c = 0`.
    #[must_use]
    pub fn from_zero(&self) -> Weights {
        Weights { matrix: self.push.clone(), offset: &self.mean * (1.0 - self.keep_offset) }
    }

    /// Returns twice as many steps.
    #[must_use]
    pub fn twice(&self) -> Self {
        Self {
            steps: 2 * self.steps,
            keep: product(&self.keep, &self.keep),
            push: product(&self.push, &self.keep) + &self.push,
            keep_offset: self.keep_offset * self.keep_offset,
            mean: self.mean.clone(),
        }
    }
}

/// Not inlined, so that it is compiled only once, which keeps the page's library small.
#[inline(never)]
fn product(a: &DMatrix<f64>, b: &DMatrix<f64>) -> DMatrix<f64> {
    a * b
}

/// Most steps of a [`Demonstration`].
pub const MOST_STEPS: u32 = 1 << 20;

/// Principal axes that a [`Demonstration`] follows, counted from 1.
const AXES: [usize; 5] = [1, 4, 16, 64, 256];

/// Descent from zero, step by step and in closed form.
#[derive(Debug, Clone, PartialEq)]
pub struct Demonstration {
    /// The step size.
    pub rate: f64,
    /// The step size beyond which descent diverges.
    pub limit: f64,
    /// The steps at which the weights are compared: 1, 2, 4, …; all lists run over them.
    pub steps: Vec<u32>,
    /// `‖W_t - W_G‖ / ‖W_G‖`.
    pub distance: Curve,
    /// `‖b_t - b_G‖ / ‖μ‖`.
    pub bias: Vec<f64>,
    /// The error along some of the principal axes.
    pub directions: Vec<Direction>,
    /// Pixels whose rows of W are shown: how they are computed from a noisy image.
    pub pixels: Vec<usize>,
    /// The rows of `W_t` of these pixels, one after the other, at each of the steps.
    pub rows: Vec<Vec<f32>>,
    /// The rows of `W_G` of these pixels.
    pub goal: Vec<f32>,
}

/// A distance over the steps, computed in two ways.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve {
    /// Computed from the weights after the steps.
    pub iterate: Vec<f64>,
    /// Computed from the formula of the theorem.
    pub closed_form: Vec<f64>,
}

/// The error along a principal axis `u_i`.
#[derive(Debug, Clone, PartialEq)]
pub struct Direction {
    /// Index of the axis, from 1.
    pub axis: usize,
    /// The variance λ_i.
    pub variance: f64,
    /// `‖(W_t - W_G) u_i‖ / ‖W_G u_i‖`.
    pub error: Curve,
}

/// Trains a linear denoiser at noise level `sigma` on the first `n` training images of `split`, from
/// zero for up to `steps` steps; the step size is `fraction` times the largest that converges.
pub fn demonstrate(
    split: &Split,
    n: usize,
    sigma: f64,
    steps: u32,
    fraction: f64,
) -> Result<Demonstration> {
    if !(1..=MOST_STEPS).contains(&steps) {
        return Err(Error::bad_input(
            format!("{steps} steps of descent"),
            format!("Choose 1 to {MOST_STEPS} steps"),
        ));
    }
    let descent = Descent::new(split.subset(0..n)?, split.dim(), sigma, fraction)?;
    let GaussianFit { mean, eigenvalues, eigenvectors } = &descent.fit;
    let goal = descent.goal();
    let goal_bias = goal.bias(mean);
    // A single image has the Wiener filter W_G = 0, and no error relative to it.
    let relative = |error: f64, size: f64| error / size.max(f64::MIN_POSITIVE);
    let shape = split.shape();
    let pixel = |y: usize, x: usize| (y * shape.width + x) * shape.channels;
    let [middle, left, right] = [shape.width / 2, shape.width / 4, shape.width * 3 / 4];
    let pixels = vec![
        pixel(shape.height / 4, left),
        pixel(shape.height / 2, middle),
        pixel(shape.height * 3 / 4, right),
    ];
    let rows_of = |matrix: &DMatrix<f64>| -> Vec<f32> {
        pixels
            .iter()
            .flat_map(|&i| matrix.row(i).iter().map(|&v| v as f32).collect::<Vec<_>>())
            .collect()
    };
    let mut story = Demonstration {
        rate: descent.rate,
        limit: descent.limit(),
        steps: Vec::new(),
        distance: Curve::default(),
        bias: Vec::new(),
        directions: AXES
            .into_iter()
            .filter(|&axis| axis <= eigenvalues.len())
            .map(|axis| Direction {
                axis,
                variance: eigenvalues[axis - 1],
                error: Curve::default(),
            })
            .collect(),
        rows: Vec::new(),
        goal: rows_of(&goal.matrix),
        pixels: pixels.clone(),
    };
    let mut span = descent.step();
    loop {
        let weights = span.from_zero();
        let missing = &weights.matrix - &goal.matrix;
        let distance = missing.norm();
        // Beyond the limit, the weights soon overflow.
        if !distance.is_finite() {
            break;
        }
        story.steps.push(span.steps);
        story.distance.iterate.push(relative(distance, goal.matrix.norm()));
        let left = |variance: f64| descent.factor(variance).powi(span.steps as i32);
        let square = |variance: f64| (descent.gain(variance) * left(variance)).powi(2);
        let expected = eigenvalues.iter().map(|&variance| square(variance)).sum::<f64>().sqrt();
        story.distance.closed_form.push(relative(expected, goal.matrix.norm()));
        let bias = weights.bias(mean) - &goal_bias;
        story.bias.push(relative(bias.norm(), mean.norm()));
        for direction in &mut story.directions {
            let error = (&missing * eigenvectors.column(direction.axis - 1)).norm();
            let curve = &mut direction.error;
            curve.iterate.push(relative(error, descent.gain(direction.variance)));
            curve.closed_form.push(left(direction.variance).abs());
        }
        story.rows.push(rows_of(&weights.matrix));
        if 2 * span.steps > steps {
            break;
        }
        span = span.twice();
    }
    Ok(story)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::faces::faces;
    use crate::rng::{Stream, fill_normals};

    /// Images that vary more in some directions than in others, with a mean. The sizes are odd; some
    /// have fewer images than dimensions, one has a single image.
    const SIZES: [(usize, usize); 5] = [(1, 3), (4, 7), (40, 5), (9, 17), (301, 1)];

    fn normals(index: u32, len: usize) -> Vec<f64> {
        let mut values = vec![0.0; len];
        fill_normals(3, Stream::Test, index, &mut values);
        values.into_iter().map(f64::from).collect()
    }

    fn images(n: usize, dim: usize) -> Vec<f32> {
        let value = |(i, v): (usize, f64)| (v / (1 + i % dim) as f64 + 0.3) as f32;
        normals(1, n * dim).into_iter().enumerate().map(value).collect()
    }

    fn anywhere(dim: usize) -> Weights {
        let matrix = DMatrix::from_vec(dim, dim, normals(2, dim * dim));
        Weights { matrix, offset: DVector::from_vec(normals(4, dim)) }
    }

    /// One step equals the explicit mean gradient over every image with noise. The noise is ±σ√d along
    /// each pixel, which has exactly the second moments of Gaussian noise.
    #[test]
    fn a_step_is_gradient_descent_on_noisy_images() {
        for (n, dim) in SIZES {
            let sigma = 0.7;
            let images = images(n, dim);
            let descent = Descent::new(&images, dim, sigma, 0.4).unwrap();
            let (start, mean) = (anywhere(dim), &descent.fit.mean);
            let mut gradient = (DMatrix::zeros(dim, dim), DVector::zeros(dim));
            for y in images.chunks_exact(dim) {
                let y = DVector::from_iterator(dim, y.iter().map(|&v| f64::from(v)));
                for noise in (0..2 * dim).map(|i| (i / 2, if i % 2 == 0 { 1.0 } else { -1.0 })) {
                    let mut x = &y - mean;
                    x[noise.0] += noise.1 * sigma * (dim as f64).sqrt();
                    let residual = &start.matrix * &x + &start.offset - &y;
                    gradient.0 += &residual * x.transpose();
                    gradient.1 += residual;
                }
            }
            let eta = descent.rate / (2 * n * dim) as f64;
            let (matrix, offset) =
                (&start.matrix - gradient.0 * eta, &start.offset - gradient.1 * eta);
            let ours = descent.step().from(&start);
            assert!((ours.matrix - matrix).amax() < 1e-6, "{n} {dim}");
            assert!((ours.offset - offset).amax() < 1e-6, "{n} {dim}");
        }
    }

    #[test]
    fn twice_as_many_steps_are_twice_as_many() {
        let descent = Descent::new(&images(9, 5), 5, 0.3, 0.5).unwrap();
        let start = anywhere(5);
        let one_by_one = (0..8).fold(start.clone(), |weights, _| descent.step().from(&weights));
        let span = descent.step().twice().twice().twice();
        let at_once = span.from(&start);
        assert_eq!(span.steps, 8);
        assert!((at_once.matrix - one_by_one.matrix).amax() < 1e-12);
        assert!((at_once.offset - one_by_one.offset).amax() < 1e-12);
        let zero = Weights { matrix: DMatrix::zeros(5, 5), offset: DVector::zeros(5) };
        assert!((span.from(&zero).matrix - span.from_zero().matrix).amax() < 1e-12);
        assert!((span.from(&zero).offset - span.from_zero().offset).amax() < 1e-12);
    }

    /// Theorem 1 from any start, at its rate along each axis, including the directions in which the images
    /// do not vary.
    #[test]
    fn descent_ends_at_the_wiener_filter() {
        for (n, dim) in SIZES {
            for (sigma, fraction) in [(0.2, 0.5), (1.5, 0.9)] {
                let descent = Descent::new(&images(n, dim), dim, sigma, fraction).unwrap();
                let (start, goal) = (anywhere(dim), descent.goal());
                let missing = |weights: &Weights| &weights.matrix - &goal.matrix;
                let few = descent.step().twice().twice();
                let after = missing(&few.from(&start));
                let before = missing(&start);
                for (axis, &variance) in
                    descent.fit.eigenvectors.column_iter().zip(&descent.fit.eigenvalues)
                {
                    let ratio = (&after * axis).norm() / (&before * axis).norm();
                    let factor = descent.factor(variance).abs().powi(4);
                    assert!((ratio - factor).abs() < 1e-9, "{n} {dim}: {ratio} {factor}");
                }
                let along = &descent.fit.eigenvectors;
                let outside = |m: &DMatrix<f64>| (m - m * along * along.transpose()).norm();
                let silent = descent.factor(0.0).abs().powi(4) * outside(&before);
                assert!((outside(&after) - silent).abs() < 1e-9, "{n} {dim}");

                let many = (0..16).fold(descent.step(), |span, _| span.twice());
                let end = many.from(&start);
                assert!(missing(&end).amax() < 1e-9, "{n} {dim} σ={sigma}");
                // b = (I - W) μ.
                let mean = &descent.fit.mean;
                let bias = mean - &goal.matrix * mean;
                assert!((end.bias(mean) - bias).amax() < 1e-9, "{n} {dim} σ={sigma}");
            }
        }
    }

    /// Descent converges to D_G itself.
    #[test]
    fn the_goal_is_the_gaussian_denoiser() {
        let descent = Descent::new(&images(9, 17), 17, 0.6, 0.5).unwrap();
        let (goal, x) = (descent.goal(), DVector::from_vec(normals(5, 17)));
        let mean = &descent.fit.mean;
        let ours = &goal.matrix * &x + goal.bias(mean);
        assert!((ours - descent.fit.denoise(&x, 0.6)).amax() < 1e-12);
    }

    #[test]
    fn beyond_the_limit_descent_diverges() {
        for (n, dim) in SIZES {
            let distance = |fraction: f64| {
                let descent = Descent::new(&images(n, dim), dim, 0.5, fraction).unwrap();
                let span = (0..12).fold(descent.step(), |span, _| span.twice());
                let end = span.from(&anywhere(dim));
                let missing = &end.matrix - &descent.goal().matrix;
                missing.norm().max((end.offset - &descent.fit.mean).norm())
            };
            assert!(distance(0.99) < 1e-9, "{n} {dim}: {}", distance(0.99));
            assert!(distance(1.01) > 1e9, "{n} {dim}: {}", distance(1.01));
        }
    }

    #[test]
    fn steps_in_pixel_space_follow_the_closed_form() {
        let split = faces(1, 400, 12).unwrap().split(1, 44).unwrap();
        for n in [1, 50, 356] {
            let story = demonstrate(&split, n, 0.5, 5000, 0.5).unwrap();
            assert_eq!(story.steps, (0..13).map(|i| 1 << i).collect::<Vec<_>>());
            let curves = story.directions.iter().map(|direction| &direction.error);
            for curve in curves.chain([&story.distance]) {
                for (iterate, formula) in curve.iterate.iter().zip(&curve.closed_form) {
                    assert!((iterate - formula).abs() < 1e-9, "n={n}: {iterate} {formula}");
                }
                assert!(curve.iterate.last().is_some_and(|&end| end < 1e-6), "n={n}: {curve:?}");
            }
            assert!(story.bias.last().is_some_and(|&end| end < 1e-6), "n={n}: {:?}", story.bias);
            for (row, goal) in story.rows.last().unwrap().iter().zip(&story.goal) {
                assert!((row - goal).abs() < 1e-6);
            }
        }
        // Beyond the limit the curves end where the weights overflow.
        let story = demonstrate(&split, 356, 0.5, MOST_STEPS, 1.1).unwrap();
        assert!(story.distance.iterate.iter().all(|distance| distance.is_finite()));
        assert!(story.distance.iterate.last().is_some_and(|&end| end > 1e3));
        for (n, sigma, steps, fraction) in [
            (0, 0.5, 9, 0.5),
            (9, 0.0, 9, 0.5),
            (9, f64::NAN, 9, 0.5),
            (9, 0.5, 0, 0.5),
            (9, 0.5, 9, -1.0),
        ] {
            assert!(demonstrate(&split, n, sigma, steps, fraction).is_err());
        }
    }
}
