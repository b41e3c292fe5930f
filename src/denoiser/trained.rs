//! D_θ, a trained network: `D(x; σ) = c_skip x + c_out F_θ(c_in x; σ)`.

use std::sync::Arc;

use super::{Denoiser, Placed};
use crate::compute::{Buffer, Program, View};
use crate::error::Result;
use crate::kernels::{Sigma, precondition_input, precondition_output};
use crate::model::precondition::Edm;
use crate::model::{Network, PlacedNetwork};

/// A network with weights that lie in a program, perhaps one that still trains them: whatever is
/// recorded there sees the weights of the moment it runs.
#[derive(Debug, Clone)]
pub struct Trained {
    network: Arc<dyn Network>,
    edm: Edm,
    weights: Buffer,
}

impl Trained {
    /// `network` with the flat weights in `weights`.
    #[must_use]
    pub fn new(network: Arc<dyn Network>, edm: Edm, weights: Buffer) -> Self {
        Self { network, edm, weights }
    }
}

impl Denoiser for Trained {
    fn dim(&self) -> usize {
        self.network.dim()
    }

    fn place(&self, program: &mut Program, rows: usize) -> Result<Box<dyn Placed>> {
        let dim = self.network.dim();
        Ok(Box::new(TrainedIn {
            network: self.network.place(program, rows, self.weights.into())?,
            edm: self.edm,
            scaled: program.buffer("scaled image", rows * dim)?,
            shape: [rows, dim],
        }))
    }
}

/// A [`Trained`] denoiser that stands in a program.
struct TrainedIn {
    network: Box<dyn PlacedNetwork>,
    edm: Edm,
    scaled: Buffer,
    shape: [usize; 2],
}

impl Placed for TrainedIn {
    fn record(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()> {
        let scaled = self.scaled.into();
        precondition_input::record(program, self.edm, sigma, x, scaled, self.shape)?;
        self.network.forward(program, scaled, sigma, out)?;
        precondition_output::record(program, self.edm, sigma, x, out, self.shape)
    }
}
