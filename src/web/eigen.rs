//! `useEigen`: large matrices are decomposed by a library that the page loads when it needs it.

use std::cell::RefCell;

use wasm_bindgen::prelude::*;

use crate::denoiser::eigen::{Decomposition, use_for_large};

#[wasm_bindgen]
extern "C" {
    /// The class `Eigen` of the package `eigen`.
    #[derive(Debug, Clone)]
    pub type EigenClass;

    /// One of its objects.
    #[derive(Debug)]
    type Eigen;

    #[wasm_bindgen(method, catch)]
    fn begin(this: &EigenClass, matrix: &[f64], order: usize) -> Result<Eigen, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn step(this: &Eigen) -> Result<bool, JsValue>;

    #[wasm_bindgen(method)]
    fn done(this: &Eigen) -> f64;

    #[wasm_bindgen(method)]
    fn values(this: &Eigen) -> Vec<f64>;

    #[wasm_bindgen(method)]
    fn vectors(this: &Eigen) -> Vec<f64>;

    #[wasm_bindgen(method)]
    fn free(this: &Eigen);
}

thread_local!(static CLASS: RefCell<Option<EigenClass>> = const { RefCell::new(None) });

/// Lets the class `Eigen` of the package `eigen` decompose large matrices from now on. Without it a fit to
/// images of more than 256 numbers takes several times as long.
#[wasm_bindgen(js_name = useEigen, skip_typescript)]
pub fn use_eigen(class: EigenClass) {
    CLASS.set(Some(class));
    use_for_large(|matrix, order| {
        let class = CLASS.with_borrow(Clone::clone)?;
        // If it has no room for the matrix, perhaps this library has.
        Some(Box::new(class.begin(matrix, order).ok()?))
    });
}

impl Decomposition for Eigen {
    fn step(&mut self) -> Result<bool, Option<f64>> {
        Self::step(self).map_err(|thrown| match thrown.as_f64() {
            _ if thrown.is_undefined() => None,
            // What it throws besides numbers is the end of its memory.
            bytes => Some(bytes.unwrap_or(0.0)),
        })
    }

    fn done(&self) -> f64 {
        Self::done(self)
    }

    fn result(&mut self) -> [Vec<f64>; 2] {
        let result = [self.values(), self.vectors()];
        self.free();
        result
    }
}
