//! The gradient of a [`Conv`] with respect to its weights and bias: for each tap, input channels ×
//! output channels summed over the pixels of all images.
//!
//! The sum is long and its result small, so it is cut into parts of the batch, which a second stage adds
//! up in a fixed order; [`Profile::parts`](crate::compute::Profile) is the number of parts that keeps the
//! engine busy. Where there are few weights, that is not enough for a GPU: then parts are cut into bands of
//! rows.

use std::cell::Cell;
use std::ops::Range;

use super::conv::{self, Channels, Conv, TAPS, TILE_ROWS};
use super::{
    Call, PRODUCT, THREADS, VALUE, VIEWS, aligned, column_sums, cut_and_work, params, wgsl,
};
use crate::compute::gemm::blocks;
use crate::compute::memory::Memory;
use crate::compute::simd::{self, Vectorized, load, mul_add, store};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params {
        batch: u32,
        span: u32,
        input_height: u32,
        input_width: u32,
        input_channels: u32,
        input_stride: u32,
        output_height: u32,
        output_width: u32,
        output_channels: u32,
        output_stride: u32,
        up: u32,
        down: u32,
        bias: u32,
        bands: u32,
        band: u32,
    }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "conv_weight_backward",
    wgsl: &[VIEWS, VALUE, PRODUCT, wgsl!("conv_weight_backward.wgsl")],
    params: Params::FIELDS,
    bindings: &[("x", Access::Read), ("d_out", Access::Read), ("out", Access::Write)],
    cpu,
};

/// How the sum is cut.
struct Cut {
    /// Images of a part.
    span: usize,
    /// Rows of an image's output that are summed together, and how many such bands there are.
    band: usize,
    bands: usize,
    /// Parts, bands among them.
    parts: usize,
}

/// Workgroups that keep a large GPU busy while threads wait for what they load.
const BUSY: usize = 1024;

impl Cut {
    fn new(program: &Program, conv: &Conv) -> Self {
        let profile = program.profile();
        let span = conv.batch.div_ceil(profile.parts as usize);
        let parts = conv.batch.div_ceil(span);
        let [height, _] = conv.output_size();
        let busy = parts > 1 && profile.hardware;
        // However many members there are, which must not change a member's bits.
        let most = if busy { BUSY / (parts * workgroups(program, conv)) } else { 1 };
        // Of two rows, at least one meets every tap.
        let band = height.div_ceil(most.clamp(1, height.div_ceil(2)));
        let bands = height.div_ceil(band);
        Self { span, band, bands, parts: parts * bands }
    }
}

/// Blocks of four by four in a register tile. A GPU in hardware gets two where it has enough weights for that:
/// half of what a thread loads is then multiplied twice.
fn quads(program: &Program, conv: &Conv) -> [u32; 2] {
    let quads = conv::quads(program, conv.channels);
    let twice = quads == [1, 1] && program.profile().hardware && conv.channels[0].is_multiple_of(8);
    if twice { [2, 1] } else { quads }
}

/// Workgroups of a part.
fn workgroups(program: &Program, conv: &Conv) -> usize {
    let [rows, columns] = quads(program, conv);
    let [inputs, outputs] = conv.channels;
    (outputs.div_ceil(4 * columns as usize) * TAPS * inputs.div_ceil(4 * rows as usize))
        .div_ceil(THREADS)
}

/// Elements of scratch space that [`record`] needs.
#[must_use]
pub fn scratch(program: &Program, conv: &Conv) -> usize {
    let Cut { parts, .. } = Cut::new(program, conv);
    if parts > 1 { parts * conv.parameters() } else { 1 }
}

/// Records the gradient of all parameters of `conv`, weights and bias, given its input and the
/// gradient of its output.
pub fn record(
    program: &mut Program,
    conv: &Conv,
    x: Channels,
    d_out: Channels,
    scratch: View,
    out: View,
) -> Result<()> {
    let Cut { span, band, bands, parts } = Cut::new(program, conv);
    let [input_channels, output_channels] = conv.channels;
    let [output_height, output_width] = conv.output_size();
    let [up, down] = conv.up_and_down();
    let params = Params {
        batch: conv.batch as u32,
        span: span as u32,
        input_height: conv.size[0] as u32,
        input_width: conv.size[1] as u32,
        input_channels: input_channels as u32,
        input_stride: x.stride as u32,
        output_height: output_height as u32,
        output_width: output_width as u32,
        output_channels: output_channels as u32,
        output_stride: d_out.stride as u32,
        up,
        down,
        bias: conv.bias() as u32,
        bands: bands as u32,
        band: band as u32,
    };
    let parameters = conv.parameters();
    let sums = if parts > 1 { scratch } else { out };
    let bindings = [
        x.bind(conv.input_pixels(), input_channels),
        d_out.bind(conv.output_pixels(), output_channels),
        (sums, parts * parameters),
    ];
    let members = program.members();
    let wide = conv.channels.iter().all(|count| count.is_multiple_of(4))
        && aligned(sums, members)
        && [x, d_out].iter().all(|channels| channels.aligned(members));
    let [quads_y, quads_x] = quads(program, conv);
    let workgroups = [workgroups(program, conv), parts];
    let wide = if wide { 4 } else { 1 };
    let even = u32::from([conv.batch, span].iter().all(|count| count.is_multiple_of(4)));
    let constants = [
        ("QUADS_Y", quads_y),
        ("QUADS_X", quads_x),
        ("WIDE", wide),
        ("EVEN", even),
        ("HARDWARE", program.profile().hardware.into()),
    ];
    program.stage(&KERNEL, &constants, &params, &bindings, workgroups)?;
    if parts > 1 {
        column_sums::record(program, scratch, out, [parts, parameters])?;
    }
    Ok(())
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (x, d_out) = (call.read(0), call.read(1));
    let out = call.write(2);
    let mut pairs = PAIRS.take();
    let (m, n) = (p.input_channels as usize, p.output_channels as usize);
    let [input_image, output_image] = p.images();
    let (span, batch) = (p.span as usize, p.batch as usize);
    let tiles = m.div_ceil(TILE_ROWS);
    let units = TAPS * tiles;
    for (part, out) in out.chunks_exact_mut(p.bias as usize + n).enumerate() {
        let begin = part / p.bands as usize * span;
        let images = span.min(batch - begin);
        let top = part as u32 % p.bands * p.band;
        let rows = top as usize..(top + p.band).min(p.output_height) as usize;
        if part == 0 || p.bands > 1 {
            pairs.find(&p, rows.clone());
        }
        let (x, d_out) = (&x[begin * input_image..], &d_out[begin * output_image..]);
        let (weights, rest) = out.split_at_mut(TAPS * m * n);
        // The gap between weights and bias holds no parameters and has no gradient.
        rest.fill(0.0);
        let bias = &mut rest[p.bias as usize - TAPS * m * n..];
        let (width, stride) = (p.output_width as usize, p.output_stride as usize);
        for image in 0..images {
            let d_out = &d_out[image * output_image + rows.start * width * stride..];
            for row in d_out.chunks(stride).take(rows.len() * width) {
                bias.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
            }
        }
        let pieces = call.threads(images * pairs.all.len() * m * n).min(units);
        let first_unit = |piece: usize| piece * units / pieces;
        let begin = |piece: usize| {
            let unit = first_unit(piece);
            [(unit / tiles * m + row_of(unit % tiles, m)) * n]
        };
        let work = |piece: usize, [out]: [&mut [f32]; 1]| {
            let units = first_unit(piece)..first_unit(piece + 1);
            let mut panels = PANELS.take();
            let pairs = &pairs;
            simd::run(Work { p, x, d_out, images, units, out, pairs, panels: &mut panels });
            PANELS.set(panels);
        };
        cut_and_work(0..pieces, [weights], &begin, &work);
    }
    PAIRS.set(pairs);
}

impl Params {
    /// Elements from one image to the next, in the input and in the output.
    const fn images(&self) -> [usize; 2] {
        [
            (self.input_height * self.input_width * self.input_stride) as usize,
            (self.output_height * self.output_width * self.output_stride) as usize,
        ]
    }

    /// Pixels of an image, in the input and in the output.
    const fn pixels(&self) -> [usize; 2] {
        [
            (self.input_height * self.input_width) as usize,
            (self.output_height * self.output_width) as usize,
        ]
    }
}

/// Pixels of the input image and of the output image that meet at a tap.
#[derive(Default)]
struct Pairs {
    /// The pairs of each tap in turn.
    all: Vec<(usize, usize)>,
    /// Where the pairs of each tap end in `all`.
    ends: Vec<usize>,
}

thread_local! {
    // What a call prepares before its loops, kept from call to call so that running allocates nothing.
    static PAIRS: Cell<Pairs> = Cell::default();
    /// Some images of the input and of the gradient, see [`Work`].
    static PANELS: Cell<[Memory; 2]> = Cell::default();
}

impl Pairs {
    fn of(&self, tap: usize) -> &[(usize, usize)] {
        let begin = tap.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[begin..self.ends[tap]]
    }

    /// Finds those of some rows of the output.
    fn find(&mut self, p: &Params, rows: Range<usize>) {
        let width = p.input_width as usize;
        let scale = [p.up, p.down];
        self.all.clear();
        self.ends.clear();
        for tap in 0..TAPS {
            for y in rows.clone() {
                let Some(row) = conv::input(y, tap / 3, scale, p.input_height as usize) else {
                    continue;
                };
                for x in 0..p.output_width as usize {
                    if let Some(column) = conv::input(x, tap % 3, scale, width) {
                        self.all.push((row * width + column, y * p.output_width as usize + x));
                    }
                }
            }
            self.ends.push(self.all.len());
        }
    }
}

/// The first channel of a tile of `m` input channels. All tiles are about equally high: a short last one
/// would leave the multipliers idle.
const fn row_of(tile: usize, m: usize) -> usize {
    tile * m / m.div_ceil(TILE_ROWS)
}

/// Pixels whose products are added up before the sums go back to memory: their panels stay in the cache
/// while all taps and channels are computed.
const BLOCK: usize = 256;

/// Some rows of the gradient of the weights, for one part of the batch. The images are copied to panels,
/// a block of pixels at a time: one per tile of input channels and one per block of output
/// channels, pixel by pixel.
struct Work<'a> {
    p: Params,
    x: &'a [f32],
    d_out: &'a [f32],
    images: usize,
    /// Tiles of input channels, tap by tap.
    units: Range<usize>,
    out: &'a mut [f32],
    pairs: &'a Pairs,
    panels: &'a mut [Memory; 2],
}

impl Vectorized for Work<'_> {
    #[inline(always)]
    fn run<const LANES: usize, const PAIR: usize, const FMA: bool>(mut self) {
        let n = self.p.output_channels as usize;
        let [input_pixels, output_pixels] = self.p.pixels();
        let at_once = (BLOCK / input_pixels.max(output_pixels)).max(1);
        for images in blocks(0..self.images, at_once) {
            self.pack::<LANES, PAIR>(images.clone());
            for (first, wide) in conv::column_blocks::<LANES>(n) {
                for unit in self.units.clone() {
                    if wide {
                        self.unit::<PAIR, FMA>(images.clone(), unit, first);
                    } else {
                        self.unit::<LANES, FMA>(images.clone(), unit, first);
                    }
                }
            }
        }
    }
}

impl Work<'_> {
    #[inline(always)]
    fn pack<const LANES: usize, const PAIR: usize>(&mut self, images: Range<usize>) {
        let (m, n) = (self.p.input_channels as usize, self.p.output_channels as usize);
        let [input_pixels, output_pixels] = self.p.pixels().map(|pixels| images.len() * pixels);
        let [input_image, output_image] = self.p.images();
        let [x, d_out] = &mut *self.panels;
        x.reserve(input_pixels * m);
        d_out.reserve(output_pixels * n.next_multiple_of(LANES));
        for tile in 0..m.div_ceil(TILE_ROWS) {
            let [top, bottom] = [tile, tile + 1].map(|tile| row_of(tile, m));
            let from = &self.x[images.start * input_image + top..];
            let to = &mut x[top * input_pixels..][..(bottom - top) * input_pixels];
            let stride = self.p.input_stride as usize;
            match bottom - top {
                6 if TILE_ROWS > 4 => gather::<6>(from, stride, 6, to),
                5 if TILE_ROWS > 4 => gather::<5>(from, stride, 5, to),
                4 => gather::<4>(from, stride, 4, to),
                3 => gather::<3>(from, stride, 3, to),
                2 => gather::<2>(from, stride, 2, to),
                _ => gather::<1>(from, stride, 1, to),
            }
        }
        for (first, wide) in conv::column_blocks::<LANES>(n) {
            let from = &self.d_out[images.start * output_image + first..];
            let to = &mut d_out[first * output_pixels..];
            let stride = self.p.output_stride as usize;
            if wide {
                gather::<PAIR>(from, stride, PAIR.min(n - first), &mut to[..PAIR * output_pixels]);
            } else {
                gather::<LANES>(
                    from,
                    stride,
                    LANES.min(n - first),
                    &mut to[..LANES * output_pixels],
                );
            }
        }
    }

    /// Computes output channels `first .. first + N` of one tile of input channels at one tap.
    #[inline(always)]
    fn unit<const N: usize, const FMA: bool>(
        &mut self,
        images: Range<usize>,
        unit: usize,
        first: usize,
    ) {
        let (m, n) = (self.p.input_channels as usize, self.p.output_channels as usize);
        let tiles = m.div_ceil(TILE_ROWS);
        let row = |unit: usize| unit / tiles * m + row_of(unit % tiles, m);
        let (tap, tile) = (unit / tiles, unit % tiles);
        let [top, bottom] = [tile, tile + 1].map(|tile| row_of(tile, m));
        let [input_pixels, output_pixels] = self.p.pixels();
        let [x, d_out] = &*self.panels;
        let x = &x[top * images.len() * input_pixels..];
        let (d_out, _) = d_out[first * images.len() * output_pixels..].as_chunks::<N>();
        let out = &mut self.out[(row(unit) - row(self.units.start)) * n + first..];
        let cols = N.min(n - first);
        let pairs = self.pairs.of(tap);
        macro_rules! rows {
            ($rows:literal) => {{
                let mut sums = [[0.0; N]; $rows];
                if images.start > 0 {
                    for (i, sums) in sums.iter_mut().enumerate() {
                        *sums = load(&out[i * n..][..cols]);
                    }
                }
                let (x, _) = x.as_chunks::<$rows>();
                for image in 0..images.len() {
                    let x = &x[image * input_pixels..];
                    let d_out = &d_out[image * output_pixels..];
                    multiply::<$rows, N, FMA>(&mut sums, pairs, x, d_out);
                }
                for (i, sums) in sums.iter().enumerate() {
                    store(&mut out[i * n..][..cols], sums);
                }
            }};
        }
        match bottom - top {
            6 if TILE_ROWS > 4 => rows!(6),
            5 if TILE_ROWS > 4 => rows!(5),
            4 => rows!(4),
            3 => rows!(3),
            2 => rows!(2),
            _ => rows!(1),
        }
    }
}

/// Copies the first `cols` channels of as many pixels as fit into `to`, padded with zeros.
#[inline(always)]
fn gather<const N: usize>(from: &[f32], stride: usize, cols: usize, to: &mut [f32]) {
    for (to, from) in to.as_chunks_mut::<N>().0.iter_mut().zip(from.chunks(stride)) {
        *to = load(&from[..cols]);
    }
}

/// Adds the products of the pairs to `sums`; row `i` belongs to input channel `i`.
#[inline(always)]
fn multiply<const R: usize, const N: usize, const FMA: bool>(
    sums: &mut [[f32; N]; R],
    pairs: &[(usize, usize)],
    x: &[[f32; R]],
    d_out: &[[f32; N]],
) {
    // A copy that is not behind a reference stays in registers.
    let mut local = *sums;
    for &(input, output) in pairs {
        let (x, d_out) = (&x[input], &d_out[output]);
        for i in 0..R {
            for j in 0..N {
                local[i][j] = mul_add::<FMA>(x[i], d_out[j], local[i][j]);
            }
        }
    }
    *sums = local;
}
