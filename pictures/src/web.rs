//! `decodePicture`: what a page calls.

use wasm_bindgen::prelude::*;

/// A decoded picture.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Picture(crate::Picture);

#[wasm_bindgen]
impl Picture {
    /// Pixels from left to right.
    #[must_use]
    #[wasm_bindgen(getter)]
    pub fn width(&self) -> usize {
        self.0.width
    }

    /// Pixels from top to bottom.
    #[must_use]
    #[wasm_bindgen(getter)]
    pub fn height(&self) -> usize {
        self.0.height
    }

    /// The pixels, four bytes each. They can be taken once.
    #[must_use]
    pub fn rgba(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0.rgba)
    }
}

/// Decodes a PNG, JPEG or WebP file. Throws what is wrong with it.
#[wasm_bindgen(js_name = decodePicture)]
pub fn decode_picture(bytes: &[u8]) -> Result<Picture, JsValue> {
    crate::decode(bytes).map(Picture).map_err(|problem| problem.as_str().into())
}
