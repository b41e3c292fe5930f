//! The file format of the sets that come with the page: small, and one file to a set.
//!
//! Magic, version, then zlib, so that a file is small on hosts that don't compress. Inside, all
//! numbers little-endian `u32`: count, height, width, channels, whether the images are patches;
//! name, source and licence, each as length and UTF-8; a byte to a value.
//!
//! The build includes this file on its own, to write what the page reads: it uses nothing else of
//! the crate.

use miniz_oxide::{deflate::compress_to_vec_zlib, inflate::decompress_to_vec_zlib_with_limit};

/// How files begin.
pub const MAGIC: &[u8] = b"HGIMAGES";
const VERSION: u8 = 1;
const MAX_BYTES: usize = 1 << 27;

/// A packed set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub source: String,
    /// Under which licence.
    pub licence: String,
    /// Number of images.
    pub count: usize,
    /// Pixels from top to bottom.
    pub height: usize,
    /// Pixels from left to right.
    pub width: usize,
    /// Values of a pixel.
    pub channels: usize,
    /// The images are patches of larger pictures: a smaller size of one is its middle, not a smaller
    /// picture of it, and its own mean is removed.
    pub patches: bool,
    /// The images, one after the other.
    pub pixels: Vec<u8>,
}

impl Packed {
    /// The file.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let numbers = [self.count, self.height, self.width, self.channels, self.patches.into()];
        let mut content = Vec::new();
        for number in numbers {
            content.extend((number as u32).to_le_bytes());
        }
        for text in [&self.name, &self.source, &self.licence] {
            content.extend((text.len() as u32).to_le_bytes());
            content.extend(text.as_bytes());
        }
        content.extend(&self.pixels);
        let mut file = MAGIC.to_vec();
        file.push(VERSION);
        // The tightest level: it is written once and sent often.
        file.extend(compress_to_vec_zlib(&content, 10));
        file
    }

    /// Reads a file, or says what is wrong with it.
    pub fn decode(file: &[u8]) -> Result<Self, &'static str> {
        let packed = match file.strip_prefix(MAGIC) {
            Some([VERSION, packed @ ..]) => packed,
            Some([_, ..]) => return Err("was packed for another version of this program"),
            _ => return Err("is no packed set"),
        };
        let content = decompress_to_vec_zlib_with_limit(packed, MAX_BYTES)
            .map_err(|_| "is damaged or ends early")?;
        Self::parse(&content).ok_or("contradicts itself")
    }

    fn parse(mut content: &[u8]) -> Option<Self> {
        let mut numbers = [0; 5];
        for number in &mut numbers {
            *number = read_number(&mut content)?;
        }
        let mut texts = [const { String::new() }; 3];
        for text in &mut texts {
            let length = read_number(&mut content)?;
            let (bytes, rest) = content.split_at_checked(length)?;
            *text = String::from_utf8(bytes.to_vec()).ok()?;
            content = rest;
        }
        let [count, height, width, channels, patches] = numbers;
        let [name, source, licence] = texts;
        let values = count.checked_mul(height)?.checked_mul(width)?.checked_mul(channels)?;
        if values == 0 || values != content.len() {
            return None;
        }
        let (patches, pixels) = (patches != 0, content.to_vec());
        Some(Self { name, source, licence, count, height, width, channels, patches, pixels })
    }
}

fn read_number(content: &mut &[u8]) -> Option<usize> {
    let (bytes, rest) = content.split_first_chunk()?;
    *content = rest;
    Some(u32::from_le_bytes(*bytes) as usize)
}
