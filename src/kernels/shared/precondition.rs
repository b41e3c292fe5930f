//! What both halves of EDM's preconditioning share: parameters, bindings and the loop over rows.

use super::super::{Call, Sigma, cover, params};
use super::Edm;
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    pub(crate) struct Params { rows: u32, cols: u32, sigma_stride: u32, sigma_data: f32 }
}

pub(crate) const BINDINGS: &[(&str, Access)] =
    &[("sigma", Access::Read), ("x", Access::Read), ("out", Access::Write)];

/// Records `kernel` for `rows × cols` elements.
pub(crate) fn record(
    program: &mut Program,
    kernel: &'static Kernel,
    edm: Edm,
    sigma: Sigma,
    [x, out]: [View; 2],
    [rows, cols]: [usize; 2],
) -> Result<()> {
    let params = Params {
        rows: rows as u32,
        cols: cols as u32,
        sigma_stride: sigma.stride(),
        sigma_data: edm.sigma_data,
    };
    let len = rows * cols;
    let bindings = [sigma.bind(rows), (x, len), (out, len)];
    program.stage(kernel, &[], &params, &bindings, cover(len))
}

/// Calls `row(edm, sigma, x, out)` for each row.
pub(crate) fn rows(call: &mut Call<'_>, row: impl Fn(Edm, f32, &[f32], &mut [f32])) {
    let p: Params = call.params();
    let edm = Edm { sigma_data: p.sigma_data };
    let cols = p.cols as usize;
    let (sigma, x) = (call.read(0), call.read(1));
    let rows = call.write(2).chunks_exact_mut(cols).zip(x.chunks_exact(cols));
    for (i, (out, x)) in rows.enumerate() {
        row(edm, sigma[i * p.sigma_stride as usize], x, out);
    }
}
