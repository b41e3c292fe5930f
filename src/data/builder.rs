//! Brings images of any size and colour to one shape, one at a time.

use super::{
    About, Dataset, Shape,
    resize::{Tap, taps},
};
use crate::error::{Error, Result};

/// Longest side of an image that is read, in pixels.
pub const MAX_SIDE: usize = 1 << 14;

/// Longest side of an image by default, in pixels.
const DEFAULT_SIDE: usize = 64;

/// Values that a set may hold in total: 1 GiB of `f32`, or 128 MiB in a page, which has 4 GiB for
/// everything.
pub const MAX_VALUES: usize = if cfg!(target_pointer_width = "32") { 1 << 25 } else { 1 << 28 };

/// What to do with an image whose aspect ratio is not the set's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Fit {
    /// Crops the longer side, equally at both ends.
    #[default]
    Crop,
    /// Changes the aspect ratio.
    Stretch,
}

/// What a pixel holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channels {
    /// Brightness.
    Grey,
    /// Red, green and blue.
    Colour,
}

/// How to read a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Side of the set's square images; by default the shorter side of the first image, but at most 64
    /// pixels.
    pub size: Option<usize>,
    /// Channels of the images; by default grey if none of the images has colour.
    pub channels: Option<Channels>,
    /// How images become square.
    pub fit: Fit,
    /// Of more images than this, that many evenly spaced ones are taken.
    pub max_images: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { size: None, channels: None, fit: Fit::Crop, max_images: usize::MAX }
    }
}

/// Returns the number of values in `count` images of `shape`, if a set may hold that many.
pub fn check_total(count: usize, shape: Shape) -> Result<usize> {
    let total = (count as u64).saturating_mul(shape.dim() as u64);
    if total > MAX_VALUES as u64 {
        let hint = "Choose smaller or fewer images";
        return Err(Error::limit("Pixel values of the set", total, MAX_VALUES as u64, hint));
    }
    Ok(total as usize)
}

/// A set under construction.
#[derive(Debug)]
pub struct Builder {
    /// The description of the set for the reader.
    pub about: About,
    options: Options,
    shape: Option<Shape>,
    images: Vec<f32>,
    resampler: Option<Resampler>,
    /// Images still to come, as far as known.
    expected: usize,
    /// Whether any pixel has a colour.
    coloured: bool,
}

impl Builder {
    /// Creates an empty set.
    #[must_use]
    pub fn new(name: &str, options: &Options) -> Self {
        let about = About { set: name.into(), name: name.into(), ..About::default() };
        let (shape, images, resampler) = (None, Vec::new(), None);
        let (expected, coloured) = (0, false);
        Self { about, options: *options, shape, images, resampler, expected, coloured }
    }

    /// Chooses which of `total` images to take; if not all, the note says so.
    pub(super) fn choose(&mut self, total: usize) -> impl Iterator<Item = usize> + use<> {
        let count = total.min(self.options.max_images);
        self.expected = count;
        if count < total {
            self.note(&format!("{count} of {total} images, evenly spaced."));
        }
        (0..count).map(move |i| (i as u64 * total as u64 / count as u64) as usize)
    }

    /// Adds a sentence to the note.
    pub(super) fn note(&mut self, sentence: &str) {
        if !self.about.note.is_empty() {
            self.about.note.push(' ');
        }
        self.about.note.push_str(sentence);
    }

    /// Adds an image of shape `source`. `read_row(y, row)` must fill row `y` with values in [-1, 1]; of
    /// more than three channels, the first three are used.
    pub(super) fn push(
        &mut self,
        source: Shape,
        read_row: &mut dyn FnMut(usize, &mut [f32]),
    ) -> Result<()> {
        let shape = self.shape_for(source)?;
        let start = self.images.len();
        self.images.resize(check_total(start / shape.dim() + 1, shape)?, 0.0);
        let resampler = match &mut self.resampler {
            Some(resampler) if resampler.source == source => resampler,
            other => other.insert(Resampler::new(source, shape, self.options.fit)),
        };
        resampler.run(shape, read_row, &mut self.images[start..]);
        self.coloured |= has_colour(shape, &self.images[start..]);
        Ok(())
    }

    /// The shape of the set's images, which the first image determines. Refuses an image of shape `source`
    /// if it has no pixels or too many.
    fn shape_for(&mut self, source: Shape) -> Result<Shape> {
        check_sides(source)?;
        if let Some(shape) = self.shape {
            return Ok(shape);
        }
        let shape = target_shape(source, &self.options)?;
        self.images.reserve_exact(check_total(self.expected, shape)?);
        Ok(*self.shape.insert(shape))
    }

    /// Creates an empty set whose images get the same shape as this set's.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn like(&self) -> Self {
        Self { shape: self.shape, ..Self::new("", &self.options) }
    }

    /// Adds the images of a set that is [`like`](Self::like) this one.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn append(&mut self, other: &Self) {
        self.images.extend_from_slice(&other.images);
        self.coloured |= other.coloured;
    }

    /// Completes the set.
    pub fn finish(mut self) -> Result<Dataset> {
        let Some(mut shape) = self.shape else {
            return Err(Error::bad_input("The file holds no images", "Choose another one"));
        };
        if self.options.channels.is_none() && shape.channels == 3 && !self.coloured {
            shape.channels = 1;
            self.images = self.images.into_iter().step_by(3).collect();
        }
        let mut set = Dataset::new(self.about, shape, self.images)?;
        set.fit = self.options.fit;
        Ok(set)
    }
}

/// Whether any pixel of an image has colour.
fn has_colour(shape: Shape, image: &[f32]) -> bool {
    shape.channels == 3 && image.as_chunks().0.iter().any(|&[r, g, b]| r != g || g != b)
}

fn check_sides(shape: Shape) -> Result<()> {
    let longest = shape.height.max(shape.width);
    if longest > MAX_SIDE {
        let hint = "Choose smaller images";
        return Err(Error::limit("Pixels along a side", longest as u64, MAX_SIDE as u64, hint));
    }
    if shape.dim() == 0 {
        return Err(Error::bad_input("An image has no pixels", "Choose another file"));
    }
    Ok(())
}

fn target_shape(first: Shape, options: &Options) -> Result<Shape> {
    check_sides(first)?;
    let channels = match options.channels {
        Some(Channels::Grey) => 1,
        Some(Channels::Colour) => 3,
        None if first.channels >= 3 => 3,
        None => 1,
    };
    let side = options.size.unwrap_or(first.height.min(first.width).min(DEFAULT_SIDE));
    let shape = Shape { height: side, width: side, channels };
    check_sides(shape)?;
    Ok(shape)
}

/// How images of one shape are converted to another.
#[derive(Debug)]
struct Resampler {
    source: Shape,
    top: usize,
    left: usize,
    vertical: Vec<Tap>,
    horizontal: Vec<Tap>,
}

impl Resampler {
    fn new(source: Shape, target: Shape, fit: Fit) -> Self {
        let (mut height, mut width) = (source.height, source.width);
        if fit == Fit::Crop {
            // The largest part of the source with the target's aspect ratio.
            width = width.min((height * target.width / target.height).max(1));
            height = height.min((width * target.height / target.width).max(1));
        }
        Self {
            source,
            top: (source.height - height) / 2,
            left: (source.width - width) / 2,
            vertical: taps(height, target.height),
            horizontal: taps(width, target.width),
        }
    }

    /// Adds the source, read row by row, to `image`.
    fn run(&self, target: Shape, read_row: &mut dyn FnMut(usize, &mut [f32]), image: &mut [f32]) {
        let (channels, kept) = (self.source.channels, target.channels);
        if self.source == target {
            for (y, row) in image.chunks_exact_mut(target.width * kept).enumerate() {
                read_row(y, row);
            }
            return;
        }
        let mut row = vec![0.0; self.source.width * channels];
        let mut narrow = vec![0.0; target.width * kept];
        // A source row that contributes to two target rows is read once.
        for taps in self.vertical.chunk_by(|a, b| a.from == b.from) {
            read_row(self.top + taps[0].from, &mut row);
            narrow.fill(0.0);
            for tap in &self.horizontal {
                let pixel = &row[(self.left + tap.from) * channels..][..channels];
                let out = &mut narrow[tap.to * kept..][..kept];
                match (pixel, out) {
                    (&[r, g, b, ..], [grey]) => *grey += tap.weight * luma([r, g, b]),
                    (&[grey, ..], [out]) => *out += tap.weight * grey,
                    (pixel, out) => {
                        // A grey image in a set in colour has three equal channels.
                        for (c, out) in out.iter_mut().enumerate() {
                            *out += tap.weight * pixel[c % channels];
                        }
                    }
                }
            }
            for tap in taps {
                let out = &mut image[tap.to * narrow.len()..][..narrow.len()];
                for (out, value) in out.iter_mut().zip(&narrow) {
                    *out += tap.weight * value;
                }
            }
        }
    }
}

/// Brightness of a colour (Rec. 709); exact for grey.
fn luma([r, g, b]: [f32; 3]) -> f32 {
    if r == g && g == b {
        return r;
    }
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// Converts bytes from 0 to 255 to values from -1 to 1.
pub(super) fn from_bytes(bytes: &[u8], row: &mut [f32]) {
    for (value, &byte) in row.iter_mut().zip(bytes) {
        *value = f32::from(byte) / 127.5 - 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn push(builder: &mut Builder, height: usize, width: usize, pixels: &[f32]) -> Result<()> {
        let channels = pixels.len() / (height * width);
        builder.push(Shape { height, width, channels }, &mut |y, row| {
            row.copy_from_slice(&pixels[y * width * channels..(y + 1) * width * channels]);
        })
    }

    fn build(options: &Options, height: usize, width: usize, pixels: &[f32]) -> Vec<f32> {
        let mut builder = Builder::new("test", options);
        push(&mut builder, height, width, pixels).unwrap();
        builder.finish().unwrap().images().to_vec()
    }

    #[test]
    fn crops_or_stretches_to_a_square() {
        let wide = [9.0, 1.0, 2.0, 9.0, 9.0, 3.0, 4.0, 9.0];
        let crop = Options::default();
        assert_eq!(build(&crop, 2, 4, &wide), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(build(&crop, 4, 2, &wide), [2.0, 9.0, 9.0, 3.0]);
        let stretch = Options { fit: Fit::Stretch, ..crop };
        assert_eq!(build(&stretch, 2, 4, &wide), [5.0, 5.5, 6.0, 6.5]);
        assert_eq!(build(&Options { size: Some(1), ..crop }, 2, 4, &wide), [2.5]);
    }

    #[test]
    fn grey_or_colour() {
        let pixel = [1.0, 0.0, -1.0];
        let as_is = Options::default();
        let grey = Options { channels: Some(Channels::Grey), ..as_is };
        let colour = Options { channels: Some(Channels::Colour), ..as_is };
        let luma = build(&grey, 1, 1, &pixel);
        assert!((luma[0] - (0.2126 - 0.0722)).abs() < 1e-6);
        for options in [as_is, colour] {
            assert_eq!(build(&options, 1, 1, &pixel), pixel);
            assert_eq!(build(&options, 1, 1, &[0.1, 0.2, 0.3, 1.0]), [0.1, 0.2, 0.3]);
        }
        assert_eq!(build(&as_is, 1, 1, &[0.5]), [0.5]);
        assert_eq!(build(&colour, 1, 1, &[0.5]), [0.5; 3]);
        let mut mixed = Builder::new("mixed", &as_is);
        push(&mut mixed, 1, 1, &pixel).unwrap();
        push(&mut mixed, 1, 1, &[0.5]).unwrap();
        assert_eq!(mixed.finish().unwrap().image(1), [0.5; 3]);
    }

    #[test]
    fn coloured_images_without_a_colour_are_grey() {
        let equal = [0.1, 0.1, 0.1, -0.7, -0.7, -0.7, 0.3, 0.3, 0.3, 0.4, 0.4, 0.4];
        assert_eq!(build(&Options::default(), 2, 2, &equal), [0.1, -0.7, 0.3, 0.4]);
        let colour = Options { channels: Some(Channels::Colour), ..Options::default() };
        assert_eq!(build(&colour, 2, 2, &equal), equal);
        let grey = Options { channels: Some(Channels::Grey), ..colour };
        assert_eq!(build(&grey, 2, 2, &equal), [0.1, -0.7, 0.3, 0.4]);
        let mut later = Builder::new("later", &Options::default());
        push(&mut later, 2, 2, &equal).unwrap();
        push(&mut later, 1, 1, &[0.0, 0.0, 0.5]).unwrap();
        assert_eq!(later.finish().unwrap().image(0), equal);
    }

    #[test]
    fn large_images_become_64_pixels_wide() {
        let image = vec![0.25; 100 * 90];
        assert_eq!(build(&Options::default(), 100, 90, &image).len(), 64 * 64);
        let asked = Options { size: Some(80), ..Options::default() };
        assert_eq!(build(&asked, 100, 90, &image).len(), 80 * 80);
    }

    #[test]
    fn later_images_take_the_shape_of_the_first() {
        let mut builder = Builder::new("test", &Options::default());
        push(&mut builder, 1, 1, &[0.5]).unwrap();
        push(&mut builder, 2, 2, &[0.0, 0.0, 1.0, 1.0]).unwrap();
        assert_eq!(builder.finish().unwrap().images(), [0.5, 0.5]);
    }

    #[test]
    fn limits() {
        let limit = |options: &Options, height, width| {
            let shape = Shape { height, width, channels: 1 };
            Builder::new("test", options).push(shape, &mut |_, _| ()).unwrap_err().kind.clone()
        };
        let (default, have) = (Options::default(), MAX_SIDE as u64);
        assert_eq!(limit(&default, 1 << 20, 1), ErrorKind::LimitExceeded { need: 1 << 20, have });
        let huge = Options { size: Some(usize::MAX), ..default };
        assert!(matches!(limit(&huge, 1, 1), ErrorKind::LimitExceeded { .. }));
        let channels = Some(Channels::Colour);
        let large = Options { size: Some(MAX_SIDE), channels, ..default };
        assert!(matches!(limit(&large, 1, 1), ErrorKind::LimitExceeded { .. }));
        assert_eq!(limit(&Options { size: Some(0), ..default }, 1, 1), ErrorKind::BadInput);
        assert_eq!(limit(&default, 0, 1), ErrorKind::BadInput);
        let empty = Builder::new("test", &default).finish().unwrap_err();
        assert!(empty.message.contains("no images"));
    }

    #[test]
    fn chooses_evenly() {
        let mut builder = Builder::new("test", &Options { max_images: 3, ..Options::default() });
        assert_eq!(builder.choose(9).collect::<Vec<_>>(), [0, 3, 6]);
        assert_eq!(builder.about.note, "3 of 9 images, evenly spaced.");
        assert_eq!(builder.choose(2).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(builder.choose(0).count(), 0);
    }
}
