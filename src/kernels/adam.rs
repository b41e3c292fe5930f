//! Adam (Kingma & Ba 2015) over all weights of a member, and the weights' moving average, with the scales
//! that [`finish_step`](super::finish_step) computes.

use super::{Call, LOGISTIC, OPTIMIZER, VALUE, VIEWS, optimizer, params, side_by_side, wgsl};
use crate::compute::simd::{self, Vectorized};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

/// Decay of the momentum per step.
pub const BETA1: f32 = 0.9;
/// Decay of the variance per step.
pub const BETA2: f32 = 0.99;
/// Added to the root of the variance.
const EPSILON: f32 = 1e-8;

params! {
    struct Params { len: u32, beta1: f32, beta2: f32, epsilon: f32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "adam",
    wgsl: &[VIEWS, VALUE, OPTIMIZER, wgsl!("adam.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("step_state", Access::Read),
        ("gradients", Access::Read),
        ("weights", Access::Write),
        ("average", Access::Write),
        ("momentum", Access::Write),
        ("variance", Access::Write),
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
    let arrays = [gradients, weights, average, momentum, variance];
    optimizer::record(program, &KERNEL, &params, step_state, &arrays, len)
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let &[active, rate, inverse_variance, scale, share] = call.read(0) else { return };
    if active == 0.0 {
        return;
    }
    let g = call.read(1);
    let (w, a, m, v) = (call.write(2), call.write(3), call.write(4), call.write(5));
    // A root and a division take as long as a logistic function.
    let len = g.len().div_ceil(call.threads(LOGISTIC * g.len()));
    let work = |piece: usize, [w, m, v, a]: [&mut [f32]; 4]| {
        let pace = [rate, inverse_variance, scale, share];
        simd::run(Update { p, pace, g: &g[piece * len..], w, m, v, a });
    };
    side_by_side(g.len().div_ceil(len), [w, m, v, a].map(|slice| (slice, len)), &work);
}

struct Update<'a> {
    p: Params,
    pace: [f32; 4],
    g: &'a [f32],
    w: &'a mut [f32],
    m: &'a mut [f32],
    v: &'a mut [f32],
    a: &'a mut [f32],
}

impl Vectorized for Update<'_> {
    #[inline(always)]
    fn run<const LANES: usize, const PAIR: usize, const FMA: bool>(self) {
        let Self { p, pace, g, w, m, v, a } = self;
        update(p, pace, g, w, m, v, a);
    }
}

/// Updates the weights. It is a function of its own because the compiler assumes only of arguments that
/// they do not overlap; otherwise the loop would not vectorize.
#[inline(always)]
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
