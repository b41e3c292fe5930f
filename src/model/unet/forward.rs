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

    fn forward(&self, program: &mut Program, norm: Norm, out: View) -> Result<()> {
        if norm == Norm::Group {
            group_moments::record(program, self.x, self.moments, self.groups)?;
        }
        group_film_silu::record(program, self.x, self.affine(norm), out, self.groups)
    }
}

/// What a block keeps of its forward pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockIn {
    /// After the first SiLU.
    pub(super) active: Buffer,
    /// After the first convolution.
    pub(super) between: Buffer,
    /// After the second SiLU.
    pub(super) modulated: Buffer,
    /// After the 1×1 convolution.
    pub(super) skip: Buffer,
    /// Means and deviations before the two SiLUs.
    pub(super) moments: [Buffer; 2],
}

impl BlockIn {
    /// Reserves buffers that fit any one of `blocks`.
    pub(super) fn place(program: &mut Program, blocks: &[Block], rows: usize) -> Result<Self> {
        let [inputs, outputs] = Block::largest(blocks, rows);
        let skip = if blocks.iter().any(|block| block.skip.is_some()) { outputs } else { 1 };
        let channels = blocks.iter().map(|block| block.first.channels[0]).max().unwrap_or(1);
        let moments = elements([2, rows, channels]);
        Ok(Self {
            active: program.buffer("activations", inputs)?,
            between: program.buffer("between convolutions", outputs)?,
            modulated: program.buffer("modulated activations", outputs)?,
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
                x: self.between.into(),
                moments: self.moments[1].into(),
                film: Some(film.at(block.film)),
                groups: context.groups(block.pixels(), outputs),
            },
        ]
    }

    fn forward(
        &self,
        program: &mut Program,
        context: &Context,
        block: &Block,
        x: View,
        film: Film,
        out: Channels,
    ) -> Result<()> {
        let [inputs, outputs] = block.first.channels;
        let [first, second] = self.activations(context, block, x, film);
        first.forward(program, context.norm, self.active.into())?;
        let active = Channels::all(self.active, inputs);
        context.conv(program, block.first, active, None, Channels::all(self.between, outputs))?;
        second.forward(program, context.norm, self.modulated.into())?;
        let mut residual = Channels::all(x, inputs);
        if let Some(skip) = block.skip {
            let pixels = context.rows * block.pixels();
            skip.forward(context.weights, x, self.skip, pixels).record(program)?;
            residual = Channels::all(self.skip, outputs);
        }
        let modulated = Channels::all(self.modulated, outputs);
        context.conv(program, block.second, modulated, Some(residual), out)
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
    pub(super) entries: Vec<Buffer>,
    /// At each level but the bottom: the output of the level below, beside that of the way down.
    pub(super) joined: Vec<Buffer>,
    pub(super) bottom: [Buffer; 2],
    /// The output of each level on the way up, including the bottom.
    pub(super) exits: Vec<Buffer>,
    pub(super) blocks: Vec<BlockIn>,
    pub(super) head: Option<HeadIn>,
}

/// What the SiLU before the last convolution keeps of the forward pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeadIn {
    /// After the SiLU.
    pub(super) active: Buffer,
    /// Means and deviations before the SiLU.
    moments: Buffer,
}

/// A block, its activations, its input and output: one step of the forward pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) block: Block,
    pub(super) kept: BlockIn,
    pub(super) x: Buffer,
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
        let mut buffer = |name: &str, [height, width]: [usize; 2], channels: usize| {
            program.buffer(name, elements([rows, height * width, channels]))
        };
        let [folded, c] = layers.input.channels;
        let size = layers.input.size;
        let mut entries = vec![buffer("input features", size, c)?];
        let (mut joined, mut exits) = (Vec::new(), Vec::new());
        for (_, conv) in &layers.down {
            let [c, wider] = conv.channels;
            entries.push(buffer("half resolution", conv.conv(rows).output_size(), wider)?);
            joined.push(buffer("both sides", conv.size, 2 * c)?);
            exits.push(buffer("features on the way up", conv.size, c)?);
        }
        let deepest = layers.bottom[0].first;
        let mut bottom = || buffer("bottom", deepest.size, deepest.channels[0]);
        let bottom = [bottom()?, bottom()?];
        exits.push(bottom[1]);
        let head = match layers.head {
            Head::Linear => None,
            Head::Silu => Some(HeadIn {
                active: buffer("activations of the head", size, c)?,
                moments: buffer("moments", [2, 1], c)?,
            }),
        };
        Ok(Self {
            folded: buffer("folded input", size, folded)?,
            unfolded: buffer("folded output", size, folded)?,
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

    /// The activation before the last convolution, and the buffer of its output.
    pub(super) fn head(&self) -> Option<(Activation, Buffer)> {
        let HeadIn { active, moments } = self.head?;
        let Block { second: ConvLayer { size: [height, width], channels, .. }, .. } =
            self.layers.up[0].1;
        let groups = self.context.groups(height * width, channels[1]);
        let (x, moments) = (self.exits[0].into(), moments.into());
        Some((Activation { x, moments, film: None, groups }, active))
    }

    /// The output of the way down at `level`: the second half of the joined channels.
    pub(super) fn skip(&self, joined: &[Buffer], level: usize) -> Channels {
        let channels = self.layers.down[level].1.channels[0];
        Channels::all(joined[level], 2 * channels).from(channels)
    }

    /// The blocks with their inputs: on the way down, at the bottom, and on the way up.
    pub(super) fn steps(&self) -> [Vec<Step>; 3] {
        let levels = self.layers.down.len();
        let inputs = self.entries.iter().chain(&self.bottom[..1]).chain(self.joined.iter().rev());
        let steps = self.layers.blocks().into_iter().zip(&self.blocks).zip(inputs);
        let mut down: Vec<_> = steps.map(|((block, &kept), &x)| Step { block, kept, x }).collect();
        let mut bottom = down.split_off(levels);
        let mut up = bottom.split_off(2);
        up.reverse();
        [down, bottom, up]
    }
}

impl PlacedNetwork for PlacedUNet {
    fn forward(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()> {
        let Self { layers, context, entries, joined, exits, .. } = self;
        let film = self.modulation.forward(program, sigma)?;
        let block = |program: &mut Program, step: &Step, out: Channels| {
            step.kept.forward(program, context, &step.block, step.x.into(), film, out)
        };
        let [down, bottom, up] = self.steps();
        space_to_depth::record(program, x, self.folded.into(), context.rows, layers.shape)?;
        let [folded, c] = layers.input.channels;
        let entry = Channels::all(entries[0], c);
        context.conv(program, layers.input, Channels::all(self.folded, folded), None, entry)?;
        for (level, (step, (_, conv))) in down.iter().zip(&layers.down).enumerate() {
            let skip = self.skip(joined, level);
            block(program, step, skip)?;
            let next = Channels::all(entries[level + 1], conv.channels[1]);
            context.conv(program, *conv, skip, None, next)?;
        }
        for (step, out) in bottom.iter().zip(self.bottom) {
            block(program, step, Channels::all(out, step.block.second.channels[1]))?;
        }
        for (level, (step, (conv, _))) in up.iter().zip(&layers.up).enumerate().rev() {
            let [wider, c] = conv.channels;
            let below = Channels::all(exits[level + 1], wider);
            context.conv(program, *conv, below, None, Channels::all(joined[level], 2 * c))?;
            block(program, step, Channels::all(exits[level], c))?;
        }
        let mut last = exits[0];
        if let Some((activation, active)) = self.head() {
            activation.forward(program, context.norm, active.into())?;
            last = active;
        }
        let unfolded = Channels::all(self.unfolded, folded);
        context.conv(program, layers.output, Channels::all(last, c), None, unfolded)?;
        space_to_depth::record_inverse(program, unfolded.view, out, context.rows, layers.shape)
    }
}
