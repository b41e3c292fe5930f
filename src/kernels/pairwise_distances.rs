//! `out[i, k] = ‖xᵢ - yₖ‖²`, as a sum of squares, which loses no digits between close points.

use super::{Call, PAIRS, VIEWS, cover, lane_sum, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    pub(super) struct Params { rows: u32, points: u32, cols: u32 }
}

pub(super) const BINDINGS: &[(&str, Access)] =
    &[("x", Access::Read), ("y", Access::Read), ("out", Access::Write)];

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "pairwise_distances",
    wgsl: &[VIEWS, PAIRS, wgsl!("pairwise_distances.wgsl")],
    params: Params::FIELDS,
    bindings: BINDINGS,
    cpu,
};

/// Records the squared distances of every row of `x` from every row of `y`.
pub fn record(
    program: &mut Program,
    [x, y, out]: [View; 3],
    [rows, points, cols]: [usize; 3],
) -> Result<()> {
    let params = Params { rows: rows as u32, points: points as u32, cols: cols as u32 };
    let bindings = [(x, rows * cols), (y, points * cols), (out, rows * points)];
    program.stage(&KERNEL, &[], &params, &bindings, cover(rows * points))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (points, cols) = (p.points as usize, p.cols as usize);
    let (x, y) = (call.read(0), call.read(1));
    for (out, x) in call.write(2).chunks_exact_mut(points).zip(x.chunks_exact(cols)) {
        for (out, y) in out.iter_mut().zip(y.chunks_exact(cols)) {
            *out = lane_sum(x, y, |x, y| (x - y) * (x - y));
        }
    }
}
