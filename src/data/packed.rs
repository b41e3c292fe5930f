//! The file format of the sets that come with the page: small, and one file per set.
//!
//! Magic number, version, then zlib, so that a file is small on hosts that do not compress. Inside, all
//! numbers little-endian `u32`: count, height, width, channels, whether the images are patches,
//! whether pixels are predicted, number of classes; name, source, licence and the classes' names, each
//! as length and UTF-8; if there are classes, a byte per image; a byte per value.
//!
//! Photographs hardly compress as they are. With prediction, they take two thirds: a pixel is predicted from
//! its neighbours to the left and above, red and blue as differences from green, and only the error of the
//! prediction is stored, channel after channel.
//!
//! The build includes this file on its own to write what the page reads, so it uses nothing else of
//! the crate.

use miniz_oxide::{deflate::compress_to_vec_zlib, inflate::decompress_to_vec_zlib_with_limit};

/// The first bytes of a file.
pub const MAGIC: &[u8] = b"HGIMAGES";
const VERSION: u8 = 2;
const MAX_BYTES: usize = 1 << 27;
const MAX_CLASSES: usize = 256;

/// A packed set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// Title of the set.
    pub name: String,
    /// Where the set comes from.
    pub source: String,
    /// The licence of the images.
    pub licence: String,
    /// Number of images.
    pub count: usize,
    /// Pixels from top to bottom.
    pub height: usize,
    /// Pixels from left to right.
    pub width: usize,
    /// Values per pixel.
    pub channels: usize,
    /// Whether the images are patches of larger pictures: a smaller size of a patch is its middle, not a
    /// reduced picture of it, and the patch's own mean is removed.
    pub patches: bool,
    /// Names of the classes; empty if the images have no labels.
    pub classes: Vec<String>,
    /// The class of each image, if they have labels.
    pub labels: Vec<u8>,
    /// The values of all images, one after the other.
    pub pixels: Vec<u8>,
}

impl Packed {
    /// Encodes the set as a file.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut pixels = self.pixels.clone();
        let mut residuals = Vec::with_capacity(pixels.len());
        self.predict(&mut pixels, |pixel, guess| residuals.push(pixel.wrapping_sub(guess)));
        // The highest compression level: the file is written once and sent often.
        let [plain, predicted] = [(false, &self.pixels), (true, &residuals)]
            .map(|(predicted, values)| compress_to_vec_zlib(&self.content(predicted, values), 10));
        let smaller = if predicted.len() < plain.len() { predicted } else { plain };
        [MAGIC, &[VERSION], &smaller].concat()
    }

    fn content(&self, predicted: bool, values: &[u8]) -> Vec<u8> {
        let shape = [self.count, self.height, self.width, self.channels];
        let rest = [self.patches.into(), predicted.into(), self.classes.len()];
        let mut content = Vec::new();
        for number in shape.into_iter().chain(rest) {
            content.extend((number as u32).to_le_bytes());
        }
        for text in [&self.name, &self.source, &self.licence].into_iter().chain(&self.classes) {
            content.extend((text.len() as u32).to_le_bytes());
            content.extend(text.as_bytes());
        }
        content.extend(&self.labels);
        content.extend(values);
        content
    }

    /// Reads a file, or says what is wrong with it.
    pub fn decode(file: &[u8]) -> Result<Self, &'static str> {
        let packed = match file.strip_prefix(MAGIC) {
            Some([VERSION, packed @ ..]) => packed,
            Some([_, ..]) => return Err("was packed for another version of this program"),
            _ => return Err("is not a packed set"),
        };
        let content = decompress_to_vec_zlib_with_limit(packed, MAX_BYTES)
            .map_err(|_| "is damaged or ends early")?;
        Self::parse(&content).ok_or("contradicts itself")
    }

    fn parse(mut content: &[u8]) -> Option<Self> {
        let mut numbers = [0; 7];
        for number in &mut numbers {
            *number = read_number(&mut content)?;
        }
        let [count, height, width, channels, patches, predicted, classes] = numbers;
        let (name, source) = (read_text(&mut content)?, read_text(&mut content)?);
        let licence = read_text(&mut content)?;
        if classes > MAX_CLASSES {
            return None;
        }
        let classes: Vec<_> = (0..classes).map_while(|_| read_text(&mut content)).collect();
        let labels = if classes.is_empty() { 0 } else { count };
        let (labels, values) = content.split_at_checked(labels)?;
        let total = count.checked_mul(height)?.checked_mul(width)?.checked_mul(channels)?;
        let known = |&label: &u8| usize::from(label) < classes.len();
        if total == 0 || total != values.len() || !labels.iter().all(known) {
            return None;
        }
        let (patches, labels, pixels) = (patches != 0, labels.to_vec(), values.to_vec());
        let mut set = Self {
            name,
            source,
            licence,
            count,
            height,
            width,
            channels,
            patches,
            classes,
            labels,
            pixels,
        };
        if predicted != 0 {
            let mut pixels = vec![0; total];
            let mut residuals = values.iter();
            set.predict(&mut pixels, |pixel, guess| {
                *pixel = residuals.next().map_or(0, |residual| guess.wrapping_add(*residual));
            });
            set.pixels = pixels;
        }
        Some(set)
    }

    /// Visits `pixels`, channel after channel and image after image, with a prediction for each from those
    /// before it, which a decoder can repeat.
    fn predict(&self, pixels: &mut [u8], mut visit: impl FnMut(&mut u8, u8)) {
        let (channels, row) = (self.channels, self.width * self.channels);
        // Of three channels green comes first, since it resembles both others most.
        let order: Vec<usize> = if channels == 3 { vec![1, 0, 2] } else { (0..channels).collect() };
        for &channel in &order {
            for image in pixels.chunks_exact_mut((self.height * row).max(1)) {
                for at in (channel..image.len()).step_by(channels) {
                    let base = |at: usize| match channel {
                        0 | 2 if channels == 3 => i16::from(image[at - channel + 1]),
                        _ => 0,
                    };
                    let value = |at: usize| i16::from(image[at]) - base(at);
                    let guess = match (at >= row, at % row >= channels) {
                        (true, true) => median_edge(
                            value(at - channels),
                            value(at - row),
                            value(at - row - channels),
                        ),
                        (true, false) => value(at - row),
                        (false, true) => value(at - channels),
                        (false, false) => 0,
                    };
                    let guess = (guess + base(at)) as u8;
                    visit(&mut image[at], guess);
                }
            }
        }
    }
}

/// The predictor of JPEG-LS: beside an edge, the neighbour on the same side of it; otherwise the plane
/// through the three neighbours.
fn median_edge(left: i16, above: i16, corner: i16) -> i16 {
    let (low, high) = (left.min(above), left.max(above));
    if corner >= high {
        low
    } else if corner <= low {
        high
    } else {
        left + above - corner
    }
}

fn read_number(content: &mut &[u8]) -> Option<usize> {
    let (bytes, rest) = content.split_first_chunk()?;
    *content = rest;
    Some(u32::from_le_bytes(*bytes) as usize)
}

fn read_text(content: &mut &[u8]) -> Option<String> {
    let length = read_number(content)?;
    let (bytes, rest) = content.split_at_checked(length)?;
    *content = rest;
    String::from_utf8(bytes.to_vec()).ok()
}
