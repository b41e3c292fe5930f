//! `x[i, j] /= by[i · stride]`: the last step of a softmax-weighted mean.

use super::{Call, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, cols: u32, by_stride: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "divide_rows",
    wgsl: &[VIEWS, wgsl!("divide_rows.wgsl")],
    params: Params::FIELDS,
    bindings: &[("by", Access::Read), ("x", Access::Write)],
    cpu,
};

/// Records the division of row `i` of `x` by `by[i * stride]`, in place.
pub fn record(
    program: &mut Program,
    by: View,
    stride: usize,
    x: View,
    [rows, cols]: [usize; 2],
) -> Result<()> {
    let params = Params { rows: rows as u32, cols: cols as u32, by_stride: stride as u32 };
    let bindings = [(by, (rows - 1) * stride + 1), (x, rows * cols)];
    program.stage(&KERNEL, &[], &params, &bindings, cover(rows * cols))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let by = call.read(0);
    for (i, row) in call.write(1).chunks_exact_mut(p.cols as usize).enumerate() {
        let inverse = 1.0 / by[i * p.by_stride as usize];
        row.iter_mut().for_each(|x| *x *= inverse);
    }
}
