//! Does this machine compute what it should? Known answers, plain loops in double precision, closed
//! forms, central differences, and the other engine, with the largest error of each.

use std::sync::Arc;

use nalgebra::DVector;
use serde::Serialize;

use crate::compute::{Buffer, BufferInfo, Engine, Program};
use crate::data::Shape;
use crate::denoiser::{Denoiser, Empirical, Gaussian, TrainingSets};
use crate::error::{Error, Result};
use crate::kernels::conv::{Channels, Conv, Scale, TAPS};
use crate::kernels::matmul::{Layout, Matmul};
use crate::kernels::{Sigma, philox_words};
use crate::model::Architecture;
use crate::model::unet::Norm;
use crate::rng::{KNOWN_ANSWERS, Stream, fill_normals, philox};
use crate::sampler::{Method, Sampler, Schedule};
use crate::train::{Config, Session};

/// One check: it holds if the largest error is within the tolerance.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// What is checked.
    pub name: &'static str,
    /// Against what, as a sentence.
    pub about: &'static str,
    /// The largest error.
    pub error: f64,
    /// How large it may be.
    pub tolerance: f64,
    /// Whether it is not larger.
    pub holds: bool,
}

impl Check {
    fn new(name: &'static str, about: &'static str, error: f64, tolerance: f64) -> Self {
        // NaN is within no tolerance.
        Self { name, about, error, tolerance, holds: error <= tolerance }
    }
}

/// Checks `engine`. An error means that it could not even compute.
pub async fn self_check(engine: &Engine) -> Result<Vec<Check>> {
    Machine { engine, spoil: |_| {} }.check().await
}

/// What is checked.
struct Machine<'a> {
    engine: &'a Engine,
    /// Goes over everything that the engine gave, so that tests can play a broken one.
    spoil: fn(&mut [f32]),
}

impl Machine<'_> {
    async fn check(&self) -> Result<Vec<Check>> {
        let unet = Architecture::UNet {
            shape: Shape { height: 8, width: 4, channels: 1 },
            width: 5,
            levels: 2,
            norm: Norm::None,
        };
        let mlp = Architecture::Mlp { width: 17, depth: 2 };
        let on_gpu = matches!(self.engine, Engine::Gpu(_));
        let (steps, tolerance) = if on_gpu {
            ("Two steps of training give the weights and gradients of the CPU engine.", 1e-3)
        } else {
            (
                "A network that trains beside another becomes what it becomes alone, bit for bit.",
                0.0,
            )
        };
        let differences = "Every tensor's gradient is that of central differences.";
        let [weighted, nearest] = self.empirical().await?;
        Ok(vec![
            Check::new(
                "Random numbers",
                "Philox gives its published words, bit for bit; counted are the wrong ones.",
                self.philox().await?,
                0.0,
            ),
            Check::new(
                "Matrix multiply",
                "On odd sizes, against plain loops in double precision.",
                self.matmul().await?,
                1e-5,
            ),
            Check::new(
                "Convolution",
                "At the same, half and twice the resolution, against plain loops in double precision.",
                self.convolution().await?,
                1e-5,
            ),
            Check::new(
                "D_M is eq. 4",
                "The softmax-weighted mean of training images, against double precision.",
                weighted,
                1e-4,
            ),
            Check::new(
                "D_M repeats images",
                "With next to no noise, D_M returns the training image nearest to its input.",
                nearest,
                1e-5,
            ),
            Check::new(
                "D_G is eq. 7",
                "The Gaussian denoiser, against its closed form in double precision.",
                self.gaussian().await?,
                1e-5,
            ),
            Check::new(
                "Sampler",
                "D_G's way from noise to image, against the closed form of its differential equation.",
                self.sampler().await?,
                5e-3,
            ),
            Check::new("Gradients, MLP", differences, self.gradients(&mlp, 15).await?, 5e-3),
            Check::new("Gradients, U-Net", differences, self.gradients(&unet, 32).await?, 5e-3),
            Check::new("Training, MLP", steps, self.training(mlp, 15).await?, tolerance),
            Check::new("Training, U-Net", steps, self.training(unet, 32).await?, tolerance),
        ])
    }

    /// Runs what `record` appends to an empty program once, and reads the buffers that it returns.
    async fn run(
        &self,
        members: usize,
        record: &dyn Fn(&mut Program) -> Result<Vec<Buffer>>,
    ) -> Result<Vec<Vec<f32>>> {
        let mut program = self.engine.program(members)?;
        let mut buffers = Vec::new();
        let routine = program.routine("check", |p| {
            buffers = record(p)?;
            Ok(())
        })?;
        let mut loaded = self.engine.load(program).await?;
        loaded.run(routine, 1)?;
        let mut contents = Vec::new();
        for buffer in buffers {
            let mut values = loaded.read(buffer).await?;
            (self.spoil)(&mut values);
            contents.push(values);
        }
        Ok(contents)
    }

    /// The same for what a denoiser makes of rows of `x` at the noise level of each row.
    async fn denoise(&self, denoiser: &dyn Denoiser, x: &[f32], sigma: &[f32]) -> Result<Vec<f32>> {
        let record = |p: &mut Program| {
            let placed = denoiser.place(p, sigma.len())?;
            let input = p.buffer_with("x", x.to_vec())?;
            let levels = p.buffer_with("σ", sigma.to_vec())?;
            let out = p.buffer("D(x)", x.len())?;
            placed.record(p, input.into(), Sigma::per_row(levels), out.into())?;
            Ok(vec![out])
        };
        Ok(self.run(1, &record).await?.swap_remove(0))
    }

    async fn philox(&self) -> Result<f64> {
        let more = (0..61_u32).map(|i| ([i, !i, i << 9, 7], [i.wrapping_mul(0x9E37_79B9), i]));
        let published = KNOWN_ANSWERS.map(|(counter, key, words)| (counter, key, words));
        let others = more.map(|(counter, key)| (counter, key, philox(counter, key)));
        let draws: Vec<_> = published.into_iter().chain(others).collect();
        let record = |p: &mut Program| {
            let words = draws.iter().flat_map(|(counter, key, _)| counter.iter().chain(key));
            let input = p.buffer_with("draws", words.map(|&w| f32::from_bits(w)).collect())?;
            let out = p.buffer("words", 4 * draws.len())?;
            philox_words::record(p, input.into(), out.into(), draws.len())?;
            Ok(vec![out])
        };
        let words = self.run(1, &record).await?.swap_remove(0);
        let expected = draws.iter().flat_map(|(.., words)| words);
        let wrong = words.iter().zip(expected).filter(|(ours, word)| ours.to_bits() != **word);
        Ok(wrong.count() as f64)
    }

    async fn matmul(&self) -> Result<f64> {
        let [m, n, k] = [37, 41, 65];
        let (a, b) = (normals(1, m * k), normals(2, k * n));
        // Where element (i, p) of A and element (p, j) of B lie in each layout.
        let layouts: [(Layout, [[usize; 2]; 2]); 3] = [
            (Layout::Nn, [[k, 1], [n, 1]]),
            (Layout::Nt, [[k, 1], [1, k]]),
            (Layout::Tn, [[1, m], [n, 1]]),
        ];
        let record = |p: &mut Program| {
            let [a, b] = [p.buffer_with("a", a.clone())?, p.buffer_with("b", b.clone())?];
            let products = layouts.map(|(layout, _)| {
                let c = p.buffer("c", m * n)?;
                Matmul::new(layout, a, b, c, [m, n, k]).record(p)?;
                Ok(c)
            });
            products.into_iter().collect()
        };
        let products = self.run(1, &record).await?;
        let errors = products.iter().zip(layouts).map(|(ours, (_, [of_a, of_b]))| {
            let expected = (0..m * n).map(|at| {
                let (i, j) = (at / n, at % n);
                let term = |p: usize| {
                    let (a, b) = (a[i * of_a[0] + p * of_a[1]], b[p * of_b[0] + j * of_b[1]]);
                    f64::from(a) * f64::from(b)
                };
                (0..k).map(term).sum()
            });
            largest_error(ours, &expected.collect::<Vec<_>>())
        });
        Ok(worst(errors))
    }

    async fn convolution(&self) -> Result<f64> {
        let conv = |scale| Conv { batch: 3, size: [5, 7], channels: [3, 9], scale };
        let convolutions = [Scale::Same, Scale::Half, Scale::Double].map(conv);
        let first = &convolutions[0];
        let x = normals(1, first.batch * first.size[0] * first.size[1] * first.channels[0]);
        let weights = normals(2, first.parameters());
        let record = |p: &mut Program| {
            let input = Channels::all(p.buffer_with("x", x.clone())?, first.channels[0]);
            let parameters = p.buffer_with("weights", weights.clone())?;
            let outputs = convolutions.map(|conv| {
                let [height, width] = conv.output_size();
                let out = p.buffer("out", conv.batch * height * width * conv.channels[1])?;
                let channels = Channels::all(out, conv.channels[1]);
                conv.record(p, input, parameters.into(), None, channels)?;
                Ok(out)
            });
            outputs.into_iter().collect()
        };
        let outputs = self.run(1, &record).await?;
        let errors = outputs
            .iter()
            .zip(&convolutions)
            .map(|(ours, conv)| largest_error(ours, &convolve(conv, &x, &weights)));
        Ok(worst(errors))
    }

    /// Against eq. 4, and against the nearest image where there is next to no noise.
    async fn empirical(&self) -> Result<[f64; 2]> {
        let (n, dim, rows) = (70, 19, 9);
        let pool = images(n, dim);
        let empirical = Empirical::new(TrainingSets::single(pool.clone(), dim)?);
        let [quiet, noisy] = [0.002_f32, 0.4];
        let noise = normals(2, 2 * rows * dim);
        let levels: Vec<f32> =
            (0..2 * rows).map(|i| if i < rows { quiet } else { noisy }).collect();
        let x: Vec<f32> = (0..2 * rows * dim)
            .map(|i| pool[7 * (i / dim % rows) * dim + i % dim] + levels[i / dim] * noise[i])
            .collect();
        let ours = self.denoise(&empirical, &x, &levels).await?;
        let (returned, weighted) = ours.split_at(rows * dim);
        let expected: Vec<f64> = x[rows * dim..]
            .chunks_exact(dim)
            .flat_map(|x| weighted_mean(&pool, x, f64::from(noisy)))
            .collect();
        let nearest: Vec<f64> =
            (0..rows * dim).map(|i| f64::from(pool[7 * (i / dim) * dim + i % dim])).collect();
        Ok([largest_error(weighted, &expected), largest_error(returned, &nearest)])
    }

    async fn gaussian(&self) -> Result<f64> {
        let (dim, levels) = (19, [0.002_f32, 0.1, 1.0, 80.0]);
        let gaussian = Gaussian::fit(&TrainingSets::single(images(12, dim), dim)?)?;
        let x: Vec<f32> = normals(2, levels.len() * dim)
            .iter()
            .enumerate()
            .map(|(i, v)| v * (0.5 + levels[i / dim]))
            .collect();
        let ours = self.denoise(&gaussian, &x, &levels).await?;
        // Row by row, since noise levels differ in scale.
        let rows = x.chunks_exact(dim).zip(ours.chunks_exact(dim)).zip(levels);
        let errors = rows.map(|((x, ours), sigma)| {
            let expected = gaussian.fits()[0].denoise(&to_f64(x), f64::from(sigma));
            largest_error(ours, expected.as_slice())
        });
        Ok(worst(errors))
    }

    /// Against eq. 7 of the full text.
    async fn sampler(&self) -> Result<f64> {
        let (dim, rows, steps) = (9, 3, 40);
        let (high, low) = (20.0, 0.05);
        let gaussian = Gaussian::fit(&TrainingSets::single(images(60, dim), dim)?)?;
        let sampler =
            Sampler { schedule: Schedule::edm(steps + 1, low, high, 7.0)?, method: Method::Heun };
        let noise: Vec<f32> = normals(2, rows * dim).iter().map(|v| v * high as f32).collect();
        let record = |p: &mut Program| {
            let placed = gaussian.place(p, rows)?;
            let start = p.buffer_with("noise", noise.clone())?;
            // One step before the last, which goes to σ = 0.
            Ok(vec![sampler.record(p, &*placed, start)?.x[steps]])
        };
        let reached = self.run(1, &record).await?.swap_remove(0);
        let flow = |x: &[f32]| gaussian.fits()[0].flow(&to_f64(x), high, low);
        let expected: Vec<f64> =
            noise.chunks_exact(dim).flat_map(|x| flow(x).as_slice().to_vec()).collect();
        Ok(largest_error(&reached, &expected))
    }

    /// The backward pass against central differences, one random direction in each tensor. All shifted
    /// weights are members of one program: member 0 stands still, the others come in pairs.
    async fn gradients(&self, architecture: &Architecture, dim: usize) -> Result<f64> {
        let rows = 3;
        let network = architecture.network(dim)?;
        let parameters = network.parameters();
        let len = parameters.buffer_len();
        let tensors = parameters.list();
        let moved = normals(3, len);
        // No layer may begin at zero: it would hide those before it.
        let base: Vec<f32> =
            parameters.initial(1).iter().zip(&moved).map(|(w, n)| w + 0.1 * n).collect();
        let direction = normals(4, len);
        let step = |len: usize| 0.03 / (len as f32).sqrt();
        let mut weights = base.clone();
        for tensor in tensors {
            for sign in [1.0, -1.0] {
                let mut shifted = base.clone();
                for at in tensor.offset..tensor.offset + tensor.len() {
                    shifted[at] += sign * step(tensor.len()) * direction[at];
                }
                weights.extend(shifted);
            }
        }
        let members = 1 + 2 * tensors.len();
        let x: Arc<[f32]> = normals(5, rows * dim).into();
        let levels: Arc<[f32]> = [0.1, 0.5, 2.0].into();
        let d_out = normals(6, rows * dim);
        let record = |p: &mut Program| {
            let (x, levels) = (p.constant("x", &x)?, p.constant("σ", &levels)?);
            let weights = p.buffer_with("weights", weights.clone())?;
            let gradients = p.buffer("gradients", len)?;
            let out = p.buffer("F(x)", rows * dim)?;
            let d_out = p.buffer_with("gradient of F(x)", d_out.repeat(members))?;
            let placed = network.place_training(p, rows, weights.into(), gradients.into())?;
            placed.forward(p, x.into(), Sigma::per_row(levels), out.into())?;
            placed.backward(p, x.into(), d_out.into())?;
            Ok(vec![out, gradients])
        };
        let read = self.run(members, &record).await?;
        let [out, gradients] = [&read[0], &read[1]];
        let values: Vec<f64> = out.chunks_exact(rows * dim).map(|out| dot(out, &d_out)).collect();
        let pairs = values[1..].as_chunks::<2>().0;
        let errors = tensors.iter().zip(pairs).map(|(tensor, [ahead, behind])| {
            let range = tensor.offset..tensor.offset + tensor.len();
            let gradient = &gradients[range.clone()];
            let along = dot(gradient, &direction[range]);
            let difference = (ahead - behind) / f64::from(2.0 * step(tensor.len()));
            (along - difference).abs() / dot(gradient, gradient).sqrt()
        });
        Ok(worst(errors))
    }

    /// Two steps of two members: against the CPU engine, or on the CPU against the second one alone.
    async fn training(&self, architecture: Architecture, dim: usize) -> Result<f64> {
        let pool: Arc<[f32]> = images(30, dim).into();
        let both = TrainingSets::new(Arc::clone(&pool), dim, vec![0..30, 3..14])?;
        let config = Config { architecture, batch: 5, warm_up: 5, ..Config::quick(vec![5, 6]) };
        let trained = async |engine: &Engine, config: &Config, sets: &TrainingSets| {
            let mut session = Session::new(engine, config.clone(), sets).await?;
            session.step(2)?;
            let named = |info: &&BufferInfo| ["weights", "gradients"].contains(&&*info.name);
            let buffers = session.loaded.program().buffers().iter().filter(named);
            let mut contents = Vec::new();
            for buffer in buffers.map(|info| info.buffer).collect::<Vec<_>>() {
                contents.push(session.loaded.read::<f32>(buffer).await?);
            }
            Ok::<_, Error>(contents)
        };
        let mut ours = trained(self.engine, &config, &both).await?;
        ours.iter_mut().for_each(|values| (self.spoil)(values));
        let expected = match self.engine {
            Engine::Gpu(_) => trained(&Engine::Cpu, &config, &both).await?,
            Engine::Cpu => {
                let alone = TrainingSets::single(&pool[3 * dim..14 * dim], dim)?;
                let config = Config { seeds: vec![6], ..config };
                trained(&Engine::Cpu, &config, &alone).await?
            }
        };
        let errors = ours.iter().zip(&expected).map(|(ours, expected)| {
            let second = to_f64(&ours[ours.len() - expected.len()..]);
            let expected = to_f64(expected);
            // As a whole: Adam makes a full step even of a gradient that is nothing but rounding.
            (second - &expected).norm() / expected.norm()
        });
        Ok(worst(errors))
    }
}

/// Standard normals, others for each `index`.
fn normals(index: u32, len: usize) -> Vec<f32> {
    let mut values = vec![0.0; len];
    fill_normals(1, Stream::Test, index, &mut values);
    values
}

/// Images whose pixels hang together.
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

/// The largest difference, relative to the largest number expected.
fn largest_error(ours: &[f32], expected: &[f64]) -> f64 {
    let scale = expected.iter().fold(f64::MIN_POSITIVE, |scale, value| scale.max(value.abs()));
    worst(ours.iter().zip(expected).map(|(a, b)| (f64::from(*a) - b).abs() / scale))
}

/// The largest of some errors; what is no number is as wrong as can be.
fn worst(errors: impl Iterator<Item = f64>) -> f64 {
    errors.fold(0.0, |worst, error| if error.is_nan() { f64::INFINITY } else { worst.max(error) })
}

/// Eq. 4, by the book.
fn weighted_mean(pool: &[f32], x: &[f32], sigma: f64) -> Vec<f64> {
    let x = to_f64(x);
    let set: Vec<_> = pool.chunks_exact(x.len()).map(to_f64).collect();
    let logits: Vec<f64> =
        set.iter().map(|y| -(&x - y).norm_squared() / (2.0 * sigma * sigma)).collect();
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights = logits.iter().map(|logit| (logit - top).exp());
    let (mut mean, mut sum) = (DVector::zeros(x.len()), 0.0);
    for (y, weight) in set.iter().zip(weights) {
        mean += y * weight;
        sum += weight;
    }
    (mean / sum).as_slice().to_vec()
}

/// A convolution, by the book: tap `(i, j)` of output `o` falls on `down · o + (i, j) - 1` of the
/// input enlarged `up` times, and on zero outside of it.
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
            // One more than on the input, so that it is not below 0.
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

    /// An engine that errs a little, mixes up its numbers or gives none passes no check at all.
    #[test]
    fn every_check_can_fail() {
        let wrong: [fn(&mut [f32]); 3] = [
            |values| values.iter_mut().step_by(2).for_each(|v| *v *= 1.05),
            |values| values.reverse(),
            |values| values.fill(f32::NAN),
        ];
        for spoil in wrong {
            let machine = Machine { engine: &Engine::Cpu, spoil };
            for check in pollster::block_on(machine.check()).unwrap() {
                assert!(!check.holds, "{check:?}");
            }
        }
    }
}
