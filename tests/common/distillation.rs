//! Linear distillation (eq. 5) against closed forms, on any engine.

use hidden_gaussian::Result;
use hidden_gaussian::compute::{Buffer, Engine, Program, View};
use hidden_gaussian::data::TrainingSets;
use hidden_gaussian::denoiser::{
    DISTILLATION_ROWS, Denoiser, Distill, Distillation, Empirical, Gaussian, GaussianFit, Linear,
    Placed, Solver,
};
use hidden_gaussian::kernels::Sigma;
use hidden_gaussian::kernels::matmul::{Layout, Matmul};
use hidden_gaussian::rng::{Stream, fill_normals};
use nalgebra::{DMatrix, DVector};

use super::closed_forms::{empirical_f64, images, to_f64};
use super::random;

const SEED: u64 = 5;

/// Distils `denoiser` on one set of `images` per member.
async fn distil(
    engine: &Engine,
    denoiser: &dyn Denoiser,
    images: &TrainingSets,
    sigmas: &[f32],
    method: Solver,
    batches: u32,
) -> Linear {
    let how = Distill { batches, method, ..Distill::default() };
    let mut program = engine.program(images.ranges().len()).unwrap();
    let distillation = Distillation::place(&mut program, denoiser, images, how, SEED).unwrap();
    let mut loaded = engine.load(program).await.unwrap();
    distillation.fit(&mut loaded, sigmas).await.unwrap()
}

/// `W = U Λ(Λ + σ²)⁻¹ Uᵀ`, `b = μ - W μ`.
fn affine_form(fit: &GaussianFit, sigma: f64) -> (DMatrix<f64>, DVector<f64>) {
    let gain = fit.eigenvalues.map(|lambda| lambda / (lambda + sigma * sigma));
    let u = &fit.eigenvectors;
    let w = u * DMatrix::from_diagonal(&gain) * u.transpose();
    let b = &fit.mean - &w * &fit.mean;
    (w, b)
}

/// A network of one linear layer, whatever the noise: `D(x) = W x + b`, one per member.
#[derive(Debug)]
struct OneLayer {
    weights: Vec<f32>,
    biases: Vec<f32>,
    dim: usize,
}

impl OneLayer {
    fn random(dim: usize, members: usize) -> Self {
        let [weights, biases] = [random(6, members * dim * dim), random(7, members * dim)];
        Self { weights, biases, dim }
    }

    fn member(&self, member: usize) -> (DMatrix<f64>, DVector<f64>) {
        let len = self.dim * self.dim;
        let weight = to_f64(&self.weights[member * len..][..len]);
        let weight = DMatrix::from_row_slice(self.dim, self.dim, weight.as_slice());
        (weight, to_f64(&self.biases[member * self.dim..][..self.dim]))
    }
}

impl Denoiser for OneLayer {
    fn dim(&self) -> usize {
        self.dim
    }

    fn members(&self) -> usize {
        self.biases.len() / self.dim
    }

    fn place(&self, program: &mut Program, rows: usize) -> Result<Box<dyn Placed>> {
        let weight = program.buffer_with("weight", self.weights.clone())?;
        let bias = program.buffer_with("bias", self.biases.clone())?;
        Ok(Box::new(PlacedOneLayer { weight, bias, rows, dim: self.dim }))
    }
}

struct PlacedOneLayer {
    weight: Buffer,
    bias: Buffer,
    rows: usize,
    dim: usize,
}

impl Placed for PlacedOneLayer {
    fn record(&self, program: &mut Program, x: View, _: Sigma, out: View) -> Result<()> {
        let shape = [self.rows, self.dim, self.dim];
        Matmul::new(Layout::Nt, x, self.weight, out, shape).bias(self.bias).record(program)
    }
}

/// A linear denoiser is its own best linear approximation: at every noise level of the paper, for
/// members that differ, by either method, on images that are the same for all members or not, and
/// also where the images span fewer directions than there are.
pub async fn distilling_a_linear_network_returns_it(engine: &Engine) {
    let dim = 12;
    let sets = TrainingSets::new(images(1, 90, dim), dim, vec![0..60, 30..90, 0..9]).unwrap();
    let gaussian = Gaussian::fit(&sets).unwrap();
    let layer = OneLayer::random(dim, 3);
    let held_out = TrainingSets::new(images(2, 150, dim), dim, vec![0..150; 3]).unwrap();
    let few = TrainingSets::new(images(2, 7, dim), dim, vec![0..7; 3]).unwrap();
    let sigmas = [0.002_f32, 0.02, 0.3, 1.0, 10.0, 80.0];
    let gaussian_form = |m: usize, sigma| affine_form(&gaussian.fits()[m], sigma);
    let layer_form = |m: usize, _| layer.member(m);
    type Form<'a> = &'a dyn Fn(usize, f64) -> (DMatrix<f64>, DVector<f64>);
    let denoisers: [(&dyn Denoiser, Form<'_>); 2] =
        [(&gaussian, &gaussian_form), (&layer, &layer_form)];
    for (which, (denoiser, form)) in denoisers.into_iter().enumerate() {
        for (on, images) in [&held_out, &few, &sets].into_iter().enumerate() {
            for method in [Solver::Normal, Solver::Descent] {
                let linear = distil(engine, denoiser, images, &sigmas, method, 4).await;
                for (member, fit) in linear.fits().iter().enumerate() {
                    for (level, &sigma) in sigmas.iter().enumerate() {
                        let (w, b) = form(member, f64::from(sigma));
                        let w_error = (&fit.weights[level] - &w).amax() / w.amax();
                        let b_error = (&fit.biases[level] - &b).amax() / b.amax().max(1.0);
                        assert!(
                            w_error < 1e-3 && b_error < 1e-3,
                            "denoiser {which}, images {on}, {method:?}, member {member}, \
                             σ={sigma}: {w_error} {b_error}"
                        );
                    }
                }
            }
        }
    }
}

/// Larger images take another code path: more threads, another factorization. There, too, a linear network
/// is its own approximation, and images that do not determine it are refused.
pub async fn large_images_are_distilled(engine: &Engine) {
    let dim = 261;
    let layer = OneLayer::random(dim, 1);
    let pool = TrainingSets::single(images(2, 400, dim), dim).unwrap();
    for sigma in [0.02_f32, 1.0] {
        let linear = distil(engine, &layer, &pool, &[sigma], Solver::Normal, 4).await;
        let (w, b) = layer.member(0);
        let w_error = (&linear.fits()[0].weights[0] - &w).amax() / w.amax();
        let b_error = (&linear.fits()[0].biases[0] - &b).amax() / b.amax();
        assert!(w_error < 1e-3 && b_error < 1e-3, "σ={sigma}: {w_error} {b_error}");
    }
    let few = TrainingSets::single(images(2, 260, dim), dim).unwrap();
    for (images, batches) in [(few, 4), (pool, 1)] {
        let how = Distill { batches, ..Distill::default() };
        let mut program = engine.program(1).unwrap();
        let error = Distillation::place(&mut program, &layer, &images, how, SEED).unwrap_err();
        assert!(error.message.contains("do not determine"), "{error}");
    }
}

/// The residual of D_M has no linear part: over the very draws that were fitted, it is orthogonal to the
/// noisy images and to 1. Descent ends at the solution of the normal equations.
pub async fn distillation_leaves_nothing_linear(engine: &Engine) {
    let (dim, count, batches) = (6, 100, 3);
    let set = images(3, 20, dim);
    let empirical = Empirical::new(TrainingSets::single(set.clone(), dim).unwrap());
    let other = TrainingSets::single(images(4, count, dim), dim).unwrap();
    for sigma in [0.1_f32, 0.6, 3.0] {
        let [normal, descent] = [
            distil(engine, &empirical, &other, &[sigma], Solver::Normal, batches).await,
            distil(engine, &empirical, &other, &[sigma], Solver::Descent, batches).await,
        ];
        let [fit, descended] = [&normal.fits()[0], &descent.fits()[0]];
        let apart = (&fit.weights[0] - &descended.weights[0]).amax() / fit.weights[0].amax();
        let biases = (&fit.biases[0] - &descended.biases[0]).amax();
        assert!(apart < 1e-6 && biases < 1e-6, "σ={sigma}: {apart} {biases}");

        let mut products = DMatrix::zeros(dim, dim + 1);
        let (mut residuals, mut inputs) = (0.0, 0.0);
        for batch in 0..batches {
            let mut noise = vec![0.0; DISTILLATION_ROWS * dim];
            fill_normals(SEED, Stream::MetricNoise, 1000 + batch, &mut noise);
            for (row, noise) in noise.chunks_exact(dim).enumerate() {
                // The images are used cyclically.
                let image = (batch as usize * DISTILLATION_ROWS + row) % count;
                let clean = &other.images(0)[image * dim..][..dim];
                let x: Vec<f32> = clean.iter().zip(noise).map(|(y, n)| y + sigma * n).collect();
                let target = empirical_f64(&set, dim, &x, f64::from(sigma));
                let x = to_f64(&x);
                let residual = DVector::from_vec(target) - fit.denoise(0, &x);
                let input = x.push(1.0);
                products += &residual * input.transpose();
                residuals += residual.norm_squared();
                inputs += input.norm_squared();
            }
        }
        let correlation = products.norm() / (residuals * inputs).sqrt();
        assert!(correlation < 1e-4, "σ={sigma}: {correlation}");
        // The residual is not zero: D_M is not linear where it chooses between images.
        let mean_square = residuals / f64::from(batches) / DISTILLATION_ROWS as f64;
        assert!(sigma > 1.0 || mean_square > 1e-3, "σ={sigma}: {mean_square}");
    }
}

/// The choice of images matters: D_M is optimal for its training images, so on those its best linear
/// approximation is their D_G, although D_M is nothing like it. On other images it is not.
pub async fn distilled_on_its_training_images_the_optimum_is_gaussian(engine: &Engine) {
    let dim = 5;
    let sets = TrainingSets::new(images(3, 30, dim), dim, vec![0..12, 10..30]).unwrap();
    let held_out = TrainingSets::new(images(4, 200, dim), dim, vec![0..200; 2]).unwrap();
    let (empirical, gaussian) = (Empirical::new(sets.clone()), Gaussian::fit(&sets).unwrap());
    let sigma = 0.25_f32;
    let distances = async |images| {
        let linear = distil(engine, &empirical, images, &[sigma], Solver::Normal, 60).await;
        let pairs = linear.fits().iter().zip(gaussian.fits());
        let distance = pairs.map(|(fit, gaussian)| {
            let (w, _) = affine_form(gaussian, f64::from(sigma));
            (&fit.weights[0] - &w).norm() / w.norm()
        });
        distance.collect::<Vec<_>>()
    };
    let (on_training, on_others) = (distances(&sets).await, distances(&held_out).await);
    for (training, others) in on_training.iter().zip(&on_others) {
        assert!(*training < 0.02 && *others > 0.1, "{on_training:?} {on_others:?}");
    }
}
