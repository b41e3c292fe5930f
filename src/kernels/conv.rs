//! 3×3 convolution with a border of zeros, and its gradient with respect to the input.
//!
//! Pixels are rows and channels are columns, so that the convolution is a sum of nine matrix
//! multiplies, one per tap. The rows of a register tile are the *same pixel of several images*.
//! All of them meet the border at the same taps, so these taps are skipped instead of multiplied by zeros:
//! a sixth of the work on 8×8 pixels, a third on 4×4. The CPU lays the images of a tile side by side,
//! `[pixel][channel][image]`, once for all taps: then every tap reads its operands from front to back.
//!
//! One relation joins input pixel `i` and output pixel `o` along each axis: tap `k` of output `o`
//! falls on `q = down · o + k - 1` of the input enlarged `up` times, which is input pixel `q / up`.
//! Forward looks it up by `o`, the input gradient by `i`, and the weight gradient by `k`
//! ([`conv_weight_backward`](super::conv_weight_backward)).

mod cpu;

pub(super) use self::cpu::{TILE_ROWS, column_blocks};
use super::matmul::Tile;
use super::{
    Film, PARAMETER_ALIGN, PRODUCT, SHARED_SUM, VALUE, VIEWS, aligned, params, shared_words,
    sharers, wgsl,
};
use crate::compute::{Access, Kernel, Profile, Program, View};
use crate::error::Result;

/// Taps of a 3×3 kernel.
pub const TAPS: usize = 9;

/// How the output's resolution relates to the input's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// The same resolution.
    Same,
    /// Half the resolution: every second pixel is computed.
    Half,
    /// Twice the resolution: the input is enlarged first, each pixel to 2×2.
    Double,
}

/// Some channels of a batch of images: `stride` elements from one pixel to the next.
///
/// Channels of two sources can lie side by side in one buffer, which concatenates them.
#[derive(Debug, Clone, Copy)]
pub struct Channels {
    /// The first channel of the first pixel.
    pub view: View,
    /// All channels of a pixel, including those outside this range.
    pub stride: usize,
}

impl Channels {
    /// All `channels` of a buffer.
    pub fn all(view: impl Into<View>, channels: usize) -> Self {
        Self { view: view.into(), stride: channels }
    }

    /// The channels from `first` on.
    #[must_use]
    pub const fn from(self, first: usize) -> Self {
        Self { view: self.view.at(first), ..self }
    }

    /// Whether four channels can be loaded at once, for each of `members`.
    pub(super) fn aligned(self, members: usize) -> bool {
        self.stride.is_multiple_of(4) && aligned(self.view, members)
    }

    /// The binding that covers `channels` of `pixels`.
    pub(super) const fn bind(self, pixels: usize, channels: usize) -> (View, usize) {
        (self.view, (pixels - 1) * self.stride + channels)
    }
}

/// The shape of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conv {
    /// Number of images.
    pub batch: usize,
    /// Height and width of the input.
    pub size: [usize; 2],
    /// Channels of input and output.
    pub channels: [usize; 2],
    /// Resolution of the output.
    pub scale: Scale,
}

impl Conv {
    /// Height and width of the output.
    #[must_use]
    pub const fn output_size(&self) -> [usize; 2] {
        let [height, width] = self.size;
        match self.scale {
            Scale::Same => [height, width],
            Scale::Half => [height.div_ceil(2), width.div_ceil(2)],
            Scale::Double => [2 * height, 2 * width],
        }
    }

    /// Weights, `[tap][input channel][output channel]`.
    #[must_use]
    pub const fn weights(&self) -> usize {
        TAPS * self.channels[0] * self.channels[1]
    }

    /// Offset of the bias from the first weight: tensors are aligned.
    #[must_use]
    pub const fn bias(&self) -> usize {
        self.weights().next_multiple_of(PARAMETER_ALIGN)
    }

    /// Number of elements from the first weight to the last bias.
    #[must_use]
    pub const fn parameters(&self) -> usize {
        self.bias() + self.channels[1]
    }

    /// Pixels of all input images.
    pub(super) const fn input_pixels(&self) -> usize {
        self.batch * self.size[0] * self.size[1]
    }

    /// Pixels of all output images.
    pub(super) const fn output_pixels(&self) -> usize {
        let [height, width] = self.output_size();
        self.batch * height * width
    }

    /// How many times the input is enlarged, and how far apart the outputs are on it.
    pub(super) const fn up_and_down(&self) -> [u32; 2] {
        match self.scale {
            Scale::Same => [1, 1],
            Scale::Half => [1, 2],
            Scale::Double => [2, 1],
        }
    }

    /// Records `out = conv(x) + bias`, plus `add` if given.
    pub fn record(
        &self,
        program: &mut Program,
        x: Channels,
        parameters: View,
        add: Option<Channels>,
        out: Channels,
    ) -> Result<()> {
        self.record_direction(program, Direction::Forward, x, parameters, add, out, None)
    }

    /// Records the same, and `silu(out ⊙ (1 + g) + b)`, which goes `behind` elements behind `out`; the scales `g`
    /// and shifts `b` of each image may be absent.
    pub fn record_with_silu(
        &self,
        program: &mut Program,
        x: Channels,
        parameters: View,
        add: Option<Channels>,
        out: Channels,
        film: Option<Film>,
        behind: usize,
    ) -> Result<()> {
        let silu = Some(Silu { film, behind, keep: false });
        self.record_direction(program, Direction::Forward, x, parameters, add, out, silu)
    }

    /// Records the gradient with respect to `x`, given `d_out`, plus `add` if given.
    pub fn record_backward_input(
        &self,
        program: &mut Program,
        d_out: Channels,
        parameters: View,
        add: Option<Channels>,
        d_x: Channels,
    ) -> Result<()> {
        self.record_direction(program, Direction::Adjoint, d_out, parameters, add, d_x, None)
    }

    /// Records the gradient with respect to `x`, where this convolution had the input
    /// `silu(x ⊙ (1 + g) + b)`; `keep` adds to the old content of `d_x`. With scales and shifts, the gradient of
    /// the activation's argument goes `behind` elements behind `d_x`: their gradients need it.
    pub fn record_backward_through_silu(
        &self,
        program: &mut Program,
        d_out: Channels,
        parameters: View,
        x: Channels,
        d_x: Channels,
        film: Option<Film>,
        behind: usize,
        keep: bool,
    ) -> Result<()> {
        let silu = Some(Silu { film, behind, keep });
        self.record_direction(program, Direction::Adjoint, d_out, parameters, Some(x), d_x, silu)
    }

    fn record_direction(
        &self,
        program: &mut Program,
        direction: Direction,
        source: Channels,
        parameters: View,
        add: Option<Channels>,
        target: Channels,
        silu: Option<Silu>,
    ) -> Result<()> {
        let sides = [(self.size, self.channels[0]), (self.output_size(), self.channels[1])];
        let [(source_size, source_channels), (target_size, target_channels)] = match direction {
            Direction::Forward => sides,
            Direction::Adjoint => [sides[1], sides[0]],
        };
        let [up, down] = self.up_and_down();
        let film = silu.and_then(|silu| silu.film);
        // Without scales and shifts, a backward pass stores nothing behind its result.
        let stores = direction == Direction::Forward || film.is_some();
        let behind = silu.filter(|_| stores).map_or(0, |silu| silu.behind);
        let params = Params {
            batch: self.batch as u32,
            source_height: source_size[0] as u32,
            source_width: source_size[1] as u32,
            source_channels: source_channels as u32,
            source_stride: source.stride as u32,
            target_height: target_size[0] as u32,
            target_width: target_size[1] as u32,
            target_channels: target_channels as u32,
            target_stride: target.stride as u32,
            add_stride: add.map_or(0, |add| add.stride as u32),
            // A backward pass through an activation finds the activation's input in its place.
            has_add: u32::from(
                add.is_some() && (silu.is_none() || direction == Direction::Forward),
            ),
            up,
            down,
            bias: self.bias() as u32,
            adjoint: direction as u32,
            film_stride: film.map_or(0, |film| film.stride as u32),
            has_film: u32::from(film.is_some()),
            silu: silu.is_some().into(),
            behind: behind as u32,
            keep: silu.map_or(0, |silu| silu.keep.into()),
        };
        let [quads_y, quads_x] = quads(program, [self.batch, target_channels]);
        let Profile { tile, hardware, .. } = *program.profile();
        let Tile { threads_x, threads_y, .. } = tile;
        let step = if source_channels.is_multiple_of(4) { 4 } else { 1 };
        let members = program.members();
        let modulation = film.map(|Film { view, stride }| Channels { view, stride });
        let wide = self.channels.iter().all(|count| count.is_multiple_of(4))
            && aligned(parameters, members)
            && behind.is_multiple_of(4)
            && [modulation, Some(source), add, Some(target)]
                .iter()
                .flatten()
                .all(|c| c.aligned(members));
        let pixels = target_size[0] * target_size[1];
        let (out, extent) = target.bind(self.batch * pixels, target_channels);
        let bindings = [
            source.bind(self.batch * source_size[0] * source_size[1], source_channels),
            (parameters, self.parameters()),
            // Without an addend, the binding is a placeholder that is never read.
            add.map_or((parameters, 1), |add| add.bind(self.batch * pixels, target_channels)),
            film.map_or((parameters, 1), |film| film.bind(self.batch, 2 * target_channels)),
            (out, behind + extent),
        ];
        let columns = target_channels.div_ceil(4 * quads_x as usize);
        let rows = self.batch.div_ceil(4 * quads_y as usize);
        let steps = source_channels / step as usize;
        let sharers = sharers(program, tile, pixels * columns * rows, steps);
        let unroll = if wide { unroll(program, source_channels / sharers as usize) } else { 1 };
        program.stage(
            &KERNEL,
            &[
                ("ADJOINT", direction as u32),
                ("QUADS_Y", quads_y),
                ("QUADS_X", quads_x),
                ("STEP", step),
                ("UNROLL", unroll),
                ("WIDE", if wide { 4 } else { 1 }),
                ("SILU", silu.is_some().into()),
                ("HARDWARE", hardware.into()),
                ("THREADS_X", threads_x),
                ("THREADS_Y", threads_y),
                ("SHARERS", sharers),
                ("WORKGROUP_WORDS", shared_words(sharers, threads_x * threads_y)),
            ],
            &params,
            &bindings,
            [
                (pixels * columns).div_ceil(threads_x as usize),
                rows.div_ceil((threads_y / sharers) as usize),
            ],
        )
    }
}

/// Blocks of four by four in a register tile: those of the engine's matrix multiply, or fewer if the
/// result is smaller. If that matrix multiply uses workgroup memory, it is one: a convolution does not use
/// it, and with four blocks so few threads fit that none is ready while others load.
pub(super) fn quads(program: &Program, [rows, cols]: [usize; 2]) -> [u32; 2] {
    let tile = program.profile().tile;
    if tile.depth > 0 {
        return [1, 1];
    }
    let side = |most: u32, extent: usize| (most / 4).clamp(1, extent.div_ceil(4).max(1) as u32);
    [side(tile.rows, rows), side(tile.cols, cols)]
}

/// What an activation adds to a convolution, before or behind it.
#[derive(Debug, Clone, Copy)]
struct Silu {
    film: Option<Film>,
    behind: usize,
    keep: bool,
}

/// Steps of four source channels that a thread loads at a time. On a GPU in hardware, where a convolution
/// mostly waits for its loads, two; with four, registers run out. In software a second would only take
/// registers.
fn unroll(program: &Program, channels: usize) -> u32 {
    if program.profile().hardware && channels.is_multiple_of(8) { 2 } else { 1 }
}

/// The direction of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Adjoint,
}

params! {
    struct Params {
        batch: u32,
        source_height: u32,
        source_width: u32,
        source_channels: u32,
        source_stride: u32,
        target_height: u32,
        target_width: u32,
        target_channels: u32,
        target_stride: u32,
        add_stride: u32,
        has_add: u32,
        up: u32,
        down: u32,
        bias: u32,
        adjoint: u32,
        film_stride: u32,
        has_film: u32,
        silu: u32,
        behind: u32,
        keep: u32,
    }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "conv",
    wgsl: &[VIEWS, VALUE, PRODUCT, SHARED_SUM, wgsl!("conv.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("source", Access::Read),
        ("parameters", Access::Read),
        ("addend", Access::Read),
        ("film", Access::Read),
        ("out", Access::Write),
    ],
    cpu: cpu::run,
};

/// Where tap `k` of output `o` falls on an input axis of `len` pixels.
#[inline]
pub(super) fn input(o: usize, k: usize, [up, down]: [u32; 2], len: usize) -> Option<usize> {
    let q = (down as usize * o + k).checked_sub(1)?;
    Some(q / up as usize).filter(|&i| i < len)
}
