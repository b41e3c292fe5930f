//! `f = c_skip(σ) x + c_out(σ) f`: the denoised image in place of the network's output.

use super::Edm;
use super::{Call, Sigma, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, cols: u32, sigma_stride: u32, sigma_data: f32 }
}

/// See the module.
pub static KERNEL: Kernel = Kernel {
    name: "precondition_output",
    wgsl: &[VIEWS, wgsl!("precondition_output.wgsl")],
    params: Params::FIELDS,
    bindings: &[("sigma", Access::Read), ("x", Access::Read), ("f", Access::Write)],
    cpu,
};

/// Records `f = c_skip x + c_out f` for `rows × cols` elements.
pub fn record(
    program: &mut Program,
    edm: Edm,
    sigma: Sigma,
    x: View,
    f: View,
    [rows, cols]: [usize; 2],
) -> Result<()> {
    let params = Params {
        rows: rows as u32,
        cols: cols as u32,
        sigma_stride: sigma.stride(),
        sigma_data: edm.sigma_data,
    };
    let len = rows * cols;
    let bindings = [sigma.bind(rows), (x, len), (f, len)];
    program.stage(&KERNEL, &[], &params, &bindings, cover(len))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let edm = Edm { sigma_data: p.sigma_data };
    let cols = p.cols as usize;
    let (sigma, x) = (call.read(0), call.read(1));
    let rows = call.write(2).chunks_exact_mut(cols).zip(x.chunks_exact(cols));
    for (i, (f, x)) in rows.enumerate() {
        let sigma = sigma[i * p.sigma_stride as usize];
        let (c_skip, c_out) = (edm.c_skip(sigma), edm.c_out(sigma));
        f.iter_mut().zip(x).for_each(|(f, x)| *f = c_skip * x + c_out * *f);
    }
}
