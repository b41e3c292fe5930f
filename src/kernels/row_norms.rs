//! `out[i] = ‖xᵢ‖²`.

use super::{Call, VIEWS, cover, params};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, cols: u32 }
}

/// See the module.
pub static KERNEL: Kernel = Kernel {
    name: "row_norms",
    wgsl: &[VIEWS, include_str!("../../shaders/row_norms.wgsl")],
    params: Params::FIELDS,
    bindings: &[("x", Access::Read), ("out", Access::Write)],
    cpu,
};

/// Records the squared norms of the rows of `x`, which is `rows × cols`.
pub fn record(program: &mut Program, x: View, out: View, [rows, cols]: [usize; 2]) -> Result<()> {
    let params = Params { rows: rows as u32, cols: cols as u32 };
    program.stage(&KERNEL, &[], &params, &[(x, rows * cols), (out, rows)], cover(rows))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let x = call.read(0);
    for (out, row) in call.write(1).iter_mut().zip(x.chunks_exact(p.cols as usize)) {
        *out = row.iter().map(|x| x * x).sum();
    }
}
