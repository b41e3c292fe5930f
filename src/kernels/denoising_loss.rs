//! The mean of `(f - target)²` over a batch: each row's contribution, and the gradient.

use super::{Call, ROW_SUM, VIEWS, lane_sum, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, cols: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "denoising_loss",
    wgsl: &[VIEWS, ROW_SUM, wgsl!("denoising_loss.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("f", Access::Read),
        ("expected", Access::Read),
        ("d", Access::Write),
        ("losses", Access::Write),
    ],
    cpu,
};

/// Records the loss; `losses` receives one number per row.
pub fn record(
    program: &mut Program,
    [f, expected, d, losses]: [View; 4],
    [rows, cols]: [usize; 2],
) -> Result<()> {
    let params = Params { rows: rows as u32, cols: cols as u32 };
    let len = rows * cols;
    let bindings = [(f, len), (expected, len), (d, len), (losses, rows)];
    let constants = [("ROW_THREADS", program.profile().row_threads)];
    program.stage(&KERNEL, &constants, &params, &bindings, [rows, 1])
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (f, expected) = (call.read(0), call.read(1));
    let (d, losses) = (call.write(2), call.write(3));
    let scale = 1.0 / f.len() as f32;
    for ((d, f), e) in d.iter_mut().zip(f).zip(expected) {
        *d = 2.0 * scale * (f - e);
    }
    let cols = p.cols as usize;
    for ((loss, f), e) in
        losses.iter_mut().zip(f.chunks_exact(cols)).zip(expected.chunks_exact(cols))
    {
        *loss = scale * lane_sum(f, e, |f, e| (f - e) * (f - e));
    }
}
