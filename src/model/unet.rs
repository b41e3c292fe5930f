//! The convolutional U-Net.
//!
//! The image is folded to half its resolution ([`space_to_depth`]); then, at each level, a residual
//! block and a convolution to half the resolution and twice the channels; two blocks at the bottom;
//! and on the way up a convolution that doubles the resolution, beside whose output the block of the
//! same level on the way down is laid, and a block that takes both.
//!
//! A block is `x + Conv(SiLU(FiLM(Conv(SiLU(x)))))`, perhaps with a group normalization before each
//! SiLU, and with a 1×1 convolution of `x` where the number of channels changes.

use serde::{Deserialize, Serialize};

use super::{
    Film, Linear, Modulation, ModulationIn, Network, Parameters, PlacedNetwork, PlacedTraining,
    check_dim,
};
use crate::compute::{Buffer, Program, View, elements};
use crate::data::Shape;
use crate::error::{Error, Result};
use crate::json::from_json;
use crate::kernels::conv::{Channels, Conv, Scale};
use crate::kernels::group_film_silu::{self, Affine};
use crate::kernels::group_moments::{self, Groups};
use crate::kernels::{
    Sigma, conv_weight_backward, group_film_silu_backward, group_norm_backward, space_to_depth,
};

/// Initial size of the last convolution, relative to a plain one: the first guess is `F ≈ 0`.
const OUTPUT_GAIN: f32 = 0.01;

/// Initial size of a block's second convolution: a block begins close to doing nothing.
const BLOCK_GAIN: f32 = 0.3;

/// Most channels at the finest resolution: so few that no number of channels wraps around.
const MAX_WIDTH: usize = 1 << 12;

/// Channels in a group of the normalization, where their number allows it.
const GROUP: usize = 4;

/// What comes before an activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Norm {
    /// Nothing.
    #[default]
    None,
    /// A normalization of groups of channels.
    Group,
}

from_json!(Norm { None = "none", Group = "group" });

/// See the module.
#[derive(Debug, Clone)]
pub struct UNet {
    parameters: Parameters,
    layers: Layers,
}

#[derive(Debug, Clone)]
struct Layers {
    shape: Shape,
    norm: Norm,
    modulation: Modulation,
    input: ConvLayer,
    /// From the finest level down: its block, and the convolution to the next level.
    down: Vec<(Block, ConvLayer)>,
    bottom: [Block; 2],
    /// From the finest level down: the convolution from the next level, and the block.
    up: Vec<(ConvLayer, Block)>,
    output: ConvLayer,
}

/// A 3×3 convolution among the parameters.
#[derive(Debug, Clone, Copy)]
struct ConvLayer {
    /// Height and width of the input.
    size: [usize; 2],
    channels: [usize; 2],
    scale: Scale,
    parameters: usize,
}

impl ConvLayer {
    fn declare(
        parameters: &mut Parameters,
        name: &str,
        size: [usize; 2],
        channels: [usize; 2],
        scale: Scale,
        gain: f32,
    ) -> Self {
        let [inputs, outputs] = channels;
        let deviation = gain / ((9 * inputs) as f32).sqrt();
        let shape = [3, 3, inputs, outputs];
        // The bias follows its weights, as the kernels expect it.
        let first = parameters.declare(format!("{name}.weight"), &shape, deviation);
        parameters.declare(format!("{name}.bias"), &[outputs], 0.0);
        Self { size, channels, scale, parameters: first }
    }

    const fn conv(&self, batch: usize) -> Conv {
        Conv { batch, size: self.size, channels: self.channels, scale: self.scale }
    }
}

/// A residual block among the parameters.
#[derive(Debug, Clone, Copy)]
struct Block {
    first: ConvLayer,
    second: ConvLayer,
    /// The 1×1 convolution, where the number of channels changes.
    skip: Option<Linear>,
    /// First column of its scales and shifts.
    film: usize,
}

impl Block {
    fn declare(
        parameters: &mut Parameters,
        name: &str,
        size: [usize; 2],
        [inputs, outputs]: [usize; 2],
        film: &mut usize,
    ) -> Self {
        let mut conv = |part: &str, channels, gain| {
            let name = format!("{name}.{part}");
            ConvLayer::declare(parameters, &name, size, channels, Scale::Same, gain)
        };
        let first = conv("first", [inputs, outputs], 1.0);
        let second = conv("second", [outputs, outputs], BLOCK_GAIN);
        let skip = (inputs != outputs)
            .then(|| Linear::declare(parameters, &format!("{name}.skip"), [inputs, outputs], 1.0));
        *film += 2 * outputs;
        Self { first, second, skip, film: *film - 2 * outputs }
    }

    const fn pixels(&self) -> usize {
        self.first.size[0] * self.first.size[1]
    }

    /// Elements of the largest input and of the largest output.
    fn largest(blocks: &[Self], rows: usize) -> [usize; 2] {
        [0, 1].map(|side| {
            let each = |block: &Self| elements([rows, block.pixels(), block.first.channels[side]]);
            blocks.iter().map(each).max().unwrap_or(rows)
        })
    }
}

impl UNet {
    /// A network for images of `shape` with `width` channels at the finest of `levels` resolutions.
    pub fn new(shape: Shape, width: usize, levels: usize, norm: Norm) -> Result<Self> {
        let Shape { height, width: image_width, channels } = shape;
        if width == 0 || !(2..=8).contains(&levels) {
            return Err(Error::bad_input(
                format!("No U-Net has {width} channels at {levels} resolutions"),
                "Ask for at least one channel and for two to eight resolutions",
            ));
        }
        if width > MAX_WIDTH {
            let hint = "Choose fewer channels";
            return Err(Error::limit("Channels", width as u64, MAX_WIDTH as u64, hint));
        }
        check_dim(shape.dim())?;
        let fold = 1 << levels;
        if shape.dim() == 0 || !height.is_multiple_of(fold) || !image_width.is_multiple_of(fold) {
            return Err(Error::bad_input(
                format!("Images of {height}×{image_width} pixels do not halve {levels} times"),
                format!("Choose fewer resolutions, or images whose sides are multiples of {fold}"),
            ));
        }
        let size = |level: usize| [height >> (level + 1), image_width >> (level + 1)];
        let wide = |level: usize| width << level;
        let bottom = levels - 1;
        // The modulation is declared first, so its columns are counted before the blocks take them.
        let block_channels: usize = 2 * (0..bottom).map(wide).sum::<usize>() + 2 * wide(bottom);
        let mut parameters = Parameters::default();
        let p = &mut parameters;
        let modulation = Modulation::declare(p, 2 * block_channels);
        let mut film = 0;
        let input =
            ConvLayer::declare(p, "input", size(0), [4 * channels, width], Scale::Same, 1.0);
        let mut down = Vec::new();
        for level in 0..bottom {
            let (size, c) = (size(level), wide(level));
            let block = Block::declare(p, &format!("down.{level}"), size, [c, c], &mut film);
            let name = format!("down.{level}.half");
            down.push((block, ConvLayer::declare(p, &name, size, [c, 2 * c], Scale::Half, 1.0)));
        }
        let mut block = |i: usize| {
            let channels = [wide(bottom); 2];
            Block::declare(p, &format!("bottom.{i}"), size(bottom), channels, &mut film)
        };
        let bottom_blocks = [block(0), block(1)];
        let mut up = Vec::new();
        for level in 0..bottom {
            let c = wide(level);
            let name = format!("up.{level}.double");
            let from = size(level + 1);
            let conv = ConvLayer::declare(p, &name, from, [2 * c, c], Scale::Double, 1.0);
            let name = format!("up.{level}");
            up.push((conv, Block::declare(p, &name, size(level), [2 * c, c], &mut film)));
        }
        let channels = [width, 4 * channels];
        let output = ConvLayer::declare(p, "output", size(0), channels, Scale::Same, OUTPUT_GAIN);
        let bottom = bottom_blocks;
        let layers = Layers { shape, norm, modulation, input, down, bottom, up, output };
        let parameters = parameters.check()?;
        Ok(Self { parameters, layers })
    }
}

impl Layers {
    /// All blocks, in the order of the forward pass.
    fn blocks(&self) -> Vec<Block> {
        let down = self.down.iter().map(|(block, _)| *block);
        let up = self.up.iter().rev().map(|(_, block)| *block);
        down.chain(self.bottom).chain(up).collect()
    }

    /// All convolutions.
    fn convs(&self) -> impl Iterator<Item = ConvLayer> {
        let between = self.down.iter().map(|(_, conv)| *conv);
        let between = between.chain(self.up.iter().map(|(conv, _)| *conv));
        let blocks = self.blocks().into_iter().flat_map(|block| [block.first, block.second]);
        [self.input, self.output].into_iter().chain(between).chain(blocks)
    }

    fn place(
        &self,
        program: &mut Program,
        rows: usize,
        weights: View,
        blocks: Vec<BlockIn>,
    ) -> Result<UNetIn> {
        let mut buffer = |name: &str, [height, width]: [usize; 2], channels: usize| {
            program.buffer(name, elements([rows, height * width, channels]))
        };
        let [folded, c] = self.input.channels;
        let size = self.input.size;
        let mut entries = vec![buffer("input features", size, c)?];
        let (mut joined, mut exits) = (Vec::new(), Vec::new());
        for (_, conv) in &self.down {
            let [c, wider] = conv.channels;
            entries.push(buffer("half resolution", conv.conv(rows).output_size(), wider)?);
            joined.push(buffer("both sides", conv.size, 2 * c)?);
            exits.push(buffer("features on the way up", conv.size, c)?);
        }
        let deepest = self.bottom[0].first;
        let mut bottom = || buffer("bottom", deepest.size, deepest.channels[0]);
        let bottom = [bottom()?, bottom()?];
        exits.push(bottom[1]);
        Ok(UNetIn {
            folded: buffer("folded input", size, folded)?,
            unfolded: buffer("folded output", size, folded)?,
            modulation: self.modulation.place(program, rows, weights)?,
            layers: self.clone(),
            context: Context { rows, weights, norm: self.norm },
            entries,
            joined,
            bottom,
            exits,
            blocks,
        })
    }
}

impl Network for UNet {
    fn dim(&self) -> usize {
        self.layers.shape.dim()
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
        // Nothing is kept for a backward pass, so all blocks use the same space.
        let blocks = self.layers.blocks();
        let block = BlockIn::place(program, &blocks, rows)?;
        let blocks = vec![block; blocks.len()];
        Ok(Box::new(self.layers.place(program, rows, weights, blocks)?))
    }

    fn place_training(
        &self,
        program: &mut Program,
        rows: usize,
        weights: View,
        gradients: View,
    ) -> Result<Box<dyn PlacedTraining>> {
        let layers = &self.layers;
        let blocks = layers.blocks();
        let place = |block| BlockIn::place(program, std::slice::from_ref(block), rows);
        let kept = blocks.iter().map(place).collect::<Result<_>>()?;
        let forward = layers.place(program, rows, weights, kept)?;
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
        Ok(Box::new(UNetTraining {
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
        }))
    }
}

/// What every layer of a placed network needs.
#[derive(Debug, Clone, Copy)]
struct Context {
    rows: usize,
    weights: View,
    norm: Norm,
}

impl Context {
    /// The channels of an image in the groups that are normalized together.
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

/// An activation's input and output in a placed network.
#[derive(Debug, Clone, Copy)]
struct Activation {
    x: View,
    moments: View,
    film: Option<Film>,
    groups: Groups,
}

impl Activation {
    fn affine(&self, norm: Norm) -> Affine {
        let moments = (norm == Norm::Group).then_some(self.moments);
        Affine { moments, film: self.film }
    }

    fn forward(&self, program: &mut Program, norm: Norm, out: View) -> Result<()> {
        if norm == Norm::Group {
            group_moments::record(program, self.x, self.moments, self.groups)?;
        }
        group_film_silu::record(program, self.x, self.affine(norm), out, self.groups)
    }

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
        let Self { x, moments, film, groups } = *self;
        let affine = self.affine(norm);
        group_film_silu_backward::record(program, x, affine, d_out, d_film, d_x, keep, groups)?;
        if norm == Norm::Group {
            group_norm_backward::record(program, x, moments, film, d_film, d_x, groups)?;
        }
        Ok(())
    }
}

/// What a block keeps of its forward pass.
#[derive(Debug, Clone, Copy)]
struct BlockIn {
    /// After the first SiLU.
    active: Buffer,
    /// After the first convolution.
    between: Buffer,
    /// After the second SiLU.
    modulated: Buffer,
    /// After the 1×1 convolution.
    skip: Buffer,
    /// Means and deviations before the two SiLUs.
    moments: [Buffer; 2],
}

impl BlockIn {
    /// Room for any one of `blocks`.
    fn place(program: &mut Program, blocks: &[Block], rows: usize) -> Result<Self> {
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
    fn activations(
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

/// A [`UNet`] that stands in a program.
#[derive(Debug, Clone)]
struct UNetIn {
    layers: Layers,
    context: Context,
    modulation: ModulationIn,
    folded: Buffer,
    unfolded: Buffer,
    /// What enters each level on the way down, the bottom too.
    entries: Vec<Buffer>,
    /// At each level but the bottom: the next level's output, and beside it that of the way down.
    joined: Vec<Buffer>,
    bottom: [Buffer; 2],
    /// What leaves each level on the way up, the bottom too.
    exits: Vec<Buffer>,
    blocks: Vec<BlockIn>,
}

/// A block, its activations, its input and output: one step of the forward pass.
#[derive(Debug, Clone, Copy)]
struct Step {
    block: Block,
    kept: BlockIn,
    x: Buffer,
}

impl UNetIn {
    /// The output of the way down at `level`: the second half of what is joined there.
    fn skip(&self, joined: &[Buffer], level: usize) -> Channels {
        let channels = self.layers.down[level].1.channels[0];
        Channels::all(joined[level], 2 * channels).from(channels)
    }

    /// The blocks with their inputs: on the way down, at the bottom, and on the way up.
    fn steps(&self) -> [Vec<Step>; 3] {
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

impl PlacedNetwork for UNetIn {
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
        let unfolded = Channels::all(self.unfolded, folded);
        context.conv(program, layers.output, Channels::all(exits[0], c), None, unfolded)?;
        space_to_depth::record_inverse(program, unfolded.view, out, context.rows, layers.shape)
    }
}

/// Where a backward pass writes.
#[derive(Debug, Clone, Copy)]
struct GradientIn {
    gradients: View,
    /// Gradient after an activation.
    d_active: Buffer,
    /// Gradient between the convolutions of a block.
    d_between: Buffer,
    d_film: Film,
    /// Gradients of the scales and shifts that a block's first activation does not have.
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

    /// Records the gradients of a block. That of its input takes the place of that of its output, or
    /// goes to `d_x` if the block changes the number of channels.
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

/// A [`UNet`] that stands in a program and learns there.
#[derive(Debug, Clone)]
struct UNetTraining {
    forward: UNetIn,
    scratch: GradientIn,
    d_entries: Vec<Buffer>,
    d_joined: Vec<Buffer>,
    d_exits: Vec<Buffer>,
}

impl PlacedNetwork for UNetTraining {
    fn forward(&self, program: &mut Program, x: View, sigma: Sigma, out: View) -> Result<()> {
        self.forward.forward(program, x, sigma, out)
    }
}

impl PlacedTraining for UNetTraining {
    fn backward(&self, program: &mut Program, _x: View, d_out: View) -> Result<()> {
        let Self { forward, scratch, d_entries, d_joined, d_exits } = self;
        let UNetIn { layers, context, joined, exits, .. } = forward;
        let film = forward.modulation.film();
        let block = |program: &mut Program, step: &Step, d_out: Buffer, d_x: Buffer| {
            scratch.block(program, context, step, film, d_out.into(), d_x.into())
        };
        let [down, bottom, up] = forward.steps();
        let [folded, c] = layers.input.channels;
        let d_unfolded = Channels::all(forward.unfolded, folded);
        space_to_depth::record(program, d_out, d_unfolded.view, context.rows, layers.shape)?;
        scratch.conv(program, context, layers.output, Channels::all(exits[0], c), d_unfolded)?;
        let d_exit = Channels::all(d_exits[0], c);
        context.conv_backward_input(program, layers.output, d_unfolded, None, d_exit)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_count_of_the_preset() {
        let shape = Shape { height: 16, width: 16, channels: 1 };
        let network = UNet::new(shape, 16, 2, Norm::None).unwrap();
        assert_eq!(network.parameters().count(), 74_132);
    }

    #[test]
    fn impossible_networks_are_refused() {
        let shape = Shape { height: 12, width: 16, channels: 3 };
        assert!(UNet::new(shape, 8, 2, Norm::Group).is_ok());
        assert!(UNet::new(shape, 8, 3, Norm::Group).is_err());
        assert!(UNet::new(shape, 8, 1, Norm::Group).is_err());
        assert!(UNet::new(shape, 0, 2, Norm::Group).is_err());
    }
}
