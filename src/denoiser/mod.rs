//! The denoisers `D(x; σ)`. Each records itself into a program, so the sampler, the metrics and the
//! figures are written once; [`TABLE`] lists those that figures show.
//!
//! | | symbol | |
//! |---|---|---|
//! | [`Trained`] | D_θ | a network trained on the images (eq. 3) |
//! | [`Linear`] | D_L | the best linear approximation of another denoiser (eq. 5) |
//! | [`Gaussian`] | D_G | optimal for a Gaussian with the same mean and covariance (eq. 7) |
//! | [`Empirical`] | D_M | optimal for the training images themselves (eq. 4): it memorizes |
//! | [`Local`] | LS, ELS | memorizes windows (Kamb and Ganguli, 2025) |
//! | [`PcaLocality`] | | memorizes what D_G gives weight to (Lukoianov et al., 2025) |
//! | [`Mixture`] | | optimal for a mixture of Gaussians (Wang and Vastola, 2024) |

pub(crate) mod eigen;
mod empirical;
mod gaussian;
mod information;
mod linear;
mod local;
mod mixture;
mod pca_locality;
pub mod table;
mod trained;

pub use empirical::{Empirical, Neighbours, PlacedEmpirical};
pub use gaussian::{Fitting, Gaussian, GaussianFit, MAX_DIM, PlacedGaussian};
pub use information::{critical_sigma, information, window_thresholds};
pub use linear::{
    DISTILLATION_ROWS, Distill, Distillation, DistilledOn, Linear, LinearFit, Solver,
};
pub use local::Local;
pub use mixture::{Mixture, k_means};
pub use pca_locality::{MAX_LOCALITY_DIM, PcaLocality};
pub use table::{DenoiserId, Entry, Fit, Origin, TABLE};
pub use trained::Trained;

use std::any::Any;
use std::fmt::Debug;

use crate::compute::{Engine, Program, View};
use crate::error::{Error, Result};
use crate::kernels::Sigma;

/// A family of denoisers, one per member of a program.
pub trait Denoiser: Any + Debug {
    /// Number of values in an image.
    fn dim(&self) -> usize;

    /// Number of denoisers in the family: one per training set.
    fn members(&self) -> usize;

    /// Adds what the denoiser needs to `program`: its constants, and scratch space for batches of
    /// `rows` images.
    fn place(&self, program: &mut Program, rows: usize) -> Result<Box<dyn Placed>>;
}

/// Denoises images at noise level `sigma`: `x` holds rows of [`Denoiser::dim`] numbers. Returns the rows
/// member by member.
///
/// This records and loads a program. To denoise repeatedly, [place](Denoiser::place) the denoiser in a
/// program of your own.
pub async fn denoise(
    engine: &Engine,
    denoiser: &dyn Denoiser,
    x: &[f32],
    sigma: f32,
) -> Result<Vec<f32>> {
    let dim = denoiser.dim();
    if dim == 0 || x.is_empty() || !x.len().is_multiple_of(dim) {
        return Err(Error::bad_input(
            format!("{} numbers do not divide into images of {dim} values", x.len()),
            "Pass one or more images of the denoiser's size",
        ));
    }
    let mut program = engine.program(denoiser.members())?;
    let input = program.constant("x", &x.into())?;
    let level = program.constant("σ", &[sigma].into())?;
    let out = program.buffer("D(x)", x.len())?;
    let placed = denoiser.place(&mut program, x.len() / dim)?;
    let routine = program
        .routine("denoise", |p| placed.record(p, input.into(), Sigma::shared(level), out.into()))?;
    let mut loaded = engine.load(program).await?;
    loaded.run_cooperative(routine, 1).await?;
    loaded.read(out).await
}

/// A denoiser placed in a program.
pub trait Placed {
    /// Records `out = D(x; σ)` for the rows it was placed for.
    fn record(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()>;
}

/// Indices of `values`, largest value first.
pub(crate) fn descending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[b].total_cmp(&values[a]));
    order
}
