//! One step of the probability-flow ODE `dx/dσ = (x - D(x; σ)) / σ` (eqs. 1-2 with `σ(t) = t`).
//!
//! Euler from `σ₀` to `σ₁`: `out = x + (σ₁ - σ₀) (x - D) / σ₀`. Heun's correction averages that
//! slope with the one at the Euler point `x₁`, and is omitted in the last step to `σ₁ = 0`.

use super::{Call, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { len: u32, heun: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "ode_step",
    wgsl: &[VIEWS, wgsl!("ode_step.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("sigma", Access::Read),
        ("x0", Access::Read),
        ("d0", Access::Read),
        ("x1", Access::Read),
        ("d1", Access::Read),
        ("out", Access::Write),
    ],
    cpu,
};

/// Records an Euler step of `len` elements; `sigma` holds `σ₀` and `σ₁`.
pub fn record_euler(
    program: &mut Program,
    sigma: View,
    [x, d, out]: [View; 3],
    len: usize,
) -> Result<()> {
    let params = Params { len: len as u32, heun: 0 };
    let bindings = [(sigma, 2), (x, len), (d, len), (x, 1), (d, 1), (out, len)];
    program.stage(&KERNEL, &[], &params, &bindings, cover(len))
}

/// Records Heun's correction: `x0` and `d0` are the point and denoised image at `σ₀`, `x1` and `d1`
/// those at the Euler point.
pub fn record_heun(
    program: &mut Program,
    sigma: View,
    [x0, d0, x1, d1, out]: [View; 5],
    len: usize,
) -> Result<()> {
    let params = Params { len: len as u32, heun: 1 };
    let bindings = [(sigma, 2), (x0, len), (d0, len), (x1, len), (d1, len), (out, len)];
    program.stage(&KERNEL, &[], &params, &bindings, cover(len))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let sigma = call.read(0);
    let (x0, d0, x1, d1) = (call.read(1), call.read(2), call.read(3), call.read(4));
    let out = call.write(5);
    let h = sigma[1] - sigma[0];
    if p.heun == 0 {
        let slope = h / sigma[0];
        for ((out, x), d) in out.iter_mut().zip(x0).zip(d0) {
            *out = x + slope * (x - d);
        }
    } else {
        let (s0, s1) = (0.5 * h / sigma[0], 0.5 * h / sigma[1]);
        for ((((out, x0), d0), x1), d1) in out.iter_mut().zip(x0).zip(d0).zip(x1).zip(d1) {
            *out = x0 + s0 * (x0 - d0) + s1 * (x1 - d1);
        }
    }
}
