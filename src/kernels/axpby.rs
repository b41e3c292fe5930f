//! `out = α x + β y`, element by element; a shorter `y` is repeated.

use super::{Call, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { len: u32, period: u32, alpha: f32, beta: f32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "axpby",
    wgsl: &[VIEWS, wgsl!("axpby.wgsl")],
    params: Params::FIELDS,
    bindings: &[("x", Access::Read), ("y", Access::Read), ("out", Access::Write)],
    cpu,
};

/// Records `out = alpha x + beta y` over `len` elements.
pub fn record(
    program: &mut Program,
    views: [View; 3],
    weights: [f32; 2],
    len: usize,
) -> Result<()> {
    record_rows(program, views, weights, [1, len])
}

/// Records `out = alpha x + beta y` over the rows of a matrix, where `y` is a single row.
pub fn record_rows(
    program: &mut Program,
    [x, y, out]: [View; 3],
    [alpha, beta]: [f32; 2],
    [rows, cols]: [usize; 2],
) -> Result<()> {
    let len = rows * cols;
    let params = Params { len: len as u32, period: cols as u32, alpha, beta };
    program.stage(&KERNEL, &[], &params, &[(x, len), (y, cols), (out, len)], cover(len))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (x, y) = (call.read(0), call.read(1));
    let rows = call.write(2).chunks_mut(y.len()).zip(x.chunks(y.len()));
    for (out, x) in rows {
        for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
            *out = p.alpha * x + p.beta * y;
        }
    }
}
