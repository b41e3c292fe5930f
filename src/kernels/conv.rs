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

use std::cell::Cell;
use std::mem::take;

use super::group_film_silu::Affines;
use super::matmul::{Tile, silu};
use super::silu::slope;
use super::{Call, PRODUCT, VALUE, VIEWS, aligned, params, side_by_side, wgsl};
use super::{Film, PARAMETER_ALIGN};
use crate::compute::gemm::Operand;
use crate::compute::memory::Memory;
use crate::compute::simd::{self, Vectorized, load, mul_add, store};
use crate::compute::{Access, Kernel, Profile, Program, View};
use crate::error::Result;
use crate::platform::WASM_VECTORS;

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
        let kind = match direction {
            _ if silu.is_none() => 0,
            Direction::Forward => 1,
            Direction::Adjoint => 2,
        };
        let film = silu.and_then(|silu| silu.film);
        // Without scales and shifts, a backward pass stores nothing behind its result.
        let behind = silu.filter(|_| kind == 1 || film.is_some()).map_or(0, |silu| silu.behind);
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
            has_add: u32::from(add.is_some() && kind < 2),
            up,
            down,
            bias: self.bias() as u32,
            adjoint: direction as u32,
            film_stride: film.map_or(0, |film| film.stride as u32),
            has_film: u32::from(film.is_some()),
            silu: kind,
            behind: behind as u32,
            keep: silu.map_or(0, |silu| silu.keep.into()),
        };
        let [quads_y, quads_x] = quads(program, [self.batch, target_channels]);
        let Profile { tile: Tile { threads_x, threads_y, .. }, hardware, .. } = *program.profile();
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
        let unroll = if wide { unroll(program, source_channels) } else { 1 };
        program.stage(
            &KERNEL,
            &[
                ("ADJOINT", direction as u32),
                ("QUADS_Y", quads_y),
                ("QUADS_X", quads_x),
                ("STEP", step),
                ("UNROLL", unroll),
                ("WIDE", if wide { 4 } else { 1 }),
                ("SILU", kind),
                ("HARDWARE", hardware.into()),
                ("THREADS_X", threads_x),
                ("THREADS_Y", threads_y),
            ],
            &params,
            &bindings,
            [
                (pixels * columns).div_ceil(threads_x as usize),
                self.batch.div_ceil((4 * quads_y * threads_y) as usize),
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
fn unroll(program: &Program, source_channels: usize) -> u32 {
    if program.profile().hardware && source_channels.is_multiple_of(8) { 2 } else { 1 }
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
    wgsl: &[VIEWS, VALUE, PRODUCT, wgsl!("conv.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("source", Access::Read),
        ("parameters", Access::Read),
        ("addend", Access::Read),
        ("film", Access::Read),
        ("out", Access::Write),
    ],
    cpu,
};

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (source, parameters, addend, film) =
        (call.read(0), call.read(1), call.read(2), call.read(3));
    let affines = Affines {
        channels: p.target_channels as usize,
        moments: None,
        film: (p.has_film == 1).then_some((film, p.film_stride as usize)),
    };
    let out = call.write(4);
    let (out, behind) = match p.behind as usize {
        0 => (out, &mut [][..]),
        behind => out.split_at_mut(behind),
    };
    let mut scratch = SCRATCH.take();
    let Scratch { links, weights, .. } = &mut scratch;
    links.find(&p);
    simd::run(PackWeights { p, parameters, packed: weights });
    let batch = p.batch as usize;
    let [source_image, target_image] = p.images();
    let channels = (p.source_channels * p.target_channels) as usize;
    // Two pieces per thread, so that another thread can take over when one is late.
    let threads = call.threads(batch * links.all.len() * channels);
    let images = batch.div_ceil(if threads > 1 { 2 * threads } else { 1 });
    let work = |piece: usize, [out, behind]: [&mut [f32]; 2]| {
        let first = piece * images;
        let p = Params { batch: images.min(batch - first) as u32, ..p };
        let source = &source[first * source_image..];
        let addend = &addend[first * usize::from(p.has_add == 1 || p.silu == 2) * p.add_image()..];
        let mut piece = PIECE.take();
        let scratch = &mut piece;
        simd::run(Work {
            p,
            source,
            parameters,
            weights,
            addend,
            affines,
            first,
            out,
            behind,
            links,
            scratch,
        });
        PIECE.set(piece);
    };
    let slices = [(out, images * target_image), (behind, images * target_image)];
    side_by_side(batch.div_ceil(images), slices, &work);
    SCRATCH.set(scratch);
}

impl Params {
    /// Elements from one image to the next, in the source and in the target.
    const fn images(&self) -> [usize; 2] {
        [
            (self.source_height * self.source_width * self.source_stride) as usize,
            (self.target_height * self.target_width * self.target_stride) as usize,
        ]
    }

    /// Elements of an image of the target.
    const fn image(&self) -> usize {
        (self.target_height * self.target_width * self.target_channels) as usize
    }

    /// Elements from one image to the next in the addend.
    const fn add_image(&self) -> usize {
        (self.target_height * self.target_width * self.add_stride) as usize
    }
}

/// Where tap `k` of output `o` falls on an input axis of `len` pixels.
#[inline]
pub(super) fn input(o: usize, k: usize, [up, down]: [u32; 2], len: usize) -> Option<usize> {
    let q = (down as usize * o + k).checked_sub(1)?;
    Some(q / up as usize).filter(|&i| i < len)
}

/// Which taps link which pixels.
#[derive(Default)]
struct Links {
    /// `(tap, pixel of the source image)`, for each target pixel in turn.
    all: Vec<(usize, usize)>,
    /// Where the links of each target pixel end in `all`.
    ends: Vec<usize>,
}

/// Scratch space that a call prepares before its loops.
#[derive(Default)]
struct Scratch {
    links: Links,
    /// Panels of weights, see [`PackWeights`].
    weights: Memory,
}

thread_local! {
    // Kept from call to call, so that running allocates nothing.
    static SCRATCH: Cell<Scratch> = Cell::default();
    static PIECE: Cell<Piece> = Cell::default();
}

/// Scratch space for a few images.
#[derive(Default)]
struct Piece {
    /// The source, `[pixel][channel][image]`.
    panel: Memory,
    /// Sums that go through an activation before they are stored.
    sums: Memory,
    /// Arguments of the activation, of one image.
    arguments: Memory,
}

impl Links {
    fn find(&mut self, p: &Params) {
        let scale = [p.up, p.down];
        self.all.clear();
        self.ends.clear();
        for y in 0..p.target_height as usize {
            for x in 0..p.target_width as usize {
                let rows = axis(p.adjoint == 1, y, scale, p.source_height as usize);
                for (ky, row) in rows {
                    let columns = axis(p.adjoint == 1, x, scale, p.source_width as usize);
                    self.all.extend(
                        columns.map(|(kx, column)| {
                            (3 * ky + kx, row * p.source_width as usize + column)
                        }),
                    );
                }
                self.ends.push(self.all.len());
            }
        }
    }
}

/// The taps that link pixel `target` of an axis to source pixels, and those pixels.
fn axis(
    adjoint: bool,
    target: usize,
    [up, down]: [u32; 2],
    len: usize,
) -> impl Iterator<Item = (usize, usize)> {
    let forward = (0..3).filter_map(move |k| Some((k, input(target, k, [up, down], len)?)));
    let (up, down) = (up as usize, down as usize);
    let adjoint_taps = (0..3).flat_map(move |k| (0..up).map(move |d| (k, up * target + d + 1)));
    let back = adjoint_taps.filter_map(move |(k, q)| {
        let q = q.checked_sub(k).filter(|q| q.is_multiple_of(down))?;
        Some((k, q / down)).filter(|&(_, o)| o < len)
    });
    forward.filter(move |_| !adjoint).chain(back.filter(move |_| adjoint))
}

/// Blocks of target channels, as wide as two vectors, or as one where that suffices: the first channel of
/// each, and whether it is a wide one.
#[inline(always)]
pub(super) fn column_blocks<const LANES: usize>(
    channels: usize,
) -> impl Iterator<Item = (usize, bool)> {
    (0..channels).step_by(2 * LANES).map(move |first| (first, channels - first > LANES))
}

/// Copies the weights to panels, one per block of target channels: `[tap][source channel]`, then the
/// channels of the block.
struct PackWeights<'a> {
    p: Params,
    parameters: &'a [f32],
    packed: &'a mut Memory,
}

impl Vectorized for PackWeights<'_> {
    #[inline(always)]
    fn run<const LANES: usize, const PAIR: usize, const FMA: bool>(self) {
        let (k, n) = (self.p.source_channels as usize, self.p.target_channels as usize);
        self.packed.reserve(TAPS * k * n.next_multiple_of(LANES));
        for (first, wide) in column_blocks::<LANES>(n) {
            let panel = &mut self.packed[TAPS * k * first..];
            if wide {
                pack_weights::<PAIR>(&self.p, self.parameters, first, panel);
            } else {
                pack_weights::<LANES>(&self.p, self.parameters, first, panel);
            }
        }
    }
}

#[inline(always)]
fn pack_weights<const N: usize>(p: &Params, parameters: &[f32], first: usize, panel: &mut [f32]) {
    let (k, n) = (p.source_channels as usize, p.target_channels as usize);
    let (panel, _) = panel.as_chunks_mut::<N>();
    for (weights, panel) in parameters.chunks_exact(k * n).zip(panel.chunks_exact_mut(k)).take(TAPS)
    {
        let weights = match p.adjoint {
            0 => Operand::flat(weights, n),
            _ => Operand::deep(weights, k),
        };
        weights.pack(first..n.min(first + N), 0..k, panel);
    }
}

struct Work<'a> {
    p: Params,
    source: &'a [f32],
    parameters: &'a [f32],
    weights: &'a [f32],
    addend: &'a [f32],
    affines: Affines<'a>,
    /// Index of the first image among those that have scales and shifts.
    first: usize,
    out: &'a mut [f32],
    behind: &'a mut [f32],
    links: &'a Links,
    scratch: &'a mut Piece,
}

/// Most rows of a register tile, images or input channels: with two vectors of channels each, twelve sums.
/// WebAssembly has registers for eight.
pub(super) const TILE_ROWS: usize = if WASM_VECTORS { 4 } else { 6 };

impl Vectorized for Work<'_> {
    #[inline(always)]
    fn run<const LANES: usize, const PAIR: usize, const FMA: bool>(mut self) {
        let batch = self.p.batch as usize;
        let tiles = batch.div_ceil(TILE_ROWS);
        for tile in 0..tiles {
            // Tiles of almost equal heights: a short last one would leave the multipliers idle.
            let [begin, end] = [tile * batch / tiles, (tile + 1) * batch / tiles];
            match end - begin {
                6 if TILE_ROWS > 4 => self.images::<6, LANES, PAIR, FMA>(begin),
                5 if TILE_ROWS > 4 => self.images::<5, LANES, PAIR, FMA>(begin),
                4 => self.images::<4, LANES, PAIR, FMA>(begin),
                3 => self.images::<3, LANES, PAIR, FMA>(begin),
                2 => self.images::<2, LANES, PAIR, FMA>(begin),
                _ => self.images::<1, LANES, PAIR, FMA>(begin),
            }
            match self.p.silu {
                1 => (begin..end).for_each(|image| self.activate::<LANES>(image)),
                2 => (begin..end).for_each(|image| self.differentiate::<LANES>(image, begin)),
                _ => {}
            }
        }
    }
}

impl Work<'_> {
    /// Computes images `begin .. begin + R`.
    #[inline(always)]
    fn images<const R: usize, const LANES: usize, const PAIR: usize, const FMA: bool>(
        &mut self,
        begin: usize,
    ) {
        let p = &self.p;
        let (k, stride) = (p.source_channels as usize, p.source_stride as usize);
        let pixels = (p.source_height * p.source_width) as usize;
        let [image, _] = p.images();
        if p.silu == 2 {
            self.scratch.sums.reserve(R * p.image());
        }
        let mut panel = take(&mut self.scratch.panel);
        panel.reserve(pixels * k * R);
        let (packed, _) = panel.as_chunks_mut::<R>();
        for (pixel, packed) in packed.chunks_exact_mut(k).enumerate().take(pixels) {
            let rows = Operand::strided(&self.source[begin * image + pixel * stride..], image);
            rows.pack(0..R, 0..k, packed);
        }
        for (first, wide) in column_blocks::<LANES>(p.target_channels as usize) {
            if wide {
                self.columns::<R, PAIR, FMA>(begin, first, packed);
            } else {
                self.columns::<R, LANES, FMA>(begin, first, packed);
            }
        }
        self.scratch.panel = panel;
    }

    /// Runs of elements that lie side by side in an image of the target, if all its channels and those of
    /// what goes along, `stride` apart, do: the number and length of runs.
    fn runs(&self, stride: u32) -> [usize; 2] {
        let p = &self.p;
        let (pixels, n) = ((p.target_height * p.target_width) as usize, p.target_channels as usize);
        let dense = [p.target_stride, stride].iter().all(|&stride| stride as usize == n);
        if dense { [1, pixels * n] } else { [pixels, n] }
    }

    /// Stores the activation of an image behind it, while it is in the cache.
    #[inline(always)]
    fn activate<const LANES: usize>(&mut self, image: usize) {
        let p = &self.p;
        let [runs, len] = self.runs(p.target_stride);
        for run in 0..runs {
            let at = image * p.images()[1] + run * p.target_stride as usize;
            let behind = &mut self.behind[at..][..len];
            self.affines.apply::<LANES>(self.first + image, &self.out[at..][..len], behind);
            for value in behind {
                *value = silu(*value);
            }
        }
    }

    /// Multiplies the sums of an image by the derivative of the activation, and stores them. The first image
    /// of the sums is `begin`.
    #[inline(always)]
    fn differentiate<const LANES: usize>(&mut self, image: usize, begin: usize) {
        let p = &self.p;
        let n = p.target_channels as usize;
        let [runs, len] = self.runs(p.add_stride);
        let Piece { sums, arguments, .. } = &mut *self.scratch;
        arguments.reserve(len);
        for run in 0..runs {
            let x = image * p.add_image() + run * p.add_stride as usize;
            let at = image * p.images()[1] + run * p.target_stride as usize;
            let arguments = &mut arguments[..len];
            self.affines.apply::<LANES>(self.first + image, &self.addend[x..][..len], arguments);
            let sums = &mut sums[(image - begin) * p.image() + run * n..][..len];
            for (d, argument) in sums.iter_mut().zip(&*arguments) {
                *d *= slope(*argument);
            }
            for first in (0..n).step_by(LANES) {
                let cols = LANES.min(n - first);
                let block = self.affines.block::<LANES>(self.first + image, first, cols);
                for (d, out) in sums.chunks(n).zip(self.out[at..][..len].chunks_mut(n)) {
                    let out = &mut out[first..][..cols];
                    let d: [f32; LANES] = load(&d[first..][..cols]);
                    let mut sum = if p.keep == 1 { load(out) } else { [0.0; LANES] };
                    for j in 0..LANES {
                        sum[j] += d[j] * (block.gain[j] * block.inverse[j]);
                    }
                    store(out, &sum);
                }
            }
            if p.has_film == 1 {
                self.behind[at..][..len].copy_from_slice(sums);
            }
        }
    }

    /// Computes target channels `first .. first + N` of these images.
    #[inline(always)]
    fn columns<const R: usize, const N: usize, const FMA: bool>(
        &mut self,
        begin: usize,
        first: usize,
        images: &[[f32; R]],
    ) {
        let p = &self.p;
        let (k, n) = (p.source_channels as usize, p.target_channels as usize);
        let cols = N.min(n - first);
        let (weights, _) = self.weights[TAPS * k * first..].as_chunks::<N>();
        let mut bias = [0.0; N];
        if p.adjoint == 0 {
            bias = load(&self.parameters[p.bias as usize + first..][..cols]);
        }
        let pixels = (p.target_height * p.target_width) as usize;
        let mut link = 0;
        for (pixel, &last) in self.links.ends.iter().enumerate() {
            let mut sums = [bias; R];
            if p.has_add == 1 {
                for (i, sums) in sums.iter_mut().enumerate() {
                    let at = ((begin + i) * pixels + pixel) * p.add_stride as usize + first;
                    let add: [f32; N] = load(&self.addend[at..][..cols]);
                    for j in 0..N {
                        sums[j] += add[j];
                    }
                }
            }
            multiply::<R, N, FMA>(&mut sums, &self.links.all[link..last], images, weights, k);
            link = last;
            for (i, sums) in sums.iter().enumerate() {
                if p.silu == 2 {
                    let at = (i * pixels + pixel) * n;
                    store(&mut self.scratch.sums[at + first..][..cols], sums);
                } else {
                    let at = ((begin + i) * pixels + pixel) * p.target_stride as usize;
                    store(&mut self.out[at + first..][..cols], sums);
                }
            }
        }
    }
}

/// Adds the products of the links to `sums`; row `i` belongs to image `i`.
#[inline(always)]
fn multiply<const R: usize, const N: usize, const FMA: bool>(
    sums: &mut [[f32; N]; R],
    links: &[(usize, usize)],
    images: &[[f32; R]],
    weights: &[[f32; N]],
    k: usize,
) {
    // A copy that is not behind a reference stays in registers.
    let mut local = *sums;
    for &(tap, pixel) in links {
        for (values, weights) in images[pixel * k..][..k].iter().zip(&weights[tap * k..][..k]) {
            for i in 0..R {
                for j in 0..N {
                    local[i][j] = mul_add::<FMA>(values[i], weights[j], local[i][j]);
                }
            }
        }
    }
    *sums = local;
}
