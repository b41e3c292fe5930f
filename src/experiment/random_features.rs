//! Two clocks in a model that is solved exactly (Bonnaire, Urfin, Biroli & Mézard, NeurIPS 2025): the
//! score is `s(x) = A f(x) / √p` with `f(x) = tanh(W x / √d)`, where W is drawn once and A is learned
//! from zero by gradient flow, at one time t of the forward process.
//!
//! With the noisy images `x = e^{-t} y + √Δ ξ`, `Δ = 1 - e^{-2t}`, the loss `‖√Δ s(x) + ξ‖² / d` is a
//! quadratic in A. With `U = mean f fᵀ` and `V = mean f ξᵀ`, the flow solves
//!
//! `A(τ) / √p = -Vᵀ U⁻¹ (1 - exp(-2 Δ U τ / ψ_p)) / √Δ`, `ψ_p = p / d`.
//!
//! So one eigendecomposition of U gives the loss at every τ, on the training images and on any others.
//! The large eigenvalues of U belong to the distribution of the images, and are learned after a time that
//! does not depend on their number n. The others belong to the images themselves, and get smaller as n
//! grows: hence the second clock.

use std::sync::Arc;

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

use crate::denoiser::eigen::{Eigen, add_square, product};
use crate::error::{Error, Result};
use crate::rng::{Stream, fill_normals};

/// Configuration of the model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Setting {
    /// Values per image: d. Images are drawn from a standard normal distribution.
    pub dim: usize,
    /// Features per value: ψ_p = p / d.
    pub features: usize,
    /// The time t of the forward process.
    pub time: f64,
    /// Draws of noise per training image.
    pub draws: usize,
    /// Number of test images, each with one draw of noise.
    pub tested: usize,
    /// Seed of weights, images and noise.
    pub seed: u64,
}

impl Default for Setting {
    fn default() -> Self {
        Self { dim: 24, features: 32, time: 0.1, draws: 64, tested: 8192, seed: 1 }
    }
}

/// Most features whose matrix is decomposed.
const MOST_FEATURES: usize = 2048;
/// Noisy images whose features are added up per step.
const BLOCK: usize = 2048;
/// Times per factor of ten.
const PER_DECADE: i32 = 10;
/// Exponents of ten of the first and the last time.
const DECADES: [i32; 2] = [-1, 6];

impl Setting {
    fn check(self) -> Result<()> {
        let Self { dim, features, time, draws, tested, .. } = self;
        let p = dim.saturating_mul(features);
        if !(2..=MOST_FEATURES).contains(&p) || dim == 0 {
            return Err(Error::bad_input(
                format!("Cannot solve for {features} features per value of {dim}"),
                format!("Choose 2 to {MOST_FEATURES} features in total"),
            ));
        }
        if !(1..=1 << 20).contains(&draws) || !(1..=1 << 20).contains(&tested) {
            return Err(Error::bad_input(
                format!("Cannot average over {draws} draws of noise and {tested} test images"),
                "Choose at least one of each, and at most a million",
            ));
        }
        if !(time > 0.0 && time.is_finite()) {
            return Err(Error::bad_input(format!("The time is {time}"), "Choose a time above 0"));
        }
        Ok(())
    }

    /// The factors e^{-t} and √Δ.
    fn scales(self) -> [f64; 2] {
        [(-self.time).exp(), (-(-2.0 * self.time).exp_m1()).sqrt()]
    }

    fn order(self) -> usize {
        self.dim * self.features
    }
}

/// U and V of some noisy images, in progress.
#[derive(Debug, Clone)]
struct Moments {
    u: DMatrix<f64>,
    v: DMatrix<f64>,
    /// Noisy images so far.
    count: usize,
}

impl Moments {
    fn new(setting: Setting) -> Self {
        let p = setting.order();
        Self { u: DMatrix::zeros(p, p), v: DMatrix::zeros(p, setting.dim), count: 0 }
    }

    /// Adds the columns of `images`, each with the noise in the same column.
    fn add(
        &mut self,
        setting: Setting,
        weights: &DMatrix<f64>,
        images: &DMatrix<f64>,
        noise: &DMatrix<f64>,
    ) {
        let [keep, spread] = setting.scales();
        let noisy = images * keep + noise * spread;
        let mut features = product(weights, &noisy);
        features.apply(|value| *value = value.tanh());
        add_square(&mut self.u, &features);
        self.v += product(&features, &noise.transpose());
        self.count += images.ncols();
    }

    /// Divides the sums by the number of images.
    fn finish(mut self) -> Self {
        let scale = 1.0 / self.count as f64;
        self.u *= scale;
        self.u.fill_upper_triangle_with_lower_triangle();
        self.v *= scale;
        self
    }
}

/// Standard normals as a matrix; `index` separates draws under one seed.
fn normals(seed: u64, stream: Stream, index: u32, rows: usize, columns: usize) -> DMatrix<f64> {
    let mut values = vec![0.0; rows * columns];
    fill_normals(seed, stream, index, &mut values);
    DMatrix::from_iterator(rows, columns, values.into_iter().map(f64::from))
}

/// The features and the test images, which solutions for several numbers of training images share.
#[derive(Debug, Clone)]
pub struct RandomFeatures(Arc<Model>);

#[derive(Debug)]
struct Model {
    setting: Setting,
    /// W / √d, with one feature per row.
    weights: DMatrix<f64>,
    test: Moments,
}

impl RandomFeatures {
    /// Draws the features and the test images.
    pub fn new(setting: Setting) -> Result<Self> {
        setting.check()?;
        let Setting { dim, tested, seed, .. } = setting;
        let weights = normals(seed, Stream::Weights, 0, setting.order(), dim);
        let weights = weights / (dim as f64).sqrt();
        let mut test = Moments::new(setting);
        for (block, first) in (0..).zip((0..tested).step_by(BLOCK)) {
            let count = BLOCK.min(tested - first);
            let images = normals(seed, Stream::Test, block, dim, count);
            let noise = normals(seed, Stream::MetricNoise, block, dim, count);
            test.add(setting, &weights, &images, &noise);
        }
        Ok(Self(Arc::new(Model { setting, weights, test: test.finish() })))
    }

    /// Starts to solve for `images` training images.
    pub fn solve(&self, images: usize) -> Result<Solving> {
        if !(1..=1 << 16).contains(&images) {
            return Err(Error::bad_input(
                format!("Cannot solve for {images} training images"),
                "Choose 1 to 65536",
            ));
        }
        let (model, setting) = (Arc::clone(&self.0), self.0.setting);
        let data = normals(setting.seed, Stream::Data, 0, setting.dim, images);
        Ok(Solving { model, data, moments: Moments::new(setting), eigen: None })
    }

    /// Solves for `images` training images at once.
    pub fn curves(&self, images: usize) -> Result<Curves> {
        let mut solving = self.solve(images)?;
        loop {
            if let Some(curves) = solving.step()? {
                return Ok(curves);
            }
        }
    }
}

/// A solution in progress, in steps between which other tasks can run.
#[derive(Debug)]
pub struct Solving {
    model: Arc<Model>,
    data: DMatrix<f64>,
    moments: Moments,
    eigen: Option<Eigen>,
}

/// The loss over training, in closed form.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Curves {
    /// Number of training images.
    pub images: usize,
    /// Times τ, in units such that gradient descent at rate η has done `τ d² / η` steps; lists run over
    /// them.
    pub times: Vec<f64>,
    /// Loss on the training images.
    pub train: Vec<f64>,
    /// Loss on the test images.
    pub test: Vec<f64>,
    /// τ_gen: when the test loss is smallest.
    pub generalized: f64,
    /// τ_mem: when the gap between the two losses has grown to half of its final size.
    pub memorized: f64,
    /// Eigenvalues of U, largest first.
    pub spectrum: Vec<f64>,
}

impl Solving {
    /// The fraction of the work that is done, from 0 to 1.
    #[must_use]
    pub fn progress(&self) -> f64 {
        let all = (self.data.ncols() * self.model.setting.draws) as f64;
        0.8 * self.moments.count as f64 / all
            + self.eigen.as_ref().map_or(0.0, |eigen| 0.2 * eigen.done() / Eigen::WORK)
    }

    /// Does one step, and returns the curves if it was the last.
    pub fn step(&mut self) -> Result<Option<Curves>> {
        let setting = self.model.setting;
        if let Some(eigen) = &mut self.eigen {
            return Ok(if eigen.step()? { Some(self.finish()) } else { None });
        }
        let images = self.data.ncols();
        let (done, all) = (self.moments.count, images * setting.draws);
        let count = BLOCK.min(all - done);
        // Cycles through the images, each time with new noise.
        let columns: Vec<usize> = (done..done + count).map(|i| i % images).collect();
        let batch = self.data.select_columns(&columns);
        let noise = normals(setting.seed, Stream::BatchNoise, done as u32, setting.dim, count);
        self.moments.add(setting, &self.model.weights, &batch, &noise);
        if self.moments.count == all {
            self.moments = self.moments.clone().finish();
            self.eigen = Some(Eigen::new(self.moments.u.clone()));
        }
        Ok(None)
    }

    /// In the eigenbasis of U, with `G = Qᵀ V` and `c_k = (1 - e^{-2 Δ λ_k τ / ψ_p}) / λ_k`, the training
    /// loss is `1 + Σ_k |G_k|² (λ_k c_k² - 2 c_k) / d`.
    fn finish(&self) -> Curves {
        let Setting { dim, features, .. } = self.model.setting;
        let [_, spread] = self.model.setting.scales();
        let (eigen, test) = (self.eigen.as_ref(), &self.model.test);
        let (values, axes) = eigen
            .map_or_else(Default::default, |eigen| (eigen.values.clone(), eigen.vectors.clone()));
        let turned = axes.transpose();
        let own = product(&turned, &self.moments.v);
        let other = product(&turned, &test.v);
        let gram = product(&own, &own.transpose());
        // Of the test images' U only what meets the Gram matrix of V matters.
        let crossed = product(&product(&turned, &test.u), &axes);
        let crossed = crossed.component_mul(&gram);
        let overlap: Vec<f64> =
            own.row_iter().zip(other.row_iter()).map(|(a, b)| a.dot(&b)).collect();
        let rate = 2.0 * spread * spread / features as f64;
        let times: Vec<f64> = (DECADES[0] * PER_DECADE..=DECADES[1] * PER_DECADE)
            .map(|i| 10_f64.powf(f64::from(i) / f64::from(PER_DECADE)))
            .collect();
        let (mut train_loss, mut test_loss) = (Vec::new(), Vec::new());
        for time in &times {
            let learned = values.iter().map(|&value| {
                // Rounding may leave a zero eigenvalue slightly negative.
                let value = value.max(1e-15);
                -(-rate * value * time).exp_m1() / value
            });
            let learned = nalgebra::DVector::from_iterator(values.len(), learned);
            let train = values.iter().zip(&learned).enumerate();
            let train: f64 = train.map(|(k, (l, c))| gram[(k, k)] * (l * c * c - 2.0 * c)).sum();
            let square = learned.dot(&(&crossed * &learned));
            let linear: f64 = learned.iter().zip(&overlap).map(|(c, o)| c * o).sum();
            train_loss.push(1.0 + train / dim as f64);
            test_loss.push(1.0 + (square - 2.0 * linear) / dim as f64);
        }
        let least = (0..times.len()).min_by(|&a, &b| test_loss[a].total_cmp(&test_loss[b]));
        let gaps: Vec<f64> = test_loss.iter().zip(&train_loss).map(|(a, b)| a - b).collect();
        let half = gaps.last().map_or(f64::NAN, |last| last / 2.0);
        let apart = gaps.iter().position(|&gap| gap >= half);
        Curves {
            images: self.data.ncols(),
            generalized: least.map_or(f64::NAN, |at| times[at]),
            memorized: apart.map_or(f64::NAN, |at| times[at]),
            times,
            train: train_loss,
            test: test_loss,
            spectrum: values.iter().rev().copied().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Agrees with explicit gradient descent on the loss, at a size where that is quick.
    #[test]
    fn the_closed_form_is_gradient_descent() {
        let setting = Setting { dim: 4, features: 5, draws: 6, tested: 300, ..Setting::default() };
        let model = RandomFeatures::new(setting).unwrap();
        let mut solving = model.solve(7).unwrap();
        while solving.eigen.is_none() {
            assert!(solving.step().unwrap().is_none());
        }
        let Moments { u, v, .. } = solving.moments.clone();
        let curves = loop {
            if let Some(curves) = solving.step().unwrap() {
                break curves;
            }
        };
        let [_, spread] = setting.scales();
        let (d, p) = (setting.dim as f64, setting.order() as f64);
        // M = A / √p; the gradient of the loss by A is that by M over √p.
        let loss = |m: &DMatrix<f64>, u: &DMatrix<f64>, v: &DMatrix<f64>| {
            1.0 + (spread * spread * (m * u * m.transpose()).trace()
                + 2.0 * spread * (m * v).trace())
                / d
        };
        let eta = 0.02 * d * d;
        let mut m = DMatrix::zeros(setting.dim, setting.order());
        let (mut step, mut checked) = (0, 0);
        for (i, &time) in curves.times.iter().enumerate().filter(|(_, time)| **time <= 100.0) {
            while f64::from(step) * eta < time * d * d {
                let gradient = (&m * &u * spread * spread + v.transpose() * spread) * (2.0 / d);
                m -= gradient * (eta / p);
                step += 1;
            }
            if time < 5.0 {
                continue;
            }
            let errors = [
                loss(&m, &u, &v) - curves.train[i],
                loss(&m, &model.0.test.u, &model.0.test.v) - curves.test[i],
            ];
            assert!(errors.iter().all(|e| e.abs() < 2e-3), "τ = {time}: {errors:?}");
            checked += 1;
        }
        assert!(checked > 10);
        assert!(curves.spectrum.is_sorted_by(|a, b| a >= b));
    }

    /// Agrees with an independent implementation (Python, other random numbers): the first clock is constant,
    /// and the second is proportional to the number of images while they are far fewer than the features.
    #[test]
    fn the_two_clocks() {
        let model = RandomFeatures::new(Setting::default()).unwrap();
        let expected = [(2, 0.20, 2.78, 1585.0), (4, 0.33, 2.25, 3162.0), (8, 0.50, 1.64, 5012.0)];
        for (ratio, train, test, memorized) in expected {
            let curves = model.curves(ratio * 24).unwrap();
            let end = |list: &[f64]| *list.last().unwrap();
            let found =
                (end(&curves.train), end(&curves.test), curves.generalized, curves.memorized);
            println!("{ratio}: {found:?}");
            assert!((7.0..17.0).contains(&curves.generalized), "{ratio}: {found:?}");
            assert!((found.0 - train).abs() < 0.04, "{ratio}: {found:?}");
            assert!((found.1 / test - 1.0).abs() < 0.12, "{ratio}: {found:?}");
            assert!((0.6..1.7).contains(&(found.3 / memorized)), "{ratio}: {found:?}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let bad = [
            Setting { dim: 0, ..Setting::default() },
            Setting { features: 1_000_000, ..Setting::default() },
            Setting { time: f64::NAN, ..Setting::default() },
            Setting { draws: 0, ..Setting::default() },
        ];
        assert!(bad.into_iter().all(|setting| RandomFeatures::new(setting).is_err()));
    }
}
