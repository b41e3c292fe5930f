//! `out = α x + β y`, element by element.

use super::{Call, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { len: u32, alpha: f32, beta: f32 }
}

/// See the module.
pub static KERNEL: Kernel = Kernel {
    name: "axpby",
    wgsl: &[VIEWS, wgsl!("axpby.wgsl")],
    params: Params::FIELDS,
    bindings: &[("x", Access::Read), ("y", Access::Read), ("out", Access::Write)],
    cpu,
};

/// Records `out = alpha x + beta y` over `len` elements.
pub fn record(
    program: &mut Program,
    [x, y, out]: [View; 3],
    [alpha, beta]: [f32; 2],
    len: usize,
) -> Result<()> {
    let params = Params { len: len as u32, alpha, beta };
    program.stage(&KERNEL, &[], &params, &[(x, len), (y, len), (out, len)], cover(len))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (x, y) = (call.read(0), call.read(1));
    for ((out, x), y) in call.write(2).iter_mut().zip(x).zip(y) {
        *out = p.alpha * x + p.beta * y;
    }
}
