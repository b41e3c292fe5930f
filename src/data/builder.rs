//! Brings images of any size and colour to one shape, one at a time.

use super::{
    About, Dataset, Shape,
    resize::{Tap, taps},
};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Longest side of an image that is read, in pixels.
pub const MAX_SIDE: usize = 1 << 14;

/// Values that a set may hold in all: 128 MiB of `f32`.
pub const MAX_VALUES: usize = 1 << 25;

/// What to do with an image whose sides are in another proportion than the set's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fit {
    /// Cut off what is too much, equally at both ends.
    #[default]
    Crop,
    /// Change its proportion.
    Stretch,
}

/// How to read a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Options {
    /// Sides of the square images of the set; by default the size of the first image.
    pub size: Option<usize>,
    /// Keep colours; else grey.
    pub colour: bool,
    /// How images become square.
    pub fit: Fit,
    /// Of more images than this, as many evenly spaced ones are taken.
    pub max_images: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { size: None, colour: false, fit: Fit::Crop, max_images: 20_000 }
    }
}

/// Values in `count` images of `shape`, if the set may hold so many.
pub fn check_total(count: usize, shape: Shape) -> Result<usize> {
    let total = (count as u64).saturating_mul(shape.dim() as u64);
    if total > MAX_VALUES as u64 {
        let hint = "Choose smaller or fewer images";
        return Err(Error::limit("Pixel values of the set", total, MAX_VALUES as u64, hint));
    }
    Ok(total as usize)
}

/// A set in the making.
#[derive(Debug)]
pub struct Builder {
    /// What the reader will be told about the set.
    pub about: About,
    options: Options,
    shape: Option<Shape>,
    images: Vec<f32>,
    resampler: Option<Resampler>,
}

impl Builder {
    /// An empty set.
    #[must_use]
    pub fn new(name: &str, options: &Options) -> Self {
        let about = About { set: name.into(), name: name.into(), ..About::default() };
        Self { about, options: *options, shape: None, images: Vec::new(), resampler: None }
    }

    /// Which of `total` images to take; says so in the note if it isn't all of them.
    pub(super) fn choose(&mut self, total: usize) -> impl Iterator<Item = usize> + use<> {
        let count = total.min(self.options.max_images);
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

    /// Adds an image of shape `source`. `read_row(y, row)` must fill row `y` with values in [-1, 1];
    /// of more than three channels the first three count.
    pub(super) fn push(
        &mut self,
        source: Shape,
        read_row: &mut dyn FnMut(usize, &mut [f32]),
    ) -> Result<()> {
        let shape = match self.shape {
            Some(shape) => shape,
            None => *self.shape.insert(target_shape(source, &self.options)?),
        };
        check_sides(source)?;
        let start = self.images.len();
        self.images.resize(check_total(start / shape.dim() + 1, shape)?, 0.0);
        let resampler = match &mut self.resampler {
            Some(resampler) if resampler.source == source => resampler,
            other => other.insert(Resampler::new(source, shape, self.options.fit)),
        };
        resampler.run(shape, read_row, &mut self.images[start..]);
        Ok(())
    }

    /// The set.
    pub fn finish(self) -> Result<Dataset> {
        match self.shape {
            Some(shape) => Dataset::new(self.about, shape, self.images),
            None => Err(Error::bad_input("The file holds no images", "Choose another one")),
        }
    }
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
    let channels = if options.colour && first.channels >= 3 { 3 } else { 1 };
    let (height, width) = match (options.size, options.fit) {
        (Some(size), _) => (size, size),
        (None, Fit::Stretch) => (first.height, first.width),
        (None, Fit::Crop) => {
            let side = first.height.min(first.width);
            (side, side)
        }
    };
    let shape = Shape { height, width, channels };
    check_sides(shape)?;
    Ok(shape)
}

/// How images of one shape become images of another.
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
            // The largest part of the source that has the target's proportion.
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
        let mut row = vec![0.0; self.source.width * channels];
        let mut narrow = vec![0.0; target.width * kept];
        // A row that lies across the edge of two target rows is read once.
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
                        // A grey image in a set of coloured ones has three equal channels.
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

/// Brightness of a colour (Rec. 709).
fn luma([r, g, b]: [f32; 3]) -> f32 {
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// Bytes 0 to 255 as values from -1 to 1.
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
        let stretch = Options { size: Some(2), fit: Fit::Stretch, ..crop };
        assert_eq!(build(&stretch, 2, 4, &wide), [5.0, 5.5, 6.0, 6.5]);
        assert_eq!(build(&Options { size: Some(1), ..crop }, 2, 4, &wide), [2.5]);
    }

    #[test]
    fn grey_or_colour() {
        let pixel = [1.0, 0.0, -1.0];
        let grey = build(&Options::default(), 1, 1, &pixel);
        assert!((grey[0] - (0.2126 - 0.0722)).abs() < 1e-6);
        let colour = Options { colour: true, ..Options::default() };
        assert_eq!(build(&colour, 1, 1, &pixel), pixel);
        assert_eq!(build(&colour, 1, 1, &[0.5]), [0.5]);
        assert_eq!(build(&colour, 1, 1, &[0.1, 0.2, 0.3, 1.0]), [0.1, 0.2, 0.3]);
        let mut mixed = Builder::new("mixed", &colour);
        push(&mut mixed, 1, 1, &pixel).unwrap();
        push(&mut mixed, 1, 1, &[0.5]).unwrap();
        assert_eq!(mixed.finish().unwrap().image(1), [0.5; 3]);
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
        let large = Options { size: Some(MAX_SIDE), ..default };
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
