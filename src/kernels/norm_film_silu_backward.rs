//! Gradients of [`norm_film_silu`](super::norm_film_silu): those of the scales and shifts, and that of `h`,
//! which is added to `d_h`, because a residual block passes its output's gradient on.
//!
//! With `u = n ⊙ (1 + g) + b` and `δ = d_out ⊙ silu'(u)`:
//! `d_g = δ ⊙ n`, `d_b = δ`, `d_n = δ ⊙ (1 + g)`, `d_h += (d_n - n · mean(d_n ⊙ n)) / rms(h)`.

use super::Film;
use super::norm_film_silu::{Kept, Params};
use super::silu::slope;
use super::{ACTIVATION, Call, LOGISTIC, ROW_SUM, VIEWS, dot, side_by_side, sum, wgsl};
use crate::compute::simd::{self, Vectorized};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "norm_film_silu_backward",
    wgsl: &[VIEWS, ACTIVATION, ROW_SUM, wgsl!("norm_film_silu_backward.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("normed", Access::Read),
        ("inverse_rms", Access::Read),
        ("film", Access::Read),
        ("d_out", Access::Read),
        ("d_film", Access::Write),
        ("d_h", Access::Write),
    ],
    cpu,
};

/// Records the stage; `d_film` is laid out like `film`, with one row per image.
pub fn record(
    program: &mut Program,
    kept: Kept,
    film: Film,
    d_out: View,
    d_film: View,
    d_h: View,
    [rows, cols]: [usize; 2],
) -> Result<()> {
    let params = Params { rows: rows as u32, cols: cols as u32, film_stride: film.stride as u32 };
    let len = rows * cols;
    let bindings = [
        (kept.normed, len),
        (kept.inverse_rms, rows),
        film.bind(rows, 2 * cols),
        (d_out, len),
        Film { view: d_film, ..film }.bind(rows, 2 * cols),
        (d_h, len),
    ];
    let constants = [("ROW_THREADS", program.profile().row_threads)];
    program.stage(&KERNEL, &constants, &params, &bindings, [rows, 1])
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let cols = p.cols as usize;
    let (normed, inverse_rms, film, d_out) =
        (call.read(0), call.read(1), call.read(2), call.read(3));
    let (d_film, d_h) = (call.write(4), call.write(5));
    let stride = p.film_stride as usize;
    let rows = inverse_rms.len().div_ceil(call.threads(LOGISTIC * normed.len()));
    let work = |piece: usize, [d_film, d_h]: [&mut [f32]; 2]| {
        for (i, d_h) in d_h.chunks_exact_mut(cols).enumerate() {
            let at = piece * rows + i;
            let (scale, shift) = film[at * stride..][..2 * cols].split_at(cols);
            let (d_scale, d_shift) = d_film[i * stride..][..2 * cols].split_at_mut(cols);
            let (normed, d_out) = (&normed[at * cols..][..cols], &d_out[at * cols..][..cols]);
            let inverse = inverse_rms[at];
            simd::run(Row { normed, inverse, scale, shift, d_out, d_scale, d_shift, d_h });
        }
    };
    let slices = [(d_film, rows * stride), (d_h, rows * cols)];
    side_by_side(inverse_rms.len().div_ceil(rows), slices, &work);
}

struct Row<'a> {
    normed: &'a [f32],
    inverse: f32,
    scale: &'a [f32],
    shift: &'a [f32],
    d_out: &'a [f32],
    d_scale: &'a mut [f32],
    d_shift: &'a mut [f32],
    d_h: &'a mut [f32],
}

impl Vectorized for Row<'_> {
    #[inline(always)]
    fn run<const LANES: usize, const PAIR: usize, const FMA: bool>(self) {
        let Self { normed, inverse, scale, shift, d_out, d_scale, d_shift, d_h } = self;
        row(normed, inverse, scale, shift, d_out, d_scale, d_shift, d_h);
    }
}

/// Computes one row. It is a function of its own because the compiler assumes only of arguments that they
/// do not overlap; otherwise the loop would not vectorize.
#[inline(always)]
fn row(
    normed: &[f32],
    inverse: f32,
    scale: &[f32],
    shift: &[f32],
    d_out: &[f32],
    d_scale: &mut [f32],
    d_shift: &mut [f32],
    d_h: &mut [f32],
) {
    let gradients = d_scale.iter_mut().zip(d_shift.iter_mut());
    for (((((d_g, d_b), n), d), g), b) in gradients.zip(normed).zip(d_out).zip(scale).zip(shift) {
        let delta = d * slope(n * (1.0 + g) + b);
        *d_b = delta;
        *d_g = delta * n;
    }
    // d_n n = d_g (1 + g) = d_g + d_g g
    let mean = (sum(d_scale) + dot(d_scale, scale)) / normed.len() as f32;
    for (((d_h, d_b), g), n) in d_h.iter_mut().zip(d_shift).zip(scale).zip(normed) {
        *d_h += inverse * (*d_b * (1.0 + g) - n * mean);
    }
}
