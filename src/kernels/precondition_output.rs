//! `f = c_skip(σ) x + c_out(σ) f`: replaces the network's output by the denoised image.

use super::precondition::{self, BINDINGS, Params};
use super::{Call, Edm, PRECONDITION, Sigma, VIEWS, wgsl};
use crate::compute::{Kernel, Program, View};
use crate::error::Result;

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "precondition_output",
    wgsl: &[VIEWS, PRECONDITION, wgsl!("precondition_output.wgsl")],
    params: Params::FIELDS,
    bindings: BINDINGS,
    cpu,
};

/// Records `f = c_skip x + c_out f` for `rows × cols` elements.
pub fn record(
    program: &mut Program,
    edm: Edm,
    sigma: Sigma,
    x: View,
    f: View,
    shape: [usize; 2],
) -> Result<()> {
    precondition::record(program, &KERNEL, edm, sigma, [x, f], shape)
}

fn cpu(call: &mut Call<'_>) {
    precondition::rows(call, |edm, sigma, x, f| {
        let (c_skip, c_out) = (edm.c_skip(sigma), edm.c_out(sigma));
        f.iter_mut().zip(x).for_each(|(f, x)| *f = c_skip * x + c_out * *f);
    });
}
