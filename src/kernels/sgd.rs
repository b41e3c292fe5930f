//! Stochastic gradient descent with momentum (Polyak's heavy ball, as in PyTorch) over all weights of a
//! member, and the weights' moving average, with the scales that [`finish_step`](super::finish_step)
//! computes: `v ← βv + g`, `w ← w - ηv`.

use super::{Call, OPTIMIZER, VALUE, VIEWS, optimizer, params, side_by_side, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { len: u32, momentum: f32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "sgd",
    wgsl: &[VIEWS, VALUE, OPTIMIZER, wgsl!("sgd.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("step_state", Access::Read),
        ("gradients", Access::Read),
        ("weights", Access::Write),
        ("average", Access::Write),
        ("velocity", Access::Write),
    ],
    cpu,
};

/// Records an update of `len` weights, whose velocity decays by `momentum`.
pub fn record(
    program: &mut Program,
    momentum: f32,
    [step_state, gradients, weights, velocity, average]: [View; 5],
    len: usize,
) -> Result<()> {
    let params = Params { len: len as u32, momentum };
    let arrays = [gradients, weights, average, velocity];
    optimizer::record(program, &KERNEL, &params, step_state, &arrays, len)
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let &[active, rate, _, scale, share] = call.read(0) else { return };
    if active == 0.0 {
        return;
    }
    let g = call.read(1);
    let (w, a, v) = (call.write(2), call.write(3), call.write(4));
    let len = g.len().div_ceil(call.threads(g.len()));
    let work = |piece: usize, [w, v, a]: [&mut [f32]; 3]| {
        update([p.momentum, rate, scale, share], &g[piece * len..], w, v, a);
    };
    side_by_side(g.len().div_ceil(len), [w, v, a].map(|slice| (slice, len)), &work);
}

/// Updates the weights. It is a function of its own because the compiler assumes only of arguments that
/// they do not overlap; otherwise the loop would not vectorize.
fn update(
    [momentum, rate, scale, share]: [f32; 4],
    g: &[f32],
    w: &mut [f32],
    v: &mut [f32],
    a: &mut [f32],
) {
    for (((w, v), a), g) in w.iter_mut().zip(v).zip(a).zip(g) {
        *v = momentum * *v + scale * g;
        *w -= rate * *v;
        *a += share * (*w - *a);
    }
}
