//! The denoisers `D(x; σ)`. Each records itself into a program, so the sampler, the metrics and the
//! figures are written once; [`TABLE`] lists those that figures show.
//!
//! | | symbol | |
//! |---|---|---|
//! | [`Trained`] | D_θ | a network trained on the images (eq. 3) |
//! | [`Linear`] | D_L | the best linear approximation of another denoiser (eq. 5) |
//! | [`Gaussian`] | D_G | optimal for a Gaussian with the same mean and covariance (eq. 7) |
//! | [`Empirical`] | D_M | optimal for the training images themselves (eq. 4): it memorizes |

mod empirical;
mod gaussian;
mod linear;
pub mod table;
mod trained;

pub use empirical::{Empirical, Neighbours, PlacedEmpirical};
pub use gaussian::{Gaussian, GaussianFit, MAX_DIM, PlacedGaussian};
pub use linear::{
    DISTILLATION_ROWS, Distill, Distillation, DistilledOn, Linear, LinearFit, Solver,
};
pub use table::{DenoiserId, Entry, Origin, TABLE};
pub use trained::Trained;

use std::any::Any;
use std::fmt::Debug;

use crate::compute::{Engine, Program, View};
use crate::error::{Error, Result};
use crate::kernels::Sigma;

/// A family of denoisers, one for each member of a program.
pub trait Denoiser: Any + Debug {
    /// Numbers in an image.
    fn dim(&self) -> usize;

    /// How many denoisers the family has: one for each training set.
    fn members(&self) -> usize;

    /// Adds what the denoiser needs to `program`: its constants, and scratch space for batches of
    /// `rows` images.
    fn place(&self, program: &mut Program, rows: usize) -> Result<Box<dyn Placed>>;
}

/// Denoises images at noise level `sigma`: `x` holds rows of [`Denoiser::dim`] numbers. Returns the
/// rows of the first member, then those of the next.
///
/// This records and loads a program. To denoise again and again, [place](Denoiser::place) the
/// denoiser in a program of your own.
pub async fn denoise(
    engine: &Engine,
    denoiser: &dyn Denoiser,
    x: &[f32],
    sigma: f32,
) -> Result<Vec<f32>> {
    let dim = denoiser.dim();
    if dim == 0 || x.is_empty() || !x.len().is_multiple_of(dim) {
        return Err(Error::bad_input(
            format!("{} numbers are not whole images of {dim} numbers each", x.len()),
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

/// Positions of `values`, largest value first.
pub(crate) fn descending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[b].total_cmp(&values[a]));
    order
}
