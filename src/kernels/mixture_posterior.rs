//! The posterior of a mixture of low-rank Gaussians, and the coordinates that it leads to.
//!
//! Component `k` has mean `mₖ`, weight `wₖ` and variances `λ` along `rank` axes; `a` are the coordinates
//! of `x - mₖ` along them, and the remainder of `x - mₖ` has length `ρ`. Under noise of level σ
//!
//! `ln pₖ(x) = ln wₖ - ½ [Σ ln(1 + λ/σ²) + Σ a²/(λ + σ²) + ρ²/σ²] + const`,
//!
//! and with `π = softmax(ln p)` each coordinate becomes `π λ/(λ + σ²) a`.

use super::{Call, Sigma, VIEWS, cover, params, wgsl};
use crate::compute::{Access, Kernel, Program, View};
use crate::error::Result;

params! {
    struct Params { rows: u32, components: u32, rank: u32, full: u32, sigma_stride: u32 }
}

/// The kernel of this stage.
pub static KERNEL: Kernel = Kernel {
    name: "mixture_posterior",
    wgsl: &[VIEWS, wgsl!("mixture_posterior.wgsl")],
    params: Params::FIELDS,
    bindings: &[
        ("lambda", Access::Read),
        ("log_weights", Access::Read),
        ("sigma", Access::Read),
        ("distances", Access::Read),
        ("z", Access::Write),
        ("posterior", Access::Write),
    ],
    cpu,
};

/// The shape of a mixture in a program.
#[derive(Debug, Clone, Copy)]
pub struct MixtureShape {
    /// Number of noisy images.
    pub rows: usize,
    /// Number of Gaussians.
    pub components: usize,
    /// Number of axes of each Gaussian.
    pub rank: usize,
    /// Whether the axes span the whole space: then `x - mₖ` has no remainder, and rounding must not
    /// create one.
    pub full: bool,
}

/// Records the posterior. `distances` holds `‖x - mₖ‖²`; `z` holds the coordinates, component after
/// component, and receives the new ones.
pub fn record(
    program: &mut Program,
    shape: MixtureShape,
    sigma: Sigma,
    [lambda, log_weights, distances, z, posterior]: [View; 5],
) -> Result<()> {
    let MixtureShape { rows, components, rank, full } = shape;
    let params = Params {
        rows: rows as u32,
        components: components as u32,
        rank: rank as u32,
        full: u32::from(full),
        sigma_stride: sigma.stride(),
    };
    let axes = components * rank;
    let bindings = [
        (lambda, axes),
        (log_weights, components),
        sigma.bind(rows),
        (distances, rows * components),
        (z, rows * axes),
        (posterior, rows * components),
    ];
    program.stage(&KERNEL, &[], &params, &bindings, cover(rows))
}

fn cpu(call: &mut Call<'_>) {
    let p: Params = call.params();
    let (lambda, log_weights, sigma, distances) =
        (call.read(0), call.read(1), call.read(2), call.read(3));
    let (z, posterior) = (call.write(4), call.write(5));
    let (components, rank) = (p.components as usize, p.rank as usize);
    let rows = z.chunks_exact_mut(components * rank).zip(posterior.chunks_exact_mut(components));
    for (i, ((z, posterior), distances)) in rows.zip(distances.chunks_exact(components)).enumerate()
    {
        let noise = sigma[i * p.sigma_stride as usize].powi(2);
        let axes = z.chunks_exact(rank).zip(lambda.chunks_exact(rank));
        for ((((log_p, log_weight), distance), z), lambda) in posterior
            .iter_mut()
            .zip(log_weights)
            .zip(distances)
            .zip(axes.clone().map(|a| a.0))
            .zip(axes.map(|a| a.1))
        {
            let (mut sum, mut inside) = (0.0, 0.0);
            for (a, lambda) in z.iter().zip(lambda) {
                sum += (lambda / noise).ln_1p() + a * a / (lambda + noise);
                inside += a * a;
            }
            let rest = if p.full == 1 { 0.0 } else { (distance - inside).max(0.0) };
            *log_p = log_weight - 0.5 * (sum + rest / noise);
        }
        let top = posterior.iter().copied().fold(f32::MIN, f32::max);
        posterior.iter_mut().for_each(|log_p| *log_p = (*log_p - top).exp());
        let sum: f32 = posterior.iter().sum();
        posterior.iter_mut().for_each(|weight| *weight /= sum);
        let axes = z.chunks_exact_mut(rank).zip(lambda.chunks_exact(rank));
        for (weight, (z, lambda)) in posterior.iter().zip(axes) {
            for (a, lambda) in z.iter_mut().zip(lambda) {
                *a *= weight * lambda / (lambda + noise);
            }
        }
    }
}
