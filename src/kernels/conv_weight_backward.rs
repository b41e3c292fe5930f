//! The gradient of a [`Conv`] with respect to its weights and bias: for each tap, input channels ×
//! output channels summed over the pixels of all images.
//!
//! The sum is long and its result small, so it is cut into parts of the batch that are added up by a
//! second stage in a fixed order; [`Profile::parts`](crate::compute::Profile) says how many it takes
//! to keep the engine busy.

use std::cell::Cell;

use super::conv::{self, Channels, Conv, TAPS};
use super::{Call, THREADS, VALUE, VIEWS, aligned, column_sums, params, side_by_side, wgsl};
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
    }
}

/// See the module.
pub static KERNEL: Kernel = Kernel {
    name: "conv_weight_backward",
    wgsl: &[VIEWS, VALUE, wgsl!("conv_weight_backward.wgsl")],
    params: Params::FIELDS,
    bindings: &[("x", Access::Read), ("d_out", Access::Read), ("out", Access::Write)],
    cpu,
};

/// Images in a part, and parts, of a batch.
fn parts(program: &Program, conv: &Conv) -> [usize; 2] {
    let span = conv.batch.div_ceil(program.profile().parts as usize);
    [span, conv.batch.div_ceil(span)]
}

/// Elements of scratch space that [`record`] needs.
#[must_use]
pub fn scratch(program: &Program, conv: &Conv) -> usize {
    let [_, parts] = parts(program, conv);
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
    let [span, parts] = parts(program, conv);
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
    let [quads_y, quads_x] = conv::quads(program, conv.channels);
    let columns = output_channels.div_ceil(4 * quads_x as usize);
    let rows = input_channels.div_ceil(4 * quads_y as usize);
    let workgroups = [(columns * TAPS * rows).div_ceil(THREADS), parts];
    let wide = if wide { 4 } else { 1 };
    let constants = [("QUADS_Y", quads_y), ("QUADS_X", quads_x), ("WIDE", wide)];
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
    let mut scratch = SCRATCH.take();
    scratch.find_pairs(&p);
    let (m, n) = (p.input_channels as usize, p.output_channels as usize);
    let input_image = (p.input_height * p.input_width * p.input_stride) as usize;
    let output_image = (p.output_height * p.output_width * p.output_stride) as usize;
    let (span, batch) = (p.span as usize, p.batch as usize);
    for (part, out) in out.chunks_exact_mut(p.bias as usize + n).enumerate() {
        let begin = part * span;
        let images = span.min(batch - begin);
        let (x, d_out) = (&x[begin * input_image..], &d_out[begin * output_image..]);
        let (weights, rest) = out.split_at_mut(TAPS * m * n);
        // What lies between weights and bias is no parameter, and has no gradient.
        rest.fill(0.0);
        let bias = &mut rest[p.bias as usize - TAPS * m * n..];
        let pixels = images * (p.output_height * p.output_width) as usize;
        for row in d_out.chunks(p.output_stride as usize).take(pixels) {
            bias.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        // A row is an input channel at a tap.
        let rows = (TAPS * m).div_ceil(call.threads(images * scratch.pairs.len() * m * n));
        let work = |piece: usize, [out]: [&mut [f32]; 1]| {
            let first_row = piece * rows;
            simd::run(Work { p, x, d_out, images, first_row, out, scratch: &scratch });
        };
        side_by_side((TAPS * m).div_ceil(rows), [(weights, rows * n)], &work);
    }
    SCRATCH.set(scratch);
}

/// What a call prepares before its loops, kept from call to call so that running allocates nothing.
#[derive(Default)]
struct Scratch {
    /// Elements of the input image and of the output image that meet, for each tap in turn.
    pairs: Vec<(usize, usize)>,
    /// Where the pairs of each tap end.
    ends: Vec<usize>,
}

thread_local! {
    static SCRATCH: Cell<Scratch> = Cell::default();
}

impl Scratch {
    fn pairs_of(&self, tap: usize) -> &[(usize, usize)] {
        let begin = tap.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.pairs[begin..self.ends[tap]]
    }

    fn find_pairs(&mut self, p: &Params) {
        let (width, stride) = (p.input_width as usize, p.input_stride as usize);
        let scale = [p.up, p.down];
        self.pairs.clear();
        self.ends.clear();
        for tap in 0..TAPS {
            for y in 0..p.output_height as usize {
                let Some(row) = conv::input(y, tap / 3, scale, p.input_height as usize) else {
                    continue;
                };
                for x in 0..p.output_width as usize {
                    if let Some(column) = conv::input(x, tap % 3, scale, width) {
                        let output = y * p.output_width as usize + x;
                        let pair =
                            ((row * width + column) * stride, output * p.output_stride as usize);
                        self.pairs.push(pair);
                    }
                }
            }
            self.ends.push(self.pairs.len());
        }
    }
}

/// Some rows of the gradient of the weights, for one part of the batch.
struct Work<'a> {
    p: Params,
    x: &'a [f32],
    d_out: &'a [f32],
    images: usize,
    first_row: usize,
    out: &'a mut [f32],
    scratch: &'a Scratch,
}

impl Vectorized for Work<'_> {
    #[inline(always)]
    fn run<const LANES: usize, const PAIR: usize, const FMA: bool>(mut self) {
        let channels = self.p.output_channels as usize;
        let mut first = 0;
        while first < channels {
            if channels - first > LANES {
                self.columns::<PAIR, FMA>(first);
                first += PAIR;
            } else {
                self.columns::<LANES, FMA>(first);
                first += LANES;
            }
        }
    }
}

/// Most input channels in a register tile: with two vectors of output channels each, twelve sums.
const TILE_ROWS: usize = 6;

impl Work<'_> {
    /// Output channels `first .. first + N`.
    #[inline(always)]
    fn columns<const N: usize, const FMA: bool>(&mut self, first: usize) {
        let p = &self.p;
        let (m, n) = (p.input_channels as usize, p.output_channels as usize);
        let cols = N.min(n - first);
        let input_image = (p.input_height * p.input_width * p.input_stride) as usize;
        let output_image = (p.output_height * p.output_width * p.output_stride) as usize;
        let d_out = &self.d_out[first..];
        let rows = self.first_row..self.first_row + self.out.len() / n;
        for tap in rows.start / m..rows.end.div_ceil(m) {
            let pairs = self.scratch.pairs_of(tap);
            // The channels of this tap that are asked for.
            let low = rows.start.max(tap * m) - tap * m;
            let high = rows.end.min((tap + 1) * m) - tap * m;
            let tiles = (high - low).div_ceil(TILE_ROWS);
            for tile in 0..tiles {
                // Tiles of almost equal heights: a short last one would leave the multipliers idle.
                let [top, bottom] = [tile, tile + 1].map(|t| low + t * (high - low) / tiles);
                let x = &self.x[top..];
                macro_rules! rows {
                    ($rows:literal) => {{
                        let mut sums = [[0.0; N]; $rows];
                        for image in 0..self.images {
                            let x = &x[image * input_image..];
                            let d_out = &d_out[image * output_image..];
                            // The last pixel has nothing behind it to read instead of its
                            // missing channels.
                            if cols == N {
                                multiply::<$rows, N, true, FMA>(&mut sums, pairs, x, d_out);
                            } else {
                                multiply::<$rows, N, false, FMA>(&mut sums, pairs, x, d_out);
                            }
                        }
                        for (i, sums) in sums.iter().enumerate() {
                            let at = (tap * m + top + i - rows.start) * n + first;
                            store(&mut self.out[at..][..cols], sums);
                        }
                    }};
                }
                match bottom - top {
                    6 => rows!(6),
                    5 => rows!(5),
                    4 => rows!(4),
                    3 => rows!(3),
                    2 => rows!(2),
                    _ => rows!(1),
                }
            }
        }
    }
}

/// Adds to `sums` the products of the pairs: row `i` is of input channel `i`.
#[inline(always)]
fn multiply<const R: usize, const N: usize, const FULL: bool, const FMA: bool>(
    sums: &mut [[f32; N]; R],
    pairs: &[(usize, usize)],
    x: &[f32],
    d_out: &[f32],
) {
    // A copy that is not behind a reference stays in registers.
    let mut local = *sums;
    for &(input, output) in pairs {
        let x = &x[input..][..R];
        // Past the last channel this reads the next pixel; those columns are never stored.
        let d_out = &d_out[output..];
        let d_out: [f32; N] = load(if FULL { &d_out[..N] } else { d_out });
        for i in 0..R {
            for j in 0..N {
                local[i][j] = mul_add::<FMA>(x[i], d_out[j], local[i][j]);
            }
        }
    }
    *sums = local;
}
