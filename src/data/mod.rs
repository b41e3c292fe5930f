//! Image sets: their contents, and how they are split, standardized and shown.
//!
//! [`faces()`](faces::faces) draws a set; [`import()`] reads one, either shipped with the page or the
//! reader's own. Both return a [`Dataset`] of pixels in [-1, 1]. [`Dataset::split`] shuffles and
//! standardizes it into a [`Split`], whose contiguous rows the engines take.

mod archive;
mod builder;
mod bytes;
mod cifar;
pub mod cifar10;
pub mod faces;
#[cfg(not(target_arch = "wasm32"))]
mod files;
mod idx;
mod images;
mod import;
mod labels;
mod npy;
pub mod packed;
mod recipe;
mod resize;
mod sets;
mod shipped;
mod training_sets;

pub use archive::{Entry, zip_entries};
pub use builder::{Builder, Channels, Fit, MAX_SIDE, MAX_VALUES, Options, check_total};
pub use faces::Faces;
#[cfg(not(target_arch = "wasm32"))]
pub use files::{cifar10, read};
pub use images::Picture;
pub use import::{Format, MAX_BYTES, detect, import};
pub use labels::Labels;
pub use recipe::Recipe;
pub use sets::{CIFAR10, FACES, SETS, SetEntry, SetOrigin};
pub use training_sets::TrainingSets;
pub(crate) use training_sets::mean_image;

pub use crate::shape::Shape;

use crate::{
    error::{Error, ErrorKind, Result},
    rng::{Draw, Philox, Stream},
};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// Standard deviation of standardized images, over all pixels: the σ_data of EDM.
pub const SIGMA_DATA: f32 = 0.5;

/// The description of a set for the reader.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The short name that reproduces the set: `"faces"`, the name of a shipped set, or that of a
    /// file.
    pub set: String,
    /// The set's title.
    pub name: String,
    /// Where the set comes from.
    pub source: String,
    /// The licence of the images.
    pub licence: String,
    /// What was assumed or left out when the set was read. May be empty.
    pub note: String,
}

/// A set of equally shaped images with values in [-1, 1].
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Name, source and licence.
    pub about: About,
    shape: Shape,
    images: Vec<f32>,
    labels: Option<Labels>,
    /// The only class in the set, if one was chosen.
    class: Option<String>,
    fit: Fit,
    test: Option<Box<Self>>,
}

impl Dataset {
    /// Creates a set of the consecutive images in `images`.
    pub fn new(about: About, shape: Shape, images: Vec<f32>) -> Result<Self> {
        let dim = shape.dim();
        if dim == 0 || images.is_empty() {
            return Err(Error::bad_input("The set has no images", "Choose a set that has images"));
        }
        if !images.len().is_multiple_of(dim) {
            return Err(Error::bad_input(
                format!("{} values do not divide into images of {dim} values", images.len()),
                "",
            ));
        }
        let (labels, class, fit, test) = (None, None, Fit::default(), None);
        Ok(Self { about, shape, images, labels, class, fit, test })
    }

    /// Returns the set with the class of each image.
    pub fn with_labels(mut self, labels: Labels) -> Result<Self> {
        if labels.classes().len() != self.len() {
            let message = format!("{} labels for {} images", labels.classes().len(), self.len());
            return Err(Error::bad_input(message, "Give each image one label"));
        }
        self.labels = Some(labels);
        Ok(self)
    }

    /// Returns the set with test images, which have the same shape and are neither shuffled nor trained
    /// on.
    pub fn with_test(mut self, test: Self) -> Result<Self> {
        if test.shape != self.shape {
            let message = "The test images have another shape than the training images";
            return Err(Error::bad_input(message, "Read both in the same size and colours"));
        }
        self.test = Some(Box::new(test));
        Ok(self)
    }

    /// Number of images; never 0.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a set is never empty")]
    pub fn len(&self) -> usize {
        self.images.len() / self.dim()
    }

    /// Number of values in one image.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.shape.dim()
    }

    /// Shape of one image.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Image `i`.
    ///
    /// # Panics
    /// If there is no such image.
    #[must_use]
    pub fn image(&self, i: usize) -> &[f32] {
        &self.images[i * self.dim()..(i + 1) * self.dim()]
    }

    /// All images, one after the other.
    #[must_use]
    pub fn images(&self) -> &[f32] {
        &self.images
    }

    /// The class of each image, if the set has labels.
    #[must_use]
    pub fn labels(&self) -> Option<&Labels> {
        self.labels.as_ref()
    }

    /// The set's own test images.
    #[must_use]
    pub fn test(&self) -> Option<&Self> {
        self.test.as_deref()
    }

    /// A hash of the images: FNV-1a over their shape and the bits of their values. It does not depend on
    /// where they came from.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let Shape { height, width, channels } = self.shape;
        let shape = [height, width, channels].map(|n| n as u32);
        let words = shape.into_iter().chain(self.images.iter().map(|value| value.to_bits()));
        let mix = |hash: u64, word| (hash ^ u64::from(word)).wrapping_mul(0x100_0000_01b3);
        words.fold(0xcbf2_9ce4_8422_2325, mix)
    }

    /// Returns the images of one class only, including test images.
    pub fn class(&self, name: &str) -> Result<Self> {
        let Some(labels) = &self.labels else {
            return Err(Error::bad_input(
                format!("“{}” has no labels", self.about.name),
                "Choose a set with labels, such as cifar10, or a folder with one folder per class",
            ));
        };
        let kept = labels.images_of(name)?;
        let mut images = Vec::with_capacity(kept.len() * self.dim());
        for &i in &kept {
            images.extend_from_slice(self.image(i));
        }
        let mut set = Self::new(self.about.clone(), self.shape, images)?;
        set.labels = Some(labels.reordered(&kept));
        set.class = set.labels.as_ref().and_then(|labels| labels.name_of(0)).map(str::to_owned);
        set.fit = self.fit;
        set.test = match &self.test {
            Some(test) => Some(Box::new(test.class(name)?)),
            None => None,
        };
        Ok(set)
    }

    /// How many images to hold out: one in `one_of`, at most `most`, and at least two if there are enough,
    /// because linearity is measured on pairs.
    #[must_use]
    pub fn hold_out(&self, one_of: usize, most: usize) -> usize {
        let share = self.len() / one_of.max(1);
        share.max(2).min(self.len() / 2).min(most)
    }

    /// Shuffles by `seed`, holds out `held_out` images, and standardizes all images by the mean and
    /// deviation of the rest, the training pool.
    pub fn split(&self, seed: u64, held_out: usize) -> Result<Split> {
        let (len, dim) = (self.len(), self.dim());
        if held_out >= len {
            return Err(Error::new(
                ErrorKind::LimitExceeded { need: held_out as u64 + 1, have: len as u64 },
                format!("Cannot hold out {held_out} of {len} images"),
                "Hold out fewer or choose a larger set",
            ));
        }
        let mut order: Vec<usize> = (0..len).collect();
        Philox::new(seed, Stream::Split).shuffle(&mut order);
        let mut rows = Vec::with_capacity(self.images.len());
        for &i in &order {
            rows.extend_from_slice(self.image(i));
        }
        let train_values = (len - held_out) * dim;
        let standardization = Standardization::measure(&rows[..train_values], dim)?;
        standardization.apply(&mut rows);
        let mut test = self.test.as_ref().map_or_else(Vec::new, |test| test.images.clone());
        standardization.apply(&mut test);
        let recipe = Recipe {
            set: self.about.set.clone(),
            size: self.shape.width,
            channels: self.shape.channels,
            crop: self.fit == Fit::Crop,
            class: self.class.clone(),
            seed,
            count: len,
            held_out,
            source: self.about.source.clone(),
            hash: format!("{:016x}", self.hash()),
        };
        let labels = self.labels.as_ref().map(|labels| labels.reordered(&order));
        Ok(Split {
            recipe,
            shape: self.shape,
            standardization,
            rows: Arc::new(rows),
            train_values,
            test: Arc::new(test),
            labels,
        })
    }
}

/// A shuffled, standardized set: a training pool and held-out images.
///
/// The first n rows of the pool are *the* training set of size n, so that training sets are nested;
/// disjoint ranges are independent training sets.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    recipe: Recipe,
    shape: Shape,
    standardization: Standardization,
    rows: Arc<Vec<f32>>,
    train_values: usize,
    test: Arc<Vec<f32>>,
    labels: Option<Labels>,
}

impl Split {
    /// How to reproduce the split.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Shape of one image.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Values of one image.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.shape.dim()
    }

    /// How pixels were turned into these rows.
    #[must_use]
    pub fn standardization(&self) -> &Standardization {
        &self.standardization
    }

    /// The whole training pool.
    #[must_use]
    pub fn train(&self) -> &[f32] {
        &self.rows[..self.train_values]
    }

    /// Number of images in the training pool; at least 1.
    #[must_use]
    pub fn train_len(&self) -> usize {
        self.train_values / self.dim()
    }

    /// Images `range` of the training pool, one after the other.
    pub fn subset(&self, range: Range<usize>) -> Result<&[f32]> {
        let have = self.train_len();
        if range.is_empty() {
            return Err(Error::bad_input("A training set needs at least one image", ""));
        }
        if range.end > have {
            let hint = "Train on fewer images or choose a larger set";
            return Err(Error::limit("Training images", range.end as u64, have as u64, hint));
        }
        Ok(&self.rows[range.start * self.dim()..range.end * self.dim()])
    }

    /// The held-out images; if none were held out, the set's test images, if any.
    #[must_use]
    pub fn held_out(&self) -> &[f32] {
        let held_out = &self.rows[self.train_values..];
        if held_out.is_empty() { &self.test } else { held_out }
    }

    /// Number of held-out images.
    #[must_use]
    pub fn held_out_len(&self) -> usize {
        self.held_out().len() / self.dim()
    }

    /// The set's own test images, standardized like the others; often none.
    #[must_use]
    pub fn test(&self) -> &[f32] {
        &self.test
    }

    /// The class of each image, first of the training pool and then of the held-out images, if the set has
    /// labels.
    #[must_use]
    pub fn labels(&self) -> Option<&Labels> {
        self.labels.as_ref()
    }
}

/// The map x ↦ (x − mean image) · scale, and its inverse.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standardization {
    /// The mean image.
    pub mean: Vec<f32>,
    /// One factor for all pixels.
    pub scale: f32,
}

impl Standardization {
    /// Finds the map that takes `rows` to mean 0 in each pixel and standard deviation [`SIGMA_DATA`] over all
    /// pixels.
    pub fn measure(rows: &[f32], dim: usize) -> Result<Self> {
        let count = rows.len() / dim.max(1);
        if count < 2 {
            return Err(Error::bad_input(
                format!(
                    "Only {count} of the images would remain to train on, since some are held out"
                ),
                "Use a set of four images or more",
            ));
        }
        let count = count as f64;
        let mut sums = vec![0.0_f64; dim];
        for row in rows.chunks_exact(dim.max(1)) {
            for (sum, &value) in sums.iter_mut().zip(row) {
                *sum += f64::from(value);
            }
        }
        let mean: Vec<f32> = sums.iter().map(|sum| (sum / count) as f32).collect();
        let deviations = rows.iter().zip(mean.iter().cycle()).map(|(x, m)| f64::from(x - m));
        let variance = deviations.map(|d| d * d).sum::<f64>() / rows.len() as f64;
        let scale = (f64::from(SIGMA_DATA) / variance.sqrt()) as f32;
        // Rounding leaves a deviation of about 1e-7 even where all images are the same.
        if variance.is_nan() || variance < 1e-10 {
            return Err(Error::bad_input(
                "All training images are the same",
                "Choose a set whose images differ",
            ));
        }
        Ok(Self { mean, scale })
    }

    /// Standardizes `rows` in place.
    pub fn apply(&self, rows: &mut [f32]) {
        for (value, mean) in rows.iter_mut().zip(self.mean.iter().cycle()) {
            *value = (*value - mean) * self.scale;
        }
    }

    /// Takes standardized `rows` back to pixels, in place. Samples may leave [-1, 1].
    pub fn undo(&self, rows: &mut [f32]) {
        for (value, mean) in rows.iter_mut().zip(self.mean.iter().cycle()) {
            *value = *value / self.scale + mean;
        }
    }

    /// Converts standardized `rows` to bytes for display, one per value; values outside [-1, 1] are clipped.
    #[must_use]
    pub fn to_display(&self, rows: &[f32]) -> Vec<u8> {
        let pixels = rows.iter().zip(self.mean.iter().cycle());
        // The cast truncates towards zero, saturates, and maps NaN to 0.
        pixels.map(|(x, mean)| ((x / self.scale + mean) * 127.5 + 128.0) as u8).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(count: usize) -> Dataset {
        let shape = Shape { height: 2, width: 1, channels: 1 };
        let images = (0..count).flat_map(|i| [i as f32 / count as f32, 0.25]).collect();
        Dataset::new(About::default(), shape, images).unwrap()
    }

    #[test]
    fn split_keeps_every_image_once() {
        let set = ramp(50);
        let split = set.split(3, 12).unwrap();
        assert_eq!((split.train_len(), split.held_out_len()), (38, 12));
        let mut rows = [split.train(), split.held_out()].concat();
        split.standardization().undo(&mut rows);
        let mut firsts: Vec<f32> = rows.chunks(2).map(|row| row[0]).collect();
        assert!(!firsts.is_sorted());
        firsts.sort_by(f32::total_cmp);
        for (i, first) in firsts.iter().enumerate() {
            assert!((first - i as f32 / 50.0).abs() < 1e-6);
        }
    }

    #[test]
    fn split_is_a_function_of_the_seed() {
        let set = ramp(50);
        assert_eq!(set.split(3, 12).unwrap(), set.split(3, 12).unwrap());
        assert_ne!(set.split(3, 12).unwrap(), set.split(4, 12).unwrap());
    }

    #[test]
    fn the_pool_is_standardized() {
        let split = ramp(50).split(3, 12).unwrap();
        let train = split.train();
        let mean: f32 = train.iter().sum::<f32>() / train.len() as f32;
        let variance: f32 = train.iter().map(|v| v * v).sum::<f32>() / train.len() as f32;
        assert!(mean.abs() < 1e-6);
        assert!((variance.sqrt() - SIGMA_DATA).abs() < 1e-6);
    }

    #[test]
    fn subsets_are_checked() {
        let split = ramp(50).split(3, 12).unwrap();
        assert_eq!(split.subset(0..38).unwrap(), split.train());
        assert_eq!(split.subset(4..6).unwrap(), &split.train()[8..12]);
        let error = split.subset(0..39).unwrap_err();
        assert_eq!(error.kind, ErrorKind::LimitExceeded { need: 39, have: 38 });
        assert_eq!(split.subset(7..7).unwrap_err().kind, ErrorKind::BadInput);
    }

    #[test]
    fn labels_follow_their_images() {
        let names = vec!["low".into(), "high".into()];
        let classes: Vec<u8> = (0..50).map(|i| u8::from(i >= 25)).collect();
        let labels = Labels::new(names.clone(), classes).unwrap();
        let set = ramp(50).with_labels(labels).unwrap().with_test(ramp(50)).unwrap();
        let split = set.split(3, 12).unwrap();
        let mut rows = [split.train(), split.held_out()].concat();
        split.standardization().undo(&mut rows);
        for (i, row) in rows.chunks(2).enumerate() {
            let name = if row[0] > 0.49 { "high" } else { "low" };
            assert_eq!(split.labels().unwrap().name_of(i), Some(name));
        }
        assert!(set.class("high").is_err(), "the test images have no labels");
        let set = ramp(50).with_labels(set.labels().unwrap().clone()).unwrap();
        let high = set.class("High").unwrap();
        assert_eq!(high.images(), &set.images()[50..]);
        assert_eq!(high.split(3, 5).unwrap().recipe().class.as_deref(), Some("high"));
        assert!(set.class("medium").unwrap_err().hint.contains("low, high"));
        assert!(ramp(50).class("low").unwrap_err().message.contains("has no labels"));
        assert!(Labels::new(names, vec![2]).is_err());
    }

    #[test]
    fn test_images_are_standardized_as_the_pool_is() {
        let split = ramp(50).with_test(ramp(25)).unwrap().split(3, 12).unwrap();
        let mut test = split.test().to_vec();
        split.standardization().undo(&mut test);
        for (value, expected) in test.iter().zip(ramp(25).images()) {
            assert!((value - expected).abs() < 1e-6);
        }
        assert!(ramp(50).split(3, 12).unwrap().test().is_empty());
        let all = ramp(50).with_test(ramp(25)).unwrap().split(3, 0).unwrap();
        assert_eq!((all.train_len(), all.held_out_len()), (50, 25));
    }

    #[test]
    fn hashes_know_values_and_shape() {
        let set = ramp(50);
        let other = Shape { height: 1, width: 2, channels: 1 };
        let mut changed = set.images().to_vec();
        changed[7] += 1e-6;
        let hash = |shape, images| Dataset::new(About::default(), shape, images).unwrap().hash();
        assert_eq!(hash(set.shape(), set.images().to_vec()), set.hash());
        assert_ne!(hash(set.shape(), changed), set.hash());
        assert_ne!(hash(other, set.images().to_vec()), set.hash());
    }

    #[test]
    fn impossible_splits_are_errors() {
        let error = ramp(5).split(1, 5).unwrap_err();
        assert_eq!(error.kind, ErrorKind::LimitExceeded { need: 6, have: 5 });
        let shape = Shape { height: 1, width: 1, channels: 1 };
        let same = Dataset::new(About::default(), shape, vec![0.3; 9]).unwrap();
        assert!(same.split(1, 2).unwrap_err().message.contains("the same"));
        assert!(Dataset::new(About::default(), shape, vec![]).is_err());
        let wide = Shape { height: 1, width: 2, channels: 1 };
        assert!(Dataset::new(About::default(), wide, vec![0.0; 3]).is_err());
    }

    #[test]
    fn display_is_the_inverse() {
        let standardization = Standardization { mean: vec![0.5, -0.5], scale: 2.0 };
        let pixels = [-1.0, 1.0, 0.0, -0.5];
        let mut rows = pixels;
        standardization.apply(&mut rows);
        assert_eq!(standardization.to_display(&rows), [0, 255, 128, 64]);
        standardization.undo(&mut rows);
        assert_eq!(rows, pixels);
        assert_eq!(standardization.to_display(&[100.0, f32::NAN, -100.0]), [255, 0, 0]);
    }
}
