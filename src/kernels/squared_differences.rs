//! `out[i, n, j] = (x[i, j] - y[n, j])²`: what a weighted distance is a sum of.

use super::{Call, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, images: u32, cols: u32 }
}

/// See the module.
pub static KERNEL: Kernel = Kernel {
    name: "squared_differences",
    wgsl: &[VIEWS, wgsl!("squared_differences.wgsl")],
    params: Params::FIELDS,
    bindings: &[("x", Access::Read), ("y", Access::Read), ("out", Access::Write)],
    cpu,
};

/// Records the squared differences of every row of `x` and every row of `y`.
pub fn record(
    program: &mut Program,
    [x, y, out]: [View; 3],
    [rows, images, cols]: [usize; 3],
) -> Result<()> {
    let params = Params { rows: rows as u32, images: images as u32, cols: cols as u32 };
    let len = rows * images * cols;
    let bindings = [(x, rows * cols), (y, images * cols), (out, len)];
    program.stage(&KERNEL, &[], &params, &bindings, cover(len))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (images, cols) = (p.images as usize, p.cols as usize);
    let (x, y) = (call.read(0), call.read(1));
    for (out, x) in call.write(2).chunks_exact_mut(images * cols).zip(x.chunks_exact(cols)) {
        for (out, y) in out.chunks_exact_mut(cols).zip(y.chunks_exact(cols)) {
            for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
                *out = (x - y) * (x - y);
            }
        }
    }
}
