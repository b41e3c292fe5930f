//! Decodes PNG, JPEG and WebP files, by `image`.
//!
//! JPEG and lossy WebP leave the last bit to the decoder, so a page that let the browser decode would not read
//! what the command line reads from the same file. It is a crate of its own because the page downloads it only
//! when a reader opens such a file.

#[cfg(target_arch = "wasm32")]
mod web;

use std::io::Cursor;

use image::{DynamicImage, ImageDecoder, ImageReader, ImageResult, Limits};

/// A decoded picture, turned upright.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Pixels from left to right.
    pub width: usize,
    /// Pixels from top to bottom.
    pub height: usize,
    /// Red, green, blue and alpha, a byte each, row by row. Alpha is not multiplied in.
    pub rgba: Vec<u8>,
}

/// Most pixels per side.
const MAX_SIDE: u32 = 1 << 14;
/// Most bytes that decoding may take.
const MAX_BYTES: u64 = 1 << 28;

/// Decodes the file `bytes`, and turns the picture as its camera recorded. The error is a clause that says what
/// is wrong.
pub fn decode(bytes: &[u8]) -> Result<Picture, String> {
    let picture = read(bytes).map_err(|error| error.to_string())?.into_rgba8();
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    Ok(Picture { width, height, rgba: picture.into_raw() })
}

fn read(bytes: &[u8]) -> ImageResult<DynamicImage> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format()?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_BYTES);
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    let orientation = decoder.orientation()?;
    let mut picture = DynamicImage::from_decoder(decoder)?;
    picture.apply_orientation(orientation);
    Ok(picture)
}
