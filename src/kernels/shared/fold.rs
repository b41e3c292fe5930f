//! The order of an image's numbers once each 2×2 pixels have become one pixel of four times the channels.

use crate::shape::Shape;

/// Two neighbouring pixels of a row stay together, as a piece. One piece per row leaves everything in its
/// place.
#[derive(Debug, Clone, Copy)]
pub struct Fold {
    /// Pieces of a row.
    pub(crate) blocks: usize,
    /// Numbers of a piece.
    pub(crate) piece: usize,
}

impl Fold {
    /// No change of order, in images of `dim` numbers.
    #[must_use]
    pub const fn none(dim: usize) -> Self {
        Self { blocks: 1, piece: dim }
    }

    /// The order of folded images of `shape`, whose sides are even.
    #[must_use]
    pub const fn of(Shape { width, channels, .. }: Shape) -> Self {
        Self { blocks: width / 2, piece: 2 * channels }
    }

    /// Where the piece with this index begins.
    pub(crate) const fn begin(self, index: usize) -> usize {
        let (row, block) = (index / self.blocks, index % self.blocks);
        ((row / 2 * self.blocks + block) * 2 + row % 2) * self.piece
    }
}
