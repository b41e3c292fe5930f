//! D_L, the best linear approximation of a denoiser at each noise level (eq. 5).
//!
//! `min_{W, b} E ‖W (y + σ n) + b - D(y + σ n; σ)‖²` is a least-squares problem; the normal equations
//! solve it exactly. Written in the pixels they are badly conditioned at small σ: natural images
//! hardly vary in most directions. So the engine first whitens `x = y + σ n` with the images' own
//! principal axes, `z = (Λ + σ²)^{-1/2} Uᵀ (x - μ)`, whose covariance is near the identity at every
//! noise level; there, sums in f32 are good enough, and the host solves in f64.
//!
//! The paper minimized the same loss by descent: Adam from `W = 0, b = 0` on batches of 256, in
//! pixels divided by `√d`, with a learning rate chosen for each noise level. [`Solver::Descent`] does
//! the same with the gradient of the whole sum and in the whitened coordinates, where one step size
//! suits all levels. It ends at the solution of the normal equations.
//!
//! The choice of images matters. D_M, and any network that has learned it, is optimal for its training
//! images; by orthogonality its best linear approximation *on those* is their D_G, whatever else it
//! does (`tests/common/distillation.rs` shows it). So the paper distils on held-out images, and so do we
//! unless asked otherwise.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

#[cfg(not(target_arch = "wasm32"))]
use super::eigen::solve_positive;
use super::eigen::{Eigen, add_square, product};
use super::gaussian::SMALL;
use super::{Denoiser, GaussianFit, Placed, descending};
use crate::compute::{Buffer, Loaded, Program, Routine, View};
use crate::data::TrainingSets;
use crate::error::{Error, Result};
use crate::kernels::matmul::{Keep, Layout, Matmul};
use crate::kernels::{Level, Sigma, noise};
use crate::rng::Stream;

/// Ridge added to the (whitened, hence unit) second moments, so that few samples still give a solution.
const RIDGE: f64 = 1e-6;

/// Noisy images that are denoised at a time: the paper's batch.
pub const DISTILLATION_ROWS: usize = 256;

/// Address of the first batch's noise, far from that of evaluations, which use the same stream.
const FIRST_BATCH: u32 = 1000;

/// Descent ends when the gradient is this small, relative to its initial size.
const FLAT: f64 = 1e-9;

/// Descent has failed if it takes more steps than this.
const MOST_STEPS: u32 = 1000;

/// How D_L is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Distill {
    /// Batches of [`DISTILLATION_ROWS`] noisy images per noise level.
    pub batches: u32,
    /// The images to which noise is added.
    pub images: DistilledOn,
    /// How the least-squares problem is solved.
    pub method: Solver,
}

impl Default for Distill {
    /// The normal equations of 8192 noisy held-out images.
    fn default() -> Self {
        Self { batches: 32, images: DistilledOn::HeldOut, method: Solver::Normal }
    }
}

/// Least number of noisy images per value of an image: with `r` of them, the noise increases the error of
/// a fit by a factor of about `1 + 1 / r`.
const ROWS_PER_DIM: usize = 13;

impl Distill {
    /// The default, with enough noisy images for images of `dim` values.
    #[must_use]
    pub fn of_dim(dim: usize) -> Self {
        let batches = (ROWS_PER_DIM * dim).div_ceil(DISTILLATION_ROWS) as u32;
        let least = Self::default();
        Self { batches: batches.max(least.batches), ..least }
    }
}

/// The images on which a denoiser is approximated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DistilledOn {
    /// Images that no network has seen, the same for all networks: the paper's choice.
    HeldOut,
    /// The images that the network was trained on.
    Training,
}

/// How a least-squares problem is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Solver {
    /// Directly, by the normal equations.
    Normal,
    /// Iteratively, by gradient descent from zero.
    Descent,
}

impl Solver {
    /// Finds the minimum of `tr(Xᵀ A X) / 2 - tr(Bᵀ X)`, where A is symmetric and positive.
    fn solve(self, a: DMatrix<f64>, b: &DMatrix<f64>) -> Result<DMatrix<f64>> {
        let solution = match self {
            #[cfg(not(target_arch = "wasm32"))]
            Self::Normal if a.nrows() > SMALL + 1 => solve_positive(&a, b.clone()),
            Self::Normal => a.cholesky().map(|factor| factor.solve(b)),
            Self::Descent => descend(&a, b),
        };
        solution.ok_or_else(|| {
            Error::bad_input(
                "The linear approximation is not determined",
                "Distil on more images or with more batches",
            )
        })
    }
}

/// Gradient descent from zero; `None` if it does not converge. If the targets contain NaN the result
/// is NaN, as with the direct solver, so one diverged network does not fail the whole report.
fn descend(a: &DMatrix<f64>, b: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    // No eigenvalue exceeds the largest row sum, so this step size is safe.
    let bound = a.row_iter().map(|row| row.lp_norm(1)).fold(f64::MIN_POSITIVE, f64::max);
    if !b.norm().is_finite() {
        return Some(DMatrix::from_element(b.nrows(), b.ncols(), f64::NAN));
    }
    let mut solution = DMatrix::zeros(b.nrows(), b.ncols());
    for _ in 0..MOST_STEPS {
        let gradient = multiply(a, &solution) - b;
        if gradient.norm() <= FLAT * b.norm() {
            return Some(solution);
        }
        solution -= gradient / bound;
    }
    None
}

/// `a · b`, by all threads if it is large. nalgebra computes small ones, on whose bits recorded runs depend.
fn multiply(a: &DMatrix<f64>, b: &DMatrix<f64>) -> DMatrix<f64> {
    if a.nrows() > SMALL + 1 { product(a, b) } else { a * b }
}

/// One affine map per noise level, `W_σ x + b_σ`, for one member.
#[derive(Debug, Clone)]
pub struct LinearFit {
    /// The noise levels of the maps.
    pub sigmas: Vec<f32>,
    /// `W_σ`, as it acts on a column.
    pub weights: Vec<DMatrix<f64>>,
    /// `b_σ`.
    pub biases: Vec<DVector<f64>>,
}

impl LinearFit {
    /// `W_σ x + b_σ` in f64 at the noise level with index `level`: the reference for both engines.
    #[must_use]
    pub fn denoise(&self, level: usize, x: &DVector<f64>) -> DVector<f64> {
        &self.weights[level] * x + &self.biases[level]
    }

    /// The `count` leading left singular vectors of `W_σ` at the noise level with index `level`, as columns.
    /// They are the eigenvectors of `W Wᵀ`, since symmetric matrices are decomposed much faster.
    pub fn singular_vectors(&self, level: usize, count: usize) -> Result<DMatrix<f64>> {
        let weight = &self.weights[level];
        let count = count.min(weight.nrows());
        if weight.nrows() <= SMALL {
            let eigen = (weight * weight.transpose()).symmetric_eigen();
            let order = descending(eigen.eigenvalues.as_slice());
            return Ok(eigen.eigenvectors.select_columns(order.iter().take(count)));
        }
        let mut square = DMatrix::zeros(weight.nrows(), weight.nrows());
        add_square(&mut square, weight);
        let mut eigen = Eigen::new(square);
        while !eigen.step()? {}
        let last = eigen.vectors.ncols();
        Ok(DMatrix::from_fn(weight.nrows(), count, |i, j| eigen.vectors[(i, last - 1 - j)]))
    }
}

/// The linear denoisers of an ensemble.
#[derive(Debug, Clone)]
pub struct Linear {
    fits: Vec<LinearFit>,
    dim: usize,
}

impl Linear {
    /// Creates the denoisers from one fit per member, all at the same noise levels.
    pub fn new(fits: Vec<LinearFit>) -> Result<Self> {
        let dim = fits.first().and_then(|fit| fit.biases.first()).map_or(0, DVector::len);
        let alike = |fit: &LinearFit| {
            fit.sigmas == fits[0].sigmas
                && fit.weights.len() == fit.sigmas.len()
                && fit.biases.len() == fit.sigmas.len()
                && fit.weights.iter().all(|w| w.shape() == (dim, dim))
        };
        if dim == 0 || !fits.iter().all(alike) {
            return Err(Error::internal(
                "Linear denoisers of one ensemble must have the same size and noise levels",
            ));
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

    fn members(&self) -> usize {
        self.fits.len()
    }

    fn place(&self, program: &mut Program, rows: usize) -> Result<Box<dyn Placed>> {
        program.check_members("linear denoisers", self.fits.len())?;
        // One buffer per level: all of them together would exceed the largest buffer.
        let mut levels = Vec::new();
        for level in 0..self.fits[0].sigmas.len() {
            // Row-major `Wᵀ` is column-major `W`: nalgebra's own order.
            let weights = self.fits.iter().flat_map(|fit| fit.weights[level].iter());
            let weights = weights.map(|&v| v as f32).collect();
            let biases = self.fits.iter().flat_map(|fit| fit.biases[level].iter());
            let biases = biases.map(|&v| v as f32).collect();
            levels.push([program.buffer_with("Wᵀ", weights)?, program.buffer_with("b", biases)?]);
        }
        Ok(Box::new(PlacedLinear {
            levels,
            sigmas: self.fits[0].sigmas.clone(),
            rows,
            dim: self.dim,
        }))
    }
}

/// A [`Linear`] denoiser placed in a program.
#[derive(Debug)]
struct PlacedLinear {
    /// `Wᵀ` and `b` per noise level.
    levels: Vec<[Buffer; 2]>,
    sigmas: Vec<f32>,
    rows: usize,
    dim: usize,
}

impl Placed for PlacedLinear {
    fn record(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()> {
        let known = |level: &Level| self.sigmas.get(level.index) == Some(&level.sigma);
        let level = sigma.level.filter(known).ok_or_else(|| {
            Error::bad_input(
                "A linear denoiser has no map for this noise level",
                "Sample with the schedule at whose noise levels it was distilled",
            )
        })?;
        let [w, b] = self.levels[level.index];
        let Self { rows, dim, .. } = *self;
        Matmul::new(Layout::Nn, x, w, out, [rows, dim, dim]).bias(b).record(program)
    }
}

/// The distillation of a denoiser, placed in a program.
#[derive(Debug)]
pub struct Distillation {
    how: Distill,
    routine: Routine,
    clock: Buffer,
    sigma: Buffer,
    clean: Buffer,
    basis: Buffer,
    shift: Buffer,
    moments: Buffer,
    products: Buffer,
    images: TrainingSets,
    axes: Vec<Arc<Axes>>,
    seed: u64,
}

/// Refuses to solve for more unknowns than there are noisy images. Small images may be fewer than their
/// dimensions: their noise, drawn anew for each batch, then covers the missing directions. Of large images
/// so few would be drawn that W would consist of noise alone.
fn check_determined(images: &TrainingSets, how: Distill) -> Result<()> {
    let dim = images.dim();
    let fewest = images.ranges().iter().map(ExactSizeIterator::len).min().unwrap_or(0);
    if dim > SMALL && fewest < dim {
        return Err(Error::bad_input(
            format!("{fewest} images do not determine a linear map of {dim} numbers"),
            format!("Distil on {dim} images or more, or choose a smaller image size"),
        ));
    }
    let rows = how.batches as usize * DISTILLATION_ROWS;
    if dim > SMALL && rows <= dim {
        return Err(Error::bad_input(
            format!("{rows} noisy images do not determine a linear map of {dim} numbers"),
            format!("Ask for {} batches or more", (dim + 1).div_ceil(DISTILLATION_ROWS)),
        ));
    }
    Ok(())
}

/// All `d` principal axes of a set of images, including those along which it does not vary.
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

    /// The whitening of the images with noise of level `sigma`.
    fn whitening(&self, sigma: f64) -> Whitening {
        let mut basis = self.eigenvectors.clone();
        for (mut column, lambda) in basis.column_iter_mut().zip(&self.eigenvalues) {
            column /= (lambda + sigma * sigma).sqrt();
        }
        let shift = -basis.tr_mul(&self.mean);
        Whitening { basis, shift }
    }
}

/// `z = Vᵀ x + s`, where `V = U (Λ + σ²)^{-1/2}` and `s = -Vᵀ μ`.
struct Whitening {
    basis: DMatrix<f64>,
    shift: DVector<f64>,
}

impl Distillation {
    /// Places the distillation of `denoiser` on one set of `images` per member. Every image gets fresh noise
    /// each time it is used.
    pub fn place(
        program: &mut Program,
        denoiser: &dyn Denoiser,
        images: &TrainingSets,
        how: Distill,
        seed: u64,
    ) -> Result<Self> {
        images.check_members(program)?;
        let (rows, dim) = (DISTILLATION_ROWS, denoiser.dim());
        if how.batches == 0 || images.dim() != dim {
            return Err(Error::bad_input(
                format!(
                    "Cannot distil on {} batches of images of {} values for a denoiser of {dim}",
                    how.batches,
                    images.dim()
                ),
                "Distil on at least one batch of images of the denoiser's size",
            ));
        }
        check_determined(images, how)?;
        let mut axes: Vec<Arc<Axes>> = Vec::new();
        for (member, range) in images.ranges().iter().enumerate() {
            // Held-out images are the same for all members, so their axes are computed once.
            let known = images.ranges()[..member].iter().position(|other| other == range);
            axes.push(match known {
                Some(other) => Arc::clone(&axes[other]),
                None => Arc::new(Axes::of(images.images(member), dim)?),
            });
        }
        let placed = denoiser.place(program, rows)?;
        let wide = dim + 1;
        let clean = program.buffer("distillation images", rows * dim)?;
        let clock = program.shared("distillation clock", noise::CLOCK)?;
        let sigma = program.shared("distillation σ", 1)?;
        let basis = program.buffer("whitening", dim * wide)?;
        let shift = program.buffer("whitening shift", wide)?;
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
        let images = images.clone();
        Ok(Self {
            how,
            routine,
            clock,
            sigma,
            clean,
            basis,
            shift,
            moments,
            products,
            images,
            axes,
            seed,
        })
    }

    /// The images of a batch, for all members: each set is repeated cyclically.
    fn batch(&self, batch: u32) -> Vec<f32> {
        let dim = self.images.dim();
        let first = batch as usize * DISTILLATION_ROWS;
        let of_member = |member: usize| {
            let set = self.images.images(member);
            let start = first * dim % set.len();
            set.iter().cycle().skip(start).take(DISTILLATION_ROWS * dim)
        };
        (0..self.axes.len()).flat_map(of_member).copied().collect()
    }

    /// Uploads the whitening of each member's images at noise level `sigma`.
    fn upload_whitening(&self, loaded: &mut Loaded, whitening: &[Whitening]) -> Result<()> {
        let (mut basis, mut shift) = (Vec::new(), Vec::new());
        for w in whitening {
            // The last column of z is 1, which carries the bias.
            for row in w.basis.row_iter() {
                basis.extend(row.iter().map(|&v| v as f32).chain([0.0]));
            }
            shift.extend(w.shift.iter().map(|&v| v as f32).chain([1.0]));
        }
        loaded.upload(self.basis, &basis)?;
        loaded.upload(self.shift, &shift)
    }

    /// Finds the best linear approximation of each member at `sigma`.
    pub async fn solve(
        &self,
        loaded: &mut Loaded,
        sigma: f32,
    ) -> Result<Vec<(DMatrix<f64>, DVector<f64>)>> {
        let dim = self.images.dim();
        let wide = dim + 1;
        let whitening: Vec<_> = self.axes.iter().map(|a| a.whitening(f64::from(sigma))).collect();
        self.upload_whitening(loaded, &whitening)?;
        loaded.upload(self.sigma, &[sigma])?;
        loaded.upload(self.moments, &vec![0.0_f32; self.moments.len()])?;
        loaded.upload(self.products, &vec![0.0_f32; self.products.len()])?;
        for batch in 0..self.how.batches {
            loaded.upload(self.clean, &self.batch(batch))?;
            loaded.upload(self.clock, &noise::clock(self.seed, FIRST_BATCH.wrapping_add(batch)))?;
            loaded.run_cooperative(self.routine, 1).await?;
        }
        let moments: Vec<f32> = loaded.read(self.moments).await?;
        let products: Vec<f32> = loaded.read(self.products).await?;
        let count = f64::from(self.how.batches) * DISTILLATION_ROWS as f64;
        let mean = |sums: &[f32], cols: usize| {
            let values = sums.iter().map(|&v| f64::from(v) / count);
            DMatrix::from_row_iterator(wide, cols, values)
        };
        let solve = |((moments, products), white): ((&[f32], &[f32]), &Whitening)| {
            let mut a = mean(moments, wide);
            for i in 0..wide {
                a[(i, i)] += RIDGE;
            }
            let solution = self.how.method.solve(a, &mean(products, dim))?;
            let linear = solution.rows(0, dim);
            let weight = multiply(&white.basis, &linear.into_owned()).transpose();
            let bias = solution.row(dim).transpose() + linear.tr_mul(&white.shift);
            Ok((weight, bias))
        };
        let sums = moments.chunks_exact(wide * wide).zip(products.chunks_exact(wide * dim));
        sums.zip(&whitening).map(solve).collect()
    }

    /// Runs [`solve`](Self::solve) at each of `sigmas`.
    pub async fn fit(&self, loaded: &mut Loaded, sigmas: &[f32]) -> Result<Linear> {
        let empty = LinearFit { sigmas: sigmas.to_vec(), weights: Vec::new(), biases: Vec::new() };
        let mut fits = vec![empty; self.axes.len()];
        for &sigma in sigmas {
            for (fit, (weight, bias)) in fits.iter_mut().zip(self.solve(loaded, sigma).await?) {
                fit.weights.push(weight);
                fit.biases.push(bias);
            }
        }
        Linear::new(fits)
    }
}
