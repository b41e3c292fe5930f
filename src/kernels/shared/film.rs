//! Feature-wise scales and shifts (FiLM), by which the noise level modulates a network.

use crate::compute::View;

/// Scales and shifts of a block: one row for all images, or one per image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Film {
    /// The first row.
    pub view: View,
    /// Elements from row to row; 0 if all images share the first.
    pub stride: usize,
}

impl Film {
    /// The scales and shifts from column `offset` on.
    #[must_use]
    pub const fn at(self, offset: usize) -> Self {
        Self { view: self.view.at(offset), stride: self.stride }
    }

    /// The binding of `cols` columns of `rows` rows.
    pub(crate) const fn bind(self, rows: usize, cols: usize) -> (View, usize) {
        (self.view, (rows - 1) * self.stride + cols)
    }
}
