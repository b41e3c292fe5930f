//! The U-Net's forward pass.

use super::{Block, ConvLayer, GROUP, Head, Layers, Norm};
use crate::compute::{Buffer, Program, View, elements};
use crate::error::Result;
use crate::kernels::conv::Channels;
use crate::kernels::group_film_silu::{self, Affine};
use crate::kernels::group_moments::{self, Groups};
use crate::kernels::{Sigma, space_to_depth};
use crate::model::{Film, PlacedModulation, PlacedNetwork};

/// What every layer of a placed network needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context {
    pub(super) rows: usize,
    pub(super) weights: View,
    pub(super) norm: Norm,
}

impl Context {
    /// The channels of an image, in the groups that are normalized together.
    const fn groups(&self, pixels: usize, channels: usize) -> Groups {
        let groups = if channels.is_multiple_of(GROUP) { channels / GROUP } else { 1 };
        Groups { images: self.rows, pixels, channels, groups }
    }

    /// Records `conv(x) + add`.
    fn conv(
        &self,
        program: &mut Program,
        layer: ConvLayer,
        x: Channels,
        add: Option<Channels>,
        out: Channels,
    ) -> Result<()> {
        layer.conv(self.rows).record(program, x, self.weights.at(layer.parameters), add, out)
    }

    /// Records `conv(x) + add`, some channels of `features`, together with its activation, if no normalization
    /// comes before that.
    fn conv_and_silu(
        &self,
        program: &mut Program,
        layer: ConvLayer,
        x: Channels,
        add: Option<Channels>,
        out: Channels,
        film: Option<Film>,
        features: Features,
    ) -> Result<()> {
        if self.norm == Norm::Group {
            return self.conv(program, layer, x, add, out);
        }
        let (conv, parameters) = (layer.conv(self.rows), self.weights.at(layer.parameters));
        conv.record_with_silu(program, x, parameters, add, out, film, features.len)
    }
}

/// What goes into an activation, and what comes out of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Features {
    pub(super) values: Buffer,
    /// Number of values.
    pub(super) len: usize,
    /// After the SiLU: behind the values, so that a convolution writes both to one buffer; with a
    /// normalization in a buffer of its own.
    pub(super) active: View,
}

impl Features {
    fn place(program: &mut Program, norm: Norm, name: &str, len: usize) -> Result<Self> {
        if norm == Norm::Group {
            let values = program.buffer(name, len)?;
            let active = program.buffer("activations", len)?.into();
            return Ok(Self { values, len, active });
        }
        // What is behind must begin at a multiple of four, so that vectors can be loaded.
        let len = len.next_multiple_of(4);
        let values = program.buffer(name, elements([2, len]))?;
        Ok(Self { values, len, active: values.at(len) })
    }
}

/// An activation's input and output in a placed network.
#[derive(Debug, Clone, Copy)]
pub(super) struct Activation {
    pub(super) x: View,
    pub(super) moments: View,
    pub(super) film: Option<Film>,
    pub(super) groups: Groups,
}

impl Activation {
    pub(super) fn affine(&self, norm: Norm) -> Affine {
        let moments = (norm == Norm::Group).then_some(self.moments);
        Affine { moments, film: self.film }
    }

    /// Records the activation, unless the convolution before it does it.
    fn forward(&self, program: &mut Program, norm: Norm, out: View) -> Result<()> {
        if norm == Norm::None {
            return Ok(());
        }
        group_moments::record(program, self.x, self.moments, self.groups)?;
        group_film_silu::record(program, self.x, self.affine(norm), out, self.groups)
    }
}

/// What a block keeps of its forward pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockIn {
    /// Between the convolutions.
    pub(super) between: Features,
    /// After the 1×1 convolution.
    pub(super) skip: Buffer,
    /// Means and deviations before the two SiLUs.
    pub(super) moments: [Buffer; 2],
}

impl BlockIn {
    /// Reserves buffers that fit any one of `blocks`.
    pub(super) fn place(
        program: &mut Program,
        norm: Norm,
        blocks: &[Block],
        rows: usize,
    ) -> Result<Self> {
        let [_, outputs] = Block::largest(blocks, rows);
        let skip = if blocks.iter().any(|block| block.skip.is_some()) { outputs } else { 1 };
        let channels = blocks.iter().map(|block| block.first.channels[0]).max().unwrap_or(1);
        let moments = elements([2, rows, channels]);
        Ok(Self {
            between: Features::place(program, norm, "between convolutions", outputs)?,
            skip: program.buffer("1×1 convolution", skip)?,
            moments: [program.buffer("moments", moments)?, program.buffer("moments", moments)?],
        })
    }

    /// The two activations of `block`, whose input is `x`.
    pub(super) fn activations(
        &self,
        context: &Context,
        block: &Block,
        x: View,
        film: Film,
    ) -> [Activation; 2] {
        let [inputs, outputs] = block.first.channels;
        [
            Activation {
                x,
                moments: self.moments[0].into(),
                film: None,
                groups: context.groups(block.pixels(), inputs),
            },
            Activation {
                x: self.between.values.into(),
                moments: self.moments[1].into(),
                film: Some(film.at(block.film)),
                groups: context.groups(block.pixels(), outputs),
            },
        ]
    }

    /// Records the block. `next` says what its output is part of, if an activation follows.
    fn forward(
        &self,
        program: &mut Program,
        context: &Context,
        block: &Block,
        x: Features,
        film: Film,
        out: Channels,
        next: Option<Features>,
    ) -> Result<()> {
        let [inputs, outputs] = block.first.channels;
        let [first, second] = self.activations(context, block, x.values.into(), film);
        first.forward(program, context.norm, x.active)?;
        let active = Channels::all(x.active, inputs);
        let Self { between, .. } = *self;
        let to = Channels::all(between.values, outputs);
        context.conv_and_silu(program, block.first, active, None, to, second.film, between)?;
        second.forward(program, context.norm, between.active)?;
        let mut residual = Channels::all(x.values, inputs);
        if let Some(skip) = block.skip {
            let pixels = context.rows * block.pixels();
            skip.forward(context.weights, x.values, self.skip, pixels).record(program)?;
            residual = Channels::all(self.skip, outputs);
        }
        let modulated = Channels::all(between.active, outputs);
        let residual = Some(residual);
        match next {
            Some(next) => {
                context.conv_and_silu(program, block.second, modulated, residual, out, None, next)
            }
            None => context.conv(program, block.second, modulated, residual, out),
        }
    }
}

/// A [`UNet`] placed in a program.
#[derive(Debug, Clone)]
pub(super) struct PlacedUNet {
    pub(super) layers: Layers,
    pub(super) context: Context,
    pub(super) modulation: PlacedModulation,
    pub(super) folded: Buffer,
    pub(super) unfolded: Buffer,
    /// The input of each level on the way down, including the bottom.
    pub(super) entries: Vec<Features>,
    /// At each level but the bottom: the output of the level below, beside that of the way down.
    pub(super) joined: Vec<Features>,
    /// Between the blocks of the bottom.
    pub(super) bottom: Features,
    /// The output of each level on the way up, including the bottom.
    pub(super) exits: Vec<Buffer>,
    pub(super) blocks: Vec<BlockIn>,
    pub(super) head: Option<HeadIn>,
}

/// What the SiLU before the last convolution keeps of the forward pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeadIn {
    /// Before and after the SiLU.
    pub(super) features: Features,
    /// Means and deviations before the SiLU.
    moments: Buffer,
}

/// A block, its activations, its input and output: one step of the forward pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) block: Block,
    pub(super) kept: BlockIn,
    pub(super) x: Features,
}

impl PlacedUNet {
    /// Places `layers` in `program`; each block keeps its forward pass in one of `blocks`.
    pub(super) fn place(
        layers: &Layers,
        program: &mut Program,
        rows: usize,
        weights: View,
        blocks: Vec<BlockIn>,
    ) -> Result<Self> {
        let count = |[height, width]: [usize; 2], channels: usize| {
            elements([rows, height * width, channels])
        };
        let features = |program: &mut Program, name: &str, size, channels| {
            Features::place(program, layers.norm, name, count(size, channels))
        };
        let [folded, c] = layers.input.channels;
        let size = layers.input.size;
        let mut entries = vec![features(program, "input features", size, c)?];
        let (mut joined, mut exits) = (Vec::new(), Vec::new());
        let head = match layers.head {
            Head::Linear => None,
            Head::Silu => Some(HeadIn {
                features: features(program, "features before the head", size, c)?,
                moments: program.buffer("moments", count([2, 1], c))?,
            }),
        };
        for (level, (_, conv)) in layers.down.iter().enumerate() {
            let [c, wider] = conv.channels;
            let half = conv.conv(rows).output_size();
            entries.push(features(program, "half resolution", half, wider)?);
            joined.push(features(program, "both sides", conv.size, 2 * c)?);
            exits.push(match head {
                Some(head) if level == 0 => head.features.values,
                _ => program.buffer("features on the way up", count(conv.size, c))?,
            });
        }
        let deepest = layers.bottom[0].first;
        let [size_of_bottom, channels] = [deepest.size, deepest.channels];
        let bottom = features(program, "bottom", size_of_bottom, channels[0])?;
        exits.push(program.buffer("bottom", count(size_of_bottom, channels[0]))?);
        Ok(Self {
            folded: program.buffer("folded input", count(size, folded))?,
            unfolded: program.buffer("folded output", count(size, folded))?,
            modulation: layers.modulation.place(program, rows, weights)?,
            layers: layers.clone(),
            context: Context { rows, weights, norm: layers.norm },
            entries,
            joined,
            bottom,
            exits,
            blocks,
            head,
        })
    }

    /// The activation before the last convolution, and its output.
    pub(super) fn head(&self) -> Option<(Activation, View)> {
        let HeadIn { features, moments } = self.head?;
        let Block { second: ConvLayer { size: [height, width], channels, .. }, .. } =
            self.layers.up[0].1;
        let groups = self.context.groups(height * width, channels[1]);
        let (x, moments) = (features.values.into(), moments.into());
        Some((Activation { x, moments, film: None, groups }, features.active))
    }

    /// The output of the way down at `level`: the second half of the joined channels.
    pub(super) fn skip(&self, joined: Buffer, level: usize) -> Channels {
        let channels = self.layers.down[level].1.channels[0];
        Channels::all(joined, 2 * channels).from(channels)
    }

    /// The blocks with their inputs: on the way down, at the bottom, and on the way up.
    pub(super) fn steps(&self) -> [Vec<Step>; 3] {
        let levels = self.layers.down.len();
        let inputs = self.entries.iter().chain([&self.bottom]).chain(self.joined.iter().rev());
        let steps = self.layers.blocks().into_iter().zip(&self.blocks).zip(inputs);
        let mut down: Vec<_> = steps.map(|((block, &kept), &x)| Step { block, kept, x }).collect();
        let mut bottom = down.split_off(levels);
        let mut up = bottom.split_off(2);
        up.reverse();
        [down, bottom, up]
    }

    /// Records the forward pass of images that are folded already, to an output that is folded, too.
    pub(super) fn forward_folded(
        &self,
        program: &mut Program,
        x: View,
        sigma: Sigma,
        out: View,
    ) -> Result<()> {
        let Self { layers, context, entries, joined, exits, bottom, .. } = self;
        let film = self.modulation.forward(program, sigma)?;
        let conv = |program: &mut Program, layer, x, out, next| {
            context.conv_and_silu(program, layer, x, None, out, None, next)
        };
        let block = |program: &mut Program, step: &Step, out: Channels, next: Option<Features>| {
            step.kept.forward(program, context, &step.block, step.x, film, out, next)
        };
        let [down, deepest, up] = self.steps();
        let [folded, c] = layers.input.channels;
        let entry = Channels::all(entries[0].values, c);
        conv(program, layers.input, Channels::all(x, folded), entry, entries[0])?;
        for (level, (step, (_, half))) in down.iter().zip(&layers.down).enumerate() {
            let skip = self.skip(joined[level].values, level);
            block(program, step, skip, Some(joined[level]))?;
            let entry = entries[level + 1];
            let next = Channels::all(entry.values, half.channels[1]);
            conv(program, *half, skip, next, entry)?;
        }
        let outs = [(bottom.values, Some(*bottom)), (exits[layers.up.len()], None)];
        for (step, (out, next)) in deepest.iter().zip(outs) {
            block(program, step, Channels::all(out, step.block.second.channels[1]), next)?;
        }
        for (level, (step, (double, _))) in up.iter().zip(&layers.up).enumerate().rev() {
            let [wider, c] = double.channels;
            let below = Channels::all(exits[level + 1], wider);
            let next = Channels::all(joined[level].values, 2 * c);
            conv(program, *double, below, next, joined[level])?;
            let head = self.head.filter(|_| level == 0).map(|head| head.features);
            block(program, step, Channels::all(exits[level], c), head)?;
        }
        let mut last = exits[0].into();
        if let Some((activation, active)) = self.head() {
            activation.forward(program, context.norm, active)?;
            last = active;
        }
        let out = Channels::all(out, folded);
        context.conv(program, layers.output, Channels::all(last, c), None, out)
    }
}

impl PlacedNetwork for PlacedUNet {
    fn forward(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()> {
        let (rows, shape) = (self.context.rows, self.layers.shape);
        let [folded, unfolded] = [self.folded, self.unfolded].map(Into::into);
        space_to_depth::record(program, x, folded, rows, shape)?;
        self.forward_folded(program, folded, sigma, unfolded)?;
        space_to_depth::record_inverse(program, unfolded, out, rows, shape)
    }
}
