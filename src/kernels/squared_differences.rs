//! `out[i, n, j] = (x[i, j] - y[n, j])²`: the terms of a weighted distance.

use super::pairwise_distances::{BINDINGS, Params};
use super::{Call, PAIRS, VIEWS, cover, wgsl};
use crate::compute::{Kernel, Program, View};
use crate::error::Result;

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "squared_differences",
    wgsl: &[VIEWS, PAIRS, wgsl!("squared_differences.wgsl")],
    params: Params::FIELDS,
    bindings: BINDINGS,
    cpu,
};

/// Records the squared differences of every row of `x` and every row of `y`.
pub fn record(
    program: &mut Program,
    [x, y, out]: [View; 3],
    [rows, points, cols]: [usize; 3],
) -> Result<()> {
    let params = Params { rows: rows as u32, points: points as u32, cols: cols as u32 };
    let len = rows * points * cols;
    let bindings = [(x, rows * cols), (y, points * cols), (out, len)];
    program.stage(&KERNEL, &[], &params, &bindings, cover(len))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (points, cols) = (p.points as usize, p.cols as usize);
    let (x, y) = (call.read(0), call.read(1));
    for (out, x) in call.write(2).chunks_exact_mut(points * cols).zip(x.chunks_exact(cols)) {
        for (out, y) in out.chunks_exact_mut(cols).zip(y.chunks_exact(cols)) {
            for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
                *out = (x - y) * (x - y);
            }
        }
    }
}
