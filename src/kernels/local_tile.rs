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

/// Candidates whose logits are compared before the state changes.
const GROUP: usize = 8;

/// Scratch space of a thread for one row, kept from call to call so that running allocates nothing.
#[derive(Default)]
struct Scratch {
    /// Squared differences with a border of `radius` pixels, and their sums over powers of two.
    padded: Vec<f32>,
    doubled: Vec<f32>,
    /// Sums along rows, with a border above and below.
    tall: Vec<f32>,
    /// Logits of a group of candidates.
    logits: Vec<f32>,
    top: Vec<f32>,
}

thread_local! {
    static SCRATCH: Cell<Scratch> = Cell::default();
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
                    images: &images[begin * dim..end * dim],
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
}

/// One noisy image against all candidates of a tile.
struct Row<'a> {
    p: Params,
    x: &'a [f32],
    images: &'a [f32],
    /// `1 / 2σ²`.
    tightness: f32,
    radius: usize,
    state: &'a mut [f32],
    out: &'a mut [f32],
    scratch: &'a mut Scratch,
}

impl Vectorized for Row<'_> {
    #[inline(always)]
    fn run<const LANES: usize, const PAIR: usize, const FMA: bool>(self) {
        let Self { p, x, images, tightness, radius, state, out, scratch } = self;
        let [height, width, channels] = [p.height, p.width, p.channels].map(|v| v as usize);
        let (pixels, dim) = (height * width, height * width * channels);
        let wraps = p.shifts > 1;
        let frame = Frame { height, width, channels, radius, wraps };
        if p.reset == 1 {
            for state in state.as_chunks_mut::<STATE>().0 {
                *state = [LOWEST, 0.0];
            }
            out.fill(0.0);
        }
        scratch.logits.resize(GROUP * pixels, 0.0);
        scratch.top.resize(pixels, 0.0);
        let shifts = p.shifts as usize;
        let candidates = images.len() / dim * shifts;
        let mut first = 0;
        while first < candidates {
            let count = GROUP.min(candidates - first);
            for (i, logits) in scratch.logits.chunks_exact_mut(pixels).take(count).enumerate() {
                let candidate = first + i;
                let image = &images[candidate / shifts * dim..][..dim];
                let shift = candidate % shifts;
                frame.distances(
                    x,
                    image,
                    [shift / width, shift % width],
                    [&mut scratch.padded, &mut scratch.doubled, &mut scratch.tall],
                    logits,
                );
                for logit in logits.iter_mut() {
                    *logit *= -tightness;
                }
            }
            update(&frame, images, [first, count, shifts], scratch, state, out);
            first += count;
        }
    }
}

/// Adds a group of candidates to the sums.
#[inline(always)]
fn update(
    frame: &Frame,
    images: &[f32],
    [first, count, shifts]: [usize; 3],
    scratch: &mut Scratch,
    state: &mut [f32],
    out: &mut [f32],
) {
    let Frame { width, channels, .. } = *frame;
    let pixels = frame.height * width;
    let dim = pixels * channels;
    let (state, _) = state.as_chunks_mut::<STATE>();
    let top = &mut scratch.top[..pixels];
    for (top, state) in top.iter_mut().zip(&*state) {
        *top = state[0];
    }
    for logits in scratch.logits.chunks_exact(pixels).take(count) {
        for (top, &logit) in top.iter_mut().zip(logits) {
            *top = if logit > *top { logit } else { *top };
        }
    }
    for ((state, &top), out) in state.iter_mut().zip(&*top).zip(out.chunks_exact_mut(channels)) {
        if top > state[0] {
            let scale = exp_weight(state[0] - top);
            *state = [top, scale * state[1]];
            out.iter_mut().for_each(|v| *v *= scale);
        }
    }
    for (i, logits) in scratch.logits.chunks_exact_mut(pixels).take(count).enumerate() {
        for (logit, &top) in logits.iter_mut().zip(&*top) {
            *logit = exp_weight(*logit - top);
        }
        for (state, &weight) in state.iter_mut().zip(&*logits) {
            state[1] += weight;
        }
        let candidate = first + i;
        let image = &images[candidate / shifts * dim..][..dim];
        let shift = candidate % shifts;
        if channels == 1 && shift == 0 {
            for ((out, &value), &weight) in out.iter_mut().zip(image).zip(&*logits) {
                *out += weight * value;
            }
            continue;
        }
        let pixels = frame.shifted([shift / width, shift % width]);
        for ((out, from), &weight) in out.chunks_exact_mut(channels).zip(pixels).zip(&*logits) {
            for (out, &value) in out.iter_mut().zip(&image[from * channels..][..channels]) {
                *out += weight * value;
            }
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
    /// Maps each pixel to the pixel under it in an image shifted by `[dy, dx]`.
    fn shifted(self, [dy, dx]: [usize; 2]) -> impl Iterator<Item = usize> {
        let Self { height, width, .. } = self;
        (0..height).flat_map(move |i| {
            let row = (i + dy) % height * width;
            (0..width).map(move |j| row + (j + dx) % width)
        })
    }

    /// Writes to `out` the squared distance of the windows around each pixel.
    ///
    /// Sums over the window are sums along rows, then along columns, each made of sums of 1, 2, 4, …
    /// neighbours, so that no number is ever subtracted.
    #[inline(always)]
    fn distances(
        self,
        x: &[f32],
        y: &[f32],
        [dy, dx]: [usize; 2],
        [padded, doubled, tall]: [&mut Vec<f32>; 3],
        out: &mut [f32],
    ) {
        let Self { height, width, channels, radius, wraps } = self;
        // A window larger than the image covers all of it, and no pixel twice.
        let [down, across] = [height, width].map(|side| {
            let most = if wraps { (side - 1) / 2 } else { side - 1 };
            radius.min(most)
        });
        let wide = width + 2 * across;
        padded.clear();
        padded.resize(wide, 0.0);
        doubled.clear();
        doubled.resize(wide, 0.0);
        tall.clear();
        tall.resize((height + 2 * down) * width, 0.0);
        for i in 0..height {
            let from = (i + dy) % height;
            let (x, y) = (&x[i * width * channels..], &y[from * width * channels..]);
            let inner = &mut padded[across..across + width];
            if channels == 1 && dx == 0 {
                for ((q, x), y) in inner.iter_mut().zip(x).zip(y) {
                    *q = (x - y) * (x - y);
                }
            } else {
                for (j, q) in inner.iter_mut().enumerate() {
                    let at = (j + dx) % width * channels;
                    let pair = x[j * channels..].iter().zip(&y[at..]).take(channels);
                    *q = pair.map(|(x, y)| (x - y) * (x - y)).sum();
                }
            }
            if wraps {
                padded.copy_within(width..width + across, 0);
                padded.copy_within(across..2 * across, width + across);
            }
            window_sums(
                padded,
                doubled,
                2 * across + 1,
                1,
                &mut tall[(down + i) * width..][..width],
            );
        }
        if wraps {
            tall.copy_within(height * width..(height + down) * width, 0);
            tall.copy_within(down * width..2 * down * width, (height + down) * width);
        }
        doubled.resize(tall.len(), 0.0);
        window_sums(tall, doubled, 2 * down + 1, width, out);
    }
}

/// `out[i] = Σ source[i + k · step]` over `k < count`, from sums of powers of two.
#[inline(always)]
fn window_sums(source: &[f32], doubled: &mut [f32], count: usize, step: usize, out: &mut [f32]) {
    let mut done = 0;
    out.fill(0.0);
    doubled[..source.len()].copy_from_slice(source);
    // doubled[i] is the sum of `size` neighbours from i on.
    let (mut size, mut len) = (1, source.len());
    loop {
        if count & size != 0 {
            for (out, &sum) in out.iter_mut().zip(&doubled[done * step..]) {
                *out += sum;
            }
            done += size;
        }
        if 2 * size > count {
            return;
        }
        len -= size * step;
        let (left, right) = (0..len, size * step);
        for i in left {
            doubled[i] += doubled[i + right];
        }
        size *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_sums_add_every_neighbour_once() {
        let source: Vec<f32> = (0..23).map(|i| (i * i % 7) as f32).collect();
        for step in [1, 2, 3] {
            for count in [1, 2, 3, 5, 7] {
                let mut out = vec![f32::NAN; source.len() - (count - 1) * step];
                window_sums(&source, &mut vec![0.0; source.len()], count, step, &mut out);
                for (i, &sum) in out.iter().enumerate() {
                    let expected: f32 = (0..count).map(|k| source[i + k * step]).sum();
                    assert_eq!(sum, expected, "step {step}, {count} neighbours");
                }
            }
        }
    }
}
