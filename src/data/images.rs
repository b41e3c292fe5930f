//! Decoded pictures.

use super::{Builder, Shape};
use crate::error::{Error, Result};

/// A decoded picture: red, green, blue and alpha, a byte each, row by row.
#[derive(Debug, Clone, Copy)]
pub struct Picture<'a> {
    /// Pixels from left to right.
    pub width: usize,
    /// Pixels from top to bottom.
    pub height: usize,
    /// Four bytes per pixel, with alpha not multiplied in.
    pub rgba: &'a [u8],
}

impl Builder {
    /// Adds a picture, on white where it is transparent.
    pub fn push_picture(&mut self, picture: Picture<'_>) -> Result<()> {
        let Picture { width, height, rgba } = picture;
        if width.checked_mul(height).and_then(|n| n.checked_mul(4)) != Some(rgba.len()) {
            return Err(Error::bad_input(
                format!("{width}×{height} pixels don't have {} bytes", rgba.len()),
                "Pass four bytes per pixel",
            ));
        }
        self.push(Shape { height, width, channels: 3 }, &mut |y, row| {
            let (pixels, _) = rgba[y * width * 4..].as_chunks::<4>();
            for (out, &[r, g, b, alpha]) in row.chunks_exact_mut(3).zip(pixels) {
                let alpha = f32::from(alpha) / 255.0;
                for (out, colour) in out.iter_mut().zip([r, g, b]) {
                    // Where it is opaque, this equals what the other importers compute from a byte.
                    *out = alpha * (f32::from(colour) / 127.5 - 1.0) + (1.0 - alpha);
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Options;

    #[test]
    fn colours_and_transparency() {
        let mut builder = Builder::new("pictures", &Options::default());
        let rgba = [255, 0, 255, 255, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 9];
        builder.push_picture(Picture { width: 2, height: 2, rgba: &rgba }).unwrap();
        let wide = Picture { width: 4, height: 1, rgba: &rgba };
        builder.push_picture(wide).unwrap();
        let set = builder.finish().unwrap();
        let expected = [1.0, -1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 1.0];
        assert_eq!(set.image(0), expected);
        assert_eq!(set.len(), 2);
    }

    #[test]
    fn a_wrong_number_of_bytes_is_an_error() {
        let mut builder = Builder::new("pictures", &Options::default());
        for (width, height, bytes) in [(2, 2, 15), (2, 2, 17), (usize::MAX, 2, 8), (0, 0, 0)] {
            let rgba = vec![0; bytes];
            assert!(builder.push_picture(Picture { width, height, rgba: &rgba }).is_err());
        }
    }
}
