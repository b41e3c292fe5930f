//! The format of the sets that are shipped with the page: a header, then a byte to a value.
//!
//! Little-endian: magic, version, count, height, width, channels, whether the images are patches;
//! name, source and licence, each as a length and UTF-8; the pixels. The file is gzipped as a whole,
//! so that it is small on static hosts that don't compress.

use super::{
    About, Builder, Dataset, Options, Shape, archive,
    builder::from_bytes,
    bytes::{Bytes, wrong_magic},
};
use crate::error::{Error, Result};

pub(super) const MAGIC: &[u8] = b"HGIMAGES";
const VERSION: u32 = 1;

/// A set to be packed.
#[derive(Debug, Clone)]
pub struct Packed {
    /// Name, source and licence; the note is not kept.
    pub about: About,
    /// Shape of one image.
    pub shape: Shape,
    /// The images are patches cut from larger pictures. A smaller size of them is their middle, not
    /// a smaller picture of them, and each one's mean is removed.
    pub patches: bool,
    /// The images, one after the other.
    pub pixels: Vec<u8>,
}

impl Packed {
    /// The file.
    #[must_use]
    pub fn to_file(&self) -> Vec<u8> {
        let Shape { height, width, channels } = self.shape;
        let count = self.pixels.len() / self.shape.dim().max(1);
        let mut file = MAGIC.to_vec();
        let number = |n: usize, file: &mut Vec<u8>| file.extend((n as u32).to_le_bytes());
        for n in [VERSION as usize, count, height, width, channels, self.patches.into()] {
            number(n, &mut file);
        }
        for text in [&self.about.name, &self.about.source, &self.about.licence] {
            number(text.len(), &mut file);
            file.extend(text.as_bytes());
        }
        file.extend(&self.pixels);
        archive::gzip(&file)
    }
}

pub(super) fn import(bytes: &[u8], options: &Options) -> Result<Dataset> {
    let mut file = Bytes(bytes);
    if file.take(MAGIC.len())? != MAGIC {
        return Err(wrong_magic("packed"));
    }
    let version = file.u32_le()?;
    if version != VERSION {
        return Err(Error::bad_input(
            format!("The packed set has version {version}, and this is a program for {VERSION}"),
            "Reload the page, or run `cargo xtask build` again",
        ));
    }
    let mut number = || file.u32_le().map(|n| n as usize);
    let count = number()?;
    let shape = Shape { height: number()?, width: number()?, channels: number()? };
    let patches = number()? != 0;
    let mut text = || -> Result<String> {
        let length = file.u32_le()? as usize;
        Ok(String::from_utf8_lossy(file.take(length)?).into_owned())
    };
    let about = About { name: text()?, source: text()?, licence: text()?, note: String::new() };
    let pixels = file.rest(&[count, shape.height, shape.width, shape.channels])?;

    let mut builder = Builder::new("", options);
    builder.about = about;
    let mut patch = Vec::new();
    for i in builder.choose(count) {
        let image = &pixels[i * shape.dim()..(i + 1) * shape.dim()];
        if patches {
            let shape = cut(image, shape, options.size, &mut patch);
            let width = shape.width * shape.channels;
            builder.push(shape, &mut |y, row| row.copy_from_slice(&patch[y * width..][..width]))?;
        } else {
            let width = shape.width * shape.channels;
            builder.push(shape, &mut |y, row| from_bytes(&image[y * width..], row))?;
        }
    }
    builder.finish()
}

/// Writes the middle of an image, at most `size` wide and high, without its mean to `patch`.
fn cut(image: &[u8], shape: Shape, size: Option<usize>, patch: &mut Vec<f32>) -> Shape {
    let size = size.unwrap_or(usize::MAX);
    let (height, width) = (shape.height.min(size), shape.width.min(size));
    let (top, left) = ((shape.height - height) / 2, (shape.width - width) / 2);
    patch.clear();
    for row in image.chunks_exact(shape.width * shape.channels).skip(top).take(height) {
        let bytes = &row[left * shape.channels..(left + width) * shape.channels];
        patch.extend(bytes.iter().map(|&byte| f32::from(byte) / 127.5 - 1.0));
    }
    let mean = patch.iter().sum::<f32>() / patch.len() as f32;
    for value in patch {
        *value = (*value - mean).clamp(-1.0, 1.0);
    }
    Shape { height, width, ..shape }
}
