//! `out[j] = Σᵢ x[i, j]`: the gradient of a bias.

use super::{Call, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, cols: u32 }
}

/// See the module.
pub static KERNEL: Kernel = Kernel {
    name: "column_sums",
    wgsl: &[VIEWS, wgsl!("column_sums.wgsl")],
    params: Params::FIELDS,
    bindings: &[("x", Access::Read), ("out", Access::Write)],
    cpu,
};

/// Records the sums of the columns of `x`, which is `rows × cols`.
pub fn record(program: &mut Program, x: View, out: View, [rows, cols]: [usize; 2]) -> Result<()> {
    let params = Params { rows: rows as u32, cols: cols as u32 };
    program.stage(&KERNEL, &[], &params, &[(x, rows * cols), (out, cols)], cover(cols))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let x = call.read(0);
    let out = call.write(1);
    out.fill(0.0);
    for row in x.chunks_exact(p.cols as usize) {
        out.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
}
