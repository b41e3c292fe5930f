//! D_L, the best linear approximation of a denoiser at each noise level (eq. 5).
//!
//! `min_{W, b} E ‖W (y + σ n) + b - D(y + σ n; σ)‖²` is a least-squares problem; the normal equations
//! solve it exactly. Written in the pixels they are badly conditioned at small σ: natural images
//! hardly vary in most directions. So the engine first whitens `x = y + σ n` with the images' own
//! principal axes, `z = (Λ + σ²)^{-1/2} Uᵀ (x - μ)`, whose covariance is near the identity at every
//! noise level; there, sums in f32 are good enough, and the host solves in f64.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};

use super::{Denoiser, GaussianFit, Placed};
use crate::compute::{Buffer, Loaded, Program, Routine, View};
use crate::error::{Error, Result};
use crate::kernels::matmul::{Keep, Layout, Matmul};
use crate::kernels::{Sigma, noise};
use crate::rng::Stream;

/// Ridge added to the (whitened, hence unit) second moments, so that few samples still give an answer.
const RIDGE: f64 = 1e-6;

/// One affine map for each noise level: `W_σ x + b_σ`, for one member.
#[derive(Debug, Clone)]
pub struct LinearFit {
    /// The noise levels.
    pub sigmas: Vec<f32>,
    /// `W_σ`, as it acts on a column.
    pub weights: Vec<DMatrix<f64>>,
    /// `b_σ`.
    pub biases: Vec<DVector<f64>>,
}

impl LinearFit {
    /// `W_σ x + b_σ` in f64 at noise level `level` of the list: the reference for both engines.
    #[must_use]
    pub fn denoise(&self, level: usize, x: &DVector<f64>) -> DVector<f64> {
        &self.weights[level] * x + &self.biases[level]
    }
}

/// The linear denoisers of an ensemble.
#[derive(Debug, Clone)]
pub struct Linear {
    fits: Vec<LinearFit>,
    dim: usize,
}

impl Linear {
    /// One fit for each member, all with the same noise levels.
    pub fn new(fits: Vec<LinearFit>) -> Result<Self> {
        let dim = fits.first().and_then(|fit| fit.biases.first()).map_or(0, DVector::len);
        let alike = |fit: &LinearFit| {
            fit.sigmas == fits[0].sigmas
                && fit.weights.len() == fit.sigmas.len()
                && fit.biases.len() == fit.sigmas.len()
                && fit.weights.iter().all(|w| w.shape() == (dim, dim))
        };
        if dim == 0 || !fits.iter().all(alike) {
            return Err(Error::bad_input("Linear denoisers of one ensemble must be alike", ""));
        }
        Ok(Self { fits, dim })
    }

    /// The fit of each member.
    #[must_use]
    pub fn fits(&self) -> &[LinearFit] {
        &self.fits
    }
}

impl Denoiser for Linear {
    fn dim(&self) -> usize {
        self.dim
    }

    fn place(&self, program: &mut Program, rows: usize) -> Result<Box<dyn Placed>> {
        if program.members() != self.fits.len() {
            return Err(Error::bad_input(
                format!("{} linear denoisers for {} members", self.fits.len(), program.members()),
                "",
            ));
        }
        // Row-major `Wᵀ` is column-major `W`: nalgebra's own order.
        let flat = |m: &DMatrix<f64>| m.iter().map(|&v| v as f32).collect::<Vec<_>>();
        let weights = self.fits.iter().flat_map(|fit| fit.weights.iter().flat_map(flat)).collect();
        let biases =
            self.fits.iter().flat_map(|fit| fit.biases.iter().flatten().map(|&v| v as f32));
        Ok(Box::new(LinearIn {
            weights: program.buffer_with("Wᵀ", weights)?,
            biases: program.buffer_with("b", biases.collect())?,
            sigmas: self.fits[0].sigmas.clone(),
            rows,
            dim: self.dim,
        }))
    }
}

/// A [`Linear`] denoiser that stands in a program.
#[derive(Debug)]
struct LinearIn {
    weights: Buffer,
    biases: Buffer,
    sigmas: Vec<f32>,
    rows: usize,
    dim: usize,
}

impl Placed for LinearIn {
    fn record(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()> {
        let level = sigma.level.and_then(|s| self.sigmas.iter().position(|&known| known == s));
        let level = level.ok_or_else(|| {
            Error::bad_input(
                "A linear denoiser knows only the noise levels that it was distilled at",
                "Sample with the same schedule",
            )
        })?;
        let Self { rows, dim, .. } = *self;
        let (w, b) = (self.weights.at(level * dim * dim), self.biases.at(level * dim));
        Matmul::new(Layout::Nn, x, w, out, [rows, dim, dim]).bias(b).record(program)
    }
}

/// What distils a denoiser, in a program.
#[derive(Debug)]
pub struct Distillation {
    routine: Routine,
    clock: Buffer,
    sigma: Buffer,
    basis: Buffer,
    shift: Buffer,
    moments: Buffer,
    products: Buffer,
    axes: Axes,
    seed: u64,
    rows: usize,
    dim: usize,
}

/// All `d` principal axes of a set of images, also those along which it does not vary.
#[derive(Debug, Clone)]
struct Axes {
    mean: DVector<f64>,
    eigenvalues: Vec<f64>,
    eigenvectors: DMatrix<f64>,
}

impl Axes {
    fn of(images: &[f32], dim: usize) -> Result<Self> {
        let fit = GaussianFit::new(images, dim)?;
        let mut eigenvectors = fit.eigenvectors.clone();
        let mut eigenvalues: Vec<f64> = fit.eigenvalues.iter().copied().collect();
        // Gram-Schmidt on the unit vectors completes the basis.
        for j in 0..dim {
            if eigenvalues.len() == dim {
                break;
            }
            let mut axis = DVector::zeros(dim);
            axis[j] = 1.0;
            for _ in 0..2 {
                axis -= &eigenvectors * eigenvectors.tr_mul(&axis);
            }
            if axis.norm() > 1e-6 {
                let at = eigenvectors.ncols();
                eigenvectors = eigenvectors.insert_column(at, 0.0);
                eigenvectors.set_column(at, &axis.normalize());
                eigenvalues.push(0.0);
            }
        }
        Ok(Self { mean: fit.mean, eigenvalues, eigenvectors })
    }

    /// `U (Λ + σ²)^{-1/2}`, so that `z = Vᵀ (x - μ)`.
    fn whitening(&self, sigma: f64) -> DMatrix<f64> {
        let mut v = self.eigenvectors.clone();
        for (mut column, lambda) in v.column_iter_mut().zip(&self.eigenvalues) {
            column /= (lambda + sigma * sigma).sqrt();
        }
        v
    }
}

impl Distillation {
    /// Places the distillation of `denoiser` on `images` (held out, as in the paper, or the training
    /// images). Each pass adds fresh noise to all of them.
    pub fn place(
        program: &mut Program,
        denoiser: &dyn Denoiser,
        images: &Arc<[f32]>,
        seed: u64,
    ) -> Result<Self> {
        let dim = denoiser.dim();
        let rows = images.len() / dim;
        let axes = Axes::of(images, dim)?;
        let placed = denoiser.place(program, rows)?;
        let wide = dim + 1;
        let clean = program.constant("distillation images", images)?;
        let clock = program.shared("distillation clock", noise::CLOCK)?;
        let sigma = program.shared("distillation σ", 1)?;
        let basis = program.shared("whitening", dim * wide)?;
        let shift = program.shared("whitening shift", wide)?;
        let noisy = program.buffer("noisy image", rows * dim)?;
        let denoised = program.buffer("denoised image", rows * dim)?;
        let z = program.buffer("whitened image", rows * wide)?;
        let moments = program.buffer("Σ z zᵀ", wide * wide)?;
        let products = program.buffer("Σ z D(x)ᵀ", wide * dim)?;
        let routine = program.routine("distil", |p| {
            let level = Sigma::shared(sigma);
            let (input, stream) = (Some(clean.into()), Stream::MetricNoise);
            noise::record(p, clock.into(), stream, level, input, noisy.into(), [rows, dim])?;
            placed.record(p, noisy.into(), level, denoised.into())?;
            Matmul::new(Layout::Nn, noisy, basis, z, [rows, wide, dim]).bias(shift).record(p)?;
            Matmul::new(Layout::Tn, z, z, moments, [wide, wide, rows]).keep(Keep::All).record(p)?;
            Matmul::new(Layout::Tn, z, denoised, products, [wide, dim, rows])
                .keep(Keep::All)
                .record(p)
        })?;
        Ok(Self { routine, clock, sigma, basis, shift, moments, products, axes, seed, rows, dim })
    }

    /// The best linear approximation of each member at `sigma`, from `passes` passes over the images.
    pub async fn solve(
        &self,
        loaded: &mut Loaded,
        sigma: f32,
        passes: u32,
    ) -> Result<Vec<(DMatrix<f64>, DVector<f64>)>> {
        let (dim, wide) = (self.dim, self.dim + 1);
        let v = self.axes.whitening(f64::from(sigma));
        let shift = -v.tr_mul(&self.axes.mean);
        // The last column of z is 1: it carries the bias.
        let basis: Vec<f32> = (0..dim)
            .flat_map(|i| (0..wide).map(move |j| (i, j)))
            .map(|(i, j)| if j < dim { v[(i, j)] as f32 } else { 0.0 })
            .collect();
        let ones: Vec<f32> = shift.iter().map(|&s| s as f32).chain([1.0]).collect();
        loaded.upload(self.sigma, &[sigma])?;
        loaded.upload(self.basis, &basis)?;
        loaded.upload(self.shift, &ones)?;
        loaded.upload(self.moments, &vec![0.0_f32; self.moments.len()])?;
        loaded.upload(self.products, &vec![0.0_f32; self.products.len()])?;
        for pass in 0..passes {
            loaded.upload(self.clock, &noise::clock(self.seed, 1000 + pass))?;
            loaded.run(self.routine, 1)?;
        }
        let members = loaded.program().members();
        let moments: Vec<f32> = loaded.read(self.moments).await?;
        let products: Vec<f32> = loaded.read(self.products).await?;
        let count = f64::from(passes) * self.rows as f64;
        let solve = |m: usize| {
            let to = |data: &[f32], cols: usize| {
                let rows = data.chunks_exact(cols).flatten().map(|&v| f64::from(v) / count);
                DMatrix::from_row_iterator(wide, cols, rows)
            };
            let mut a = to(&moments[m * wide * wide..(m + 1) * wide * wide], wide);
            let b = to(&products[m * wide * dim..(m + 1) * wide * dim], dim);
            for i in 0..wide {
                a[(i, i)] += RIDGE;
            }
            let solution = a.cholesky().map(|factor| factor.solve(&b)).ok_or_else(|| {
                Error::bad_input(
                    "The linear approximation is not determined",
                    "Distil on more images or with more passes",
                )
            })?;
            let linear = solution.rows(0, dim);
            let weight = (&v * linear).transpose();
            let bias = solution.row(dim).transpose() + linear.tr_mul(&shift);
            Ok((weight, bias))
        };
        (0..members).map(solve).collect()
    }

    /// [`solve`](Self::solve) at each of `sigmas`.
    pub async fn fit(&self, loaded: &mut Loaded, sigmas: &[f32], passes: u32) -> Result<Linear> {
        let empty = LinearFit { sigmas: sigmas.to_vec(), weights: Vec::new(), biases: Vec::new() };
        let mut fits = vec![empty; loaded.program().members()];
        for &sigma in sigmas {
            for (fit, (weight, bias)) in
                fits.iter_mut().zip(self.solve(loaded, sigma, passes).await?)
            {
                fit.weights.push(weight);
                fit.biases.push(bias);
            }
        }
        Linear::new(fits)
    }
}
