//! D_G, the optimal denoiser of a Gaussian with the training set's mean and covariance (eq. 7).

use std::mem::take;
use std::ops::Range;
use std::sync::Arc;

use nalgebra::{DMatrix, DVector};

use super::eigen::{Eigen, add_gram, add_square, decompose, product};
use super::{Denoiser, Placed, descending};
use crate::compute::{Buffer, Engine, Program, View};
use crate::data::TrainingSets;
use crate::error::{Error, Result};
use crate::kernels::matmul::{Layout, Matmul};
use crate::kernels::{Sigma, shrink};

/// Largest image, in values, that a Gaussian is fitted to: 64 × 64 in colour.
pub const MAX_DIM: usize = 12_288;

/// Largest matrix that is decomposed: the covariance, or the Gram matrix of fewer images. Natively it is
/// whatever [`MAX_DIM`] allows (a matrix then takes 1.2 GB, and there are four); in a page, what fits into
/// the address space.
const MAX_ORDER: usize = if cfg!(target_arch = "wasm32") { 4096 } else { MAX_DIM };

/// Images of at most this many values (16 × 16 grey) are decomposed at once, by nalgebra. It takes at most
/// a tenth of a second, and the bits of recorded runs depend on it.
pub(super) const SMALL: usize = 256;

/// Images, or values per image, whose products are added up per step.
const BLOCK: usize = 512;

/// The first bytes of a saved fit.
const MAGIC: &[u8; 8] = b"HGauss01";

/// Bytes before the numbers: [`MAGIC`], values per image, number of axes, bytes per value of an axis.
const HEADER: usize = MAGIC.len() + 3 * 4;

/// Mean and principal axes of one training set, in f64.
#[derive(Debug, Clone, PartialEq)]
pub struct GaussianFit {
    /// The mean image `μ`.
    pub mean: DVector<f64>,
    /// Variances along the axes, largest first; all are positive.
    pub eigenvalues: DVector<f64>,
    /// The axes `U`, as columns. For images of more than 256 values they are rounded to f32, in which the
    /// engines use them; saved, they then take half the space.
    pub eigenvectors: DMatrix<f64>,
}

impl GaussianFit {
    /// Refuses images of `dim` values if that is too many.
    pub fn check(dim: usize) -> Result<()> {
        check("Values per image", dim, MAX_DIM)
    }

    /// Fits mean and covariance of the `N` rows of `images` (divided by `N`), and finds its eigenvectors.
    ///
    /// With fewer images than dimensions, the `N × N` Gram matrix has the same spectrum and is the
    /// smaller problem.
    pub fn new(images: &[f32], dim: usize) -> Result<Self> {
        let mut fitting = Fitting::new(images, dim)?;
        loop {
            if let Some(fit) = fitting.step()? {
                return Ok(fit);
            }
        }
    }

    /// Fits in steps: between them other tasks run, `progress` receives the fraction of the work that is
    /// done, and the control of `engine` can cancel.
    pub async fn fit(
        engine: &Engine,
        images: &[f32],
        dim: usize,
        mut progress: impl FnMut(f64),
    ) -> Result<Self> {
        let mut fitting = Fitting::new(images, dim)?;
        loop {
            if let Some(fit) = fitting.step()? {
                return Ok(fit);
            }
            progress(fitting.progress());
            engine.yield_now().await?;
        }
    }

    /// Creates a fit from eigenvalues in any order and their eigenvectors, the columns of `axes`.
    fn sorted(
        mean: DVector<f64>,
        values: &[f64],
        axes: impl FnOnce(&[usize]) -> DMatrix<f64>,
    ) -> Self {
        let mut order = descending(values);
        // Below this, a direction is rounding error: the data does not vary along it.
        let floor = 1e-12 * order.first().map_or(0.0, |&i| values[i]);
        order.retain(|&i| values[i] > floor.max(1e-14));
        let eigenvalues = DVector::from_iterator(order.len(), order.iter().map(|&i| values[i]));
        let mut eigenvectors =
            if order.is_empty() { DMatrix::zeros(mean.len(), 0) } else { axes(&order) };
        for mut column in eigenvectors.column_iter_mut() {
            column.normalize_mut();
        }
        Self { mean, eigenvalues, eigenvectors }
    }

    /// Encodes the fit for a cache: a header, then mean, variances and axes, one after the other, all
    /// little-endian. Axes in f32 are saved as f32: 38 MB for 32 × 32 in colour.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let single = self.eigenvectors.iter().all(|&v| f64::from(v as f32) == v);
        let axes = self.eigenvectors.len() * if single { 4 } else { 8 };
        let doubles = self.mean.len() + self.eigenvalues.len();
        let mut bytes = Vec::with_capacity(HEADER + 8 * doubles + axes);
        bytes.extend(MAGIC);
        let sizes = [self.mean.len(), self.eigenvalues.len(), if single { 4 } else { 8 }];
        bytes.extend(sizes.iter().flat_map(|&size| (size as u32).to_le_bytes()));
        for v in self.mean.iter().chain(&self.eigenvalues) {
            bytes.extend(v.to_le_bytes());
        }
        for &v in &self.eigenvectors {
            if single {
                bytes.extend((v as f32).to_le_bytes());
            } else {
                bytes.extend(v.to_le_bytes());
            }
        }
        bytes
    }

    /// Decodes a fit that [`to_bytes`](Self::to_bytes) encoded, bit for bit.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let broken = || Error::bad_input("This is not a saved Gaussian fit", "Fit it anew");
        let (header, rest) = bytes.split_at_checked(HEADER).ok_or_else(broken)?;
        let (magic, sizes) = header.split_at(MAGIC.len());
        let sizes = sizes.as_chunks::<4>().0.iter().map(|size| u32::from_le_bytes(*size) as usize);
        let &[dim, rank, width] = &sizes.collect::<Vec<_>>()[..] else { return Err(broken()) };
        let fits = magic == MAGIC && dim <= MAX_DIM && rank <= dim && [4, 8].contains(&width);
        if !fits || rest.len() != 8 * (dim + rank) + width * dim * rank {
            return Err(broken());
        }
        let (doubles, axes) = rest.split_at(8 * (dim + rank));
        let doubles = doubles.as_chunks().0.iter().map(|v| f64::from_le_bytes(*v));
        let mean = DVector::from_iterator(dim, doubles.clone().take(dim));
        let eigenvalues = DVector::from_iterator(rank, doubles.skip(dim));
        let eigenvectors = if width == 4 {
            let axes = axes.as_chunks().0.iter().map(|v| f64::from(f32::from_le_bytes(*v)));
            DMatrix::from_iterator(dim, rank, axes)
        } else {
            let axes = axes.as_chunks().0.iter().map(|v| f64::from_le_bytes(*v));
            DMatrix::from_iterator(dim, rank, axes)
        };
        let finite = mean.iter().chain(&eigenvectors).all(|v| v.is_finite());
        let positive = eigenvalues.iter().all(|&v| v > 0.0 && v.is_finite());
        if !finite || !positive || !eigenvalues.iter().is_sorted_by(|a, b| a >= b) {
            return Err(broken());
        }
        Ok(Self { mean, eigenvalues, eigenvectors })
    }

    /// `D_G(x; σ)` (eq. 7) in f64: the reference for both engines.
    #[must_use]
    pub fn denoise(&self, x: &DVector<f64>, sigma: f64) -> DVector<f64> {
        self.filter(x, |lambda| lambda / (lambda + sigma * sigma), 0.0)
    }

    /// The point to which the exact probability-flow ODE takes `x` from noise level `from` to `to` (eq. 7 of
    /// the paper's full text): each coordinate scales by `√((σ_to² + λ) / (σ_from² + λ))`.
    #[must_use]
    pub fn flow(&self, x: &DVector<f64>, from: f64, to: f64) -> DVector<f64> {
        let gain = |lambda: f64| ((to * to + lambda) / (from * from + lambda)).sqrt();
        self.filter(x, gain, gain(0.0))
    }

    /// `μ + U diag(gain(λ)) Uᵀ (x - μ)`, with gain `rest` along directions in which the data does not vary.
    fn filter(&self, x: &DVector<f64>, gain: impl Fn(f64) -> f64, rest: f64) -> DVector<f64> {
        let centred = x - &self.mean;
        let mut z = self.eigenvectors.tr_mul(&centred);
        let inside = &self.eigenvectors * &z;
        z.zip_apply(&self.eigenvalues, |z, lambda| *z *= gain(lambda));
        &self.mean + &self.eigenvectors * z + (centred - inside) * rest
    }
}

/// Refuses more than `limit` of `what`.
fn check(what: &str, need: usize, limit: usize) -> Result<()> {
    if need <= limit {
        return Ok(());
    }
    let hint = "Choose a smaller image size, grey instead of colour, or fewer images";
    Err(Error::limit(what, need as u64, limit as u64, hint))
}

/// A [`GaussianFit`] in progress, in steps of a fraction of a second (except that in a page, with 3072
/// values per image, the reduction of the matrix takes some seconds without interruption).
#[derive(Debug)]
pub struct Fitting<'a> {
    images: &'a [f32],
    dim: usize,
    mean: DVector<f64>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Everything in one step.
    Small,
    /// The covariance of the images before `next`.
    Covariance { sum: DMatrix<f64>, next: usize },
    /// The Gram matrix of the values before `next` of each image, which is a column of `centred`.
    Gram { sum: DMatrix<f64>, centred: DMatrix<f64>, next: usize },
    /// The matrix is complete; `centred` is given if it is a Gram matrix.
    Eigen { eigen: Box<Eigen>, centred: Option<DMatrix<f64>> },
}

impl<'a> Fitting<'a> {
    /// Starts a fit to the rows of `images`, with `dim` values each.
    pub fn new(images: &'a [f32], dim: usize) -> Result<Self> {
        GaussianFit::check(dim)?;
        let n = images.len() / dim.max(1);
        if n == 0 {
            return Err(Error::bad_input("A Gaussian needs at least one image", ""));
        }
        check("Order of the covariance", n.min(dim), MAX_ORDER)?;
        let images = &images[..n * dim];
        let mut fitting = Self { images, dim, mean: DVector::zeros(0), stage: Stage::Small };
        if dim > SMALL {
            fitting.mean = mean(images, dim);
            fitting.stage = if n < dim {
                let centred = fitting.centred(0..n);
                Stage::Gram { sum: DMatrix::zeros(n, n), centred, next: 0 }
            } else {
                Stage::Covariance { sum: DMatrix::zeros(dim, dim), next: 0 }
            };
        }
        Ok(fitting)
    }

    /// Some of the images minus their mean, as columns.
    fn centred(&self, rows: Range<usize>) -> DMatrix<f64> {
        let images = &self.images[rows.start * self.dim..rows.end * self.dim];
        let values = images.iter().zip(self.mean.iter().cycle());
        DMatrix::from_iterator(self.dim, rows.len(), values.map(|(&v, mean)| f64::from(v) - mean))
    }

    /// The name of what the next step works on.
    #[must_use]
    pub const fn stage(&self) -> &'static str {
        match self.stage {
            Stage::Small | Stage::Eigen { .. } => "principal axes",
            Stage::Covariance { .. } | Stage::Gram { .. } => "covariance",
        }
    }

    /// The fraction of the work that is done.
    #[must_use]
    pub fn progress(&self) -> f64 {
        let (n, dim) = ((self.images.len() / self.dim) as f64, self.dim as f64);
        // Counted in multiply-adds of one triangle, without the axes that follow from a Gram matrix.
        let order = n.min(dim);
        let products = 0.5 * n * dim * order;
        let eigen = Eigen::WORK * order.powi(3);
        let done = match &self.stage {
            Stage::Small => 0.0,
            Stage::Covariance { next, .. } => products * *next as f64 / n,
            Stage::Gram { next, .. } => products * *next as f64 / dim,
            Stage::Eigen { eigen, .. } => products + eigen.done() * order.powi(3),
        };
        done / (products + eigen)
    }

    /// Does one step, and returns the fit if it was the last.
    pub fn step(&mut self) -> Result<Option<GaussianFit>> {
        let (n, dim) = (self.images.len() / self.dim, self.dim);
        match &mut self.stage {
            Stage::Small => return small(self.images, dim).map(Some),
            Stage::Covariance { next, .. } => {
                let rows = *next..n.min(*next + BLOCK);
                let block = self.centred(rows.clone());
                if let Stage::Covariance { sum, next } = &mut self.stage {
                    add_square(sum, &block);
                    *next = rows.end;
                    if rows.end == n {
                        self.stage = Self::decompose(take(sum), n, None);
                    }
                }
            }
            Stage::Gram { sum, centred, next } => {
                let rows = BLOCK.min(dim - *next);
                add_gram(sum, centred, *next..*next + rows);
                *next += rows;
                if *next == dim {
                    self.stage = Self::decompose(take(sum), n, Some(take(centred)));
                }
            }
            Stage::Eigen { eigen, centred } => {
                // A single image does not vary.
                if eigen.order() < 2 || eigen.step()? {
                    let fit = large(take(&mut self.mean), eigen, centred.as_ref());
                    return Ok(Some(fit));
                }
            }
        }
        Ok(None)
    }

    fn decompose(mut sum: DMatrix<f64>, n: usize, centred: Option<DMatrix<f64>>) -> Stage {
        sum *= 1.0 / n as f64;
        Stage::Eigen { eigen: Box::new(Eigen::new(sum)), centred }
    }
}

/// The mean of the rows of `images`.
fn mean(images: &[f32], dim: usize) -> DVector<f64> {
    let mut mean = DVector::zeros(dim);
    for image in images.chunks_exact(dim) {
        mean.iter_mut().zip(image).for_each(|(mean, &v)| *mean += f64::from(v));
    }
    mean * (dim as f64 / images.len() as f64)
}

/// Fits images of at most [`SMALL`] values.
fn small(images: &[f32], dim: usize) -> Result<GaussianFit> {
    let n = images.len() / dim;
    let mut centred = DMatrix::from_iterator(dim, n, images.iter().map(|&v| f64::from(v)));
    let mean = centred.column_mean();
    for mut column in centred.column_iter_mut() {
        column -= &mean;
    }
    let scale = 1.0 / n as f64;
    let by_gram = n < dim;
    let symmetric =
        if by_gram { centred.tr_mul(&centred) } else { &centred * centred.transpose() } * scale;
    let eigen = decompose(symmetric)?;
    Ok(GaussianFit::sorted(mean, eigen.eigenvalues.as_slice(), |order| {
        let columns: Vec<_> = order.iter().map(|&i| eigen.eigenvectors.column(i)).collect();
        let columns = DMatrix::from_columns(&columns);
        if by_gram { &centred * columns } else { columns }
    }))
}

/// Fits larger images, from the eigenvectors of the covariance or of the Gram matrix of `centred`.
fn large(mean: DVector<f64>, eigen: &Eigen, centred: Option<&DMatrix<f64>>) -> GaussianFit {
    let mut fit = GaussianFit::sorted(mean, &eigen.values, |order| {
        let columns = eigen.vectors.select_columns(order);
        match centred {
            Some(centred) => product(centred, &columns),
            None => columns,
        }
    });
    fit.eigenvectors.apply(|v| *v = f64::from(*v as f32));
    fit
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

    /// Creates the denoiser from existing fits to images of `dim` values.
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
        program.check_members("Gaussians", self.fits.len())?;
        // Members of lower rank get axes of zeros without variance, which add nothing.
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

/// A [`Gaussian`] denoiser placed in a program.
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

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    /// Images with a few strong directions and many weak ones.
    fn images(n: usize, dim: usize) -> Vec<f32> {
        let value = |i: usize| ((i * 7919 + (i / 3) * 104_729 + 13) % 1009) as f32 / 504.5 - 1.0;
        let mut images: Vec<f32> = (0..n * dim).map(value).collect();
        for image in images.chunks_exact_mut(dim) {
            let mut sum = 0.3;
            image.iter_mut().for_each(|v| {
                sum = 0.9 * sum + *v;
                *v = sum;
            });
        }
        images
    }

    /// Large and small images take different code paths, which agree whichever matrix is decomposed.
    #[test]
    fn both_ways_agree() {
        for (n, dim) in [(1, 300), (2, 257), (40, 300), (299, 300), (300, 300), (700, 290)] {
            let images = images(n, dim);
            let (fit, known) =
                (GaussianFit::new(&images, dim).unwrap(), small(&images, dim).unwrap());
            assert_eq!(fit.eigenvalues.len(), known.eigenvalues.len(), "{n} × {dim}");
            let x = DVector::from_fn(dim, |i, _| (i as f64).sin());
            for sigma in [0.01, 1.0] {
                let [a, b] = [&fit, &known].map(|fit| fit.denoise(&x, sigma));
                let error = (&a - &b).norm() / b.norm();
                assert!(error < 3e-7, "{n} × {dim} at {sigma}: {error}");
            }
        }
    }

    #[test]
    fn a_fit_is_saved_bit_for_bit() {
        for (n, dim) in [(1, 5), (30, 12), (40, 300), (400, 300)] {
            let fit = GaussianFit::new(&images(n, dim), dim).unwrap();
            let bytes = fit.to_bytes();
            let width = if dim > SMALL { 4 } else { 8 };
            let (dim, rank) = fit.eigenvectors.shape();
            assert!(bytes.len() <= HEADER + 8 * (dim + rank) + width * dim * rank);
            assert_eq!(GaussianFit::from_bytes(&bytes).unwrap(), fit);
            for broken in [&bytes[..bytes.len() - 1], &bytes[1..], &[]] {
                assert!(GaussianFit::from_bytes(broken).is_err());
            }
            let mut broken = bytes;
            broken[HEADER..HEADER + 8].copy_from_slice(&f64::NAN.to_le_bytes());
            assert!(GaussianFit::from_bytes(&broken).is_err());
        }
    }

    #[test]
    fn progress_rises_to_the_end() {
        for n in [200, 1300] {
            let images = images(n, 600);
            let mut fitting = Fitting::new(&images, 600).unwrap();
            let mut last = 0.0;
            while fitting.step().unwrap().is_none() {
                let now = fitting.progress();
                assert!(now > last && now <= 1.0, "{n}: {last} {now}");
                last = now;
            }
            assert!(last > 0.5, "{n}: {last}");
        }
    }

    #[test]
    #[cfg(not(target_arch = "wasm32"))]
    fn a_fit_can_be_cancelled() {
        let control = crate::compute::Control::default();
        let engine = Engine::cpu().with_control(&control);
        let images = images(1300, 300);
        let fit = GaussianFit::fit(&engine, &images, 300, |_| control.cancel());
        let error = pollster::block_on(fit).unwrap_err();
        assert_eq!(error.kind, crate::ErrorKind::Cancelled);
    }

    #[test]
    fn what_is_too_large_is_refused() {
        assert!(GaussianFit::check(MAX_DIM).is_ok());
        assert!(GaussianFit::new(&[0.0; MAX_DIM + 1], MAX_DIM + 1).is_err());
    }
}
