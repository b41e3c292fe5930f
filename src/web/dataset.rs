//! `Dataset`: images, split and standardized.

use js_sys::{Array, Uint8Array, Uint8ClampedArray};
use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::{JsResult, Options, fields, object};
use crate::data::{self, Builder, Channels, Fit, Labels, Picture, Split};
use crate::error::{Error, Result};

/// Most images that are held out from training.
const HELD_OUT: usize = 1024;

/// Most images that are read from a file.
const MAX_IMAGES: usize = 20_000;

/// A set of images, split into a training pool and held-out images.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Dataset {
    about: data::About,
    pub(super) split: Split,
}

/// How to read a set, from `{size?, channels?, colour?, crop?}`. `channels` is what a recipe says;
/// `colour: false` asks for grey. Without either, images stay what they are.
fn reading(o: Options<'_>) -> JsResult<data::Options> {
    let channels = match o.whole_if("channels")? {
        Some(1) => Some(Channels::Grey),
        Some(3) => Some(Channels::Colour),
        Some(other) => {
            let message = format!("Images of {other} channels can't be made");
            return Err(Error::bad_input(message, "Choose 1 (grey) or 3 (colour)").into());
        }
        None => (o.get("colour") == JsValue::FALSE).then_some(Channels::Grey),
    };
    let fit = if o.get("crop") == JsValue::FALSE { Fit::Stretch } else { Fit::Crop };
    Ok(data::Options { size: o.whole_if("size")?, channels, fit, max_images: MAX_IMAGES })
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
}

impl Dataset {
    /// Splits `set`, or one class of it, as `{class?, seed?, heldOut?}` says.
    fn new(set: data::Dataset, o: Options<'_>) -> JsResult<Self> {
        let set = match o.get("class").as_string() {
            Some(class) => set.class(&class)?,
            None => set,
        };
        // An eighth, so that even a handful of images leaves most for training.
        let held_out = o.whole_if("heldOut")?.unwrap_or_else(|| set.hold_out(8, HELD_OUT));
        let seed = if o.get("seed").is_undefined() { 0 } else { o.seed()? };
        Ok(Self { split: set.split(seed, held_out)?, about: set.about })
    }

    fn row<'a>(&self, rows: &'a [f32], index: usize) -> Result<&'a [f32]> {
        rows.chunks_exact(self.split.dim()).nth(index).ok_or_else(|| {
            Error::bad_input(format!("There is no image {index}"), "Choose one of those shown")
        })
    }

    /// An image of one part of the split.
    pub(super) fn image(&self, split: &str, index: usize) -> Result<&[f32]> {
        match split {
            "train" => self.row(self.split.train(), index),
            "heldOut" => self.row(self.split.held_out(), index),
            other => Err(Error::bad_input(format!("No part of a set is called “{other}”"), "")),
        }
    }
}

#[wasm_bindgen]
impl Dataset {
    /// Procedural faces.
    pub fn faces(
        #[wasm_bindgen(
            unchecked_param_type = "{size: number, count: number, seed: number, heldOut?: number}"
        )]
        o: &JsValue,
    ) -> JsResult<Self> {
        let o = Options(o);
        let (size, count, seed) = (o.whole("size")?, o.whole("count")?, o.seed()?);
        Self::new(data::faces::faces(seed, count as u32, size)?, o)
    }

    /// A file: a set that comes with the page, IDX, CIFAR-10, .npy or .npz.
    pub fn import(
        name: &str,
        bytes: &[u8],
        #[wasm_bindgen(unchecked_param_type = "ImportOptions")] o: &JsValue,
    ) -> JsResult<Self> {
        let o = Options(o);
        Self::new(data::import(name, bytes, &reading(o)?)?, o)
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
        })
    }

    /// How to make the same images again.
    #[wasm_bindgen(unchecked_return_type = "Recipe")]
    pub fn recipe(&self) -> JsResult<JsValue> {
        object(self.split.recipe())
    }

    /// Training image `index`.
    pub fn train(&self, index: usize) -> JsResult<Vec<f32>> {
        Ok(self.image("train", index)?.to_vec())
    }

    /// Held-out image `index`.
    #[wasm_bindgen(js_name = heldOut)]
    pub fn held_out(&self, index: usize) -> JsResult<Vec<f32>> {
        Ok(self.image("heldOut", index)?.to_vec())
    }

    /// What the class of an image is called, if the set has classes.
    pub fn label(
        &self,
        #[wasm_bindgen(unchecked_param_type = "'train' | 'heldOut'")] split: &str,
        index: usize,
    ) -> Option<String> {
        // Training images come first.
        let first = if split == "train" { 0 } else { self.split.train_len() };
        self.split.labels()?.name_of(first + index).map(str::to_owned)
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
    options: JsValue,
}

#[wasm_bindgen]
impl PictureSet {
    /// An empty set.
    #[wasm_bindgen(constructor)]
    pub fn new(
        name: &str,
        #[wasm_bindgen(unchecked_param_type = "ImportOptions")] o: JsValue,
    ) -> JsResult<Self> {
        Ok(Self { builder: Builder::new(name, &reading(Options(&o))?), options: o })
    }

    /// Adds a picture: four bytes per pixel, as `ImageData` has them.
    pub fn push(&mut self, width: usize, height: usize, rgba: &[u8]) -> JsResult<()> {
        Ok(self.builder.push_picture(Picture { width, height, rgba })?)
    }

    /// The set of all pictures.
    pub fn finish(self) -> JsResult<Dataset> {
        Dataset::new(self.builder.finish()?, Options(&self.options))
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
