//! The training sets of an ensemble.

use std::ops::Range;
use std::sync::Arc;

use crate::compute::Program;
use crate::error::{Error, Result};

/// The training sets of an ensemble: ranges of one pool of images.
///
/// Nested ranges are the sizes of Figure 1, disjoint ones the halves of the strong-generalization
/// experiment, and no image is stored twice.
#[derive(Debug, Clone)]
pub struct TrainingSets {
    images: Arc<[f32]>,
    dim: usize,
    ranges: Vec<Range<usize>>,
}

impl TrainingSets {
    /// Creates training sets from `ranges` of a pool of `dim`-dimensional rows.
    pub fn new(
        images: impl Into<Arc<[f32]>>,
        dim: usize,
        ranges: Vec<Range<usize>>,
    ) -> Result<Self> {
        let images = images.into();
        if dim == 0 || images.is_empty() || !images.len().is_multiple_of(dim) {
            return Err(Error::internal(format!(
                "{} numbers are not whole images of {dim} numbers each",
                images.len()
            )));
        }
        if images.iter().any(|v| !v.is_finite()) {
            return Err(Error::internal("The images hold a number that is not finite"));
        }
        let pool = images.len() / dim;
        for range in &ranges {
            if range.is_empty() || range.end > pool {
                return Err(Error::bad_input(
                    format!("Training set {range:?} does not lie in a pool of {pool} images"),
                    "Choose at least one image, and at most the whole pool",
                ));
            }
        }
        if ranges.is_empty() {
            return Err(Error::internal("There are no training sets"));
        }
        Ok(Self { images, dim, ranges })
    }

    /// Creates a single training set of all `images`.
    pub fn single(images: impl Into<Arc<[f32]>>, dim: usize) -> Result<Self> {
        let images = images.into();
        let all = 0..images.len() / dim.max(1);
        Self::new(images, dim, vec![all])
    }

    /// Returns the set of one member, in the same pool.
    pub fn only(&self, member: usize) -> Result<Self> {
        let range = self.ranges.get(member).cloned();
        Self::new(Arc::clone(&self.images), self.dim, range.into_iter().collect())
    }

    /// Number of values in an image.
    #[must_use]
    pub const fn dim(&self) -> usize {
        self.dim
    }

    /// The pool that contains all images.
    #[must_use]
    pub const fn pool(&self) -> &Arc<[f32]> {
        &self.images
    }

    /// The range of each member in the pool.
    #[must_use]
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// The training images of one member.
    #[must_use]
    pub fn images(&self, member: usize) -> &[f32] {
        self.ranges.get(member).map_or(&[], |r| &self.images[r.start * self.dim..r.end * self.dim])
    }

    /// The mean image of one member.
    #[must_use]
    pub fn mean(&self, member: usize) -> Vec<f32> {
        mean_image(self.images(member), self.dim)
    }

    /// The end of the part of the pool that members use.
    #[must_use]
    pub fn end(&self) -> usize {
        self.ranges.iter().map(|range| range.end).max().unwrap_or(0)
    }

    /// A fingerprint of the pool (FNV-1a over its words).
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let mix =
            |hash: u64, v: &f32| (hash ^ u64::from(v.to_bits())).wrapping_mul(0x100_0000_01b3);
        self.images.iter().fold(0xcbf2_9ce4_8422_2325, mix)
    }

    /// The ranges as the device reads them: `[begin, end)` per member.
    #[must_use]
    pub fn range_words(&self) -> Vec<f32> {
        let words = self.ranges.iter().flat_map(|range| [range.start as u32, range.end as u32]);
        words.map(f32::from_bits).collect()
    }

    /// Refuses a program whose number of members differs.
    pub(crate) fn check_members(&self, program: &Program) -> Result<()> {
        program.check_members("training sets", self.ranges.len())
    }
}

/// The mean of images of `dim` numbers, summed in f64.
pub(crate) fn mean_image(images: &[f32], dim: usize) -> Vec<f32> {
    let count = (images.len() / dim) as f64;
    let mean = |i| images[i..].iter().step_by(dim).map(|&v| f64::from(v)).sum::<f64>() / count;
    (0..dim).map(|i| mean(i) as f32).collect()
}
