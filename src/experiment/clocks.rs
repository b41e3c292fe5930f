//! Two clocks (Bonnaire, Urfin, Biroli & Mézard, NeurIPS 2025): a network learns to generate after a
//! time that does not depend on the number N of its training images, and begins to memorize them after
//! a time that grows with N. In between it generalizes, however large it is.
//!
//! Networks of several N train at a constant rate, without a moving average of their weights, and are measured
//! at several steps. A measurement draws samples, counts the memorized ones and compares all with those of the
//! Gaussian denoiser. It also measures the denoising loss at one small noise level, on training images and on
//! held-out images. For the intervals, samples and images are resampled: both start from the same noise at every
//! step, so a resample takes the same ones at every step.

use serde::{Deserialize, Serialize};

use super::Preset;
use super::ensemble::Ensemble;
use super::evaluation::{EvalConfig, Evaluation, compare};
use super::evaluator::evaluate;
use super::over_training::{Config, Measurement, Network, OverTraining, Schedule, Tracked};
use super::power_law::{DRAWS, Point, PowerLaw, interval};
use crate::compute::Engine;
use crate::denoiser::Gaussian;
use crate::error::{Error, Result};
use crate::rng::{Draw, Philox, Stream};
use crate::shape::Shape;
use crate::train::{self, Optimizer};

/// A network over its training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Course {
    /// The network, and how it is trained.
    #[serde(flatten)]
    pub network: Network,
    /// The measurements at each step.
    pub moments: Vec<Moment>,
    /// When the network generalized, overfitted and memorized, if it has so far.
    pub times: Times,
}

impl Course {
    /// Whether two networks were trained in the same way.
    #[must_use]
    pub fn same_training(&self, other: &Self) -> bool {
        let way = |Self { network: n, .. }: &Self| (n.architecture.clone(), n.optimizer, n.rate);
        way(self) == way(other)
    }
}

/// The measurements of a network at one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Moment {
    /// Training steps so far.
    pub step: u32,
    /// Fraction of memorized samples, those with `d₁ / d₂ < 1/3`.
    pub memorized: Bounded,
    /// Cosine between the network's samples and those of the Gaussian denoiser of its training images, from the
    /// same noise.
    pub likeness: Bounded,
    /// Loss on training images, in units of the noise: `‖D(y + σn) - y‖² / dσ²`.
    pub train: Bounded,
    /// Loss on held-out images, in units of the noise.
    pub held_out: Bounded,
}

/// A mean and its 95 % bootstrap interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounded {
    /// The mean.
    pub mean: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// The clocks of a network in training steps, interpolated between measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// τ_gen: when the likeness of the samples first comes within 5 % of its maximum ([`NEARLY`]).
    pub generalized: Option<Time>,
    /// When the loss on held-out images is first [`APART`] times that on training images.
    pub overfitted: Option<Time>,
    /// τ_mem: when the fraction [`COPIES`] of the samples is first memorized.
    pub memorized: Option<Time>,
}

impl Times {
    /// τ_gen, if the network did not copy before: one that copies first never generalized.
    #[must_use]
    pub fn before_copies(&self) -> Option<&Time> {
        let copies = self.memorized.as_ref().map_or(f64::INFINITY, |time| time.step);
        self.generalized.as_ref().filter(|time| time.step <= copies)
    }
}

/// A time with its 95 % bootstrap interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Time {
    /// The time in steps.
    pub step: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// The time in each resample; `null` if it was not reached.
    pub draws: Vec<Option<f64>>,
}

/// A network generalizes from this fraction of its highest likeness on.
pub const NEARLY: f64 = 0.95;
/// A network overfits once its loss on held-out images is this many times that on training images.
pub const APART: f64 = 1.25;
/// A network memorizes once this fraction of its samples is memorized.
pub const COPIES: f64 = 0.1;

/// What is kept of a measurement: numbers per sample and image, to be resampled.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measured {
    step: u32,
    copies: Vec<u8>,
    likeness: Vec<f32>,
    train: Vec<f32>,
    held_out: Vec<f32>,
}

impl Measurement for Measured {
    type Context = Vec<Target>;

    async fn prepare(engine: &Engine, ensemble: &Ensemble) -> Result<Vec<Target>> {
        let (split, sets) = (ensemble.split(), ensemble.sets());
        let config = EvalConfig { images: 1, ..ensemble.evaluation().clone() };
        let mut targets = Vec::new();
        for member in 0..sets.ranges().len() {
            let own = sets.only(member)?;
            let mut evaluated =
                evaluate(engine, &Gaussian::fit(&own)?, split, &own, &config).await?;
            let samples = evaluated.pop().map(|evaluation| evaluation.samples).unwrap_or_default();
            targets.push(Target { samples, mean: own.mean(0) });
        }
        Ok(targets)
    }

    fn take(
        ensemble: &Ensemble,
        targets: &Vec<Target>,
        step: u32,
        members: &[Evaluation],
    ) -> Result<Vec<Self>> {
        let (split, dim) = (ensemble.split(), ensemble.split().dim());
        let sigma = ensemble.evaluation().sigmas.last().copied().unwrap_or(1.0);
        let losses = |denoised: &[Vec<f32>], clean: &[f32]| -> Vec<f32> {
            let clean = clean.chunks_exact(dim).cycle();
            let images = denoised.last().into_iter().flat_map(|all| all.chunks_exact(dim));
            images
                .zip(clean)
                .map(|(a, b)| squared_distance(a, b) / (dim as f32 * sigma * sigma))
                // NaN cannot be saved; a network that diverged has the largest loss.
                .map(|loss| loss.min(f32::MAX))
                .collect()
        };
        let measured = |(m, member): (usize, &Evaluation)| Self {
            step,
            copies: member
                .nearest
                .d1
                .iter()
                .zip(&member.nearest.d2)
                .map(|(a, b)| u8::from(3.0 * a < *b))
                .collect(),
            likeness: targets[m].likeness(&member.samples),
            train: losses(&member.train.images, ensemble.sets().images(m)),
            held_out: losses(&member.held_out.images, split.held_out()),
        };
        Ok(members.iter().enumerate().map(measured).collect())
    }
}

fn squared_distance(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// The samples that a network's samples resemble before they are memorized: those of the Gaussian denoiser of its
/// own training images, from the same noise.
#[derive(Debug)]
pub struct Target {
    samples: Vec<f32>,
    /// The mean training image.
    mean: Vec<f32>,
}

impl Target {
    /// The cosine of each sample with the target from the same noise, after subtracting the mean image.
    fn likeness(&self, samples: &[f32]) -> Vec<f32> {
        let cosines = compare(samples, &self.samples, &self.mean).map(|row| row.cosine() as f32);
        // NaN cannot be saved.
        cosines.map(|cosine| cosine.max(-1.0)).collect()
    }
}

/// The experiment of the two clocks.
pub type Clocks = OverTraining<TwoClocks>;

/// What the two clocks add to [`OverTraining`].
#[derive(Debug)]
pub struct TwoClocks;

impl Tracked for TwoClocks {
    type Measurement = Measured;
    type Course = Course;
    const NAME: &'static str = "clocks";
    const TITLE: &'static str = "Two clocks";

    fn preset(preset: Preset, shape: Shape, seed: u64) -> Config {
        let quick = preset == Preset::Main || preset == Preset::Quick;
        let base = train::Config {
            floor: 1.0,
            warm_up: 1,
            ema_limit: 0.0,
            batch: 32,
            ..if quick { Preset::Quick } else { preset }.train(shape, Vec::new())
        };
        let width = base.architecture.width();
        // At high rates the noise of small batches delays memorization, more so with many images.
        let sgd = |width, steps| train::Config {
            architecture: base.architecture.with_width(width),
            optimizer: Optimizer::Sgd { momentum: 0.95 },
            rate: 0.01,
            steps,
            ..base.clone()
        };
        let adam = |steps| train::Config { rate: 5e-4, steps, ..base.clone() };
        // Photographs take long, and networks of 8 to 32 images memorize in half the time, too.
        let steps = if shape.channels > 1 { 16_000 } else { 32_000 };
        let (train, mut others) = (sgd(width, steps), vec![adam(steps / 2)]);
        if preset == Preset::Main {
            others.push(sgd(2 * width, 16_000));
        }
        let sizes = vec![8, 16, 32, 64, 256];
        let evaluation = EvalConfig {
            denoisers: Vec::new(),
            sigmas: vec![0.1],
            samples: 256,
            images: 256,
            shown: 0,
            ..preset.evaluation(seed)
        };
        Config {
            sizes,
            seeds: vec![seed],
            train,
            others,
            schedule: Schedule { first: 20, per_doubling: 3 },
            axes: None,
            evaluation,
        }
    }

    fn work(train: &train::Config) -> f64 {
        let (batch, width) = (train.batch as f64, train.architecture.width() as f64);
        f64::from(train.steps) * batch * width * (width + 128.0)
    }

    fn check(config: &Config) -> Result<()> {
        if config.axes.is_some() {
            return Err(Error::bad_input("The clocks measure no axes", "Remove “axes”"));
        }
        Ok(())
    }

    fn course(
        config: &Config,
        _: &Vec<Target>,
        _: usize,
        network: Network,
        measured: &[Measured],
    ) -> Course {
        let curves = Curves::of(measured, &Resamples::new(&config.evaluation));
        Course { network, moments: curves.moments(), times: curves.times() }
    }
}

/// Which samples and images each resample takes.
struct Resamples {
    samples: Vec<Vec<u32>>,
    images: Vec<Vec<u32>>,
}

impl Resamples {
    fn new(config: &EvalConfig) -> Self {
        let mut rng = Philox::new(config.seed, Stream::Bootstrap);
        let mut of = |count: usize| -> Vec<Vec<u32>> {
            (0..DRAWS).map(|_| (0..count).map(|_| rng.below(count as u32)).collect()).collect()
        };
        Self { samples: of(config.samples), images: of(config.images) }
    }
}

/// The curves of a network, each also in every resample.
struct Curves {
    steps: Vec<u32>,
    memorized: Vec<Curve>,
    likeness: Vec<Curve>,
    train: Vec<Curve>,
    held_out: Vec<Curve>,
}

/// A number over the steps. The first of several is the measurement, the others are resamples.
type Curve = Vec<f64>;

impl Curves {
    fn of(all: &[Measured], resamples: &Resamples) -> Self {
        let copies = |s: &Measured| s.copies.iter().map(|&copy| f64::from(copy)).collect();
        let wide = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect();
        Self {
            steps: all.iter().map(|s| s.step).collect(),
            memorized: curves(all, &resamples.samples, copies),
            likeness: curves(all, &resamples.samples, |s| wide(&s.likeness)),
            train: curves(all, &resamples.images, |s| wide(&s.train)),
            held_out: curves(all, &resamples.images, |s| wide(&s.held_out)),
        }
    }

    fn moments(&self) -> Vec<Moment> {
        let bounded = |curves: &[Curve], at: usize| {
            let mut values: Vec<f64> = curves[1..].iter().map(|curve| curve[at]).collect();
            let mean = curves[0][at];
            let [low, high] = interval(&mut values).unwrap_or([mean; 2]);
            Bounded { mean, low, high }
        };
        let moment = |(i, &step): (usize, &u32)| Moment {
            step,
            memorized: bounded(&self.memorized, i),
            likeness: bounded(&self.likeness, i),
            train: bounded(&self.train, i),
            held_out: bounded(&self.held_out, i),
        };
        self.steps.iter().enumerate().map(moment).collect()
    }

    fn times(&self) -> Times {
        let time = |of: &dyn Fn(usize) -> Option<f64>| {
            let step = of(0)?;
            let draws: Vec<Option<f64>> = (1..=DRAWS).map(of).collect();
            let mut finite: Vec<f64> = draws.iter().copied().flatten().collect();
            let [low, high] = interval(&mut finite).unwrap_or([step; 2]);
            Some(Time { step, low, high, draws })
        };
        let steps = &self.steps;
        Times {
            generalized: time(&|draw| {
                let curve = &self.likeness[draw];
                let most = curve.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                crossing(steps, curve, NEARLY * most)
            }),
            overfitted: time(&|draw| {
                let pairs = self.held_out[draw].iter().zip(&self.train[draw]);
                crossing(steps, &pairs.map(|(a, b)| a / b).collect::<Curve>(), APART)
            }),
            memorized: time(&|draw| crossing(steps, &self.memorized[draw], COPIES)),
        }
    }
}

/// The mean over the numbers of each measurement, as measured and then in each resample.
fn curves(
    all: &[Measured],
    resamples: &[Vec<u32>],
    numbers: impl Fn(&Measured) -> Vec<f64>,
) -> Vec<Curve> {
    let all: Vec<Vec<f64>> = all.iter().map(numbers).collect();
    let plain = all.iter().map(|one| one.iter().sum::<f64>() / one.len() as f64).collect();
    let resampled = resamples.iter().map(|picks| {
        let mean = |one: &Vec<f64>| {
            picks.iter().map(|&i| one[i as usize]).sum::<f64>() / picks.len() as f64
        };
        all.iter().map(mean).collect()
    });
    std::iter::once(plain).chain(resampled).collect()
}

/// The step at which `curve` first reaches `level` from below, interpolated on a logarithmic scale, or the first
/// step.
fn crossing(steps: &[u32], curve: &[f64], level: f64) -> Option<f64> {
    let at = curve.iter().position(|&value| value >= level)?;
    let Some(before) = at.checked_sub(1) else { return Some(f64::from(steps[0])) };
    let part = (level - curve[before]) / (curve[at] - curve[before]);
    let [from, to] = [before, at].map(|i| f64::from(steps[i]).ln());
    Some((from + part * (to - from)).exp())
}

/// How the clocks depend on the number of training images, for networks of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Laws {
    /// Power law of τ_gen.
    pub generalized: Option<PowerLaw>,
    /// Power law of the time at which held-out loss and training loss diverge.
    pub overfitted: Option<PowerLaw>,
    /// Power law of τ_mem.
    pub memorized: Option<PowerLaw>,
}

impl Laws {
    /// Fits the networks that reached each time.
    #[must_use]
    pub fn of(courses: &[&Course]) -> Self {
        let law = |of: fn(&Times) -> Option<&Time>| {
            let times: Vec<_> = courses
                .iter()
                .filter_map(|course| Some((course.network.member.n as f64, of(&course.times)?)))
                .map(|(n, time)| {
                    let draws: Vec<f64> =
                        time.draws.iter().map(|draw| draw.unwrap_or(f64::NAN)).collect();
                    (n, time.step, draws)
                })
                .collect();
            let points: Vec<_> =
                times.iter().map(|(x, y, draws)| Point { x: *x, y: *y, draws }).collect();
            PowerLaw::fit(&points)
        };
        Self {
            generalized: law(Times::before_copies),
            overfitted: law(|times| times.overfitted.as_ref()),
            memorized: law(|times| times.memorized.as_ref()),
        }
    }
}
