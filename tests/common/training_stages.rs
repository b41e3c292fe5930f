//! The stages of a training step, and whole steps, agree with the CPU engine.

use super::stages::{Failures, bits};
use super::training::{odd, odd_sgd, odd_unet, read, session};
use super::{ODD, random};
use hidden_gaussian::compute::Engine;
use hidden_gaussian::data::TrainingSets;
use hidden_gaussian::kernels::Edm;
use hidden_gaussian::kernels::Film;
use hidden_gaussian::kernels::finish_step::{RateSchedule, STEP_STATE, TRAINING_CLOCK};
use hidden_gaussian::kernels::matmul::Tile;
use hidden_gaussian::kernels::norm_film_silu::Kept;
use hidden_gaussian::kernels::{
    Fold, Sigma, adam, batch_draw, batch_noise, denoising_loss, finish_step, noise, noise_features,
    norm_film_silu, norm_film_silu_backward, precondition_input, precondition_output, sgd, silu,
    silu_backward, square_sums,
};
use hidden_gaussian::train::Config;

const EDM: Edm = Edm { sigma_data: 0.5 };

/// The device as it was tuned, and as most adapters are: few or many threads share a row.
fn tunings(gpu: &Engine) -> [Engine; 2] {
    let Some(device) = gpu.as_gpu() else { return [gpu.clone(), gpu.clone()] };
    [gpu.clone(), Engine::on(device.clone().with_tile(Tile::default()))]
}

pub async fn stages_on_odd_shapes(gpu: &Engine) {
    let mut failures = Failures::default();
    for rows in ODD {
        for cols in ODD {
            let len = rows * cols;
            let shape = [rows, cols];
            let case = |name: &str| format!("{name} {rows}×{cols}");
            let (x, y) = (random(1, 2 * len), random(2, 2 * len));
            let levels: Vec<f32> = random(3, 2 * rows).iter().map(|v| (2.0 * v).exp()).collect();
            let inputs = [x.iter().map(|v| 4.0 * v).collect(), y.clone()];
            failures
                .compare(case("silu"), gpu, 2, &inputs, &[len; 3], |p, v| {
                    silu::record(p, v[0], v[2], len)?;
                    silu_backward::record(p, v[0], v[1], len)
                })
                .await;
            // Whole steps of a U-Net, below, have folded images.
            let fold = Fold::none(cols);
            let inputs = [levels.clone(), x.clone(), y.clone()];
            let lens = [rows, len, len, len, 32 * rows];
            failures
                .compare(case("precondition"), gpu, 2, &inputs, &lens, |p, v| {
                    let sigma = Sigma::per_row(v[0]);
                    precondition_input::record(p, EDM, sigma, v[1], v[3], shape)?;
                    precondition_output::record(p, EDM, sigma, v[1], v[2], shape)?;
                    noise_features::record(p, sigma, v[4], rows)
                })
                .await;
            let lens = [len, len, len, rows];
            for gpu in &tunings(gpu) {
                failures
                    .compare(case("loss"), gpu, 2, &[x.clone(), y.clone()], &lens, |p, v| {
                        denoising_loss::record(p, [v[0], v[1], v[2], v[3]], shape, fold)
                    })
                    .await;
            }
            let film = random(4, 4 * len);
            let lens = [len, 2 * len, len, len, len, rows, len, 2 * len];
            let inputs = [x.clone(), film, y.clone(), random(5, 2 * len)];
            for gpu in &tunings(gpu) {
                failures
                    .compare(case("norm"), gpu, 2, &inputs, &lens, |p, v| {
                        let film = Film { view: v[1], stride: 2 * cols };
                        let kept = Kept { normed: v[4], inverse_rms: v[5] };
                        norm_film_silu::record(p, v[0], film, kept, v[6], shape)?;
                        norm_film_silu_backward::record(p, kept, film, v[2], v[7], v[3], shape)
                    })
                    .await;
            }
            let mut clocks = noise::clock(1 << 40, 3).to_vec();
            clocks.extend(noise::clock(17, 4));
            let ranges = bits(&[0, 1, 1, cols as u32]);
            let ranges = if cols > 1 { ranges } else { bits(&[0, 1, 0, 1]) };
            let inputs = [bits(&clocks), ranges, random(6, 2 * cols * cols)];
            let lens = [4, 2, cols * cols, rows, rows, len, len];
            let is_word = |buffer, _| [0, 1, 3].contains(&buffer);
            failures
                .compare_words(case("batch"), gpu, 2, &inputs, &lens, is_word, |p, v| {
                    batch_draw::record(p, [v[0], v[1], v[3], v[4]], [-0.6, 1.0], rows)?;
                    let views = [v[0], v[2], v[3], v[4], v[5], v[6]];
                    batch_noise::record(p, EDM, views, [rows, cols, cols], fold)
                })
                .await;
        }
    }
}

/// Whether a clock holds an integer there: seed, step, status and the number of summed losses.
fn counts(i: usize) -> bool {
    [0, 1, 2, 3, 5].contains(&(i % TRAINING_CLOCK))
}

pub async fn the_optimizer_on_odd_lengths(gpu: &Engine) {
    let mut failures = Failures::default();
    let schedule = RateSchedule {
        rate: 0.1,
        floor: 0.02,
        warm_up: 10,
        total: 1000,
        clip: 1.0,
        blow_up: 50.0,
        ema_limit: 0.99,
        betas: [adam::BETA1, adam::BETA2],
    };
    let plain = RateSchedule { betas: [0.0; 2], ..schedule };
    for len in [1, 4, 63, 252, 4095, 4097, 4100, 100_001] {
        let chunks = square_sums::chunks(len);
        for step in [0, 7, 500, 999, 5000] {
            let mut clock = [0; TRAINING_CLOCK];
            clock[2] = step;
            let positive = random(4, 2 * len).iter().map(|v| v * v).collect();
            let inputs = [
                bits(&clock),
                random(1, 2 * 7),
                random(2, 2 * len),
                random(3, 2 * len),
                positive,
                random(5, 2 * len),
                random(6, 2 * len),
            ];
            let lens = [TRAINING_CLOCK, 7, len, len, len, len, len, chunks, STEP_STATE];
            let is_word = |buffer, i| buffer == 0 && counts(i);
            let case = format!("{len} at step {step}");
            for gpu in &tunings(gpu) {
                failures
                    .compare_words(case.clone(), gpu, 2, &inputs, &lens, is_word, |p, v| {
                        square_sums::record(p, v[2], v[7], len)?;
                        finish_step::record(p, schedule, [v[7], v[1], v[0], v[8]], [chunks, 7])?;
                        adam::record(p, [v[8], v[2], v[5], v[3], v[4], v[6]], len)
                    })
                    .await;
                failures
                    .compare_words(case.clone(), gpu, 2, &inputs, &lens, is_word, |p, v| {
                        square_sums::record(p, v[2], v[7], len)?;
                        finish_step::record(p, plain, [v[7], v[1], v[0], v[8]], [chunks, 7])?;
                        sgd::record(p, 0.95, [v[8], v[2], v[5], v[3], v[6]], len)
                    })
                    .await;
            }
        }
    }
}

pub async fn steps_match_the_cpu(gpu: &Engine) {
    steps_match(gpu, odd()).await;
    steps_match(gpu, odd_sgd()).await;
}

pub async fn steps_of_a_unet_match_the_cpu(gpu: &Engine) {
    steps_match(gpu, odd_unet()).await;
}

/// The same run on both engines: gradients of the first step, weights and losses of a few more.
async fn steps_match(gpu: &Engine, (config, sets): (Config, TrainingSets)) {
    let mut sessions =
        [session(gpu, &config, &sets).await, session(&Engine::cpu(), &config, &sets).await];
    let mut failures = Failures::default();
    for (count, tolerance) in [(1, 1e-4), (4, 1e-3)] {
        for session in &mut sessions {
            session.step(count).unwrap();
        }
        for name in [
            "batch images",
            "batch",
            "target",
            "losses",
            "gradients",
            "weights",
            "averaged weights",
            "clock",
        ] {
            let [ours, twin] = &mut sessions;
            let (a, b) = (read(ours, name).await, read(twin, name).await);
            let is_word = |i| name == "batch images" || name == "clock" && counts(i);
            let case = format!("{name} after {count} steps");
            failures.compare_values(&case, &a, &b, tolerance, is_word);
        }
        let [ours, twin] = &mut sessions;
        let (a, b) = (ours.progress().await.unwrap(), twin.progress().await.unwrap());
        for (a, b) in a.members.iter().zip(&b.members) {
            assert!((a.loss.unwrap() / b.loss.unwrap() - 1.0).abs() < 1e-4, "{a:?} {b:?}");
        }
    }
}
