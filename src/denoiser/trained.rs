//! D_θ, a trained network: `D(x; σ) = c_skip x + c_out F_θ(c_in x; σ)`.

use std::sync::Arc;

use super::{Denoiser, Placed};
use crate::compute::{Buffer, Program, View};
use crate::error::{Error, Result};
use crate::kernels::{Edm, Sigma, precondition_input, precondition_output};
use crate::model::{Network, PlacedNetwork};

/// Networks of one architecture, each with its own weights.
#[derive(Debug, Clone)]
pub struct Trained {
    network: Arc<dyn Network>,
    edm: Edm,
    weights: Weights,
    members: usize,
}

/// Where the weights of all members are stored.
#[derive(Debug, Clone)]
enum Weights {
    /// In a program, which may still be training them.
    Live(Buffer),
    /// In memory, one member after the other.
    Saved(Arc<[f32]>),
}

impl Trained {
    /// Creates networks whose flat weights lie in a buffer of a program. They can be placed only in that
    /// program, where recorded stages see the weights at the moment they run.
    #[must_use]
    pub fn live(network: Arc<dyn Network>, edm: Edm, weights: Buffer, members: usize) -> Self {
        Self { network, edm, weights: Weights::Live(weights), members }
    }

    /// Creates networks with these flat weights, one member after the other.
    #[must_use]
    pub fn saved(network: Arc<dyn Network>, edm: Edm, weights: Arc<[f32]>) -> Self {
        let members = weights.len() / network.parameters().buffer_len().max(1);
        Self { network, edm, weights: Weights::Saved(weights), members }
    }

    /// Returns one of the saved networks.
    pub fn only(&self, member: usize) -> Result<Self> {
        let length = self.network.parameters().buffer_len();
        let own = match &self.weights {
            Weights::Saved(values) => values.chunks_exact(length.max(1)).nth(member),
            Weights::Live(_) => None,
        };
        let own = own.ok_or_else(|| Error::internal(format!("Network {member} is not saved")))?;
        Ok(Self::saved(Arc::clone(&self.network), self.edm, own.into()))
    }
}

impl Denoiser for Trained {
    fn dim(&self) -> usize {
        self.network.dim()
    }

    fn members(&self) -> usize {
        self.members
    }

    fn place(&self, program: &mut Program, rows: usize) -> Result<Box<dyn Placed>> {
        let dim = self.network.dim();
        let weights = match &self.weights {
            Weights::Live(buffer) => *buffer,
            Weights::Saved(values) => {
                let buffer = program.buffer("weights", self.network.parameters().buffer_len())?;
                program.begin_with(buffer, Arc::clone(values))?;
                buffer
            }
        };
        Ok(Box::new(PlacedTrained {
            network: self.network.place(program, rows, weights.into())?,
            edm: self.edm,
            scaled: program.buffer("scaled image", rows * dim)?,
            shape: [rows, dim],
        }))
    }
}

/// A [`Trained`] denoiser placed in a program.
struct PlacedTrained {
    network: Box<dyn PlacedNetwork>,
    edm: Edm,
    scaled: Buffer,
    shape: [usize; 2],
}

impl Placed for PlacedTrained {
    fn record(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()> {
        let scaled = self.scaled.into();
        precondition_input::record(program, self.edm, sigma, x, scaled, self.shape)?;
        self.network.forward(program, scaled, sigma, out)?;
        precondition_output::record(program, self.edm, sigma, x, out, self.shape)
    }
}
