//! D_G, the optimal denoiser of a Gaussian with the training set's mean and covariance (eq. 7).

use std::sync::Arc;

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use super::{Denoiser, Placed, descending};
use crate::compute::{Buffer, Program, View};
use crate::data::TrainingSets;
use crate::error::{Error, Result};
use crate::kernels::matmul::{Layout, Matmul};
use crate::kernels::{Sigma, shrink};

/// Largest image, in numbers, whose covariance is decomposed: 32 × 32 grey. The time grows with its
/// third power.
pub const MAX_DIM: usize = 1024;

/// Mean and principal axes of one training set, in f64.
#[derive(Debug, Clone)]
pub struct GaussianFit {
    /// The mean image `μ`.
    pub mean: DVector<f64>,
    /// Variances along the axes, largest first; all positive.
    pub eigenvalues: DVector<f64>,
    /// The axes `U`, as columns.
    pub eigenvectors: DMatrix<f64>,
}

impl GaussianFit {
    /// Whether images of `dim` numbers are small enough.
    pub fn check(dim: usize) -> Result<()> {
        if dim <= MAX_DIM {
            return Ok(());
        }
        let hint = "Choose a smaller image size, or grey instead of colour";
        Err(Error::limit("Numbers in an image", dim as u64, MAX_DIM as u64, hint))
    }

    /// Mean and covariance over the `N` rows of `images` (divided by `N`), and its eigenvectors.
    ///
    /// With fewer images than dimensions the `N × N` Gram matrix has the same spectrum and is the
    /// smaller problem.
    pub fn new(images: &[f32], dim: usize) -> Result<Self> {
        Self::check(dim)?;
        let n = images.len() / dim.max(1);
        if n == 0 {
            return Err(Error::bad_input("A Gaussian needs at least one image", ""));
        }
        let mut centred =
            DMatrix::from_iterator(dim, n, images[..n * dim].iter().map(|&v| f64::from(v)));
        let mean = centred.column_mean();
        for mut column in centred.column_iter_mut() {
            column -= &mean;
        }
        let scale = 1.0 / n as f64;
        let by_gram = n < dim;
        let symmetric =
            if by_gram { centred.tr_mul(&centred) } else { &centred * centred.transpose() } * scale;
        let eigen = SymmetricEigen::try_new(symmetric, 1e-13, 10_000).ok_or_else(|| {
            Error::bad_input(
                "The covariance's eigenvectors did not converge",
                "Do the images hold extreme values?",
            )
        })?;
        let mut order = descending(eigen.eigenvalues.as_slice());
        // Below this a direction is rounding error; the data does not vary along it.
        let floor = 1e-12 * order.first().map_or(0.0, |&i| eigen.eigenvalues[i]);
        order.retain(|&i| eigen.eigenvalues[i] > floor.max(1e-14));
        let eigenvalues =
            DVector::from_iterator(order.len(), order.iter().map(|&i| eigen.eigenvalues[i]));
        let columns: Vec<_> =
            order.iter().map(|&i| eigen.eigenvectors.column(i).into_owned()).collect();
        let mut eigenvectors = match columns.as_slice() {
            [] => DMatrix::zeros(dim, 0),
            columns if by_gram => &centred * DMatrix::from_columns(columns),
            columns => DMatrix::from_columns(columns),
        };
        for mut column in eigenvectors.column_iter_mut() {
            column.normalize_mut();
        }
        Ok(Self { mean, eigenvalues, eigenvectors })
    }

    /// `D_G(x; σ)` (eq. 7) in f64: the reference for both engines.
    #[must_use]
    pub fn denoise(&self, x: &DVector<f64>, sigma: f64) -> DVector<f64> {
        self.filter(x, |lambda| lambda / (lambda + sigma * sigma), 0.0)
    }

    /// Where the exact probability-flow ODE takes `x` from noise level `from` to `to` (eq. 7 of the
    /// paper's full text): each coordinate scales by `√((σ_to² + λ) / (σ_from² + λ))`.
    #[must_use]
    pub fn flow(&self, x: &DVector<f64>, from: f64, to: f64) -> DVector<f64> {
        let gain = |lambda: f64| ((to * to + lambda) / (from * from + lambda)).sqrt();
        self.filter(x, gain, gain(0.0))
    }

    /// `μ + U diag(gain(λ)) Uᵀ (x - μ)`, with gain `rest` where the data does not vary.
    fn filter(&self, x: &DVector<f64>, gain: impl Fn(f64) -> f64, rest: f64) -> DVector<f64> {
        let centred = x - &self.mean;
        let mut z = self.eigenvectors.tr_mul(&centred);
        let inside = &self.eigenvectors * &z;
        z.zip_apply(&self.eigenvalues, |z, lambda| *z *= gain(lambda));
        &self.mean + &self.eigenvectors * z + (centred - inside) * rest
    }
}

/// The Gaussian denoiser of each training set (eq. 7),
///
/// `D_G(x; σ) = μ + U Λ(Λ + σ²I)⁻¹ Uᵀ (x - μ)`.
#[derive(Debug, Clone)]
pub struct Gaussian {
    fits: Vec<Arc<GaussianFit>>,
    dim: usize,
}

impl Gaussian {
    /// Fits mean and covariance of each training set.
    pub fn fit(sets: &TrainingSets) -> Result<Self> {
        let fit = |member| GaussianFit::new(sets.images(member), sets.dim()).map(Arc::new);
        let fits = (0..sets.ranges().len()).map(fit).collect::<Result<_>>()?;
        Ok(Self::new(fits, sets.dim()))
    }

    /// Those of known fits to images of `dim` numbers.
    #[must_use]
    pub const fn new(fits: Vec<Arc<GaussianFit>>, dim: usize) -> Self {
        Self { fits, dim }
    }

    /// The fit of each member.
    #[must_use]
    pub fn fits(&self) -> &[Arc<GaussianFit>] {
        &self.fits
    }
}

impl Denoiser for Gaussian {
    fn dim(&self) -> usize {
        self.dim
    }

    fn members(&self) -> usize {
        self.fits.len()
    }

    fn place(&self, program: &mut Program, rows: usize) -> Result<Box<dyn Placed>> {
        if program.members() != self.fits.len() {
            return Err(Error::internal(format!(
                "{} Gaussians for {} members",
                self.fits.len(),
                program.members()
            )));
        }
        // Members of lower rank get axes of zeros with no variance: they add nothing.
        let rank = self.fits.iter().map(|fit| fit.eigenvalues.len()).max().unwrap_or(0).max(1);
        let dim = self.dim;
        let (mut basis, mut lambda, mut shift, mut mean) = (vec![], vec![], vec![], vec![]);
        for fit in &self.fits {
            let offset = fit.eigenvectors.tr_mul(&fit.mean);
            let padded = |v: &DVector<f64>, i: usize| v.get(i).map_or(0.0, |&v| v as f32);
            let axis = |i: usize, j: usize| fit.eigenvectors.get((j, i)).map_or(0.0, |&v| v as f32);
            basis.extend(
                (0..rank).flat_map(|i| (0..dim).map(move |j| (i, j))).map(|(i, j)| axis(i, j)),
            );
            lambda.extend((0..rank).map(|i| padded(&fit.eigenvalues, i)));
            shift.extend((0..rank).map(|i| -padded(&offset, i)));
            mean.extend(fit.mean.iter().map(|&v| v as f32));
        }
        Ok(Box::new(PlacedGaussian {
            basis: program.buffer_with("Uᵀ", basis)?,
            lambda: program.buffer_with("λ", lambda)?,
            shift: program.buffer_with("-Uᵀμ", shift)?,
            mean: program.buffer_with("μ", mean)?,
            z: program.buffer("coordinates", rows * rank)?,
            rows,
            rank,
            dim,
        }))
    }
}

/// A [`Gaussian`] denoiser that stands in a program.
#[derive(Debug, Clone, Copy)]
pub struct PlacedGaussian {
    basis: Buffer,
    lambda: Buffer,
    shift: Buffer,
    mean: Buffer,
    z: Buffer,
    rows: usize,
    rank: usize,
    dim: usize,
}

impl Placed for PlacedGaussian {
    fn record(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()> {
        let Self { rows, rank, dim, .. } = *self;
        Matmul::new(Layout::Nt, x, self.basis, self.z, [rows, rank, dim])
            .bias(self.shift)
            .record(program)?;
        shrink::record(program, self.lambda.into(), sigma, self.z.into(), [rows, rank])?;
        Matmul::new(Layout::Nn, self.z, self.basis, out, [rows, dim, rank])
            .bias(self.mean)
            .record(program)
    }
}
