//! The residual multilayer perceptron:
//!
//! `h = Lin(x)`, in each block `h += Lin(SiLU(RMSNorm(h) ⊙ (1 + g) + b))`, `F = Lin(h)`, where the
//! scales `g` and shifts `b` come from the noise level.

use super::{
    Dense, Modulation, Network, Parameters, PlacedModulation, PlacedNetwork, PlacedTraining,
    check_dim,
};
use crate::compute::{Buffer, Program, View, elements};
use crate::error::{Error, Result};
use crate::kernels::matmul::Keep;
use crate::kernels::norm_film_silu::{self, Kept};
use crate::kernels::{Sigma, norm_film_silu_backward};

/// Initial size of the last layer, relative to a plain one, so that initially `F ≈ 0`.
const OUTPUT_GAIN: f32 = 0.01;

/// Most blocks: each adds stages to the program, however narrow it is.
const MAX_DEPTH: usize = 256;

/// A residual multilayer perceptron; see the module.
#[derive(Debug, Clone)]
pub struct Mlp {
    parameters: Parameters,
    layers: Layers,
}

#[derive(Debug, Clone)]
struct Layers {
    dim: usize,
    width: usize,
    modulation: Modulation,
    input: Dense,
    blocks: Vec<Dense>,
    output: Dense,
}

impl Mlp {
    /// Creates a perceptron for images of `dim` numbers with `depth` blocks of `width` units.
    pub fn new(dim: usize, width: usize, depth: usize) -> Result<Self> {
        if dim == 0 || width == 0 || depth == 0 {
            return Err(Error::bad_input(
                format!(
                    "An MLP can't have {width} units in {depth} blocks for images of {dim} values"
                ),
                "Choose positive numbers",
            ));
        }
        check_dim(dim)?;
        if depth > MAX_DEPTH {
            let hint = "Choose fewer blocks";
            return Err(Error::limit("Blocks", depth as u64, MAX_DEPTH as u64, hint));
        }
        let mut parameters = Parameters::default();
        let p = &mut parameters;
        let modulation = Modulation::declare(p, width.saturating_mul(2 * depth));
        let input = Dense::declare(p, "input", [dim, width], 1.0);
        let block = |i| Dense::declare(p, &format!("block.{i}"), [width, width], 1.0);
        let blocks = (0..depth).map(block).collect();
        let output = Dense::declare(&mut parameters, "output", [width, dim], OUTPUT_GAIN);
        let parameters = parameters.check()?;
        Ok(Self { parameters, layers: Layers { dim, width, modulation, input, blocks, output } })
    }

    fn place_with(
        &self,
        program: &mut Program,
        rows: usize,
        weights: View,
        blocks: Vec<BlockIn>,
    ) -> Result<PlacedMlp> {
        Ok(PlacedMlp {
            modulation: self.layers.modulation.place(program, rows, weights)?,
            h: program.buffer("h", elements([rows, self.layers.width]))?,
            layers: self.layers.clone(),
            blocks,
            weights,
            rows,
        })
    }

    fn place_block(&self, program: &mut Program, rows: usize) -> Result<BlockIn> {
        Ok(BlockIn {
            normed: program.buffer("h / rms", elements([rows, self.layers.width]))?,
            inverse_rms: program.buffer("1 / rms", rows)?,
            active: program.buffer("activations", elements([rows, self.layers.width]))?,
        })
    }
}

impl Network for Mlp {
    fn dim(&self) -> usize {
        self.layers.dim
    }

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn place(
        &self,
        program: &mut Program,
        rows: usize,
        weights: View,
    ) -> Result<Box<dyn PlacedNetwork>> {
        // No backward pass follows, so all blocks use the same space.
        let block = self.place_block(program, rows)?;
        let blocks = vec![block; self.layers.blocks.len()];
        Ok(Box::new(self.place_with(program, rows, weights, blocks)?))
    }

    fn place_training(
        &self,
        program: &mut Program,
        rows: usize,
        weights: View,
        gradients: View,
    ) -> Result<Box<dyn PlacedTraining>> {
        let Layers { width, ref blocks, .. } = self.layers;
        let depth = blocks.len();
        let blocks =
            (0..depth).map(|_| self.place_block(program, rows)).collect::<Result<Vec<_>>>()?;
        Ok(Box::new(MlpTraining {
            forward: self.place_with(program, rows, weights, blocks)?,
            gradients,
            d_h: program.buffer("gradient of h", elements([rows, width]))?,
            d_active: program.buffer("gradient of activations", elements([rows, width]))?,
            d_film: program
                .buffer("gradient of scales and shifts", elements([rows, 2, width, depth]))?,
        }))
    }
}

/// What a block keeps of its forward pass.
#[derive(Debug, Clone, Copy)]
struct BlockIn {
    normed: Buffer,
    inverse_rms: Buffer,
    active: Buffer,
}

impl BlockIn {
    fn kept(self) -> Kept {
        Kept { normed: self.normed.into(), inverse_rms: self.inverse_rms.into() }
    }
}

/// An [`Mlp`] placed in a program.
#[derive(Debug, Clone)]
struct PlacedMlp {
    layers: Layers,
    modulation: PlacedModulation,
    blocks: Vec<BlockIn>,
    h: Buffer,
    weights: View,
    rows: usize,
}

impl PlacedMlp {
    /// The layer, the activations and the first column of the scales and shifts of each block.
    fn blocks(&self) -> impl DoubleEndedIterator<Item = (Dense, BlockIn, usize)> {
        let blocks = self.layers.blocks.iter().zip(&self.blocks).enumerate();
        blocks.map(|(i, (&layer, &block))| (layer, block, 2 * self.layers.width * i))
    }
}

impl PlacedNetwork for PlacedMlp {
    fn forward(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()> {
        let Self { layers: Layers { width, input, output, .. }, weights, rows, h, .. } = *self;
        let film = self.modulation.forward(program, sigma)?;
        input.forward(weights, x, h, rows).record(program)?;
        for (layer, block, column) in self.blocks() {
            let (active, film) = (block.active.into(), film.at(column));
            norm_film_silu::record(program, h.into(), film, block.kept(), active, [rows, width])?;
            layer.forward(weights, active, h, rows).keep(Keep::All).record(program)?;
        }
        output.forward(weights, h, out, rows).record(program)
    }
}

/// An [`Mlp`] placed in a program for training.
#[derive(Debug, Clone)]
struct MlpTraining {
    forward: PlacedMlp,
    gradients: View,
    d_h: Buffer,
    d_active: Buffer,
    d_film: Buffer,
}

impl PlacedNetwork for MlpTraining {
    fn forward(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()> {
        self.forward.forward(program, x, sigma, out)
    }
}

impl PlacedTraining for MlpTraining {
    fn backward(&self, program: &mut Program, x: View, d_out: View) -> Result<()> {
        let Self { forward: PlacedMlp { weights, rows, h, .. }, gradients, d_h, d_active, .. } =
            *self;
        let Layers { width, input, output, .. } = self.forward.layers;
        output.backward(program, gradients, h, d_out, rows)?;
        output.backward_input(weights, d_out, d_h, rows).record(program)?;
        let film = self.forward.modulation.film();
        for (layer, block, column) in self.forward.blocks().rev() {
            layer.backward(program, gradients, block.active, d_h, rows)?;
            layer.backward_input(weights, d_h, d_active, rows).record(program)?;
            norm_film_silu_backward::record(
                program,
                block.kept(),
                film.at(column),
                d_active.into(),
                self.d_film.at(column),
                d_h.into(),
                [rows, width],
            )?;
        }
        input.backward(program, gradients, x, d_h, rows)?;
        self.forward.modulation.backward(program, gradients, self.d_film.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn parameter_counts_of_the_presets() {
        let count = |width| Mlp::new(144, width, 2).unwrap().parameters().count();
        assert_eq!(count(192), 181_776);
        assert_eq!(count(384), 508_752);
    }

    #[test]
    fn no_size_is_too_large_to_be_refused() {
        let sizes = [1, 2, 257, 5000, 1 << 20, 1 << 31, usize::MAX / 2, usize::MAX];
        let count = sizes.len();
        for case in 0..count.pow(3) {
            let [dim, width, depth] =
                [case, case / count, case / count.pow(2)].map(|index| sizes[index % count]);
            match Mlp::new(dim, width, depth) {
                Ok(network) => assert!(network.parameters().buffer_len() <= 1 << 24),
                Err(error) => assert!(
                    matches!(error.kind, ErrorKind::LimitExceeded { need, have } if need > have),
                    "{error}"
                ),
            }
        }
    }
}
