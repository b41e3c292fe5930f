//! One tile of a streaming softmax over training images: the weights of D_M (eq. 4).
//!
//! The logit of image `y` for a noisy image `x` is `-‖x - y‖² / 2σ²`. `‖x‖²` is the same for all `y`
//! and cancels, which leaves `(x·y - ½‖y‖²) / σ²`. The state of a row carries the largest logit so
//! far; a tile that raises it rescales what was summed before. So memory does not grow with N, and
//! no exponent is ever positive: the weights are right at σ = 0.002, where `e^(-‖x-y‖²/2σ²)` itself
//! is zero for every image.
//!
//! The state holds, each for all rows: the largest logits; the sums `Σ w`; the rescalings of earlier sums;
//! and `Σ w·(logit - largest)`, which gives the entropy of the weights, hence how many images
//! effectively take part.
//!
//! Products and weights are stored in columns, one per noisy image. So the training images, of which
//! there are many, are the rows of both matrix multiplies, and threads share them.

use super::{Call, LANES, Sigma, VIEWS, cover, exp_negative, params, wgsl};
use crate::compute::simd::{load, store};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, cols: u32, first: u32, sigma_stride: u32, reset: u32 }
}

/// Words of state per row.
pub const STATE: usize = 4;

/// Number of partial sums over the weights of a tile.
const PARTS: usize = 16;

/// Stands for minus infinity: no finite logit is below it, and it survives fast-math.
pub(super) const LOWEST: f32 = -3.0e38;

/// Logits this far below the largest one have no weight: `e⁻⁵⁰` is 10⁻²² of a sum with a precision of
/// 10⁻⁷. Smaller weights would only give denormal products, which take some processors a hundred times as
/// long.
pub(super) const FAINTEST: f32 = -50.0;

/// The kernel of this stage.
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
    /// Number of noisy images.
    pub rows: usize,
    /// Number of training images in this tile.
    pub cols: usize,
    /// Index of the tile's first image in the pool.
    pub first: usize,
}

/// Records the tile: `s`, which is `cols × rows`, holds the products `y·x` and receives the weights.
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

/// `e` to the power of a logit that is at most 0.
#[inline(always)]
pub(super) fn exp_weight(logit: f32) -> f32 {
    if logit < FAINTEST { 0.0 } else { exp_negative(logit) }
}

/// The maximum, in a form that vectorizes: in wasm `f32::max` is a call per number.
#[inline(always)]
fn max(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (norms, sigma, range) = (call.read(0), call.read(1), call.read_u32(2));
    let (s, state) = (call.write(3), call.write(4));
    let rows = p.rows as usize;
    // The part of the tile that belongs to the member's training set.
    let begin = (range[0].max(p.first) - p.first).min(p.cols) as usize;
    let end = ((range[1].max(p.first) - p.first).min(p.cols) as usize).max(begin);
    s[..begin * rows].fill(0.0);
    s[end * rows..].fill(0.0);
    if p.reset == 1 {
        state[..rows].fill(LOWEST);
        state[rows..].fill(0.0);
    }
    let (s, norms) = (&mut s[begin * rows..end * rows], &norms[begin..end]);
    for first in (0..rows).step_by(LANES) {
        let mut tightness = [0.0; LANES];
        for (i, tightness) in (first..rows).zip(&mut tightness) {
            *tightness = 1.0 / sigma[i * p.sigma_stride as usize].powi(2);
        }
        columns(s, norms, rows, first, &tightness, state);
    }
}

/// Computes the columns of [`LANES`] rows, from `first` on, side by side.
fn columns(
    s: &mut [f32],
    norms: &[f32],
    rows: usize,
    first: usize,
    tightness: &[f32; LANES],
    state: &mut [f32],
) {
    let part = |k: usize| k * rows + first..(k + 1) * rows;
    let [before, sum_before, moment_before] = [0, 1, 3].map(|k| load::<LANES>(&state[part(k)]));
    let mut tops = before;
    for (s, norm) in s.chunks_exact_mut(rows).zip(norms) {
        let mut values: [f32; LANES] = load(&s[first..]);
        for ((value, top), tightness) in values.iter_mut().zip(&mut tops).zip(tightness) {
            *value = (*value - 0.5 * norm) * tightness;
            *top = max(*value, *top);
        }
        store(&mut s[first..], &values);
    }
    // Every 16th image is added to the same sum, so that rounding errors are those of shorter sums.
    let (mut sums, mut moments) = ([[0.0_f32; LANES]; PARTS], [[0.0_f32; LANES]; PARTS]);
    for s in s.chunks_mut(PARTS * rows) {
        for ((s, sums), moments) in s.chunks_exact_mut(rows).zip(&mut sums).zip(&mut moments) {
            let mut values: [f32; LANES] = load(&s[first..]);
            for (i, value) in values.iter_mut().enumerate() {
                let logit = *value - tops[i];
                *value = exp_weight(logit);
                sums[i] += *value;
                moments[i] += *value * max(logit, FAINTEST);
            }
            store(&mut s[first..], &values);
        }
    }
    let mut scales = [0.0; LANES];
    let (mut new_sums, mut new_moments) = ([0.0; LANES], [0.0; LANES]);
    for i in 0..LANES {
        let shift = before[i] - tops[i];
        let sum: f32 = sums.iter().map(|sums| sums[i]).sum();
        let moment: f32 = moments.iter().map(|moments| moments[i]).sum();
        let mut old_moment = 0.0;
        if sum_before[i] > 0.0 {
            scales[i] = exp_weight(shift);
            old_moment = scales[i] * (moment_before[i] + sum_before[i] * shift);
        }
        new_sums[i] = scales[i] * sum_before[i] + sum;
        new_moments[i] = old_moment + moment;
    }
    for (k, values) in [tops, new_sums, scales, new_moments].iter().enumerate() {
        store(&mut state[part(k)], values);
    }
}
