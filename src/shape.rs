//! The shape of an image.

use serde::{Deserialize, Serialize};

/// Shape of one image. Rows follow each other from the top; the channels of a pixel lie together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Pixels from top to bottom.
    pub height: usize,
    /// Pixels from left to right.
    pub width: usize,
    /// 1 (grey) or 3 (red, green, blue).
    pub channels: usize,
}

impl Shape {
    /// Values of one image; the largest number there is if they cannot be counted.
    #[must_use]
    pub const fn dim(self) -> usize {
        self.height.saturating_mul(self.width).saturating_mul(self.channels)
    }
}
