//! `out = silu(n ⊙ (1 + g) + b)` with `n = h / rms(h)`: what a residual block does before its linear
//! layer, in one pass. `n` and `1 / rms(h)` are kept for the backward pass.

use super::Film;
use super::matmul::silu;
use super::{ACTIVATION, Call, LOGISTIC, ROW_SUM, VIEWS, dot, params, side_by_side, wgsl};
use crate::compute::simd::{self, Vectorized};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

/// Added to the mean square, so that a row of zeros stays zero.
const EPSILON: f32 = 1e-6;

params! {
    pub(super) struct Params { rows: u32, cols: u32, film_stride: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "norm_film_silu",
    wgsl: &[VIEWS, ACTIVATION, ROW_SUM, wgsl!("norm_film_silu.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("h", Access::Read),
        ("film", Access::Read),
        ("normed", Access::Write),
        ("inverse_rms", Access::Write),
        ("out", Access::Write),
    ],
    cpu,
};

/// What the backward pass needs: `n`, which is `rows × cols`, and `1 / rms(h)` per row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// The normalized rows `n`.
    pub normed: View,
    /// `1 / rms(h)` per row.
    pub inverse_rms: View,
}

/// Records the stage; `film` holds `cols` scales `g`, then `cols` shifts `b`.
pub fn record(
    program: &mut Program,
    h: View,
    film: Film,
    kept: Kept,
    out: View,
    [rows, cols]: [usize; 2],
) -> Result<()> {
    let params = Params { rows: rows as u32, cols: cols as u32, film_stride: film.stride as u32 };
    let len = rows * cols;
    let bindings = [
        (h, len),
        film.bind(rows, 2 * cols),
        (kept.normed, len),
        (kept.inverse_rms, rows),
        (out, len),
    ];
    let constants = [("ROW_THREADS", program.profile().row_threads)];
    program.stage(&KERNEL, &constants, &params, &bindings, [rows, 1])
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let cols = p.cols as usize;
    let (h, film) = (call.read(0), call.read(1));
    let (normed, inverse_rms, out) = (call.write(2), call.write(3), call.write(4));
    let rows = inverse_rms.len().div_ceil(call.threads(LOGISTIC * h.len()));
    let work = |piece: usize, [normed, inverse_rms, out]: [&mut [f32]; 3]| {
        let first = piece * rows;
        simd::run(Forward { first, h: &h[first * cols..], film, p, normed, inverse_rms, out });
    };
    let pieces = inverse_rms.len().div_ceil(rows);
    let slices = [(normed, rows * cols), (inverse_rms, rows), (out, rows * cols)];
    side_by_side(pieces, slices, &work);
}

struct Forward<'a> {
    first: usize,
    h: &'a [f32],
    film: &'a [f32],
    p: Params,
    normed: &'a mut [f32],
    inverse_rms: &'a mut [f32],
    out: &'a mut [f32],
}

impl Vectorized for Forward<'_> {
    #[inline(always)]
    fn run<const LANES: usize, const PAIR: usize, const FMA: bool>(self) {
        let Self { first, h, film, p, normed, inverse_rms, out } = self;
        forward(first, h, film, p, normed, inverse_rms, out);
    }
}

/// Computes the rows from `first` on.
#[inline(always)]
fn forward(
    first: usize,
    h: &[f32],
    film: &[f32],
    p: Params,
    normed: &mut [f32],
    inverse_rms: &mut [f32],
    out: &mut [f32],
) {
    let cols = p.cols as usize;
    let rows = normed.chunks_exact_mut(cols).zip(out.chunks_exact_mut(cols)).zip(inverse_rms);
    for (i, (((normed, out), kept), h)) in (first..).zip(rows.zip(h.chunks_exact(cols))) {
        let inverse = 1.0 / (dot(h, h) / cols as f32 + EPSILON).sqrt();
        *kept = inverse;
        let (scale, shift) = film[i * p.film_stride as usize..][..2 * cols].split_at(cols);
        for ((((normed, out), h), g), b) in normed.iter_mut().zip(out).zip(h).zip(scale).zip(shift)
        {
            let n = h * inverse;
            *normed = n;
            *out = silu(n * (1.0 + g) + b);
        }
    }
}
