//! Training on the CPU engine: what it converges to, and what it must not do.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use common::{native_cpu, random, run, stages, training};
use hidden_gaussian::compute::Engine;
use hidden_gaussian::data::Shape;
use hidden_gaussian::data::TrainingSets;
use hidden_gaussian::denoiser::{Denoiser, Gaussian};
use hidden_gaussian::kernels::finish_step::{RateSchedule, STEP_STATE, TRAINING_CLOCK};
use hidden_gaussian::kernels::{Sigma, adam, batch_draw, finish_step, noise, sgd};
use hidden_gaussian::model::Architecture;
use hidden_gaussian::model::unet::{Head, Norm};
use hidden_gaussian::train::{Checkpoint, Config, Optimizer, Plan, Session};
use pollster::block_on;

common::tests_of!(training, native_cpu, Engine::cpu());

/// Trains by `config` and returns how the network and `other` then denoise images:
/// `denoise(images, σ)`.
fn trained(
    config: &Config,
    sets: &TrainingSets,
    other: &dyn Denoiser,
    rows: usize,
) -> impl FnMut(&[f32], f32) -> [Vec<f32>; 2] {
    let engine = Engine::cpu();
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

/// With a single training image, the network returns that image whatever the noise.
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
        assert!(error < f64::from(0.1 * sigma.min(0.5)), "σ = {sigma}: {error}");
    }
}

/// Learning rate, moving average and clipping at chosen steps, against the formulas in f64.
#[test]
fn the_step_scales_follow_their_formulas() {
    let schedule = RateSchedule {
        rate: 4e-3,
        floor: 0.02,
        warm_up: 100,
        total: 2000,
        clip: 0.5,
        blow_up: 1e3,
        ema_limit: 0.99,
        betas: [adam::BETA1, adam::BETA2],
    };
    for step in [0_u32, 1, 50, 99, 100, 1000, 1999, 5000] {
        let mut clock = [0; TRAINING_CLOCK];
        clock[2] = step;
        let inputs = [vec![9.0, 16.0], vec![0.25, 0.5], stages::bits(&clock)];
        let out = block_on(run(
            &Engine::cpu(),
            1,
            &inputs,
            &[2, 2, TRAINING_CLOCK, STEP_STATE],
            |p, v| finish_step::record(p, schedule, [v[0], v[1], v[2], v[3]], [2, 2]),
        ));
        let t = f64::from(step);
        let fall = 0.98 * (std::f64::consts::FRAC_PI_2 * (t / 2000.0).min(1.0)).cos() + 0.02;
        let rate = 4e-3 * ((t + 1.0) / 100.0).min(1.0) * fall;
        let expected = [
            1.0,
            rate / (1.0 - 0.9_f64.powf(t + 1.0)),
            1.0 / (1.0 - 0.99_f64.powf(t + 1.0)),
            0.1,
            1.0 - ((1.0 + t) / (10.0 + t)).min(0.99),
        ];
        for (ours, expected) in out[3].iter().zip(expected) {
            let error = f64::from(*ours) - expected;
            assert!(error.abs() <= 2e-5 * expected, "step {step}: {ours} {expected}");
        }
        let clock: Vec<u32> = out[2].iter().map(|v| v.to_bits()).collect();
        assert_eq!(clock[2..4], [step + 1, 0]);
        let told = [clock[4], clock[6], clock[7]].map(f32::from_bits);
        assert_eq!((told, clock[5]), ([0.75, 0.75, 5.0], 1));
    }
}

/// Three updates against Adam in f64.
#[test]
fn the_update_is_adam() {
    let len = 37;
    let (beta1, beta2) = (0.9_f64, 0.99_f64);
    let mut inputs: Vec<Vec<f32>> = [0; 6].map(|_| vec![0.0; len]).into();
    inputs[2] = random(1, len);
    inputs[5] = random(1, len);
    let mut expected: Vec<[f64; 4]> =
        inputs[2].iter().map(|&w| [w.into(), 0.0, 0.0, w.into()]).collect();
    for t in 1..=3 {
        let (rate, scale, share) = (0.01_f64, 0.5_f64, 0.1_f64);
        let corrections = [1.0 - beta1.powi(t), 1.0 - beta2.powi(t)];
        inputs[0] = [1.0, rate / corrections[0], 1.0 / corrections[1], scale, share]
            .map(|v| v as f32)
            .into();
        inputs[1] = random(1 + t as u32, len);
        inputs = block_on(run(
            &Engine::cpu(),
            1,
            &inputs,
            &[STEP_STATE, len, len, len, len, len],
            |p, v| adam::record(p, [v[0], v[1], v[2], v[3], v[4], v[5]], len),
        ));
        for ([w, m, v, average], g) in expected.iter_mut().zip(&inputs[1]) {
            let g = scale * f64::from(*g);
            *m = beta1 * *m + (1.0 - beta1) * g;
            *v = beta2 * *v + (1.0 - beta2) * g * g;
            *w -= rate * (*m / corrections[0]) / ((*v / corrections[1]).sqrt() + 1e-8);
            *average += share * (*w - *average);
        }
    }
    for (slot, column) in [(2, 0), (3, 1), (4, 2), (5, 3)] {
        let expected: Vec<f32> = expected.iter().map(|row| row[column] as f32).collect();
        assert!(common::relative_error(&inputs[slot], &expected) < 1e-5, "binding {slot}");
    }
}

/// Three updates against the heavy ball in f64. Its learning rate needs no correction.
#[test]
fn the_update_is_gradient_descent_with_momentum() {
    let (len, momentum) = (37, 0.95);
    let (rate, scale, share) = (0.01_f64, 0.5_f64, 0.1_f64);
    let mut inputs: Vec<Vec<f32>> = [0; 5].map(|_| vec![0.0; len]).into();
    inputs[2] = random(1, len);
    inputs[4] = random(1, len);
    let mut expected: Vec<[f64; 3]> =
        inputs[2].iter().map(|&w| [w.into(), 0.0, w.into()]).collect();
    for t in 1..=3 {
        let schedule = RateSchedule {
            rate: rate as f32,
            floor: 1.0,
            warm_up: 1,
            total: 10,
            clip: 0.5,
            blow_up: 1e3,
            ema_limit: 0.9,
            betas: [0.0; 2],
        };
        let mut clock = [0; TRAINING_CLOCK];
        clock[2] = 100 + t;
        let ended = block_on(run(
            &Engine::cpu(),
            1,
            &[vec![1.0], vec![0.25], stages::bits(&clock)],
            &[1, 1, TRAINING_CLOCK, STEP_STATE],
            |p, v| finish_step::record(p, schedule, [v[0], v[1], v[2], v[3]], [1, 1]),
        ));
        inputs[0].clone_from(&ended[3]);
        assert_eq!(inputs[0][..2], [1.0, rate as f32]);
        inputs[1] = random(1 + t, len);
        inputs =
            block_on(run(&Engine::cpu(), 1, &inputs, &[STEP_STATE, len, len, len, len], |p, v| {
                sgd::record(p, momentum, [v[0], v[1], v[2], v[3], v[4]], len)
            }));
        for ([w, v, average], g) in expected.iter_mut().zip(&inputs[1]) {
            *v = f64::from(momentum) * *v + scale * f64::from(*g);
            *w -= rate * *v;
            *average += share * (*w - *average);
        }
    }
    for (slot, column) in [(2, 0), (3, 1), (4, 2)] {
        let expected: Vec<f32> = expected.iter().map(|row| row[column] as f32).collect();
        assert!(common::relative_error(&inputs[slot], &expected) < 1e-5, "binding {slot}");
    }
}

/// Configurations from before the choice of an optimizer mean Adam.
#[test]
fn a_configuration_without_an_optimizer_means_adam() {
    let config = Config::quick(vec![1]);
    let text = serde_json::to_string(&config).unwrap();
    assert!(!text.contains("optimizer"), "{text}");
    assert_eq!(serde_json::from_str::<Config>(&text).unwrap().optimizer, Optimizer::Adam);
    let sgd = Config { optimizer: Optimizer::Sgd { momentum: 0.95 }, ..config };
    let text = serde_json::to_string(&sgd).unwrap();
    assert!(text.contains(r#""optimizer":{"kind":"sgd","momentum":0.95}"#), "{text}");
    assert_eq!(serde_json::from_str::<Config>(&text).unwrap(), sgd);
}

/// Batches draw images from all of the training set and only from it; noise levels have the given spread.
#[test]
fn batches_are_drawn_as_asked() {
    let rows = 20_000;
    let inputs = [stages::bits(&noise::clock(3, 7)), stages::bits(&[5, 12])];
    let out = block_on(run(&Engine::cpu(), 1, &inputs, &[4, 2, rows, rows], |p, v| {
        batch_draw::record(p, [v[0], v[1], v[2], v[3]], [-0.6, 1.2], rows)
    }));
    let mut counts = [0; 20];
    out[2].iter().for_each(|index| counts[index.to_bits() as usize] += 1);
    for (image, count) in counts.iter().enumerate() {
        let expected = if (5..12).contains(&image) { rows / 7 } else { 0 };
        assert!(expected.abs_diff(*count) < 200, "{counts:?}");
    }
    let logs: Vec<f64> = out[3].iter().map(|sigma| f64::from(*sigma).ln()).collect();
    let mean = logs.iter().sum::<f64>() / rows as f64;
    let variance = logs.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / rows as f64;
    assert!((mean + 0.6).abs() < 0.03 && (variance.sqrt() - 1.2).abs() < 0.03, "{mean} {variance}");
}

#[test]
fn bad_configurations_are_refused() {
    let (good, sets) = training::odd();
    let bad = [
        Config { batch: 0, ..good.clone() },
        Config { rate: f32::NAN, ..good.clone() },
        Config { sigma_data: 0.0, ..good.clone() },
        Config { clip: Some(-1.0), ..good.clone() },
        Config { floor: 2.0, ..good.clone() },
        Config { seeds: vec![1], ..good.clone() },
        Config { optimizer: Optimizer::Sgd { momentum: 1.0 }, ..good.clone() },
        Config { architecture: Architecture::Mlp { width: 0, depth: 2 }, ..good.clone() },
    ];
    for config in bad {
        assert!(
            block_on(Session::new(&Engine::cpu(), config.clone(), &sets)).is_err(),
            "{config:?}"
        );
    }
}

#[test]
fn bad_checkpoints_are_refused() {
    let (config, sets) = training::odd();
    let mut session = block_on(training::session(&Engine::cpu(), &config, &sets));
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
    let mut other = block_on(training::session(&Engine::cpu(), &other, &sets));
    assert!(other.restore(&good).is_err());
    let images: Vec<f32> = sets.pool().iter().map(|v| v + 1.0).collect();
    let others = TrainingSets::new(images, sets.dim(), sets.ranges().to_vec()).unwrap();
    assert!(block_on(training::session(&Engine::cpu(), &config, &others)).restore(&good).is_err());
}

/// The bits do not depend on the number of threads, in all stages of networks large enough to be divided.
#[test]
fn threads_do_not_change_bits() {
    let shape = Shape { height: 16, width: 12, channels: 1 };
    let images: Vec<f32> = random(1, 50 * shape.dim()).iter().map(|v| 0.5 * v).collect();
    let sets = TrainingSets::single(images, shape.dim()).unwrap();
    let head = Head::Silu;
    let unet = |norm| Architecture::UNet { shape, width: 18, levels: 2, norm, head };
    let mlp = Architecture::Mlp { width: 321, depth: 2 };
    for architecture in [mlp, unet(Norm::None), unet(Norm::Group)] {
        let config = Config { architecture, batch: 411, ..Config::quick(vec![3]) };
        let trained = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut session = block_on(training::session(&Engine::cpu(), &config, &sets));
                session.step(1).unwrap();
                block_on(training::state(&mut session))
            })
        };
        let alone = trained(1);
        for threads in [2, 7] {
            assert!(alone == trained(threads), "{threads} threads, {:?}", config.architecture);
        }
    }
}
