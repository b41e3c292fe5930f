//! `z[i, j] *= λⱼ / (λⱼ + σᵢ²)`: the diagonal of the Wiener filter (eq. 7), in the eigenbasis.

use super::{Call, Sigma, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, cols: u32, sigma_stride: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "shrink",
    wgsl: &[VIEWS, wgsl!("shrink.wgsl")],
    params: Params::FIELDS,
    bindings: &[("lambda", Access::Read), ("sigma", Access::Read), ("z", Access::Write)],
    cpu,
};

/// Records the shrinkage of `z`, which is `rows × cols`, in place.
pub fn record(
    program: &mut Program,
    lambda: View,
    sigma: Sigma,
    z: View,
    [rows, cols]: [usize; 2],
) -> Result<()> {
    let params = Params { rows: rows as u32, cols: cols as u32, sigma_stride: sigma.stride() };
    let bindings = [(lambda, cols), sigma.bind(rows), (z, rows * cols)];
    program.stage(&KERNEL, &[], &params, &bindings, cover(rows * cols))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (lambda, sigma) = (call.read(0), call.read(1));
    for (i, row) in call.write(2).chunks_exact_mut(p.cols as usize).enumerate() {
        let sigma = sigma[i * p.sigma_stride as usize];
        for (z, &lambda) in row.iter_mut().zip(lambda) {
            *z *= gain(lambda, sigma);
        }
    }
}

/// `λ / (λ + σ²)`, and 0 for a direction in which the data does not vary.
fn gain(lambda: f32, sigma: f32) -> f32 {
    if lambda > 0.0 { lambda / (lambda + sigma * sigma) } else { 0.0 }
}
