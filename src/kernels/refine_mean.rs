//! The softmax-weighted mean of the ranked candidates, for rows where products are too coarse.
//!
//! A logit `(x·y - ½‖y‖²) / σ²` is off by some millionths of `‖y‖² / σ²`: at σ = 0.002 and images of 3072
//! numbers, by twenty. That is harmless for a row with one image near it, since all others have no
//! weight. Where several are near, this stage computes their weights from distances that were summed from
//! differences ([`super::rank_candidates`]). Where more are near than there are candidates, the row
//! stays as it is.

use super::nearest_tile::CANDIDATES;
use super::softmax_tile::FAINTEST;
use super::{Call, Sigma, VIEWS, exp_negative, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, cols: u32, images: u32, sigma_stride: u32 }
}

/// How far `½‖y‖² - x·y` may be off, in units of the larger of its terms: 2⁻²¹, eight times the rounding
/// of one operation.
pub const COARSENESS: f32 = 4.768_371_6e-7;

/// Largest error of a logit that does not matter.
pub const NEGLIGIBLE: f32 = 0.01;

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "refine_mean",
    wgsl: &[VIEWS, wgsl!("refine_mean.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("images", Access::Read),
        ("norms", Access::Read),
        ("sigma", Access::Read),
        ("best", Access::Read),
        ("index", Access::Read),
        ("distances", Access::Read),
        ("out", Access::Write),
    ],
    cpu,
};

/// Records the stage for `rows` rows of `cols` numbers, whose candidates were ranked in a pool of
/// `images`; `out` holds the unrefined means.
pub fn record(
    program: &mut Program,
    sigma: Sigma,
    [pool, norms, best, index, distances, out]: [View; 6],
    [rows, cols, images]: [usize; 3],
) -> Result<()> {
    let params = Params {
        rows: rows as u32,
        cols: cols as u32,
        images: images as u32,
        sigma_stride: sigma.stride(),
    };
    let listed = CANDIDATES * rows;
    let bindings = [
        (pool, images * cols),
        (norms, images),
        sigma.bind(rows),
        (best, listed),
        (index, listed),
        (distances, listed),
        (out, rows * cols),
    ];
    let constants = [("ROW_THREADS", program.profile().row_threads)];
    program.stage(&KERNEL, &constants, &params, &bindings, [rows, 1])
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (pool, norms, sigma) = (call.read(0), call.read(1), call.read(2));
    let (best, index, distances) = (call.read(3), call.read_u32(4), call.read(5));
    let cols = p.cols as usize;
    let lists = best.as_chunks::<CANDIDATES>().0.iter();
    let lists = lists.zip(index.as_chunks::<CANDIDATES>().0);
    let lists = lists.zip(distances.as_chunks::<CANDIDATES>().0);
    for (i, (out, ((best, index), distances))) in
        call.write(6).chunks_exact_mut(cols).zip(lists).enumerate()
    {
        let variance = sigma[i * p.sigma_stride as usize].powi(2);
        let error = COARSENESS * (norms[index[0] as usize] + best[0].abs());
        let reach = best[0] + 2.0 * error - FAINTEST * variance;
        let needed =
            error >= NEGLIGIBLE * variance && best[1] <= reach && best[CANDIDATES - 1] > reach;
        if !needed {
            continue;
        }
        let logits = distances.map(|distance| 0.5 * (distances[0] - distance) / variance);
        let weights = logits.map(|v| if v < FAINTEST { 0.0 } else { exp_negative(v) });
        let inverse = 1.0 / weights.iter().sum::<f32>();
        out.fill(0.0);
        for (weight, &image) in weights.iter().zip(index).filter(|(weight, _)| **weight > 0.0) {
            let y = &pool[image as usize * cols..][..cols];
            out.iter_mut().zip(y).for_each(|(out, y)| *out += weight * inverse * y);
        }
    }
}
