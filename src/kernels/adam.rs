//! Adam (Kingma & Ba 2015) over all weights of a member, and the weights' moving average, at the
//! [`finish_step`](super::finish_step) of the step.

use super::finish_step::STEP_STATE;
use super::{Call, LOGISTIC, VALUE, VIEWS, cover, params, side_by_side, wgsl, wide};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

/// What the momentum keeps of itself in a step.
pub const BETA1: f32 = 0.9;
/// What the variance keeps of itself in a step.
pub const BETA2: f32 = 0.99;
/// Added to the root of the variance.
const EPSILON: f32 = 1e-8;
/// Times that a thread of the GPU takes another weight (or four): to begin takes time, too.
const EACH: usize = 4;

params! {
    struct Params { len: u32, beta1: f32, beta2: f32, epsilon: f32 }
}

/// See the module.
pub static KERNEL: Kernel = Kernel {
    name: "adam",
    wgsl: &[VIEWS, VALUE, wgsl!("adam.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("step_state", Access::Read),
        ("gradients", Access::Read),
        ("weights", Access::Write),
        ("momentum", Access::Write),
        ("variance", Access::Write),
        ("average", Access::Write),
    ],
    cpu,
};

/// Records an update of `len` weights.
pub fn record(
    program: &mut Program,
    [step_state, gradients, weights, momentum, variance, average]: [View; 6],
    len: usize,
) -> Result<()> {
    let params = Params { len: len as u32, beta1: BETA1, beta2: BETA2, epsilon: EPSILON };
    let bindings = [
        (step_state, STEP_STATE),
        (gradients, len),
        (weights, len),
        (momentum, len),
        (variance, len),
        (average, len),
    ];
    let arrays = [gradients, weights, momentum, variance, average];
    let wide = wide(len, &arrays, program.members());
    let constants = [("WIDE", wide as u32), ("EACH", EACH as u32)];
    program.stage(&KERNEL, &constants, &params, &bindings, cover((len / wide).div_ceil(EACH)))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let &[active, rate, inverse_variance, scale, share] = call.read(0) else { return };
    if active == 0.0 {
        return;
    }
    let g = call.read(1);
    let (w, m, v, a) = (call.write(2), call.write(3), call.write(4), call.write(5));
    // A root and a division take as long as a logistic function.
    let len = g.len().div_ceil(call.threads(LOGISTIC * g.len()));
    let work = |piece: usize, [w, m, v, a]: [&mut [f32]; 4]| {
        update(p, [rate, inverse_variance, scale, share], &g[piece * len..], w, m, v, a);
    };
    side_by_side(g.len().div_ceil(len), [w, m, v, a].map(|slice| (slice, len)), &work);
}

/// The update. It is a function because the compiler knows of its arguments, and of no other
/// slices, that they do not overlap; else it would not vectorize.
fn update(
    p: Params,
    [rate, inverse_variance, scale, share]: [f32; 4],
    g: &[f32],
    w: &mut [f32],
    m: &mut [f32],
    v: &mut [f32],
    a: &mut [f32],
) {
    for ((((w, m), v), a), g) in w.iter_mut().zip(m).zip(v).zip(a).zip(g) {
        let g = scale * g;
        *m = p.beta1 * *m + (1.0 - p.beta1) * g;
        *v = p.beta2 * *v + (1.0 - p.beta2) * g * g;
        *w -= rate * *m / ((inverse_variance * *v).sqrt() + p.epsilon);
        *a += share * (*w - *a);
    }
}
