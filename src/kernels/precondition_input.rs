//! `out = c_in(σ) x`: the network's input, of unit variance at every noise level.

use super::precondition::{self, BINDINGS, Params};
use super::{Call, Edm, PRECONDITION, Sigma, VIEWS, wgsl};
use crate::compute::{Kernel, Program, View};
use crate::error::Result;

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "precondition_input",
    wgsl: &[VIEWS, PRECONDITION, wgsl!("precondition_input.wgsl")],
    params: Params::FIELDS,
    bindings: BINDINGS,
    cpu,
};

/// Records `out = c_in x` for `rows × cols` elements.
pub fn record(
    program: &mut Program,
    edm: Edm,
    sigma: Sigma,
    x: View,
    out: View,
    shape: [usize; 2],
) -> Result<()> {
    precondition::record(program, &KERNEL, edm, sigma, [x, out], shape)
}

fn cpu(call: &mut Call<'_>) {
    precondition::rows(call, |edm, sigma, x, out| {
        let c_in = edm.c_in(sigma);
        out.iter_mut().zip(x).for_each(|(out, x)| *out = c_in * x);
    });
}
