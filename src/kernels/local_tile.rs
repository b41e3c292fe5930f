//! One tile of a streaming softmax whose logits compare a window around each pixel: the local score
//! machines of Kamb and Ganguli (2025).
//!
//! For pixel `m` of a noisy image `x`, a candidate is a training image `y` under a shift `s`:
//!
//! `logit = -‖(x - y(· + s))_Ω(m)‖² / 2σ²`, with value `y(m + s)`,
//!
//! where Ω(m) is the square of `2r + 1` pixels around `m`. With the shift 0 alone this is the local machine
//! (LS); with every circular shift it is the equivariant one (ELS), whose windows wrap around. The radius
//! follows from the noise level: it is the number of `thresholds` that σ reaches.
//!
//! Distances are sums of squares without a subtraction, so they keep their digits at low noise. Logits are
//! to base 2, `logit · log₂e`, as are the weights.
//! State of a pixel: `[largest logit, Σ w]`; the weighted sum of values is in `out` and is divided by
//! `Σ w` at the end. As in [`softmax_tile`](super::softmax_tile), a larger logit rescales what came
//! before.

use std::cell::Cell;
use std::f32::consts::LOG2_E;

use super::softmax_tile::LOWEST;
use super::{Call, Sigma, VIEWS, params, side_by_side, wgsl};
use crate::compute::simd::{self, Vectorized};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::{Error, Result};

params! {
    struct Params {
        rows: u32,
        height: u32,
        width: u32,
        channels: u32,
        images: u32,
        first: u32,
        shifts: u32,
        thresholds: u32,
        sigma_stride: u32,
        reset: u32,
    }
}

/// Number of values in a pixel's state.
pub const STATE: usize = 2;

/// Most pixels on a side: the shader keeps an image's distances in workgroup memory.
pub const MAX_SIDE: usize = 32;

/// Numbers of channels for which the CPU's loops are compiled: grey and colour.
const CHANNELS: [usize; 2] = [1, 3];

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "local_tile",
    wgsl: &[VIEWS, wgsl!("local_tile.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("x", Access::Read),
        ("images", Access::Read),
        ("sigma", Access::Read),
        ("range", Access::Read),
        ("thresholds", Access::Read),
        ("state", Access::Write),
        ("out", Access::Write),
    ],
    cpu,
};

/// A tile of training images against a batch of noisy ones.
#[derive(Debug, Clone, Copy)]
pub struct LocalTile {
    /// Number of noisy images.
    pub rows: usize,
    /// Height, width and channels of an image.
    pub shape: [usize; 3],
    /// Number of training images in this tile.
    pub images: usize,
    /// Index of the tile's first image in the pool.
    pub first: usize,
    /// Whether windows are compared at every circular shift.
    pub equivariant: bool,
    /// Noise levels at which the radius grows by one.
    pub thresholds: usize,
}

/// Records the tile: `images` holds the tile's images, `range` is the member's training set, `[first,
/// end)` in the pool.
pub fn record(
    program: &mut Program,
    tile: LocalTile,
    sigma: Sigma,
    [x, images, range, thresholds, state, out]: [View; 6],
) -> Result<()> {
    let LocalTile { rows, shape: [height, width, channels], first, .. } = tile;
    if !CHANNELS.contains(&channels) {
        return Err(Error::bad_input(
            format!("A local denoiser does not take images of {channels} channels"),
            "Use images in grey or in colour",
        ));
    }
    let (pixels, dim) = (height * width, height * width * channels);
    let params = Params {
        rows: rows as u32,
        height: height as u32,
        width: width as u32,
        channels: channels as u32,
        images: tile.images as u32,
        first: first as u32,
        shifts: if tile.equivariant { pixels as u32 } else { 1 },
        thresholds: tile.thresholds as u32,
        sigma_stride: sigma.stride(),
        reset: u32::from(first == 0),
    };
    let bindings = [
        (x, rows * dim),
        (images, tile.images * dim),
        sigma.bind(rows),
        (range, 2),
        (thresholds, tile.thresholds.max(1)),
        (state, STATE * rows * pixels),
        (out, rows * dim),
    ];
    program.stage(&KERNEL, &[], &params, &bindings, [rows, 1])
}

/// Training images that are compared side by side. Rows of pixels are too short to fill vectors. The number is
/// the same on every processor, and so are the sums.
const LANES: usize = 16;

/// One number for each of these images. Aligned, so that no vector lies across two lines of the cache, which
/// would take a sixth more time.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
struct Lanes([f32; LANES]);

impl Lanes {
    const ZERO: Self = Self([0.0; LANES]);

    /// Calls `number` for each image. What it captures should be copies: behind references, the compiler finds
    /// no vectors.
    #[inline(always)]
    fn each(number: impl Fn(usize) -> f32) -> Self {
        let mut all = Self::ZERO;
        for (lane, value) in all.0.iter_mut().enumerate() {
            *value = number(lane);
        }
        all
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self::each(|i| self.0[i] + other.0[i])
    }

    #[inline(always)]
    fn any(self, is: impl Fn(f32) -> bool) -> bool {
        self.0.iter().fold(false, |any, &value| any | is(value))
    }

    /// A call, as the compiler would gather lanes of several pixels, which takes twice as long.
    #[inline(never)]
    fn sum(&self) -> f32 {
        let halves: [f32; LANES / 2] = halve(&self.0);
        let [a, b, c, d] = halve::<{ LANES / 2 }, { LANES / 4 }>(&halves);
        (a + c) + (b + d)
    }
}

#[inline(always)]
fn halve<const N: usize, const HALF: usize>(values: &[f32; N]) -> [f32; HALF] {
    let mut sums = [0.0; HALF];
    for (i, sum) in sums.iter_mut().enumerate() {
        *sum = values[i] + values[i + HALF];
    }
    sums
}

/// The pixels of images that do not exist: so far from any other that their weight is 0, and their squares are
/// finite.
const FAR: f32 = 1e15;

/// Logits this far below the largest one have no weight: 2⁻⁷² is 10⁻²² of it, as in
/// [`softmax_tile`](super::softmax_tile).
const FAINTEST: f32 = -72.0;

/// `2^logit`, to 3 · 10⁻⁷ of it, for logits up to 0.
///
/// Its argument is never below [`FAINTEST`] where the result counts, so nothing is clamped, and the integer part
/// goes straight into the exponent: half of the operations of [`exp_negative`](super::exp_negative).
#[inline(always)]
fn weight(logit: f32) -> f32 {
    // Adding 1.5·2²³ rounds to the nearest integer and leaves it in the low bits.
    let shifted = logit + 12_582_912.0;
    let f = logit - (shifted - 12_582_912.0);
    // The polynomial with the smallest relative error in [-½, ½], in pairs, which do not wait for each other.
    let square = f * f;
    let high = 9.675_541e-3 + 1.327_647_2e-3 * f;
    let middle = 2.402_212e-1 + 5.550_713e-2 * f;
    let fraction = (1.0 + 6.931_469_4e-1 * f) + square * (middle + square * high);
    let power = f32::from_bits(fraction.to_bits().wrapping_add(shifted.to_bits() << 23));
    if logit < FAINTEST { 0.0 } else { power }
}

/// Scratch space of a thread, kept from call to call so that running allocates nothing.
#[derive(Default)]
struct Scratch {
    /// Squared differences, column after column, each with the border that a window reaches into.
    columns: Vec<Lanes>,
    /// Their sums over windows within a column, row after row, likewise.
    rows: Vec<Lanes>,
    /// See [`slide`].
    suffixes: Vec<Lanes>,
    /// Squared distances of the windows around a row of pixels.
    distances: Vec<Lanes>,
    /// Of each pixel the largest logit; and of this tile Σ w, and the weighted sums of values.
    tops: Vec<f32>,
    weights: Vec<Lanes>,
    values: Vec<Lanes>,
}

thread_local! {
    static SCRATCH: Cell<Scratch> = Cell::default();
    /// The images of a tile, side by side.
    static PACKED: Cell<Vec<Lanes>> = const { Cell::new(Vec::new()) };
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (x, images, sigma) = (call.read(0), call.read(1), call.read(2));
    let (range, thresholds) = (call.read_u32(3), call.read(4));
    let (state, out) = (call.write(5), call.write(6));
    let pixels = (p.height * p.width) as usize;
    let dim = pixels * p.channels as usize;
    let begin = (range[0].max(p.first) - p.first).min(p.images) as usize;
    let end = ((range[1].max(p.first) - p.first).min(p.images) as usize).max(begin);
    let mut packed = PACKED.take();
    pack(p, &images[begin * dim..end * dim], &mut packed);
    let work = p.rows as usize * (end - begin) * p.shifts as usize * pixels * 12;
    let pieces = if call.threads(work) > 1 { p.rows as usize } else { 1 };
    let rows = (p.rows as usize).div_ceil(pieces);
    side_by_side(
        pieces,
        [(state, rows * STATE * pixels), (out, rows * dim)],
        &|piece, [state, out]| {
            let first = piece * rows;
            for (i, (state, out)) in
                state.chunks_exact_mut(STATE * pixels).zip(out.chunks_exact_mut(dim)).enumerate()
            {
                let row = first + i;
                let sigma = sigma[row * p.sigma_stride as usize];
                let radius =
                    thresholds[..p.thresholds as usize].iter().filter(|&&t| sigma >= t).count();
                let mut scratch = SCRATCH.take();
                simd::run(Row {
                    p,
                    x: &x[row * dim..][..dim],
                    images: &packed,
                    tightness: 0.5 * LOG2_E / (sigma * sigma),
                    frame: Frame::new(p, radius),
                    state,
                    out,
                    scratch: &mut scratch,
                });
                SCRATCH.set(scratch);
            }
        },
    );
    PACKED.set(packed);
}

/// Lays groups of images side by side. The last group is filled up with images that are [`FAR`]. Rows that are
/// shifted are there twice, one beside the other, so that each shift of a row is a slice.
fn pack(p: Params, images: &[f32], packed: &mut Vec<Lanes>) {
    let line = (p.width * p.channels) as usize;
    let dim = line * p.height as usize;
    let copies = Frame::new(p, 0).copies();
    packed.clear();
    packed.resize(images.len().div_ceil(LANES * dim) * dim * copies, Lanes([FAR; LANES]));
    for (images, group) in images.chunks(LANES * dim).zip(packed.chunks_exact_mut(dim * copies)) {
        for (lane, image) in images.chunks_exact(dim).enumerate() {
            let rows = group.chunks_exact_mut(line * copies).zip(image.chunks_exact(line));
            for (copies, image) in rows {
                for row in copies.chunks_exact_mut(line) {
                    for (lanes, &value) in row.iter_mut().zip(image) {
                        lanes.0[lane] = value;
                    }
                }
            }
        }
    }
}

/// One noisy image against all candidates of a tile.
struct Row<'a> {
    p: Params,
    x: &'a [f32],
    /// The images, side by side.
    images: &'a [Lanes],
    /// `log₂e / 2σ²`.
    tightness: f32,
    frame: Frame,
    state: &'a mut [f32],
    out: &'a mut [f32],
    scratch: &'a mut Scratch,
}

impl Vectorized for Row<'_> {
    #[inline(always)]
    fn run<const WIDTH: usize, const PAIR: usize, const FMA: bool>(self) {
        if self.p.channels == 1 { self.add::<1>() } else { self.add::<3>() }
    }
}

impl Row<'_> {
    /// Adds the candidates to the state and the weighted sums of images of `C` channels.
    #[inline(always)]
    fn add<const C: usize>(self) {
        let Self { p, x, images, tightness, frame, state, out, scratch } = self;
        let (state, _) = state.as_chunks_mut::<STATE>();
        let (out, _) = out.as_chunks_mut::<C>();
        if p.reset == 1 {
            state.fill([LOWEST, 0.0]);
            out.fill([0.0; C]);
        }
        frame.clear(scratch, state, C);
        let (x, _) = x.as_chunks::<C>();
        let (images, _) = images.as_chunks::<C>();
        for group in images.chunks_exact(frame.height * frame.stride()) {
            for shift in 0..p.shifts as usize {
                let image =
                    Shifted { group, down: shift / frame.width, right: shift % frame.width };
                frame.squares(x, image, scratch);
                frame.sums_of_columns(scratch);
                frame.update(image, tightness, scratch);
            }
        }
        let values = scratch.values.chunks_exact(C).zip(out);
        let sums = scratch.tops.iter().zip(&scratch.weights).zip(values);
        for ([top, sum], ((&new_top, weights), (values, out))) in state.iter_mut().zip(sums) {
            let scale = weight(*top - new_top);
            *top = new_top;
            *sum = scale * *sum + weights.sum();
            for (out, values) in out.iter_mut().zip(values) {
                *out = scale * *out + values.sum();
            }
        }
    }
}

/// A group of training images under a circular shift.
#[derive(Clone, Copy)]
struct Shifted<'a, const C: usize> {
    group: &'a [[Lanes; C]],
    down: usize,
    right: usize,
}

/// The shape of the images, and the window.
#[derive(Debug, Clone, Copy)]
struct Frame {
    height: usize,
    width: usize,
    /// How far a window reaches above and below its pixel, and to either side.
    reach: [usize; 2],
    /// Whether windows wrap around the border instead of ending there.
    wraps: bool,
}

impl Frame {
    fn new(p: Params, radius: usize) -> Self {
        let [height, width] = [p.height, p.width].map(|side| side as usize);
        let wraps = p.shifts > 1;
        // A window larger than the image covers all of it, and no pixel twice.
        let reach = |side: usize| radius.min(if wraps { (side - 1) / 2 } else { side - 1 });
        Self { height, width, reach: [height, width].map(reach), wraps }
    }

    /// How often a packed image has each row.
    const fn copies(self) -> usize {
        if self.wraps { 2 } else { 1 }
    }

    /// From row to row of a packed image.
    const fn stride(self) -> usize {
        self.copies() * self.width
    }

    /// Row `i` of the images as they are shifted.
    #[inline(always)]
    fn row<const C: usize>(self, image: Shifted<'_, C>, i: usize) -> &[[Lanes; C]] {
        let Shifted { group, down, right } = image;
        let i = if i + down < self.height { i + down } else { i + down - self.height };
        &group[i * self.stride() + right..][..self.width]
    }

    /// Lengths of a column and of a row with what windows reach beyond them.
    #[inline(always)]
    fn lines(self) -> [usize; 2] {
        [self.height + 2 * self.reach[0], self.width + 2 * self.reach[1]]
    }

    /// Prepares scratch space for a tile.
    fn clear(self, scratch: &mut Scratch, state: &[[f32; STATE]], channels: usize) {
        let Self { height, width, reach, .. } = self;
        let [column, row] = self.lines();
        let zeros = |lanes: &mut Vec<Lanes>, len| {
            lanes.clear();
            lanes.resize(len, Lanes::ZERO);
        };
        // Windows that end at the border go on over zeros there, which nobody overwrites.
        zeros(&mut scratch.columns, width * column);
        zeros(&mut scratch.rows, height * row);
        zeros(&mut scratch.suffixes, 2 * reach[0].max(reach[1]) + 1);
        zeros(&mut scratch.distances, width);
        zeros(&mut scratch.weights, height * width);
        zeros(&mut scratch.values, height * width * channels);
        scratch.tops.clear();
        scratch.tops.extend(state.iter().map(|&[top, _]| top));
    }

    /// Writes the squared differences of all pixels.
    #[inline(always)]
    fn squares<const C: usize>(self, x: &[[f32; C]], image: Shifted<'_, C>, scratch: &mut Scratch) {
        let [column, _] = self.lines();
        for (i, x) in x.chunks_exact(self.width).enumerate() {
            let columns = scratch.columns.chunks_exact_mut(column);
            for ((column, x), y) in columns.zip(x).zip(self.row(image, i)) {
                let mut squares = Lanes::ZERO;
                for c in 0..C {
                    let (before, x, y) = (squares, x[c], y[c]);
                    squares = Lanes::each(|i| before.0[i] + (x - y.0[i]) * (x - y.0[i]));
                }
                column[self.reach[0] + i] = squares;
            }
        }
    }

    /// Sums the squares over windows within each column.
    #[inline(always)]
    fn sums_of_columns(self, scratch: &mut Scratch) {
        let [column, row] = self.lines();
        let [down, across] = self.reach;
        let Scratch { columns, rows, suffixes, .. } = scratch;
        let suffixes = &mut suffixes[..=2 * down];
        for (j, column) in columns.chunks_exact_mut(column).enumerate() {
            self.wrap(column, down);
            let sums = rows.chunks_exact_mut(row).map(|row| &mut row[across + j]);
            slide(column, suffixes, sums);
        }
    }

    /// Sums these over windows within each row, which makes them distances, and adds the candidates to the sums.
    #[inline(always)]
    fn update<const C: usize>(self, image: Shifted<'_, C>, tightness: f32, scratch: &mut Scratch) {
        let (width, [_, row], [_, across]) = (self.width, self.lines(), self.reach);
        let Scratch { rows, suffixes, distances, tops, weights, values, .. } = scratch;
        let suffixes = &mut suffixes[..=2 * across];
        let (values, _) = values.as_chunks_mut::<C>();
        let sums = tops
            .chunks_exact_mut(width)
            .zip(weights.chunks_exact_mut(width))
            .zip(values.chunks_exact_mut(width));
        for ((i, row), ((tops, weights), values)) in
            rows.chunks_exact_mut(row).enumerate().zip(sums)
        {
            self.wrap(row, across);
            slide(row, suffixes, distances.iter_mut());
            let pixels = tops.iter_mut().zip(weights).zip(values).zip(self.row(image, i));
            for ((((top, weights), values), y), distances) in pixels.zip(&*distances) {
                let distances = *distances;
                let logits = Lanes::each(|i| -tightness * distances.0[i]);
                let before = *top;
                // Seldom: the largest of n logits in any order changes ln n times.
                if logits.any(|logit| logit > before) {
                    rise(logits, top, weights, values);
                }
                let top = *top;
                let new = Lanes::each(|i| weight(logits.0[i] - top));
                *weights = weights.plus(new);
                for (value, y) in values.iter_mut().zip(y) {
                    let (before, y) = (*value, *y);
                    *value = Lanes::each(|i| before.0[i] + new.0[i] * y.0[i]);
                }
            }
        }
    }

    /// Continues a line beyond its ends by what is at the other end, if windows wrap.
    #[inline(always)]
    fn wrap(self, line: &mut [Lanes], reach: usize) {
        if self.wraps {
            let side = line.len() - 2 * reach;
            for k in 0..reach {
                line[k] = line[side + k];
                line[side + reach + k] = line[reach + k];
            }
        }
    }
}

/// Makes the largest of the logits the one to which sums are relative.
#[cold]
#[inline(never)]
fn rise(logits: Lanes, top: &mut f32, weights: &mut Lanes, values: &mut [Lanes]) {
    let largest = logits.0.iter().fold(*top, |max, &l| if l > max { l } else { max });
    let scale = weight(*top - largest);
    *top = largest;
    for sums in values.iter_mut().chain([weights]) {
        sums.0.iter_mut().for_each(|sum| *sum *= scale);
    }
}

/// Writes the sums over windows that slide along a line, as long as `suffixes`: of its first elements, then of
/// those from the second on, and so on.
///
/// Cut into blocks of that length, each window is the end of a block and the beginning of the next. So it takes
/// three additions to a window of any length and no subtraction (van Herk, 1992; Gil and Werman, 1993).
#[inline(always)]
fn slide<'a>(
    mut line: &[Lanes],
    suffixes: &mut [Lanes],
    mut out: impl Iterator<Item = &'a mut Lanes>,
) {
    while let Some((block, rest)) = line.split_at_checked(suffixes.len()) {
        let mut sum = Lanes::ZERO;
        for (suffix, value) in suffixes.iter_mut().zip(block).rev() {
            sum = sum.plus(*value);
            *suffix = sum;
        }
        if let Some(out) = out.next() {
            *out = sum;
        }
        let mut sum = Lanes::ZERO;
        for ((suffix, value), out) in suffixes[1..].iter().zip(rest).zip(&mut out) {
            sum = sum.plus(*value);
            *out = suffix.plus(sum);
        }
        line = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_add_every_neighbour_once() {
        let line: Vec<Lanes> = (0..23).map(|i| Lanes([(i * i % 7) as f32; LANES])).collect();
        for count in [1, 3, 5, 7, 11, 21, 23] {
            let mut out = vec![Lanes([f32::NAN; LANES]); line.len() + 1 - count];
            slide(&line, &mut vec![Lanes::ZERO; count], out.iter_mut());
            for (i, sums) in out.iter().enumerate() {
                let expected: f32 = line[i..i + count].iter().map(|lanes| lanes.0[0]).sum();
                assert_eq!(*sums, Lanes([expected; LANES]), "{count} neighbours");
            }
        }
    }

    #[test]
    fn weights_are_powers_of_two() {
        for i in 0..=7200 {
            let logit = -i as f32 / 100.0;
            let (ours, exact) = (f64::from(weight(logit)), f64::from(logit).exp2());
            assert!((ours / exact - 1.0).abs() < 3e-7, "2^{logit}: {ours} {exact}");
        }
        // Sums that no logit rises above are not rescaled.
        assert_eq!(weight(0.0), 1.0);
        for faint in [-72.1, -1e4, LOWEST, f32::NEG_INFINITY] {
            assert_eq!(weight(faint), 0.0);
        }
    }

    /// Both machines, in grey and in colour, with a group that is not full.
    #[test]
    fn the_width_of_vectors_does_not_change_a_bit() {
        for (channels, shifts) in [(1, 1), (3, 1), (1, 30)] {
            let p = Params {
                rows: 1,
                height: 5,
                width: 6,
                channels,
                images: 21,
                first: 0,
                shifts,
                thresholds: 0,
                sigma_stride: 0,
                reset: 1,
            };
            let dim = 30 * channels as usize;
            let numbers: Vec<f32> = (0..22 * dim).map(|i| (i * i % 101) as f32 / 50.0).collect();
            let (x, images) = numbers.split_at(dim);
            let mut packed = Vec::new();
            pack(p, images, &mut packed);
            let run = |run: fn(Row<'_>)| {
                let (mut state, mut out) = (vec![0.0; 60], vec![0.0; dim]);
                run(Row {
                    p,
                    x,
                    images: &packed,
                    tightness: 0.3,
                    frame: Frame::new(p, 1),
                    state: &mut state,
                    out: &mut out,
                    scratch: &mut Scratch::default(),
                });
                [state, out]
            };
            assert_eq!(run(|row| simd::run(row)), run(|row| row.run::<4, 8, false>()));
        }
    }
}
