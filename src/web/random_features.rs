//! `RandomFeatures`: the model of two clocks that is solved exactly.

use wasm_bindgen::prelude::*;

use super::{JsResult, object, parse};
use crate::experiment::random_features::{RandomFeatures as Model, Setting, Solving};

/// A model of random features, solved for one number of training images after the other.
#[wasm_bindgen]
#[derive(Debug)]
pub struct RandomFeatures {
    model: Model,
    solving: Option<Solving>,
}

#[wasm_bindgen]
impl RandomFeatures {
    /// Draws the features and the test images.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(unchecked_param_type = "RandomFeaturesSetting")] setting: JsValue,
    ) -> JsResult<RandomFeatures> {
        let setting: Setting = parse(setting)?;
        Ok(Self { model: Model::new(setting)?, solving: None })
    }

    /// Begins to solve for so many training images.
    pub fn begin(&mut self, images: usize) -> JsResult<()> {
        self.solving = Some(self.model.solve(images)?);
        Ok(())
    }

    /// The part that is done, from 0 to 1.
    #[wasm_bindgen(getter)]
    pub fn progress(&self) -> f64 {
        self.solving.as_ref().map_or(0.0, Solving::progress)
    }

    /// Does a step: the curves, if it was the last, else undefined.
    #[wasm_bindgen(unchecked_return_type = "RandomFeaturesCurves | undefined")]
    pub fn step(&mut self) -> JsResult<JsValue> {
        let Some(solving) = &mut self.solving else { return Ok(JsValue::UNDEFINED) };
        match solving.step()? {
            Some(curves) => {
                self.solving = None;
                object(&curves)
            }
            None => Ok(JsValue::UNDEFINED),
        }
    }
}
