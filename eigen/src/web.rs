//! `Eigen`: a decomposition that a page asks for.

use wasm_bindgen::prelude::*;

use crate::{Eigen as Decomposition, Failure};

/// The eigendecomposition of a symmetric matrix, in steps. The library takes it by `useEigen`.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Eigen(Decomposition);

#[wasm_bindgen]
impl Eigen {
    /// Begins with a matrix, of which the lower triangle counts.
    #[must_use]
    pub fn begin(matrix: Vec<f64>, order: usize) -> Self {
        Self(Decomposition::new(matrix, order))
    }

    /// Does a step; true if it was the last. Throws the number of bytes that are missing, or undefined if
    /// the iteration does not converge.
    pub fn step(&mut self) -> Result<bool, JsValue> {
        self.0.step().map_err(|failure| match failure {
            Failure::Memory(bytes) => (bytes as f64).into(),
            Failure::NoConvergence => JsValue::UNDEFINED,
        })
    }

    /// How much is done: 5 is all.
    #[must_use]
    pub fn done(&self) -> f64 {
        self.0.done()
    }

    /// The eigenvalues, ascending.
    #[must_use]
    pub fn values(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.0.values)
    }

    /// The eigenvectors in the same order, one after the other.
    #[must_use]
    pub fn vectors(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.0.vectors)
    }
}
