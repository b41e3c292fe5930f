//! Does this machine compute what it should? Known answers, plain loops in double precision, closed
//! forms, central differences, and the other engine, with the largest error of each.

use std::sync::Arc;

use nalgebra::DVector;
use serde::Serialize;

use crate::compute::{Buffer, BufferInfo, Engine, Program};
use crate::data::TrainingSets;
use crate::denoiser::{Denoiser, Empirical, Gaussian};
use crate::error::Result;
use crate::kernels::conv::{Channels, Conv, Scale, TAPS};
use crate::kernels::matmul::{Layout, Matmul};
use crate::kernels::{Sigma, philox_words};
use crate::model::Architecture;
use crate::model::unet::{Head, Norm};
use crate::rng::{KNOWN_ANSWERS, Stream, fill_normals, philox};
use crate::sampler::{Method, NoiseSchedule, Sampler};
use crate::shape::Shape;
use crate::train::{Config, Session};

/// One check. It holds if the largest error is within the tolerance.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// What is checked.
    pub name: &'static str,
    /// What the result is compared with, as a sentence.
    pub about: &'static str,
    /// The largest error found.
    pub error: f64,
    /// The largest error allowed.
    pub tolerance: f64,
    /// Whether the error is within the tolerance.
    pub holds: bool,
}

impl Check {
    fn new(name: &'static str, about: &'static str, error: f64, tolerance: f64) -> Self {
        // NaN is within no tolerance.
        Self { name, about, error, tolerance, holds: error <= tolerance }
    }
}

/// The number of checks.
pub const CHECKS: usize = TRIALS.len() + TRAININGS.len();

/// Runs all [`CHECKS`]. An error means that the engine could not compute at all.
pub async fn self_check(engine: &Engine) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    for index in 0..CHECKS {
        checks.extend(check(engine, index).await?);
    }
    Ok(checks)
}

/// Runs one check, so that each can be shown as soon as it is done; returns `None` beyond the last.
pub async fn check(engine: &Engine, index: usize) -> Result<Option<Check>> {
    check_spoilt(engine, index, |_| {}).await
}

/// Runs one check and lets `spoil` change everything that the engine returned, so that tests can
/// simulate a broken engine.
async fn check_spoilt(
    engine: &Engine,
    index: usize,
    spoil: fn(&mut [f32]),
) -> Result<Option<Check>> {
    if let Some(trial) = TRIALS.get(index) {
        let Trial { name, about, tolerance, members, record, error } = trial()?;
        let mut program = engine.program(members)?;
        let mut buffers = Vec::new();
        let routine = program.routine("check", |p| {
            buffers = record(p)?;
            Ok(())
        })?;
        let mut loaded = engine.load(program).await?;
        loaded.run(routine, 1)?;
        let mut contents = Vec::new();
        for buffer in buffers {
            let mut values = loaded.read(buffer).await?;
            spoil(&mut values);
            contents.push(values);
        }
        return Ok(Some(Check::new(name, about, error(&contents), tolerance)));
    }
    let Some((name, architecture, dim)) = TRAININGS.get(index - TRIALS.len()) else {
        return Ok(None);
    };
    let (about, tolerance) = if engine.as_gpu().is_some() {
        ("Two steps of training give the weights and gradients of the CPU engine.", 1e-3)
    } else {
        ("A network that trains beside another becomes what it becomes alone, bit for bit.", 0.0)
    };
    let error = training(engine, spoil, architecture.clone(), *dim).await?;
    Ok(Some(Check::new(name, about, error, tolerance)))
}

const MLP: Architecture = Architecture::Mlp { width: 17, depth: 2 };

/// Four channels: more would mean more shaders to compile, which takes seconds on a software adapter.
const UNET: Architecture = Architecture::UNet {
    shape: Shape { height: 8, width: 4, channels: 1 },
    width: 4,
    levels: 2,
    norm: Norm::None,
    head: Head::Linear,
};

/// A check of one routine. Nothing here is async, which keeps the page's library small.
struct Trial {
    name: &'static str,
    about: &'static str,
    tolerance: f64,
    members: usize,
    /// Records the routine, and returns the buffers to read.
    record: Record,
    /// Computes the error of their contents.
    error: Judge,
}

type Record = Box<dyn FnOnce(&mut Program) -> Result<Vec<Buffer>>>;
type Judge = Box<dyn Fn(&[Vec<f32>]) -> f64>;

const TRIALS: [fn() -> Result<Trial>; 9] = [
    || Ok(philox_trial()),
    || Ok(matmul_trial()),
    || Ok(convolution_trial()),
    || empirical_trial(0.4),
    || empirical_trial(QUIET),
    gaussian_trial,
    sampler_trial,
    || gradient_trial("Gradients, MLP", &MLP, 15),
    || gradient_trial("Gradients, U-Net", &UNET, 32),
];

/// Networks whose training is checked, and the dimensions of their images.
const TRAININGS: [(&str, Architecture, usize); 2] =
    [("Training, MLP", MLP, 15), ("Training, U-Net", UNET, 32)];

/// Judges each buffer by the contents expected of it.
fn must_equal(expected: Vec<Vec<f64>>) -> Judge {
    Box::new(move |ours| {
        worst(ours.iter().zip(&expected).map(|(ours, expected)| largest_error(ours, expected)))
    })
}

fn philox_trial() -> Trial {
    let more = (0..61_u32).map(|i| ([i, !i, i << 9, 7], [i.wrapping_mul(0x9E37_79B9), i]));
    let others = more.map(|(counter, key)| (counter, key, philox(counter, key)));
    let draws: Vec<_> = KNOWN_ANSWERS.into_iter().chain(others).collect();
    let (mut input, mut expected) = (Vec::new(), Vec::new());
    for (counter, key, words) in draws {
        input.extend(counter.iter().chain(&key).map(|&word| f32::from_bits(word)));
        expected.extend(words);
    }
    Trial {
        name: "Random numbers",
        about: "Philox gives its published words, bit for bit; the error is the number of wrong ones.",
        tolerance: 0.0,
        members: 1,
        record: Box::new(move |p| {
            let count = input.len() / 6;
            let input = p.buffer_with("draws", input)?;
            let out = p.buffer("words", 4 * count)?;
            philox_words::record(p, input.into(), out.into(), count)?;
            Ok(vec![out])
        }),
        error: Box::new(move |ours| {
            let pairs = ours[0].iter().zip(&expected);
            pairs.filter(|(ours, word)| ours.to_bits() != **word).count() as f64
        }),
    }
}

fn matmul_trial() -> Trial {
    let [m, n, k] = [37, 41, 65];
    let (a, b) = (normals(1, m * k), normals(2, k * n));
    // Distance to the next row and the next column of A and of B in each layout.
    let layouts: [(Layout, [[usize; 2]; 2]); 3] = [
        (Layout::Nn, [[k, 1], [n, 1]]),
        (Layout::Nt, [[k, 1], [1, k]]),
        (Layout::Tn, [[1, m], [n, 1]]),
    ];
    let expected = layouts.map(|(_, [of_a, of_b])| {
        let mut product = vec![0.0; m * n];
        for (at, sum) in product.iter_mut().enumerate() {
            let (i, j) = (at / n, at % n);
            for p in 0..k {
                let (a, b) = (a[i * of_a[0] + p * of_a[1]], b[p * of_b[0] + j * of_b[1]]);
                *sum += f64::from(a) * f64::from(b);
            }
        }
        product
    });
    Trial {
        name: "Matrix multiply",
        about: "On odd sizes, against plain loops in double precision.",
        tolerance: 1e-5,
        members: 1,
        record: Box::new(move |p| {
            let [a, b] = [p.buffer_with("a", a)?, p.buffer_with("b", b)?];
            let mut products = Vec::new();
            for (layout, _) in layouts {
                let c = p.buffer("c", m * n)?;
                Matmul::new(layout, a, b, c, [m, n, k]).record(p)?;
                products.push(c);
            }
            Ok(products)
        }),
        error: must_equal(expected.into()),
    }
}

fn convolution_trial() -> Trial {
    let conv = |scale| Conv { batch: 3, size: [5, 7], channels: [4, 9], scale };
    let convolutions = [Scale::Same, Scale::Half, Scale::Double].map(conv);
    let first = convolutions[0];
    let x = normals(1, first.batch * first.size[0] * first.size[1] * first.channels[0]);
    let weights = normals(2, first.parameters());
    let expected = convolutions.map(|conv| convolve(&conv, &x, &weights));
    let lens = expected.each_ref().map(Vec::len);
    Trial {
        name: "Convolution",
        about: "At the same, half and twice the resolution, against plain loops in double precision.",
        tolerance: 1e-5,
        members: 1,
        record: Box::new(move |p| {
            let input = Channels::all(p.buffer_with("x", x)?, first.channels[0]);
            let parameters = p.buffer_with("weights", weights)?;
            let mut outputs = Vec::new();
            for (conv, len) in convolutions.into_iter().zip(lens) {
                let out = p.buffer("out", len)?;
                let channels = Channels::all(out, conv.channels[1]);
                conv.record(p, input, parameters.into(), None, channels)?;
                outputs.push(out);
            }
            Ok(outputs)
        }),
        error: must_equal(expected.into()),
    }
}

/// Runs `denoiser` on the rows of `x`, each with its own noise level.
fn denoise(denoiser: impl Denoiser + 'static, x: Vec<f32>, sigma: Vec<f32>) -> Record {
    Box::new(move |p| {
        let (rows, out) = (sigma.len(), p.buffer("D(x)", x.len())?);
        let (x, sigma) = (p.buffer_with("x", x)?, p.buffer_with("σ", sigma)?);
        let placed = denoiser.place(p, rows)?;
        placed.record(p, x.into(), Sigma::per_row(sigma), out.into())?;
        Ok(vec![out])
    })
}

/// A negligible noise level.
const QUIET: f32 = 0.002;

/// D_M on some noisy training images. If the noise is negligible, it must return the images.
fn empirical_trial(sigma: f32) -> Result<Trial> {
    let (n, dim, rows) = (70, 19, 9);
    let pool = images(n, dim);
    let clean = &pool[..rows * dim];
    let noisy: Vec<f32> =
        clean.iter().zip(normals(2, rows * dim)).map(|(y, n)| y + sigma * n).collect();
    let (name, about, tolerance, expected) = if sigma == QUIET {
        (
            "D_M repeats images",
            "With next to no noise, D_M returns the training image nearest to its input.",
            1e-5,
            clean.iter().map(|&y| f64::from(y)).collect(),
        )
    } else {
        (
            "D_M is eq. 4",
            "The softmax-weighted mean of training images, against double precision.",
            1e-4,
            noisy.chunks_exact(dim).flat_map(|x| weighted_mean(&pool, x, sigma.into())).collect(),
        )
    };
    let empirical = Empirical::new(TrainingSets::single(pool, dim)?);
    Ok(Trial {
        name,
        about,
        tolerance,
        members: 1,
        record: denoise(empirical, noisy, vec![sigma; rows]),
        error: must_equal(vec![expected]),
    })
}

fn gaussian_trial() -> Result<Trial> {
    let (dim, levels) = (19, [QUIET, 0.1, 1.0, 80.0]);
    let gaussian = Gaussian::fit(&TrainingSets::single(images(12, dim), dim)?)?;
    let (mut x, mut expected) = (normals(2, levels.len() * dim), Vec::new());
    for (x, sigma) in x.chunks_exact_mut(dim).zip(levels) {
        x.iter_mut().for_each(|v| *v *= 0.5 + sigma);
        expected.extend_from_slice(gaussian.fits()[0].denoise(&to_f64(x), sigma.into()).as_slice());
    }
    Ok(Trial {
        name: "D_G is eq. 7",
        about: "The Gaussian denoiser, against its closed form in double precision.",
        tolerance: 1e-5,
        members: 1,
        record: denoise(gaussian, x, levels.into()),
        error: must_equal(vec![expected]),
    })
}

/// The sampler's path, against eq. 7 of the full text.
fn sampler_trial() -> Result<Trial> {
    let (dim, rows, steps) = (9, 3, 40);
    let (high, low) = (20.0, 0.05);
    let gaussian = Gaussian::fit(&TrainingSets::single(images(60, dim), dim)?)?;
    let sampler =
        Sampler { schedule: NoiseSchedule::edm(steps + 1, low, high, 7.0)?, method: Method::Heun };
    let (mut noise, mut expected) = (normals(2, rows * dim), Vec::new());
    for x in noise.chunks_exact_mut(dim) {
        x.iter_mut().for_each(|v| *v *= high as f32);
        expected.extend_from_slice(gaussian.fits()[0].flow(&to_f64(x), high, low).as_slice());
    }
    Ok(Trial {
        name: "Sampler",
        about: "D_G's path from noise to image, against the closed form of its differential equation.",
        tolerance: 5e-3,
        members: 1,
        record: Box::new(move |p| {
            let placed = gaussian.place(p, rows)?;
            let start = p.buffer_with("noise", noise)?;
            // The step before the last one, which goes to σ = 0.
            Ok(vec![sampler.record(p, &*placed, start)?.x[steps]])
        }),
        error: must_equal(vec![expected]),
    })
}

/// The backward pass against central differences, in one random direction per tensor. All shifted
/// weights are members of one program: member 0 is not shifted, the others come in pairs.
fn gradient_trial(name: &'static str, architecture: &Architecture, dim: usize) -> Result<Trial> {
    let rows = 3;
    let network = architecture.network(dim)?;
    let parameters = network.parameters();
    let len = parameters.buffer_len();
    let tensors = parameters.list().to_vec();
    let direction = normals(4, len);
    let step = |len: usize| 0.03 / (len as f32).sqrt();
    let mut base = parameters.initial(1);
    // No layer may start at zero: it would hide the layers before it.
    base.iter_mut().zip(normals(3, len)).for_each(|(w, n)| *w += 0.1 * n);
    let mut weights = base.clone();
    for tensor in &tensors {
        for sign in [1.0, -1.0] {
            let shifted = weights.len() + tensor.offset;
            weights.extend_from_slice(&base);
            let along = &direction[tensor.offset..];
            for (w, v) in weights[shifted..].iter_mut().zip(along).take(tensor.len()) {
                *w += sign * step(tensor.len()) * v;
            }
        }
    }
    let members = 1 + 2 * tensors.len();
    let x: Arc<[f32]> = normals(5, rows * dim).into();
    let levels: Arc<[f32]> = [0.1, 0.5, 2.0].into();
    let d_out = normals(6, rows * dim);
    let d_outs = d_out.repeat(members);
    Ok(Trial {
        name,
        about: "Every tensor's gradient is that of central differences.",
        tolerance: 5e-3,
        members,
        record: Box::new(move |p| {
            let (x, levels) = (p.constant("x", &x)?, p.constant("σ", &levels)?);
            let weights = p.buffer_with("weights", weights)?;
            let gradients = p.buffer("gradients", len)?;
            let out = p.buffer("F(x)", rows * dim)?;
            let d_out = p.buffer_with("gradient of F(x)", d_outs)?;
            let placed = network.place_training(p, rows, weights.into(), gradients.into())?;
            placed.forward(p, x.into(), Sigma::per_row(levels), out.into())?;
            placed.backward(p, x.into(), d_out.into())?;
            Ok(vec![out, gradients])
        }),
        error: Box::new(move |read| {
            let [out, gradients] = [&read[0], &read[1]];
            let value = |member: usize| dot(&out[member * d_out.len()..], &d_out);
            worst(tensors.iter().enumerate().map(|(i, tensor)| {
                let range = tensor.offset..tensor.offset + tensor.len();
                let gradient = &gradients[range.clone()];
                let along = dot(gradient, &direction[range]);
                let difference = value(2 * i + 1) - value(2 * i + 2);
                let slope = difference / f64::from(2.0 * step(tensor.len()));
                (along - slope).abs() / dot(gradient, gradient).sqrt()
            }))
        }),
    })
}

/// Trains two members for two steps and compares them with the CPU engine, or on the CPU with the second
/// member trained alone.
async fn training(
    engine: &Engine,
    spoil: fn(&mut [f32]),
    architecture: Architecture,
    dim: usize,
) -> Result<f64> {
    let pool: Arc<[f32]> = images(30, dim).into();
    let both = TrainingSets::new(Arc::clone(&pool), dim, vec![0..30, 3..14])?;
    let alone = TrainingSets::single(&pool[3 * dim..14 * dim], dim)?;
    let config = Config { architecture, batch: 5, warm_up: 5, ..Config::quick(vec![5, 6]) };
    let single = Config { seeds: vec![6], ..config.clone() };
    let (config_there, sets_there) =
        if engine.as_gpu().is_some() { (config.clone(), both.clone()) } else { (single, alone) };
    let other = (Engine::cpu(), config_there, sets_there);
    let mut results = Vec::new();
    for (engine, config, sets) in [(engine.clone(), config, both), other] {
        let mut session = Session::new(&engine, config, &sets).await?;
        session.step(2)?;
        let named = |info: &&BufferInfo| ["weights", "gradients"].contains(&&*info.name);
        let buffers = session.loaded.program().buffers().iter().filter(named);
        let buffers: Vec<_> = buffers.map(|info| info.buffer).collect();
        for buffer in buffers {
            results.push(session.loaded.read::<f32>(buffer).await?);
        }
    }
    let (ours, expected) = results.split_at_mut(2);
    ours.iter_mut().for_each(|values| spoil(values));
    Ok(worst(ours.iter().zip(expected).map(|(ours, expected)| {
        let second = &ours[ours.len() - expected.len()..];
        let missing: Vec<f32> = second.iter().zip(&*expected).map(|(a, b)| a - b).collect();
        // The weights are compared as a whole: Adam takes a full step even if a gradient is mere rounding.
        (dot(&missing, &missing) / dot(expected, expected)).sqrt()
    })))
}

/// Standard normals, different for each `index`.
fn normals(index: u32, len: usize) -> Vec<f32> {
    let mut values = vec![0.0; len];
    fill_normals(1, Stream::Test, index, &mut values);
    values
}

/// Images whose neighbouring pixels are correlated.
fn images(n: usize, dim: usize) -> Vec<f32> {
    let mut sum = 0.1;
    let walk = |v: &f32| {
        sum = 0.8 * sum + 0.3 * v;
        sum
    };
    normals(1, n * dim).iter().map(walk).collect()
}

fn to_f64(values: &[f32]) -> DVector<f64> {
    DVector::from_iterator(values.len(), values.iter().map(|&v| f64::from(v)))
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// The largest difference, relative to the largest expected number.
fn largest_error(ours: &[f32], expected: &[f64]) -> f64 {
    let scale = expected.iter().fold(f64::MIN_POSITIVE, |scale, value| scale.max(value.abs()));
    worst(ours.iter().zip(expected).map(|(a, b)| (f64::from(*a) - b).abs() / scale))
}

/// The largest of some errors; NaN counts as infinitely large.
fn worst(errors: impl Iterator<Item = f64>) -> f64 {
    errors.fold(0.0, |worst, error| if error.is_nan() { f64::INFINITY } else { worst.max(error) })
}

/// Eq. 4, term by term.
fn weighted_mean(pool: &[f32], x: &[f32], sigma: f64) -> Vec<f64> {
    let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
    let set = pool.chunks_exact(x.len());
    let logit = |y: &[f32]| -x.iter().zip(y).map(square).sum::<f64>() / (2.0 * sigma * sigma);
    let logits: Vec<f64> = set.clone().map(logit).collect();
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mut mean, mut sum) = (vec![0.0; x.len()], 0.0);
    for (y, logit) in set.zip(logits) {
        let weight = (logit - top).exp();
        sum += weight;
        mean.iter_mut().zip(y).for_each(|(mean, y)| *mean += weight * f64::from(*y));
    }
    mean.iter_mut().for_each(|mean| *mean /= sum);
    mean
}

/// A convolution by its definition: tap `(i, j)` of output `o` falls on `down · o + (i, j) - 1` of the
/// input enlarged `up` times, and on zero outside it.
fn convolve(conv: &Conv, x: &[f32], parameters: &[f32]) -> Vec<f64> {
    let Conv { batch, size: [height, width], channels: [inputs, outputs], scale } = *conv;
    let [up, down] = match scale {
        Scale::Same => [1, 1],
        Scale::Half => [1, 2],
        Scale::Double => [2, 1],
    };
    let [out_height, out_width] = conv.output_size();
    let mut out = Vec::new();
    for at in 0..batch * out_height * out_width * outputs {
        let (pixel, channel) = (at / outputs, at % outputs);
        let (image, row, column) =
            (pixel / out_width / out_height, pixel / out_width % out_height, pixel % out_width);
        let mut sum = f64::from(parameters[conv.bias() + channel]);
        for tap in 0..TAPS {
            // One more than the position on the input, so that it is never negative.
            let (y, x_) = (down * row + tap / 3, down * column + tap % 3);
            let inside = (1..=up * height).contains(&y) && (1..=up * width).contains(&x_);
            if !inside {
                continue;
            }
            let source = (image * height + (y - 1) / up) * width + (x_ - 1) / up;
            let from = &x[source * inputs..][..inputs];
            for (input, value) in from.iter().enumerate() {
                let weight = parameters[(tap * inputs + input) * outputs + channel];
                sum += f64::from(*value) * f64::from(weight);
            }
        }
        out.push(sum);
    }
    out
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    /// An engine that is slightly wrong, mixes up its numbers or returns none fails every check.
    #[test]
    fn every_check_can_fail() {
        let wrong: [fn(&mut [f32]); 3] = [
            |values| values.iter_mut().step_by(2).for_each(|v| *v *= 1.05),
            |values| values.reverse(),
            |values| values.fill(f32::NAN),
        ];
        for spoil in wrong {
            for index in 0..CHECKS {
                let check = pollster::block_on(check_spoilt(&Engine::cpu(), index, spoil));
                let check = check.unwrap().unwrap();
                assert!(!check.holds, "{check:?}");
            }
        }
    }
}
