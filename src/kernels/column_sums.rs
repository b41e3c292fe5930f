//! `out[j] = Σᵢ x[i, j]`: the gradient of a bias.

use super::{Call, THREADS, VALUE, VIEWS, params, wgsl, wide};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, cols: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "column_sums",
    wgsl: &[VIEWS, VALUE, wgsl!("column_sums.wgsl")],
    params: Params::FIELDS,
    bindings: &[("x", Access::Read), ("out", Access::Write)],
    cpu,
};

/// Records the sums of the columns of `x`, which is `rows × cols`.
pub fn record(program: &mut Program, x: View, out: View, [rows, cols]: [usize; 2]) -> Result<()> {
    let params = Params { rows: rows as u32, cols: cols as u32 };
    let wide = wide(cols, &[x, out], program.members());
    let sharers = sharers(program.profile().hardware, rows);
    let constants =
        [("WIDE", wide as u32), ("SHARERS", sharers as u32), ("SHARED", u32::from(sharers > 1))];
    let workgroups = [(cols / wide).div_ceil(THREADS / sharers), 1];
    program.stage(&KERNEL, &constants, &params, &[(x, rows * cols), (out, cols)], workgroups)
}

/// Threads that share the rows of a column. In hardware they hide each other's memory latency; in software
/// they would wait for each other.
const fn sharers(hardware: bool, rows: usize) -> usize {
    match rows {
        _ if !hardware => 1,
        0..32 => 1,
        32..1024 => 8,
        _ => THREADS,
    }
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
