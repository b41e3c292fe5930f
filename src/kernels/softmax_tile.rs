//! One tile of a streaming softmax over training images: the weights of D_M (eq. 4).
//!
//! The logit of image `y` for a noisy image `x` is `-‖x - y‖² / 2σ²`. `‖x‖²` is the same for all `y`
//! and cancels, which leaves `(x·y - ½‖y‖²) / σ²`. The state of a row carries the largest logit so
//! far; a tile that raises it rescales what was summed before. So memory does not grow with N, and
//! no exponent is ever positive: the weights are right at σ = 0.002, where `e^(-‖x-y‖²/2σ²)` itself
//! is zero for every image.
//!
//! State of a row: `[largest logit, Σ w, rescaling of what came before, Σ w·(logit - largest)]`. The
//! last one gives the entropy of the weights, hence how many images effectively take part.

use super::{Call, LANES, Sigma, VIEWS, cover, exp_negative, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, cols: u32, first: u32, sigma_stride: u32, reset: u32 }
}

/// Words of a row's state.
pub const STATE: usize = 4;

/// Stands for minus infinity: no finite logit is below it, and it survives fast-math.
const LOWEST: f32 = -3.0e38;

/// Logits this far below the largest one weigh nothing: `e⁻⁵⁰` is 10⁻²² of a sum in which 10⁻⁷ can be
/// told apart. Smaller weights would only make products that are denormal numbers, with which some
/// processors take a hundred times as long.
const FAINTEST: f32 = -50.0;

/// See the module.
pub static KERNEL: Kernel = Kernel {
    name: "softmax_tile",
    wgsl: &[VIEWS, wgsl!("softmax_tile.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("norms", Access::Read),
        ("sigma", Access::Read),
        ("range", Access::Read),
        ("s", Access::Write),
        ("state", Access::Write),
    ],
    cpu,
};

/// A tile of training images against a batch of noisy ones.
#[derive(Debug, Clone, Copy)]
pub struct ImageTile {
    /// Noisy images.
    pub rows: usize,
    /// Training images in this tile.
    pub cols: usize,
    /// Number of the first of them in the pool.
    pub first: usize,
}

/// Records the tile: `s` holds the products `x·y` and takes the weights.
///
/// `norms` holds `‖y‖²` of this tile; `range` is the member's training set, `[first, end)` in the pool.
pub fn record(
    program: &mut Program,
    tile: ImageTile,
    sigma: Sigma,
    [norms, range, s, state]: [View; 4],
) -> Result<()> {
    let ImageTile { rows, cols, first } = tile;
    let params = Params {
        rows: rows as u32,
        cols: cols as u32,
        first: first as u32,
        sigma_stride: sigma.stride(),
        reset: u32::from(first == 0),
    };
    let bindings =
        [(norms, cols), sigma.bind(rows), (range, 2), (s, rows * cols), (state, STATE * rows)];
    program.stage(&KERNEL, &[], &params, &bindings, cover(rows))
}

/// Turns some products, at most [`LANES`], into logits. Each of the lanes has a maximum of its own, so
/// that they are computed side by side.
#[inline(always)]
fn logits(s: &mut [f32], norms: &[f32], tightness: f32, tops: &mut [f32; LANES]) {
    for ((s, norm), top) in s.iter_mut().zip(norms).zip(tops) {
        *s = (*s - 0.5 * norm) * tightness;
        *top = max(*s, *top);
    }
}

/// Turns logits into weights, and adds these and their share of the moment to the lanes' sums.
#[inline(always)]
fn weights(s: &mut [f32], top: f32, sums: &mut [f32; LANES], moments: &mut [f32; LANES]) {
    for ((s, sum), moment) in s.iter_mut().zip(sums).zip(moments) {
        let logit = *s - top;
        let weight = exp_weight(logit);
        *s = weight;
        *sum += weight;
        *moment += weight * max(logit, FAINTEST);
    }
}

/// `e` to the power of a logit that is at most 0.
#[inline(always)]
fn exp_weight(logit: f32) -> f32 {
    if logit < FAINTEST { 0.0 } else { exp_negative(logit) }
}

/// The larger one, as a vector knows it: `f32::max` is a call for each number in wasm.
#[inline(always)]
fn max(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (norms, sigma, range) = (call.read(0), call.read(1), call.read_u32(2));
    let (s, state) = (call.write(3), call.write(4));
    let cols = p.cols as usize;
    // The part of the tile that belongs to the member's training set.
    let begin = (range[0].max(p.first) - p.first).min(p.cols) as usize;
    let end = ((range[1].max(p.first) - p.first).min(p.cols) as usize).max(begin);
    for (i, (s, state)) in s.chunks_exact_mut(cols).zip(state.chunks_exact_mut(STATE)).enumerate() {
        let sigma = sigma[i * p.sigma_stride as usize];
        let tightness = 1.0 / (sigma * sigma);
        let before = if p.reset == 1 {
            [LOWEST, 0.0, 1.0, 0.0]
        } else {
            [state[0], state[1], 1.0, state[3]]
        };
        s[..begin].fill(0.0);
        s[end..].fill(0.0);
        let (s, norms) = (&mut s[begin..end], &norms[begin..end]);
        let mut tops = [before[0]; LANES];
        let (chunks, rest) = s.as_chunks_mut::<LANES>();
        let (norm_chunks, norm_rest) = norms.as_chunks::<LANES>();
        for (s, norms) in chunks.iter_mut().zip(norm_chunks) {
            logits(s, norms, tightness, &mut tops);
        }
        logits(rest, norm_rest, tightness, &mut tops);
        let top = tops.into_iter().fold(before[0], max);
        let shift = before[0] - top;
        let scale = if before[1] > 0.0 { exp_weight(shift) } else { 0.0 };
        let (mut sums, mut moments) = ([0.0_f32; LANES], [0.0_f32; LANES]);
        let (chunks, rest) = s.as_chunks_mut::<LANES>();
        for s in chunks {
            weights(s, top, &mut sums, &mut moments);
        }
        weights(rest, top, &mut sums, &mut moments);
        let sum: f32 = sums.iter().sum();
        let moment: f32 = moments.iter().sum();
        let old_moment =
            if before[1] > 0.0 { scale * (before[3] + before[1] * shift) } else { 0.0 };
        state.copy_from_slice(&[top, scale * before[1] + sum, scale, old_moment + moment]);
    }
}
