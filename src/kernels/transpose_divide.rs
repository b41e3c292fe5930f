//! `out[i, j] = x[j, i] / by[i]`: the last step of a softmax-weighted mean whose sums are in columns.

use super::{Call, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, cols: u32 }
}

/// Columns that the CPU handles at a time: whole cache lines on both sides.
const BLOCK: usize = 16;

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "transpose_divide",
    wgsl: &[VIEWS, wgsl!("transpose_divide.wgsl")],
    params: Params::FIELDS,
    bindings: &[("by", Access::Read), ("x", Access::Read), ("out", Access::Write)],
    cpu,
};

/// Records the stage; `out` is `rows × cols`, and `x` is `cols × rows`.
pub fn record(
    program: &mut Program,
    [by, x, out]: [View; 3],
    [rows, cols]: [usize; 2],
) -> Result<()> {
    let params = Params { rows: rows as u32, cols: cols as u32 };
    let bindings = [(by, rows), (x, rows * cols), (out, rows * cols)];
    program.stage(&KERNEL, &[], &params, &bindings, cover(rows * cols))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (by, x, out) = (call.read(0), call.read(1), call.write(2));
    let (rows, cols) = (p.rows as usize, p.cols as usize);
    for (block, x) in x.chunks(BLOCK * rows).enumerate() {
        for (i, (out, by)) in out.chunks_exact_mut(cols).zip(by).enumerate() {
            let inverse = 1.0 / by;
            let column = x[i..].iter().step_by(rows);
            out[block * BLOCK..].iter_mut().zip(column).for_each(|(out, x)| *out = x * inverse);
        }
    }
}
