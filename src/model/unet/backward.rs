//! The U-Net's backward pass.

use std::cell::Cell;

use super::forward::{Activation, BlockIn, Context, Features, PlacedUNet, Step};
use super::{Block, ConvLayer, Layers, Norm};
use crate::compute::{Buffer, Program, View, elements};
use crate::error::Result;
use crate::kernels::conv::Channels;
use crate::kernels::{
    Sigma, conv_weight_backward, film_backward, group_film_silu_backward, group_norm_backward,
    space_to_depth,
};
use crate::model::{Film, PlacedNetwork, PlacedTraining};
use crate::shape::Shape;

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

    /// Records the gradient of the input of the activation before [`Self::conv`], without a normalization.
    fn conv_backward_through_silu(
        &self,
        program: &mut Program,
        layer: ConvLayer,
        d_out: Channels,
        activation: Activation,
        d_x: Buffer,
        keep: bool,
    ) -> Result<()> {
        let (conv, parameters) = (layer.conv(self.rows), self.weights.at(layer.parameters));
        let Activation { x, film, groups, .. } = activation;
        let [x, d_x] = [x, d_x.into()].map(|view| Channels::all(view, groups.channels));
        // With scales and shifts, twice the space was reserved.
        let behind = d_x.view.buffer.len() / 2;
        conv.record_backward_through_silu(program, d_out, parameters, x, d_x, film, behind, keep)
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
#[derive(Debug, Clone)]
struct GradientIn {
    gradients: View,
    /// Gradient after an activation, where it is not multiplied by that of the activation at once.
    d_active: Buffer,
    /// Gradient between the convolutions of a block, and behind it that of the activation's argument.
    d_between: Buffer,
    d_film: Film,
    /// Placeholder for the gradients of scales and shifts, which a block's first activation does not have.
    d_unused: Film,
    /// Space for the parts of two gradients: one is added up while the next is computed.
    parts: Buffer,
    /// The half that the next gradient takes.
    half: Cell<usize>,
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
        let half = self.half.replace(1 - self.half.get());
        let parts = self.parts.at(half * (self.parts.len() / 2));
        conv_weight_backward::record(program, &conv, x, d_out, parts, out)
    }

    /// Records the gradients of a block. The gradient of its input replaces that of its output, or goes to
    /// `d_x` if the block changes the number of channels.
    fn block(
        &self,
        program: &mut Program,
        context: &Context,
        step: &Step,
        film: Film,
        d_out: Buffer,
        d_x: Buffer,
    ) -> Result<()> {
        let Step { block, kept, x } = *step;
        let [inputs, outputs] = block.first.channels;
        let [first, second] = kept.activations(context, &block, x.values.into(), film);
        let d_y = Channels::all(d_out, outputs);
        let d_between = Channels::all(self.d_between, outputs);
        let d_film = self.d_film.at(block.film);
        let modulated = Channels::all(kept.between.active, outputs);
        let pixels = context.rows * block.pixels();
        // What later stages wait for comes first: it gets the earliest dispatch that has room.
        if context.norm == Norm::None {
            context.conv_backward_through_silu(
                program,
                block.second,
                d_y,
                second,
                self.d_between,
                false,
            )?;
        } else {
            let d_active = Channels::all(self.d_active, outputs);
            context.conv_backward_input(program, block.second, d_y, None, d_active)?;
            second.backward(program, context.norm, d_active.view, d_film, d_between.view, false)?;
        }
        if let Some(skip) = block.skip {
            skip.backward_input(context.weights, d_out, d_x, pixels).record(program)?;
        }
        self.conv(program, context, block.second, modulated, d_y)?;
        if let Some(skip) = block.skip {
            skip.backward(program, self.gradients, x.values, d_out, pixels)?;
        }
        if context.norm == Norm::None {
            context.conv_backward_through_silu(
                program,
                block.first,
                d_between,
                first,
                d_x,
                true,
            )?;
            let d = self.d_between.at(self.d_between.len() / 2);
            film_backward::record(program, second.x, d, d_film, second.groups)?;
        } else {
            let d_active = Channels::all(self.d_active, inputs);
            context.conv_backward_input(program, block.first, d_between, None, d_active)?;
            first.backward(
                program,
                context.norm,
                d_active.view,
                self.d_unused,
                d_x.into(),
                true,
            )?;
        }
        self.conv(program, context, block.first, Channels::all(x.active, inputs), d_between)
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
        let norm = layers.norm;
        let place = |block| BlockIn::place(program, norm, std::slice::from_ref(block), rows);
        let kept = blocks.iter().map(place).collect::<Result<_>>()?;
        let forward = PlacedUNet::place(layers, program, rows, weights, kept)?;
        let like = |program: &mut Program, len: usize| program.buffer("gradient of features", len);
        let mut like_all = |features: &[Features]| -> Result<Vec<Buffer>> {
            features.iter().map(|features| like(program, features.len)).collect()
        };
        let d_entries = like_all(&forward.entries[..layers.down.len()])?;
        let d_joined = like_all(&forward.joined)?;
        let mut d_exits = Vec::new();
        for (level, exit) in forward.exits.iter().enumerate() {
            let head = forward.head.filter(|_| level == 0);
            d_exits.push(like(program, head.map_or(exit.len(), |head| head.features.len))?);
        }
        let [d_active, d_between] = Block::largest(&blocks, rows);
        let columns: usize = blocks.iter().map(|block| 2 * block.second.channels[1]).sum();
        let widest = blocks.iter().map(|block| 2 * block.first.channels[0]).max().unwrap_or(1);
        let parts = |conv: ConvLayer| conv_weight_backward::scratch(program, &conv.conv(rows));
        let parts = layers.convs().map(parts).max().unwrap_or(1).next_multiple_of(4);
        // Without a normalization, gradients go through an activation at once.
        let [d_active, d_between] = match norm {
            Norm::None => [1, elements([2, d_between.next_multiple_of(4)])],
            Norm::Group => [d_active, d_between],
        };
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
                parts: program.buffer("parts of a gradient", elements([2, parts]))?,
                half: Cell::new(0),
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
        let (rows, shape) = (self.forward.context.rows, self.forward.layers.shape);
        let d_unfolded = self.forward.unfolded.into();
        space_to_depth::record(program, d_out, d_unfolded, rows, shape)?;
        self.backward_folded(program, self.forward.folded.into(), d_unfolded)
    }

    fn fold(&self) -> Option<Shape> {
        Some(self.forward.layers.shape)
    }

    fn forward_folded(
        &self,
        program: &mut Program,
        x: View,
        sigma: Sigma,
        out: View,
    ) -> Result<()> {
        self.forward.forward_folded(program, x, sigma, out)
    }

    fn backward_folded(&self, program: &mut Program, x: View, d_out: View) -> Result<()> {
        let Self { forward, scratch, d_entries, d_joined, d_exits } = self;
        let PlacedUNet { layers, context, joined, exits, .. } = forward;
        let film = forward.modulation.film();
        let block = |program: &mut Program, step: &Step, d_out: Buffer, d_x: Buffer| {
            scratch.block(program, context, step, film, d_out, d_x)
        };
        let [down, bottom, up] = forward.steps();
        let [folded, c] = layers.input.channels;
        let d_out = Channels::all(d_out, folded);
        let head = forward.head();
        let d_exit = Channels::all(d_exits[0], c);
        match head {
            None => context.conv_backward_input(program, layers.output, d_out, None, d_exit)?,
            Some((activation, _)) if context.norm == Norm::None => {
                let d_exit = d_exits[0];
                let layer = layers.output;
                context
                    .conv_backward_through_silu(program, layer, d_out, activation, d_exit, false)?;
            }
            Some((activation, _)) => {
                let d_last = Channels::all(scratch.d_active, c);
                context.conv_backward_input(program, layers.output, d_out, None, d_last)?;
                let (d_last, d_unused) = (d_last.view, scratch.d_unused);
                activation.backward(program, context.norm, d_last, d_unused, d_exit.view, false)?;
            }
        }
        let last = head.map_or(exits[0].into(), |(_, active)| active);
        scratch.conv(program, context, layers.output, Channels::all(last, c), d_out)?;
        for (level, (step, (conv, _))) in up.iter().zip(&layers.up).enumerate() {
            block(program, step, d_exits[level], d_joined[level])?;
            let [wider, c] = conv.channels;
            let d_up = Channels::all(d_joined[level], 2 * c);
            let below = Channels::all(exits[level + 1], wider);
            let d_below = Channels::all(d_exits[level + 1], wider);
            context.conv_backward_input(program, *conv, d_up, None, d_below)?;
            scratch.conv(program, context, *conv, below, d_up)?;
        }
        let d_bottom = d_exits[layers.up.len()];
        for step in bottom.iter().rev() {
            block(program, step, d_bottom, d_bottom)?;
        }
        let mut d_next = d_bottom;
        for (level, (step, (_, conv))) in down.iter().zip(&layers.down).enumerate().rev() {
            let [c, wider] = conv.channels;
            let d_half = Channels::all(d_next, wider);
            let d_skip = forward.skip(d_joined[level], level);
            let d_entry = Channels::all(d_entries[level], c);
            context.conv_backward_input(program, *conv, d_half, Some(d_skip), d_entry)?;
            let skip = forward.skip(joined[level].values, level);
            scratch.conv(program, context, *conv, skip, d_half)?;
            block(program, step, d_entries[level], d_entries[level])?;
            d_next = d_entries[level];
        }
        let x = Channels::all(x, folded);
        scratch.conv(program, context, layers.input, x, Channels::all(d_next, c))?;
        forward.modulation.backward(program, scratch.gradients, scratch.d_film.view)
    }
}
