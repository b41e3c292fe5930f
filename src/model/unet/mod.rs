//! The convolutional U-Net.
//!
//! The image is folded to half its resolution ([`space_to_depth`]). On the way down, each level has a
//! residual block and a convolution to half the resolution and twice the channels. Two blocks follow at the
//! bottom. On the way up, each level has a convolution that doubles the resolution, and a block that takes
//! its output joined with that of the same level on the way down.
//!
//! A block is `x + Conv(SiLU(FiLM(Conv(SiLU(x)))))`, optionally with a group normalization before each
//! SiLU, and with a 1×1 convolution of `x` where the number of channels changes. The last convolution
//! may also have a SiLU before it.
//!
//! [`space_to_depth`]: crate::kernels::space_to_depth

mod backward;
mod forward;

use serde::{Deserialize, Serialize};

use self::backward::UNetTraining;
use self::forward::{BlockIn, PlacedUNet};
use super::{Dense, Modulation, Network, Parameters, PlacedNetwork, PlacedTraining, check_dim};
use crate::compute::{Program, View, elements};
use crate::error::{Error, Result};
use crate::kernels::conv::{Conv, Scale};
use crate::shape::Shape;

/// Initial size of the last convolution, relative to a plain one, so that initially `F ≈ 0`.
const OUTPUT_GAIN: f32 = 0.01;

/// Initial size of a block's second convolution, so that a block initially changes little.
const BLOCK_GAIN: f32 = 0.3;

/// Most channels at the finest resolution, few enough that no number of channels wraps around.
const MAX_WIDTH: usize = 1 << 12;

/// Channels in a group of the normalization, where their number allows it.
const GROUP: usize = 4;

/// Normalization before an activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Norm {
    /// No normalization.
    #[default]
    None,
    /// Normalization of groups of channels.
    Group,
}

/// Activation before the last convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Head {
    /// No activation.
    #[default]
    Linear,
    /// A SiLU activation.
    Silu,
}

impl Head {
    /// Whether it is the default, which configurations omit.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A convolutional U-Net; see the module.
#[derive(Debug, Clone)]
pub struct UNet {
    parameters: Parameters,
    layers: Layers,
}

#[derive(Debug, Clone)]
struct Layers {
    shape: Shape,
    norm: Norm,
    head: Head,
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
        // The bias follows its weights, as the kernels expect.
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
    skip: Option<Dense>,
    /// First column of the block's scales and shifts.
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
            .then(|| Dense::declare(parameters, &format!("{name}.skip"), [inputs, outputs], 1.0));
        *film += 2 * outputs;
        Self { first, second, skip, film: *film - 2 * outputs }
    }

    const fn pixels(&self) -> usize {
        self.first.size[0] * self.first.size[1]
    }

    /// Number of elements of the largest input and of the largest output.
    fn largest(blocks: &[Self], rows: usize) -> [usize; 2] {
        [0, 1].map(|side| {
            let each = |block: &Self| elements([rows, block.pixels(), block.first.channels[side]]);
            blocks.iter().map(each).max().unwrap_or(rows)
        })
    }
}

impl UNet {
    /// Creates a network for images of `shape` with `width` channels at the finest of `levels` resolutions.
    pub fn new(shape: Shape, width: usize, levels: usize, norm: Norm, head: Head) -> Result<Self> {
        let Shape { height, width: image_width, channels } = shape;
        if width == 0 || !(2..=8).contains(&levels) {
            return Err(Error::bad_input(
                format!("A U-Net can't have {width} channels at {levels} resolutions"),
                "Choose at least one channel and two to eight resolutions",
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
                format!("Images of {height}×{image_width} pixels cannot be halved {levels} times"),
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
        let layers = Layers { shape, norm, head, modulation, input, down, bottom, up, output };
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
        // No backward pass follows, so all blocks use the same space.
        let blocks = self.layers.blocks();
        let block = BlockIn::place(program, self.layers.norm, &blocks, rows)?;
        let blocks = vec![block; blocks.len()];
        Ok(Box::new(PlacedUNet::place(&self.layers, program, rows, weights, blocks)?))
    }

    fn place_training(
        &self,
        program: &mut Program,
        rows: usize,
        weights: View,
        gradients: View,
    ) -> Result<Box<dyn PlacedTraining>> {
        Ok(Box::new(UNetTraining::place(&self.layers, program, rows, weights, gradients)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_counts_of_the_presets() {
        let shape = Shape { height: 16, width: 16, channels: 1 };
        let network = UNet::new(shape, 16, 2, Norm::None, Head::Linear).unwrap();
        assert_eq!(network.parameters().count(), 74_132);
        let shape = Shape { height: 32, width: 32, channels: 3 };
        for (width, count) in [(16, 289_052), (32, 1_083_372)] {
            let network = UNet::new(shape, width, 3, Norm::None, Head::Silu).unwrap();
            assert_eq!(network.parameters().count(), count);
        }
    }

    #[test]
    fn impossible_networks_are_refused() {
        let shape = Shape { height: 12, width: 16, channels: 3 };
        let network = |width, levels| UNet::new(shape, width, levels, Norm::Group, Head::Linear);
        assert!(network(8, 2).is_ok());
        assert!(network(8, 3).is_err());
        assert!(network(8, 1).is_err());
        assert!(network(0, 2).is_err());
    }
}
