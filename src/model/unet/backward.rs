//! The U-Net's backward pass.

use super::forward::{Activation, BlockIn, Context, PlacedUNet, Step};
use super::{Block, ConvLayer, Layers, Norm};
use crate::compute::{Buffer, Program, View, elements};
use crate::error::Result;
use crate::kernels::conv::Channels;
use crate::kernels::{
    Sigma, conv_weight_backward, group_film_silu_backward, group_norm_backward, space_to_depth,
};
use crate::model::{Film, PlacedNetwork, PlacedTraining};

impl Context {
    /// Records the gradient of [`Self::conv`]'s input, plus `add`.
    fn conv_backward_input(
        &self,
        program: &mut Program,
        layer: ConvLayer,
        d_out: Channels,
        add: Option<Channels>,
        d_x: Channels,
    ) -> Result<()> {
        let parameters = self.weights.at(layer.parameters);
        layer.conv(self.rows).record_backward_input(program, d_out, parameters, add, d_x)
    }
}

impl Activation {
    /// Records the gradient of `x`, or adds it to `d_x` if `keep`.
    fn backward(
        &self,
        program: &mut Program,
        norm: Norm,
        d_out: View,
        d_film: Film,
        d_x: View,
        keep: bool,
    ) -> Result<()> {
        let Self { x, groups, .. } = *self;
        let affine = self.affine(norm);
        group_film_silu_backward::record(program, x, affine, d_out, d_film, d_x, keep, groups)?;
        if norm == Norm::Group {
            group_norm_backward::record(program, x, affine, d_film, d_x, groups)?;
        }
        Ok(())
    }
}

/// The buffers that a backward pass writes.
#[derive(Debug, Clone, Copy)]
struct GradientIn {
    gradients: View,
    /// Gradient after an activation.
    d_active: Buffer,
    /// Gradient between the convolutions of a block.
    d_between: Buffer,
    d_film: Film,
    /// Placeholder for the gradients of scales and shifts, which a block's first activation does not have.
    d_unused: Film,
    parts: Buffer,
}

impl GradientIn {
    fn conv(
        &self,
        program: &mut Program,
        context: &Context,
        layer: ConvLayer,
        x: Channels,
        d_out: Channels,
    ) -> Result<()> {
        let (conv, out) = (layer.conv(context.rows), self.gradients.at(layer.parameters));
        conv_weight_backward::record(program, &conv, x, d_out, self.parts.into(), out)
    }

    /// Records the gradients of a block. The gradient of its input replaces that of its output, or goes to
    /// `d_x` if the block changes the number of channels.
    fn block(
        &self,
        program: &mut Program,
        context: &Context,
        step: &Step,
        film: Film,
        d_out: View,
        d_x: View,
    ) -> Result<()> {
        let Step { block, kept, x } = *step;
        let [inputs, outputs] = block.first.channels;
        let [first, second] = kept.activations(context, &block, x.into(), film);
        let d_y = Channels::all(d_out, outputs);
        let d_active = Channels::all(self.d_active, outputs);
        self.conv(program, context, block.second, Channels::all(kept.modulated, outputs), d_y)?;
        context.conv_backward_input(program, block.second, d_y, None, d_active)?;
        let d_between = Channels::all(self.d_between, outputs);
        let d_film = self.d_film.at(block.film);
        second.backward(program, context.norm, d_active.view, d_film, d_between.view, false)?;
        self.conv(program, context, block.first, Channels::all(kept.active, inputs), d_between)?;
        let d_active = Channels::all(self.d_active, inputs);
        context.conv_backward_input(program, block.first, d_between, None, d_active)?;
        if let Some(skip) = block.skip {
            let pixels = context.rows * block.pixels();
            skip.backward(program, self.gradients, x, d_out, pixels)?;
            skip.backward_input(context.weights, d_out, d_x, pixels).record(program)?;
        }
        first.backward(program, context.norm, d_active.view, self.d_unused, d_x, true)
    }
}

/// A [`UNet`] placed in a program for training.
#[derive(Debug, Clone)]
pub(super) struct UNetTraining {
    forward: PlacedUNet,
    scratch: GradientIn,
    d_entries: Vec<Buffer>,
    d_joined: Vec<Buffer>,
    d_exits: Vec<Buffer>,
}

impl UNetTraining {
    /// Places `layers` in `program`, each with its own buffers.
    pub(super) fn place(
        layers: &Layers,
        program: &mut Program,
        rows: usize,
        weights: View,
        gradients: View,
    ) -> Result<Self> {
        let blocks = layers.blocks();
        let place = |block| BlockIn::place(program, std::slice::from_ref(block), rows);
        let kept = blocks.iter().map(place).collect::<Result<_>>()?;
        let forward = PlacedUNet::place(layers, program, rows, weights, kept)?;
        let like = |program: &mut Program, buffers: &[Buffer]| -> Result<Vec<Buffer>> {
            buffers.iter().map(|b| program.buffer("gradient of features", b.len())).collect()
        };
        let d_entries = like(program, &forward.entries[..layers.down.len()])?;
        let d_joined = like(program, &forward.joined)?;
        let d_exits = like(program, &forward.exits)?;
        let [d_active, d_between] = Block::largest(&blocks, rows);
        let columns: usize = blocks.iter().map(|block| 2 * block.second.channels[1]).sum();
        let widest = blocks.iter().map(|block| 2 * block.first.channels[0]).max().unwrap_or(1);
        let parts = |conv: ConvLayer| conv_weight_backward::scratch(program, &conv.conv(rows));
        let parts = layers.convs().map(parts).max().unwrap_or(1);
        Ok(Self {
            scratch: GradientIn {
                gradients,
                d_active: program.buffer("gradient of activations", d_active)?,
                d_between: program.buffer("gradient between convolutions", d_between)?,
                d_film: Film {
                    view: program
                        .buffer("gradient of scales and shifts", elements([rows, columns]))?
                        .into(),
                    stride: columns,
                },
                d_unused: Film {
                    view: program.buffer("sums over pixels", elements([rows, widest]))?.into(),
                    stride: widest,
                },
                parts: program.buffer("parts of a gradient", parts)?,
            },
            d_entries,
            d_joined,
            d_exits,
            forward,
        })
    }
}

impl PlacedNetwork for UNetTraining {
    fn forward(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()> {
        self.forward.forward(program, x, sigma, out)
    }
}

impl PlacedTraining for UNetTraining {
    fn backward(&self, program: &mut Program, _x: View, d_out: View) -> Result<()> {
        let Self { forward, scratch, d_entries, d_joined, d_exits } = self;
        let PlacedUNet { layers, context, joined, exits, .. } = forward;
        let film = forward.modulation.film();
        let block = |program: &mut Program, step: &Step, d_out: Buffer, d_x: Buffer| {
            scratch.block(program, context, step, film, d_out.into(), d_x.into())
        };
        let [down, bottom, up] = forward.steps();
        let [folded, c] = layers.input.channels;
        let d_unfolded = Channels::all(forward.unfolded, folded);
        space_to_depth::record(program, d_out, d_unfolded.view, context.rows, layers.shape)?;
        let head = forward.head();
        let last = head.map_or(exits[0], |(_, active)| active);
        scratch.conv(program, context, layers.output, Channels::all(last, c), d_unfolded)?;
        let d_exit = Channels::all(d_exits[0], c);
        let d_last = if head.is_some() { Channels::all(scratch.d_active, c) } else { d_exit };
        context.conv_backward_input(program, layers.output, d_unfolded, None, d_last)?;
        if let Some((activation, _)) = head {
            let (d_last, d_unused) = (d_last.view, scratch.d_unused);
            activation.backward(program, context.norm, d_last, d_unused, d_exit.view, false)?;
        }
        for (level, (step, (conv, _))) in up.iter().zip(&layers.up).enumerate() {
            block(program, step, d_exits[level], d_joined[level])?;
            let [wider, c] = conv.channels;
            let d_up = Channels::all(d_joined[level], 2 * c);
            let below = Channels::all(exits[level + 1], wider);
            scratch.conv(program, context, *conv, below, d_up)?;
            let d_below = Channels::all(d_exits[level + 1], wider);
            context.conv_backward_input(program, *conv, d_up, None, d_below)?;
        }
        let d_bottom = d_exits[layers.up.len()];
        for step in bottom.iter().rev() {
            block(program, step, d_bottom, d_bottom)?;
        }
        let mut d_next = d_bottom;
        for (level, (step, (_, conv))) in down.iter().zip(&layers.down).enumerate().rev() {
            let [c, wider] = conv.channels;
            let d_half = Channels::all(d_next, wider);
            scratch.conv(program, context, *conv, forward.skip(joined, level), d_half)?;
            let d_skip = forward.skip(d_joined, level);
            let d_entry = Channels::all(d_entries[level], c);
            context.conv_backward_input(program, *conv, d_half, Some(d_skip), d_entry)?;
            block(program, step, d_entries[level], d_entries[level])?;
            d_next = d_entries[level];
        }
        let folded = Channels::all(forward.folded, folded);
        scratch.conv(program, context, layers.input, folded, Channels::all(d_next, c))?;
        forward.modulation.backward(program, scratch.gradients, scratch.d_film.view)
    }
}
