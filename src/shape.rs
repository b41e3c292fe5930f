//! The shape of an image.

use std::fmt;

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
    /// Number of values in one image, or the largest integer if it overflows.
    #[must_use]
    pub const fn dim(self) -> usize {
        self.height.saturating_mul(self.width).saturating_mul(self.channels)
    }
}

/// Prints width, height, and the three channels of an image in colour.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colour = if self.channels == 3 { " × 3" } else { "" };
        write!(f, "{} × {}{colour}", self.width, self.height)
    }
}
