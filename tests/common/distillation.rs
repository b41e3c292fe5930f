//! Linear distillation (eq. 5) against closed forms. Written for any engine.

use std::sync::Arc;

use hidden_gaussian::compute::Engine;
use hidden_gaussian::denoiser::{
    Denoiser, Distillation, Empirical, Gaussian, GaussianFit, Linear, TrainingSets,
};
use hidden_gaussian::rng::{Stream, fill_normals};
use nalgebra::{DMatrix, DVector};

use super::closed_forms::{empirical_f64, images, to_f64};

const SEED: u64 = 5;

async fn distil(
    engine: &Engine,
    members: usize,
    denoiser: &dyn Denoiser,
    images: &Arc<[f32]>,
    sigmas: &[f32],
    passes: u32,
) -> Linear {
    let mut program = engine.program(members).unwrap();
    let distillation = Distillation::place(&mut program, denoiser, images, SEED).unwrap();
    let mut loaded = engine.load(program).await.unwrap();
    distillation.fit(&mut loaded, sigmas, passes).await.unwrap()
}

/// `W = U Λ(Λ + σ²)⁻¹ Uᵀ`, `b = μ - W μ`.
fn affine_form(fit: &GaussianFit, sigma: f64) -> (DMatrix<f64>, DVector<f64>) {
    let gain = fit.eigenvalues.map(|lambda| lambda / (lambda + sigma * sigma));
    let u = &fit.eigenvectors;
    let w = u * DMatrix::from_diagonal(&gain) * u.transpose();
    let b = &fit.mean - &w * &fit.mean;
    (w, b)
}

/// D_G is linear, so its best linear approximation is itself: at every noise level of the paper, for
/// members that differ, also where the images span fewer directions than there are.
pub async fn distilling_the_gaussian_returns_it(engine: &Engine) {
    let dim = 12;
    let sets = TrainingSets::new(images(1, 90, dim), dim, vec![0..60, 30..90, 0..9]).unwrap();
    let gaussian = Gaussian::fit(&sets).unwrap();
    let sigmas = [0.002_f32, 0.02, 0.3, 1.0, 10.0, 80.0];
    for (count, passes) in [(150, 4), (7, 60)] {
        let other: Arc<[f32]> = images(2, count, dim).into();
        let linear = distil(engine, 3, &gaussian, &other, &sigmas, passes).await;
        for (member, (linear, fit)) in linear.fits().iter().zip(gaussian.fits()).enumerate() {
            for (level, &sigma) in sigmas.iter().enumerate() {
                let (w, b) = affine_form(fit, f64::from(sigma));
                let w_error = (&linear.weights[level] - &w).amax() / w.amax();
                let b_error = (&linear.biases[level] - &b).amax() / fit.mean.amax();
                assert!(
                    w_error < 1e-3 && b_error < 1e-3,
                    "{count} images, member {member}, σ={sigma}: {w_error} {b_error}"
                );
            }
        }
    }
}

/// What is left of D_M has nothing linear in it: over the very draws that were fitted, the residual
/// is orthogonal to the noisy images and to 1.
pub async fn distillation_leaves_nothing_linear(engine: &Engine) {
    let (dim, count, passes) = (6, 40, 3);
    let set = images(3, 20, dim);
    let empirical = Empirical::new(TrainingSets::single(set.clone(), dim).unwrap());
    let other: Arc<[f32]> = images(4, count, dim).into();
    for sigma in [0.1_f32, 0.6, 3.0] {
        let linear = distil(engine, 1, &empirical, &other, &[sigma], passes).await;
        let fit = &linear.fits()[0];
        let mut products = DMatrix::zeros(dim, dim + 1);
        let (mut residuals, mut inputs) = (0.0, 0.0);
        for pass in 0..passes {
            let mut noise = vec![0.0; count * dim];
            fill_normals(SEED, Stream::MetricNoise, 1000 + pass, &mut noise);
            let noisy: Vec<f32> = other.iter().zip(&noise).map(|(y, n)| y + sigma * n).collect();
            for x in noisy.chunks_exact(dim) {
                let target = empirical_f64(&set, dim, x, f64::from(sigma));
                let x = to_f64(x);
                let residual = DVector::from_vec(target) - fit.denoise(0, &x);
                let input = x.push(1.0);
                products += &residual * input.transpose();
                residuals += residual.norm_squared();
                inputs += input.norm_squared();
            }
        }
        let correlation = products.norm() / (residuals * inputs).sqrt();
        assert!(correlation < 1e-4, "σ={sigma}: {correlation}");
        // And there is something left: D_M is not linear where it chooses between images.
        let mean_square = residuals / f64::from(passes) / count as f64;
        assert!(sigma > 1.0 || mean_square > 1e-3, "σ={sigma}: {mean_square}");
    }
}
