//! The denoisers `D(x; σ)`: they all record themselves, so the sampler, the metrics and the figures
//! are written once.
//!
//! | | symbol | what it is |
//! |---|---|---|
//! | [`Empirical`] | D_M | optimal for the training images themselves (eq. 4): it memorizes |
//! | [`Linear`] | D_L | the best linear approximation of another denoiser (eq. 5) |
//! | [`Gaussian`] | D_G | optimal for a Gaussian of the same mean and covariance (eq. 7) |
//! | [`Trained`] | D_θ | a network that learnt from the training images |

mod empirical;
mod gaussian;
mod linear;
mod local;
mod mixture;
mod pca_locality;
mod trained;

pub use empirical::{Empirical, EmpiricalIn, Neighbours};
pub use gaussian::{Gaussian, GaussianFit, GaussianIn, MAX_DIM};
pub use linear::{
    DISTILLATION_ROWS, Distill, Distillation, DistilledOn, Linear, LinearFit, Solver,
};
pub use local::Local;
pub use mixture::{Mixture, k_means};
pub use pca_locality::{MAX_LOCALITY_DIM, PcaLocality};
pub use trained::Trained;

use std::ops::Range;
use std::sync::Arc;

use crate::compute::{Program, View};
use crate::error::{Error, Result};
use crate::kernels::Sigma;

/// A family of denoisers, one for each member of a program.
pub trait Denoiser {
    /// Numbers in an image.
    fn dim(&self) -> usize;

    /// Puts what the denoiser needs into `program`: its constants, and scratch space for batches of
    /// `rows` images.
    fn place(&self, program: &mut Program, rows: usize) -> Result<Box<dyn Placed>>;
}

/// A denoiser that stands in a program.
pub trait Placed {
    /// Records `out = D(x; σ)` for the rows it was placed for.
    fn record(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()>;
}

/// The training sets of an ensemble: ranges of one pool of images.
///
/// Nested ranges make the sizes of Figure 1, disjoint ones the halves of the strong-generalization
/// experiment, and no image is stored twice.
#[derive(Debug, Clone)]
pub struct TrainingSets {
    images: Arc<[f32]>,
    dim: usize,
    ranges: Vec<Range<usize>>,
}

impl TrainingSets {
    /// Sets that hold the images in `ranges` of a pool of `dim`-dimensional rows.
    pub fn new(
        images: impl Into<Arc<[f32]>>,
        dim: usize,
        ranges: Vec<Range<usize>>,
    ) -> Result<Self> {
        let images = images.into();
        if dim == 0 || images.is_empty() || !images.len().is_multiple_of(dim) {
            return Err(Error::bad_input(
                format!("{} numbers are no images of {dim} numbers each", images.len()),
                "",
            ));
        }
        if images.iter().any(|v| !v.is_finite()) {
            return Err(Error::bad_input("The images hold a number that is not finite", ""));
        }
        let pool = images.len() / dim;
        for range in &ranges {
            if range.is_empty() || range.end > pool {
                return Err(Error::bad_input(
                    format!("Training set {range:?} does not lie in a pool of {pool} images"),
                    "Ask for at least one image, and for no more than there are",
                ));
            }
        }
        if ranges.is_empty() {
            return Err(Error::bad_input("There is no training set", ""));
        }
        Ok(Self { images, dim, ranges })
    }

    /// One member that trains on all of `images`.
    pub fn single(images: impl Into<Arc<[f32]>>, dim: usize) -> Result<Self> {
        let images = images.into();
        let all = 0..images.len() / dim.max(1);
        Self::new(images, dim, vec![all])
    }

    /// The set of one member, in the same pool.
    pub fn only(&self, member: usize) -> Result<Self> {
        let range = self.ranges.get(member).cloned();
        Self::new(Arc::clone(&self.images), self.dim, range.into_iter().collect())
    }

    /// Numbers in an image.
    #[must_use]
    pub const fn dim(&self) -> usize {
        self.dim
    }

    /// The whole pool.
    #[must_use]
    pub const fn pool(&self) -> &Arc<[f32]> {
        &self.images
    }

    /// The range of each member.
    #[must_use]
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// The images of one member.
    #[must_use]
    pub fn images(&self, member: usize) -> &[f32] {
        self.ranges.get(member).map_or(&[], |r| &self.images[r.start * self.dim..r.end * self.dim])
    }

    /// One past the last image that any member uses.
    #[must_use]
    pub fn end(&self) -> usize {
        self.ranges.iter().map(|range| range.end).max().unwrap_or(0)
    }

    /// A number that tells one pool of images from another (FNV-1a over their words).
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let mix =
            |hash: u64, v: &f32| (hash ^ u64::from(v.to_bits())).wrapping_mul(0x100_0000_01b3);
        self.images.iter().fold(0xcbf2_9ce4_8422_2325, mix)
    }

    /// The ranges as the device sees them: `[begin, end)` for each member.
    #[must_use]
    pub fn range_words(&self) -> Vec<f32> {
        let words = self.ranges.iter().flat_map(|range| [range.start as u32, range.end as u32]);
        words.map(f32::from_bits).collect()
    }

    /// Refuses a program whose members are not these.
    pub(crate) fn check_members(&self, program: &Program) -> Result<()> {
        if program.members() != self.ranges.len() {
            return Err(Error::bad_input(
                format!("{} training sets for {} members", self.ranges.len(), program.members()),
                "",
            ));
        }
        Ok(())
    }
}

/// Positions of `values`, largest value first.
pub(crate) fn descending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[b].total_cmp(&values[a]));
    order
}
