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
//! Distances are sums of squares without a subtraction, so they keep their digits at low noise.
//! State of a pixel: `[largest logit, Σ w]`; the weighted sum of values is in `out` and is divided by
//! `Σ w` at the end. As in [`softmax_tile`](super::softmax_tile), a larger logit rescales what came
//! before.

use std::cell::Cell;
use std::mem;

use super::softmax_tile::{LOWEST, exp_weight};
use super::{Call, Sigma, VIEWS, params, side_by_side, wgsl};
use crate::compute::simd::{self, Vectorized};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

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

/// One number for each of these images.
type Lanes = [f32; LANES];

/// Calls `number` for each image. What it captures should be copies: behind references, the compiler finds no
/// vectors.
#[inline(always)]
fn lanes(number: impl Fn(usize) -> f32) -> Lanes {
    let mut all = [0.0; LANES];
    for (lane, value) in all.iter_mut().enumerate() {
        *value = number(lane);
    }
    all
}

/// Scratch space of a thread, kept from call to call so that running allocates nothing.
#[derive(Default)]
struct Scratch {
    /// Which pixel of a training image is under each pixel.
    shifted: Vec<usize>,
    /// Squared differences of a row of pixels with a border, or sums of a column; their sums over powers of
    /// two; and over the window.
    padded: Vec<Lanes>,
    powers: [Vec<Lanes>; 2],
    sums: Vec<Lanes>,
    /// Sums along rows.
    rows: Vec<Lanes>,
    /// Squared distances of windows.
    distances: Vec<Lanes>,
    /// Σ w of each pixel, and the weighted sums of values.
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
    pack(&images[begin * dim..end * dim], dim, &mut packed);
    let work = p.rows as usize * (end - begin) * p.shifts as usize * pixels * 24;
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
                    count: end - begin,
                    tightness: 0.5 / (sigma * sigma),
                    radius,
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

/// Lays groups of images of `dim` numbers side by side. The last group is filled up with zeros.
fn pack(images: &[f32], dim: usize, packed: &mut Vec<Lanes>) {
    packed.clear();
    packed.resize(images.len().div_ceil(LANES * dim) * dim, [0.0; LANES]);
    for (images, group) in images.chunks(LANES * dim).zip(packed.chunks_exact_mut(dim)) {
        for (lane, image) in images.chunks_exact(dim).enumerate() {
            for (lanes, &value) in group.iter_mut().zip(image) {
                lanes[lane] = value;
            }
        }
    }
}

/// One noisy image against all candidates of a tile.
struct Row<'a> {
    p: Params,
    x: &'a [f32],
    /// The images, side by side, and how many there are.
    images: &'a [Lanes],
    count: usize,
    /// `1 / 2σ²`.
    tightness: f32,
    radius: usize,
    state: &'a mut [f32],
    out: &'a mut [f32],
    scratch: &'a mut Scratch,
}

impl Vectorized for Row<'_> {
    #[inline(always)]
    fn run<const WIDTH: usize, const PAIR: usize, const FMA: bool>(self) {
        let Self { p, x, images, count, tightness, radius, state, out, scratch } = self;
        let [height, width, channels] = [p.height, p.width, p.channels].map(|v| v as usize);
        let (pixels, dim) = (height * width, height * width * channels);
        let frame = Frame { height, width, channels, radius, wraps: p.shifts > 1 };
        let (state, _) = state.as_chunks_mut::<STATE>();
        if p.reset == 1 {
            state.fill([LOWEST, 0.0]);
            out.fill(0.0);
        }
        let alone = |value: f32| {
            let mut lanes = [0.0; LANES];
            lanes[0] = value;
            lanes
        };
        scratch.weights.clear();
        scratch.weights.extend(state.iter().map(|state| alone(state[1])));
        scratch.values.clear();
        scratch.values.extend(out.iter().map(|&value| alone(value)));
        scratch.distances.resize(pixels, [0.0; LANES]);
        for (group, images) in images.chunks_exact(dim).enumerate() {
            let lanes = LANES.min(count - group * LANES);
            for shift in 0..p.shifts as usize {
                frame.shift([shift / width, shift % width], &mut scratch.shifted);
                frame.distances(x, images, scratch);
                update(&frame, images, lanes, tightness, scratch, state);
            }
        }
        for (state, weights) in state.iter_mut().zip(&scratch.weights) {
            state[1] = weights.iter().sum();
        }
        for (out, values) in out.iter_mut().zip(&scratch.values) {
            *out = values.iter().sum();
        }
    }
}

/// Adds a group of candidates, of which there are `count`, to the sums.
#[inline(always)]
fn update(
    frame: &Frame,
    images: &[Lanes],
    count: usize,
    tightness: f32,
    scratch: &mut Scratch,
    state: &mut [[f32; STATE]],
) {
    let channels = frame.channels;
    let Scratch { shifted, distances, weights, values, .. } = scratch;
    let sums = weights.iter_mut().zip(values.chunks_exact_mut(channels));
    let pixels = state.iter_mut().zip(&*distances).zip(sums).zip(&*shifted);
    for ((([top, _], distances), (weights, values)), &from) in pixels {
        let distances = *distances;
        let mut logits = lanes(|i| -tightness * distances[i]);
        if count < LANES {
            logits[count..].fill(LOWEST);
        }
        // Seldom: the largest of n logits in any order changes ln n times.
        if logits.iter().fold(false, |any, logit| any | (logit > top)) {
            let largest = logits.iter().fold(*top, |max, &l| if l > max { l } else { max });
            let scale = exp_weight(*top - largest);
            *top = largest;
            weights.iter_mut().for_each(|weight| *weight *= scale);
            values.as_flattened_mut().iter_mut().for_each(|value| *value *= scale);
        }
        let (top, before) = (*top, *weights);
        let new = lanes(|i| exp_weight(logits[i] - top));
        *weights = lanes(|i| before[i] + new[i]);
        for (values, image) in values.iter_mut().zip(&images[from * channels..]) {
            let (before, image) = (*values, *image);
            *values = lanes(|i| before[i] + new[i] * image[i]);
        }
    }
}

/// The shape of the images, and the window.
#[derive(Clone, Copy)]
struct Frame {
    height: usize,
    width: usize,
    channels: usize,
    radius: usize,
    /// Whether windows wrap around the border instead of ending there.
    wraps: bool,
}

impl Frame {
    /// Writes which pixel of an image shifted by `[dy, dx]` is under each pixel.
    fn shift(self, [dy, dx]: [usize; 2], shifted: &mut Vec<usize>) {
        let Self { height, width, .. } = self;
        shifted.clear();
        for i in 0..height {
            let row = (i + dy) % height * width;
            shifted.extend((row + dx..row + width).chain(row..row + dx));
        }
    }

    /// Writes the squared distances of the windows around each pixel.
    ///
    /// Sums over the window are sums along rows, then along columns, each made of sums of 1, 2, 4, …
    /// neighbours, so that no number is ever subtracted.
    #[inline(always)]
    fn distances(self, x: &[f32], images: &[Lanes], scratch: &mut Scratch) {
        let Self { height, width, channels, .. } = self;
        let Scratch { shifted, padded, powers, sums, rows, distances, .. } = scratch;
        rows.resize(height * width, [0.0; LANES]);
        let pixels = x.chunks_exact(width * channels).zip(shifted.chunks_exact(width));
        let mut window = Window::new(self, width, padded, powers);
        for (sums, (x, shifted)) in rows.chunks_exact_mut(width).zip(pixels) {
            let pixels = x.chunks_exact(channels).zip(shifted);
            for (sum, (x, &from)) in window.inner().iter_mut().zip(pixels) {
                let mut squares = [0.0; LANES];
                for (&x, &image) in x.iter().zip(&images[from * channels..]) {
                    let before = squares;
                    squares = lanes(|i| before[i] + (x - image[i]) * (x - image[i]));
                }
                *sum = squares;
            }
            window.sums(sums);
        }
        let mut window = Window::new(self, height, padded, powers);
        sums.resize(height, [0.0; LANES]);
        for column in 0..width {
            for (sum, row) in window.inner().iter_mut().zip(rows.chunks_exact(width)) {
                *sum = row[column];
            }
            window.sums(sums);
            for (row, sum) in distances.chunks_exact_mut(width).zip(&*sums) {
                row[column] = *sum;
            }
        }
    }
}

/// The window along one side of the image.
struct Window<'a> {
    radius: usize,
    wraps: bool,
    /// A row or column with a border.
    padded: &'a mut [Lanes],
    powers: &'a mut [Vec<Lanes>; 2],
}

impl<'a> Window<'a> {
    #[inline(always)]
    fn new(
        frame: Frame,
        side: usize,
        padded: &'a mut Vec<Lanes>,
        powers: &'a mut [Vec<Lanes>; 2],
    ) -> Self {
        // A window larger than the image covers all of it, and no pixel twice.
        let radius = frame.radius.min(if frame.wraps { (side - 1) / 2 } else { side - 1 });
        padded.clear();
        padded.resize(side + 2 * radius, [0.0; LANES]);
        for powers in &mut *powers {
            powers.resize(padded.len(), [0.0; LANES]);
        }
        Self { radius, wraps: frame.wraps, padded, powers }
    }

    /// What the border surrounds.
    #[inline(always)]
    fn inner(&mut self) -> &mut [Lanes] {
        let end = self.padded.len() - self.radius;
        &mut self.padded[self.radius..end]
    }

    /// Writes the sums over the window around each element.
    #[inline(always)]
    fn sums(&mut self, out: &mut [Lanes]) {
        let Self { radius, wraps, .. } = *self;
        if wraps {
            self.padded.copy_within(out.len()..out.len() + radius, 0);
            self.padded.copy_within(radius..2 * radius, out.len() + radius);
        }
        let powers = self.powers.each_mut().map(Vec::as_mut_slice);
        window_sums(self.padded, powers, 2 * radius + 1, out);
    }
}

/// `out[i] = Σ source[i + k]` over `k < count`, which is odd, from sums of powers of two.
#[inline(always)]
fn window_sums(source: &[Lanes], powers: [&mut [Lanes]; 2], count: usize, out: &mut [Lanes]) {
    out.copy_from_slice(&source[..out.len()]);
    if count == 1 {
        return;
    }
    // Loops over all lanes of all elements, each from one place to another: the compiler finds vectors in those.
    let (source, out) = (source.as_flattened(), out.as_flattened_mut());
    let [mut sums, mut next] = powers.map(<[Lanes]>::as_flattened_mut);
    add_ahead(source, 1, sums);
    // sums[i] is the sum of `size` neighbours from i on.
    let (mut size, mut done) = (2, 1);
    loop {
        if count & size != 0 {
            for (out, sum) in out.iter_mut().zip(&sums[done * LANES..]) {
                *out += sum;
            }
            done += size;
        }
        if 2 * size > count {
            return;
        }
        add_ahead(sums, size, next);
        mem::swap(&mut sums, &mut next);
        size *= 2;
    }
}

/// `out[i] = source[i] + source[i + distance]`.
#[inline(always)]
fn add_ahead(source: &[f32], distance: usize, out: &mut [f32]) {
    let pairs = source.iter().zip(&source[distance * LANES..]);
    for (out, (here, ahead)) in out.iter_mut().zip(pairs) {
        *out = here + ahead;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_sums_add_every_neighbour_once() {
        let source: Vec<Lanes> = (0..23).map(|i| [(i * i % 7) as f32; LANES]).collect();
        for count in [1, 3, 5, 7, 21] {
            let mut out = vec![[f32::NAN; LANES]; source.len() + 1 - count];
            let scratch = &mut [(); 2].map(|()| vec![[0.0; LANES]; source.len()]);
            window_sums(&source, scratch.each_mut().map(Vec::as_mut_slice), count, &mut out);
            for (i, sums) in out.iter().enumerate() {
                let expected: f32 = source[i..i + count].iter().map(|lanes| lanes[0]).sum();
                assert_eq!(*sums, [expected; LANES], "{count} neighbours");
            }
        }
    }
}
