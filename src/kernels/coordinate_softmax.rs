//! One tile of a streaming softmax with separate weights for every output coordinate `m`:
//!
//! `D[m] = Σₙ softmaxₙ(-s[n, m] / 2σ²) yₙ[m]`,
//!
//! where `s` holds weighted squared distances `Σⱼ Q[j, m] (xⱼ - yₙⱼ)²`. With `Q = 1` it is D_M; with the
//! support of a Wiener filter it is PCA-locality. State of a coordinate: `[largest logit, Σ w]`; the
//! weighted sum is in `out` and is divided by `Σ w` at the end.

use std::cell::Cell;

use super::softmax_tile::{LOWEST, exp_weight};
use super::{Call, Sigma, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, images: u32, cols: u32, first: u32, sigma_stride: u32, reset: u32 }
}

/// Number of values in a coordinate's state.
pub const STATE: usize = 2;

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "coordinate_softmax",
    wgsl: &[VIEWS, wgsl!("coordinate_softmax.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("s", Access::Read),
        ("images", Access::Read),
        ("sigma", Access::Read),
        ("range", Access::Read),
        ("state", Access::Write),
        ("out", Access::Write),
    ],
    cpu,
};

/// A tile of training images against a batch of noisy ones.
#[derive(Debug, Clone, Copy)]
pub struct CoordinateTile {
    /// Number of noisy images.
    pub rows: usize,
    /// Number of training images in this tile.
    pub images: usize,
    /// Values per image.
    pub cols: usize,
    /// Index of the first training image in the pool.
    pub first: usize,
}

/// Records the tile. `range` is the member's training set, `[first, end)` in the pool.
pub fn record(
    program: &mut Program,
    tile: CoordinateTile,
    sigma: Sigma,
    [s, images, range, state, out]: [View; 5],
) -> Result<()> {
    let CoordinateTile { rows, cols, first, .. } = tile;
    let params = Params {
        rows: rows as u32,
        images: tile.images as u32,
        cols: cols as u32,
        first: first as u32,
        sigma_stride: sigma.stride(),
        reset: u32::from(first == 0),
    };
    let bindings = [
        (s, rows * tile.images * cols),
        (images, tile.images * cols),
        sigma.bind(rows),
        (range, 2),
        (state, STATE * rows * cols),
        (out, rows * cols),
    ];
    program.stage(&KERNEL, &[], &params, &bindings, cover(rows * cols))
}

thread_local! {
    /// The largest logits, kept from call to call so that running allocates nothing.
    static TOPS: Cell<Vec<f32>> = Cell::default();
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (s, images, sigma) = (call.read(0), call.read(1), call.read(2));
    let range = call.read_u32(3);
    let (state, out) = (call.write(4), call.write(5));
    let (cols, count) = (p.cols as usize, p.images as usize);
    let begin = (range[0].max(p.first) - p.first).min(p.images) as usize;
    let end = ((range[1].max(p.first) - p.first).min(p.images) as usize).max(begin);
    let mut tops = TOPS.take();
    let rows = state.chunks_exact_mut(STATE * cols).zip(out.chunks_exact_mut(cols));
    for (i, ((state, out), s)) in rows.zip(s.chunks_exact(count * cols)).enumerate() {
        let sigma = sigma[i * p.sigma_stride as usize];
        let tightness = 0.5 / (sigma * sigma);
        let (state, _) = state.as_chunks_mut::<STATE>();
        if p.reset == 1 {
            state.fill([LOWEST, 0.0]);
            out.fill(0.0);
        }
        let s = &s[begin * cols..end * cols];
        // In the order of memory: image after image, with all coordinates side by side.
        tops.clear();
        tops.extend(state.iter().map(|state| state[0]));
        for s in s.chunks_exact(cols) {
            for (top, distance) in tops.iter_mut().zip(s) {
                let logit = -distance * tightness;
                *top = if logit > *top { logit } else { *top };
            }
        }
        for ((state, out), &top) in state.iter_mut().zip(out.iter_mut()).zip(&tops) {
            if top > state[0] {
                let scale = exp_weight(state[0] - top);
                *state = [top, scale * state[1]];
                *out *= scale;
            }
        }
        for (s, image) in s.chunks_exact(cols).zip(images[begin * cols..].chunks_exact(cols)) {
            for (((state, out), distance), y) in state.iter_mut().zip(&mut *out).zip(s).zip(image) {
                let weight = exp_weight(-distance * tightness - state[0]);
                state[1] += weight;
                *out += weight * y;
            }
        }
    }
    TOPS.set(tops);
}
