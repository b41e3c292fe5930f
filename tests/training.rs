//! Training on the CPU engine: what it converges to, and what it must not do.
#![cfg(not(target_arch = "wasm32"))]

mod common;
mod training_cases;

use common::random;
use hidden_gaussian::compute::Engine;
use hidden_gaussian::denoiser::{Denoiser, Gaussian, TrainingSets};
use hidden_gaussian::kernels::Sigma;
use hidden_gaussian::model::Architecture;
use hidden_gaussian::train::{Checkpoint, Config, Plan, Session};
use pollster::block_on;

#[test]
fn resuming_is_bit_exact() {
    training_cases::resuming_is_bit_exact(&Engine::Cpu);
}

#[test]
fn members_do_not_leak() {
    training_cases::members_do_not_leak(&Engine::Cpu);
}

#[test]
fn divergence_stays_with_its_member() {
    training_cases::divergence_stays_with_its_member(&Engine::Cpu);
}

/// Trains as `config` says and returns what the network and `other` then make of noisy images:
/// `denoise(images, σ)`.
fn trained(
    config: &Config,
    sets: &TrainingSets,
    other: &dyn Denoiser,
    rows: usize,
) -> impl FnMut(&[f32], f32) -> [Vec<f32>; 2] {
    let engine = Engine::Cpu;
    let mut plan = Plan::new(&engine, config.clone(), sets).unwrap();
    let denoiser = plan.denoiser();
    let p = &mut plan.program;
    let len = rows * sets.dim();
    let x = p.buffer("x", len).unwrap();
    let level = p.buffer("level", 1).unwrap();
    let outs = [(); 2].map(|()| p.buffer("out", len).unwrap());
    let placed = [denoiser.place(p, rows).unwrap(), other.place(p, rows).unwrap()];
    let routine = p
        .routine("denoise", |p| {
            let mut pairs = placed.iter().zip(outs);
            pairs.try_for_each(|(d, out)| d.record(p, x.into(), Sigma::shared(level), out.into()))
        })
        .unwrap();
    let mut session = block_on(plan.load(&engine)).unwrap();
    while session.step(100).unwrap() > 0 {}
    move |noisy, sigma| {
        session.loaded.upload(x, noisy).unwrap();
        session.loaded.upload(level, &[sigma]).unwrap();
        session.loaded.run(routine, 1).unwrap();
        outs.map(|out| block_on(session.loaded.read(out)).unwrap())
    }
}

fn distance(a: &[f32], b: &[f32]) -> f64 {
    let square = |v: f64| v * v;
    let sum: f64 = a.iter().zip(b).map(|(a, b)| square(f64::from(a - b))).sum();
    (sum / a.len() as f64).sqrt()
}

/// On Gaussian data the best denoiser is linear: the network must find D_G (eq. 7).
#[test]
fn gaussian_data_teach_the_gaussian_denoiser() {
    let (dim, n) = (6, 4000);
    let scales = [1.0, 0.6, 0.4, 0.2, 0.1, 0.05];
    let mean = [0.3, -0.2, 0.0, 0.1, 0.0, 0.0];
    let draw = |seed, count| -> Vec<f32> {
        let normals = random(seed, count * dim);
        let value = |(i, v): (usize, f32)| mean[i % dim] + scales[i % dim] * v;
        normals.into_iter().enumerate().map(value).collect()
    };
    let sets = TrainingSets::single(draw(1, n), dim).unwrap();
    let gaussian = Gaussian::fit(&sets).unwrap();
    let config = Config {
        architecture: Architecture::Mlp { width: 48, depth: 2 },
        batch: 128,
        steps: 2000,
        ..Config::quick(vec![1])
    };
    let clean = draw(2, 500);
    let mut denoise = trained(&config, &sets, &gaussian, 500);
    for sigma in [0.2, 0.6, 1.5] {
        let noise = random(3, clean.len());
        let noisy: Vec<f32> = clean.iter().zip(&noise).map(|(x, n)| x + sigma * n).collect();
        let [ours, best] = denoise(&noisy, sigma);
        let (apart, error) = (distance(&ours, &best), distance(&best, &clean));
        println!("σ = {sigma}: {apart:.4} from D_G, whose own error is {error:.4}");
        assert!(apart < 0.2 * error, "σ = {sigma}: {apart} {error}");
    }
}

/// One image is all there is to know: whatever the noise, the answer is that image.
#[test]
fn one_image_is_returned() {
    let dim = 16;
    let image: Vec<f32> = random(1, dim).iter().map(|v| 0.5 * v).collect();
    let sets = TrainingSets::single(image.clone(), dim).unwrap();
    let gaussian = Gaussian::fit(&sets).unwrap();
    let config = Config {
        architecture: Architecture::Mlp { width: 64, depth: 2 },
        steps: 1500,
        ..Config::quick(vec![1])
    };
    let mut denoise = trained(&config, &sets, &gaussian, 50);
    for sigma in [0.1, 0.5, 2.0] {
        let noise = random(2, 50 * dim);
        let noisy: Vec<f32> =
            noise.iter().enumerate().map(|(i, n)| image[i % dim] + sigma * n).collect();
        let [ours, _] = denoise(&noisy, sigma);
        let expected: Vec<f32> = (0..50).flat_map(|_| image.clone()).collect();
        let error = distance(&ours, &expected);
        println!("σ = {sigma}: {error:.4}");
        assert!(error < 0.1 * sigma.min(0.5) as f64, "σ = {sigma}: {error}");
    }
}

#[test]
fn bad_configurations_are_refused() {
    let (good, sets) = training_cases::odd();
    let bad = [
        Config { batch: 0, ..good.clone() },
        Config { rate: f32::NAN, ..good.clone() },
        Config { sigma_data: 0.0, ..good.clone() },
        Config { clip: Some(-1.0), ..good.clone() },
        Config { floor: 2.0, ..good.clone() },
        Config { seeds: vec![1], ..good.clone() },
        Config { architecture: Architecture::Mlp { width: 0, depth: 2 }, ..good.clone() },
    ];
    for config in bad {
        assert!(block_on(Session::new(&Engine::Cpu, config.clone(), &sets)).is_err(), "{config:?}");
    }
}

#[test]
fn bad_checkpoints_are_refused() {
    let (config, sets) = training_cases::odd();
    let mut session = training_cases::session(&Engine::Cpu, &config, &sets);
    session.step(2).unwrap();
    let good = block_on(session.snapshot()).unwrap();
    let bytes = good.to_bytes().unwrap();
    assert_eq!(Checkpoint::from_bytes(&bytes).unwrap(), good);
    for len in [0, 7, 8, 100, bytes.len() - 1] {
        assert!(Checkpoint::from_bytes(&bytes[..len]).is_err(), "{len} bytes");
    }
    let mut long_header = bytes;
    long_header[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(Checkpoint::from_bytes(&long_header).is_err());
    let other = Config { rate: 1e-3, ..config.clone() };
    let mut other = training_cases::session(&Engine::Cpu, &other, &sets);
    assert!(other.restore(&good).is_err());
    let images: Vec<f32> = sets.pool().iter().map(|v| v + 1.0).collect();
    let others = TrainingSets::new(images, sets.dim(), sets.ranges().to_vec()).unwrap();
    assert!(training_cases::session(&Engine::Cpu, &config, &others).restore(&good).is_err());
}
