//! The mean of `(f - target)²` over a batch: each row's contribution, and the gradient.

use std::cell::Cell;

use super::{Call, FOLD, Fold, ROW_SUM, VIEWS, lane_sum, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, cols: u32, blocks: u32, piece: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "denoising_loss",
    wgsl: &[VIEWS, ROW_SUM, FOLD, wgsl!("denoising_loss.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("f", Access::Read),
        ("expected", Access::Read),
        ("d", Access::Write),
        ("losses", Access::Write),
    ],
    cpu,
};

/// Records the loss; `losses` receives one number per row. `f` and `d` are in the order of `fold`.
pub fn record(
    program: &mut Program,
    [f, expected, d, losses]: [View; 4],
    [rows, cols]: [usize; 2],
    fold: Fold,
) -> Result<()> {
    let (blocks, piece) = (fold.blocks as u32, fold.piece as u32);
    let params = Params { rows: rows as u32, cols: cols as u32, blocks, piece };
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
    let cols = p.cols as usize;
    let fold = Fold { blocks: p.blocks as usize, piece: p.piece as usize };
    let mut unfolded = UNFOLDED.take();
    unfolded.resize(cols, 0.0);
    let rows = f.chunks_exact(cols).zip(expected.chunks_exact(cols));
    for ((loss, d), (f, e)) in losses.iter_mut().zip(d.chunks_exact_mut(cols)).zip(rows) {
        let pieces = unfolded.chunks_mut(fold.piece).zip(e.chunks(fold.piece));
        for (i, (unfolded, e)) in pieces.enumerate() {
            let at = fold.begin(i)..fold.begin(i) + fold.piece;
            unfolded.copy_from_slice(&f[at.clone()]);
            for ((d, f), e) in d[at].iter_mut().zip(&*unfolded).zip(e) {
                *d = 2.0 * scale * (f - e);
            }
        }
        // The order of the sum is that of the image.
        *loss = scale * lane_sum(&unfolded, e, |f, e| (f - e) * (f - e));
    }
    UNFOLDED.set(unfolded);
}

thread_local! {
    /// A row of `f` in the order of the image, kept so that running allocates nothing.
    static UNFOLDED: Cell<Vec<f32>> = Cell::default();
}
