//! `out = x / (1 + e⁻ˣ)`, where the backward pass still needs the input; otherwise the matrix multiply
//! applies it.

use super::matmul::silu;
use super::{ACTIVATION, Call, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { len: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "silu",
    wgsl: &[VIEWS, ACTIVATION, wgsl!("silu.wgsl")],
    params: Params::FIELDS,
    bindings: &[("x", Access::Read), ("out", Access::Write)],
    cpu,
};

/// Records `out = silu(x)` over `len` elements.
pub fn record(program: &mut Program, x: View, out: View, len: usize) -> Result<()> {
    let params = Params { len: len as u32 };
    program.stage(&KERNEL, &[], &params, &[(x, len), (out, len)], cover(len))
}

fn cpu(call: &mut Call<'_>) {
    let x = call.read(0);
    call.write(1).iter_mut().zip(x).for_each(|(out, &x)| *out = silu(x));
}

/// Derivative of `x / (1 + e⁻ˣ)`.
#[inline]
#[must_use]
pub fn slope(x: f32) -> f32 {
    let s = super::matmul::sigmoid(x);
    s * (1.0 + x * (1.0 - s))
}
