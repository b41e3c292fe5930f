//! `out = c_in(σ) x`: the image as the network sees it, of unit variance at every noise level.

use super::Edm;
use super::{Call, Sigma, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, cols: u32, sigma_stride: u32, sigma_data: f32 }
}

/// See the module.
pub static KERNEL: Kernel = Kernel {
    name: "precondition_input",
    wgsl: &[VIEWS, wgsl!("precondition_input.wgsl")],
    params: Params::FIELDS,
    bindings: &[("sigma", Access::Read), ("x", Access::Read), ("out", Access::Write)],
    cpu,
};

/// Records `out = c_in x` for `rows × cols` elements.
pub fn record(
    program: &mut Program,
    edm: Edm,
    sigma: Sigma,
    x: View,
    out: View,
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
    program.stage(&KERNEL, &[], &params, &bindings, cover(len))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let edm = Edm { sigma_data: p.sigma_data };
    let cols = p.cols as usize;
    let (sigma, x) = (call.read(0), call.read(1));
    let rows = call.write(2).chunks_exact_mut(cols).zip(x.chunks_exact(cols));
    for (i, (out, x)) in rows.enumerate() {
        let c_in = edm.c_in(sigma[i * p.sigma_stride as usize]);
        out.iter_mut().zip(x).for_each(|(out, x)| *out = c_in * x);
    }
}
