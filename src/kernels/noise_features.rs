//! The noise level as waves: `cos` and `sin` of `(ln σ / 4) · f · π/2` for 16 frequencies `f` from
//! 2⁻¹ to 2⁴, evenly spaced in the exponent.

use super::{Call, RNG, Sigma, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;
use crate::rng::{cos_sin_turn, ln};

/// Number of frequencies.
const FREQUENCIES: usize = 16;

/// Number of features of a noise level: a cosine and a sine per frequency.
pub const FEATURES: usize = 2 * FREQUENCIES;

params! {
    struct Params { rows: u32, sigma_stride: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "noise_features",
    wgsl: &[VIEWS, RNG, wgsl!("noise_features.wgsl")],
    params: Params::FIELDS,
    bindings: &[("sigma", Access::Read), ("out", Access::Write)],
    cpu,
};

/// Records the features of `rows` noise levels.
pub fn record(program: &mut Program, sigma: Sigma, out: View, rows: usize) -> Result<()> {
    let params = Params { rows: rows as u32, sigma_stride: sigma.stride() };
    let bindings = [sigma.bind(rows), (out, rows * FEATURES)];
    program.stage(&KERNEL, &[], &params, &bindings, cover(rows * FREQUENCIES))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let sigma = call.read(0);
    for (i, row) in call.write(1).chunks_exact_mut(FEATURES).enumerate() {
        // A quarter of ln σ, times a quarter turn.
        let turn = ln(sigma[i * p.sigma_stride as usize]) * (1.0 / 16.0);
        let (cosines, sines) = row.split_at_mut(FREQUENCIES);
        for (j, (cosine, sine)) in cosines.iter_mut().zip(sines).enumerate() {
            [*cosine, *sine] = cos_sin_turn(turn * frequency(j));
        }
    }
}

/// `2^(j / 3 - 1)`.
fn frequency(j: usize) -> f32 {
    0.5 * (1_u32 << (j / 3)) as f32 * [1.0, 1.259_921_1, 1.587_401][j % 3]
}
