//! `out = x + σ n`, or `out = σ n`, with `n` standard normal, drawn on the device.
//!
//! A draw is addressed by the member's clock — `[key low, key high, step, …]` — the stream and the
//! element: see [`crate::rng`].

use super::{Call, DRAWS, RNG, Sigma, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;
use crate::rng::{Stream, normals, philox};

params! {
    struct Params { rows: u32, cols: u32, stream: u32, sigma_stride: u32, has_x: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "noise",
    wgsl: &[VIEWS, RNG, DRAWS, wgsl!("noise.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("clock", Access::Read),
        ("sigma", Access::Read),
        ("x", Access::Read),
        ("out", Access::Write),
    ],
    cpu,
};

/// Words of a clock: the member's key, its step and a spare word.
pub const CLOCK: usize = 4;

/// Creates a clock at `step` under `seed`.
#[must_use]
pub const fn clock(seed: u64, step: u32) -> [u32; CLOCK] {
    let key = crate::rng::key(seed);
    [key[0], key[1], step, 0]
}

/// Records `out = x + σ n` (`out = σ n` without `x`) for `rows × cols` elements.
pub fn record(
    program: &mut Program,
    clock: View,
    stream: Stream,
    sigma: Sigma,
    x: Option<View>,
    out: View,
    [rows, cols]: [usize; 2],
) -> Result<()> {
    let params = Params {
        rows: rows as u32,
        cols: cols as u32,
        stream: stream as u32,
        sigma_stride: sigma.stride(),
        has_x: u32::from(x.is_some()),
    };
    let len = rows * cols;
    let bindings =
        [(clock, CLOCK), sigma.bind(rows), x.map_or((clock, 1), |x| (x, len)), (out, len)];
    program.stage(&KERNEL, &[], &params, &bindings, cover(len.div_ceil(4)))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (clock, sigma, x) = (call.read_u32(0), call.read(1), call.read(2));
    for (block, four) in call.write(3).chunks_mut(4).enumerate() {
        let draws = normals(philox([block as u32, clock[2], p.stream, 0], [clock[0], clock[1]]));
        for (j, (out, n)) in four.iter_mut().zip(draws).enumerate() {
            let at = 4 * block + j;
            let sigma = sigma[at / p.cols as usize * p.sigma_stride as usize];
            *out = if p.has_x == 1 { x[at] } else { 0.0 } + sigma * n;
        }
    }
}
