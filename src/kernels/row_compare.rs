//! For each row: `‖a‖²`, `‖b‖²`, `a·b`, `‖a - b‖²`. Every metric of this crate is computed from these four.
//!
//! Row `i` of `a` is compared with row `i` of `b`, or with row `pick[stride · i]`, as when a sample is
//! compared with its neighbours. The distance is summed from differences, not computed from the other
//! three, so that it is accurate for rows that are nearly equal.

use super::{Call, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, cols: u32, pick_stride: u32, b_rows: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "row_compare",
    wgsl: &[VIEWS, wgsl!("row_compare.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("a", Access::Read),
        ("b", Access::Read),
        ("pick", Access::Read),
        ("out", Access::Write),
    ],
    cpu,
};

/// Records the comparison of rows `i` of `a` and `b`.
pub fn record(
    program: &mut Program,
    [a, b, out]: [View; 3],
    [rows, cols]: [usize; 2],
) -> Result<()> {
    let params =
        Params { rows: rows as u32, cols: cols as u32, pick_stride: 0, b_rows: rows as u32 };
    let bindings = [(a, rows * cols), (b, rows * cols), (a, 1), (out, 4 * rows)];
    program.stage(&KERNEL, &[], &params, &bindings, cover(rows))
}

/// Records the comparison of row `i` of `a` with row `pick[stride · i]` of `b`.
///
/// `b` has `b_rows` rows; a larger index stands for the last one.
pub fn record_picked(
    program: &mut Program,
    [a, b, pick, out]: [View; 4],
    stride: usize,
    [rows, cols, b_rows]: [usize; 3],
) -> Result<()> {
    let params = Params {
        rows: rows as u32,
        cols: cols as u32,
        pick_stride: stride as u32,
        b_rows: b_rows as u32,
    };
    let picks = stride * (rows - 1) + 1;
    let bindings = [(a, rows * cols), (b, b_rows * cols), (pick, picks), (out, 4 * rows)];
    program.stage(&KERNEL, &[], &params, &bindings, cover(rows))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (a, b, pick) = (call.read(0), call.read(1), call.read_u32(2));
    let cols = p.cols as usize;
    for (i, (out, a)) in call.write(3).chunks_exact_mut(4).zip(a.chunks_exact(cols)).enumerate() {
        let row = if p.pick_stride == 0 { i } else { pick[i * p.pick_stride as usize] as usize };
        let row = row.min(p.b_rows as usize - 1);
        let mut sums = [0.0_f32; 4];
        for (a, b) in a.iter().zip(&b[row * cols..][..cols]) {
            sums[0] += a * a;
            sums[1] += b * b;
            sums[2] += a * b;
            sums[3] += (a - b) * (a - b);
        }
        out.copy_from_slice(&sums);
    }
}
