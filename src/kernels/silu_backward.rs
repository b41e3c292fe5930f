//! `d *= silu'(x)`: turns the gradient after an activation into the one before it, in place.

use super::silu::slope;
use super::{ACTIVATION, Call, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { len: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "silu_backward",
    wgsl: &[VIEWS, ACTIVATION, wgsl!("silu_backward.wgsl")],
    params: Params::FIELDS,
    bindings: &[("x", Access::Read), ("d", Access::Write)],
    cpu,
};

/// Records `d *= silu'(x)` over `len` elements.
pub fn record(program: &mut Program, x: View, d: View, len: usize) -> Result<()> {
    let params = Params { len: len as u32 };
    program.stage(&KERNEL, &[], &params, &[(x, len), (d, len)], cover(len))
}

fn cpu(call: &mut Call<'_>) {
    let x = call.read(0);
    call.write(1).iter_mut().zip(x).for_each(|(d, &x)| *d *= slope(x));
}
