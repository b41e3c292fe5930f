//! `Dataset`: images, split and standardized.

use js_sys::{Array, Reflect, Uint8Array, Uint8ClampedArray};
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::*;

use super::{JsResult, Seed, Shared, fields, object, parse};
use crate::data::{self, Builder, Picture, Split};
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

/// How to read and split a set.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ImportOptions {
    size: Option<usize>,
    #[serde(default)]
    colour: bool,
    #[serde(default)]
    seed: Seed,
    held_out: Option<usize>,
}

impl ImportOptions {
    fn reading(&self) -> data::Options {
        data::Options { size: self.size, colour: self.colour, ..data::Options::default() }
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
}

impl Dataset {
    fn new(set: &data::Dataset, Seed(seed): Seed, held_out: Option<usize>) -> JsResult<Self> {
        // An eighth, so that even a handful of images leaves most for training.
        let held_out = held_out.unwrap_or_else(|| set.hold_out(8, HELD_OUT));
        Ok(Self { about: set.about.clone(), split: set.split(seed, held_out)? })
    }

    fn row<'a>(&self, rows: &'a [f32], index: usize) -> Result<&'a [f32]> {
        rows.chunks_exact(self.split.dim()).nth(index).ok_or_else(|| {
            Error::bad_input(format!("There is no image {index}"), "Choose one of those shown")
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
        Self::new(&data::faces::faces(seed.0, count, size)?, seed, held_out)
    }

    /// A file: a set that comes with the page, IDX, CIFAR-10, .npy or .npz.
    pub fn import(
        name: &str,
        bytes: &[u8],
        #[wasm_bindgen(unchecked_param_type = "ImportOptions")] o: JsValue,
    ) -> JsResult<Self> {
        let o: ImportOptions = parse(o)?;
        Self::new(&data::import(name, bytes, &o.reading())?, o.seed, o.held_out)
    }

    /// Pictures that the page decoded.
    pub fn pictures(
        name: &str,
        #[wasm_bindgen(
            unchecked_param_type = "{width: number, height: number, data: Uint8ClampedArray}[]"
        )]
        list: &Array,
        #[wasm_bindgen(unchecked_param_type = "ImportOptions")] o: JsValue,
    ) -> JsResult<Self> {
        let o: ImportOptions = parse(o)?;
        let mut builder = Builder::new(name, &o.reading());
        for picture in list.iter() {
            let incomplete =
                || Error::bad_input("A picture has no width, height or pixels", "Pass ImageData");
            let get = |name: &str| Reflect::get(&picture, &name.into()).unwrap_or_default();
            let side = |name: &str| get(name).as_f64().map(|pixels| pixels as usize);
            let width = side("width").ok_or_else(incomplete)?;
            let height = side("height").ok_or_else(incomplete)?;
            let bytes: Uint8ClampedArray = get("data").dyn_into().map_err(|_| incomplete())?;
            let rgba = bytes.to_vec();
            builder.push_picture(Picture { width, height, rgba: &rgba })?;
        }
        Self::new(&builder.finish()?, o.seed, o.held_out)
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
        })
    }

    /// Training image `index`.
    pub fn train(&self, index: usize) -> JsResult<Vec<f32>> {
        Ok(self.image(Part::Train, index)?.to_vec())
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
