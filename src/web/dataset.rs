//! `Dataset`: images, split and standardized.

use js_sys::{Array, Uint8Array, Uint8ClampedArray};
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::*;

use super::{JsResult, Seed, Shared, fields, object, parse};
use crate::data::{self, Builder, Channels, Fit, Labels, Picture, Split};
use crate::error::{Error, Result};

/// Most images that are held out from training.
const HELD_OUT: usize = 1024;

/// A set of images, split into a training pool and held-out images.
#[wasm_bindgen]
#[derive(Debug, Clone)]
pub struct Dataset {
    about: data::About,
    pub(super) split: Split,
}

impl Shared for Dataset {}

/// Procedural faces.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FacesOptions {
    size: usize,
    count: u32,
    seed: Seed,
    held_out: Option<usize>,
}

/// Most images that are read from a file.
const MAX_IMAGES: usize = 20_000;

/// How to read and split a set. `channels` is what a recipe says, and `colour: false` asks for grey;
/// without either, images stay what they are.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ImportOptions {
    size: Option<usize>,
    channels: Option<usize>,
    colour: Option<bool>,
    crop: Option<bool>,
    class: Option<String>,
    #[serde(default)]
    seed: Seed,
    held_out: Option<usize>,
}

impl ImportOptions {
    fn reading(&self) -> Result<data::Options> {
        let channels = match self.channels {
            Some(1) => Some(Channels::Grey),
            Some(3) => Some(Channels::Colour),
            Some(other) => {
                return Err(Error::bad_input(
                    format!("Images of {other} channels can't be made"),
                    "Choose 1 (grey) or 3 (colour)",
                ));
            }
            None => (self.colour == Some(false)).then_some(Channels::Grey),
        };
        let fit = if self.crop == Some(false) { Fit::Stretch } else { Fit::Crop };
        Ok(data::Options { size: self.size, channels, fit, max_images: MAX_IMAGES })
    }

    /// Splits `set`, or one class of it.
    fn split(&self, set: data::Dataset) -> JsResult<Dataset> {
        let set = match &self.class {
            Some(class) => set.class(class)?,
            None => set,
        };
        Dataset::new(set, self.seed, self.held_out)
    }
}

/// A part of a split.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Part {
    /// The training pool.
    Train,
    /// Held-out images.
    HeldOut,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Info<'a> {
    #[serde(flatten)]
    about: &'a data::About,
    #[serde(flatten)]
    shape: data::Shape,
    count: usize,
    train_count: usize,
    held_out_count: usize,
    classes: &'a [String],
    hash: &'a str,
}

impl Dataset {
    fn new(set: data::Dataset, Seed(seed): Seed, held_out: Option<usize>) -> JsResult<Self> {
        // An eighth, so that even a handful of images leaves most for training.
        let held_out = held_out.unwrap_or_else(|| set.hold_out(8, HELD_OUT));
        Ok(Self { split: set.split(seed, held_out)?, about: set.about })
    }

    fn row<'a>(&self, rows: &'a [f32], index: usize) -> Result<&'a [f32]> {
        rows.chunks_exact(self.split.dim()).nth(index).ok_or_else(|| {
            Error::bad_input(format!("There is no image {index}"), "Choose one of the images shown")
        })
    }

    /// An image of one part of the split.
    pub(super) fn image(&self, part: Part, index: usize) -> Result<&[f32]> {
        match part {
            Part::Train => self.row(self.split.train(), index),
            Part::HeldOut => self.row(self.split.held_out(), index),
        }
    }
}

#[wasm_bindgen]
impl Dataset {
    #[doc(hidden)]
    #[wasm_bindgen(js_name = __share, skip_typescript)]
    #[must_use]
    pub fn share(&self) -> Self {
        self.clone()
    }

    /// Procedural faces.
    pub fn faces(
        #[wasm_bindgen(unchecked_param_type = "FacesOptions")] o: JsValue,
    ) -> JsResult<Self> {
        let FacesOptions { size, count, seed, held_out } = parse(o)?;
        Self::new(data::faces::faces(seed.0, count, size)?, seed, held_out)
    }

    /// A file: a set that comes with the page, IDX, CIFAR-10, .npy or .npz.
    pub fn import(
        name: &str,
        bytes: &[u8],
        #[wasm_bindgen(unchecked_param_type = "ImportOptions")] o: JsValue,
    ) -> JsResult<Self> {
        let o: ImportOptions = parse(o)?;
        o.split(data::import(name, bytes, &o.reading()?)?)
    }

    /// What the set is.
    #[wasm_bindgen(unchecked_return_type = "DatasetInfo")]
    pub fn info(&self) -> JsResult<JsValue> {
        let (train_count, held_out_count) = (self.split.train_len(), self.split.held_out_len());
        object(&Info {
            about: &self.about,
            shape: self.split.shape(),
            count: train_count + held_out_count,
            train_count,
            held_out_count,
            classes: self.split.labels().map_or(&[], Labels::names),
            hash: &self.split.recipe().hash,
        })
    }

    /// Training image `index`.
    pub fn train(&self, index: usize) -> JsResult<Vec<f32>> {
        Ok(self.image(Part::Train, index)?.to_vec())
    }

    /// What the class of an image is called, if the set has classes.
    pub fn label(
        &self,
        #[wasm_bindgen(unchecked_param_type = "'train' | 'heldOut'")] part: JsValue,
        index: usize,
    ) -> JsResult<Option<String>> {
        // Training images come first.
        let first = match parse(part)? {
            Part::Train => 0,
            Part::HeldOut => self.split.train_len(),
        };
        Ok(self.split.labels().and_then(|labels| labels.name_of(first + index)).map(str::to_owned))
    }

    /// Any number of images as RGBA bytes to show, standardization undone.
    #[wasm_bindgen(unchecked_return_type = "Uint8ClampedArray<ArrayBuffer>")]
    pub fn rgba(&self, values: &[f32]) -> JsValue {
        let bytes = self.split.standardization().to_display(values);
        let rgba: Vec<u8> = match self.split.shape().channels {
            3 => bytes.as_chunks::<3>().0.iter().flat_map(|&[r, g, b]| [r, g, b, 255]).collect(),
            _ => bytes.iter().flat_map(|&grey| [grey, grey, grey, 255]).collect(),
        };
        Uint8ClampedArray::from(rgba.as_slice()).into()
    }
}

/// A set in the making, of pictures that the page decodes one after the other: so there is never more
/// than one at full size in memory.
#[wasm_bindgen]
#[derive(Debug)]
pub struct PictureSet {
    builder: Builder,
    options: ImportOptions,
}

#[wasm_bindgen]
impl PictureSet {
    /// An empty set.
    #[wasm_bindgen(constructor)]
    pub fn new(
        name: &str,
        #[wasm_bindgen(unchecked_param_type = "ImportOptions")] o: JsValue,
    ) -> JsResult<Self> {
        let options: ImportOptions = parse(o)?;
        Ok(Self { builder: Builder::new(name, &options.reading()?), options })
    }

    /// Adds a picture: four bytes per pixel, as `ImageData` has them.
    pub fn push(&mut self, width: usize, height: usize, rgba: &[u8]) -> JsResult<()> {
        Ok(self.builder.push_picture(Picture { width, height, rgba })?)
    }

    /// The set of all pictures.
    pub fn finish(self) -> JsResult<Dataset> {
        self.options.split(self.builder.finish()?)
    }
}

/// The files in a zip archive; pictures among them are for the browser to decode.
#[wasm_bindgen(unchecked_return_type = "{name: string, bytes: Uint8Array<ArrayBuffer>}[]")]
pub fn unzip(bytes: &[u8]) -> JsResult<Array> {
    let list = Array::new();
    for entry in data::zip_entries(bytes)? {
        if entry.is_picture() {
            let contents = Uint8Array::from(entry.read()?.as_slice());
            list.push(&fields(&[("name", entry.name().into()), ("bytes", contents.into())]));
        }
    }
    Ok(list)
}
