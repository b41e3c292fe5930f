//! Evaluates denoisers: records an evaluation into a program, and runs it.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::evaluation::{Denoised, EvalConfig, Evaluation};
use crate::compute::{Buffer, Engine, Loaded, Program, Routine, elements};
use crate::data::{Split, TrainingSets};
use crate::denoiser::{Denoiser, Empirical, Linear};
use crate::error::{Error, Result};
use crate::kernels::{Sigma, noise};
use crate::metrics::{LinearityProbe, Nearest};
use crate::rng::{Stream, fill_normals};
use crate::sampler::Trajectory;

/// The sampling from one denoiser, placed in a program.
#[derive(Debug)]
struct Sampling {
    routine: Routine,
    trajectory: Trajectory,
    nearest: Nearest,
}

impl Sampling {
    fn place(
        program: &mut Program,
        denoiser: &dyn Denoiser,
        sets: &TrainingSets,
        config: &EvalConfig,
    ) -> Result<Self> {
        config.check()?;
        let (sampler, dim) = (config.sampler()?, denoiser.dim());
        let clock = place_clock(program, config)?;
        let start = program.buffer("starting noise", config.samples * dim)?;
        let placed = denoiser.place(program, config.samples)?;
        let images = Empirical::new(sets.clone()).place_in(program, config.samples)?;
        let mut found = None;
        let routine = program.routine("sample", |p| {
            sampler.record_noise(p, clock.into(), start.into(), [config.samples, dim])?;
            let trajectory = sampler.record(p, &*placed, start)?;
            let nearest = Nearest::record(p, &images, trajectory.end().into())?;
            found = Some((trajectory, nearest));
            Ok(())
        })?;
        let (trajectory, nearest) = found.ok_or_else(|| Error::internal("Nothing was recorded"))?;
        Ok(Self { routine, trajectory, nearest })
    }

    /// Draws samples, and returns evaluations that hold nothing else yet.
    async fn run(&self, loaded: &mut Loaded) -> Result<Vec<Evaluation>> {
        let members = loaded.program().members();
        loaded.run_cooperative(self.routine, 1).await?;
        let samples = by_member(loaded.read(self.trajectory.end()).await?, members);
        let mut paths = vec![Vec::new(); members];
        for buffer in &self.trajectory.denoised {
            let images = by_member(loaded.read(*buffer).await?, members);
            paths.iter_mut().zip(images).for_each(|(path, images)| path.push(images));
        }
        let nearest = self.nearest.read(loaded).await?;
        let evaluation = |((samples, path), nearest)| Evaluation {
            path,
            samples,
            nearest,
            held_out: Denoised::default(),
            train: Denoised::default(),
            linearity: Vec::new(),
        };
        Ok(samples.into_iter().zip(paths).zip(nearest).map(evaluation).collect())
    }
}

/// Places the clock of all evaluation noise.
fn place_clock(program: &mut Program, config: &EvalConfig) -> Result<Buffer> {
    let clock: Arc<[f32]> = noise::clock(config.seed, 0).map(f32::from_bits).into();
    program.constant("evaluation clock", &clock)
}

/// The first of `images`, repeated cyclically if there are too few, so that every member and every denoiser
/// sees equally many.
fn repeat(images: &[f32], config: &EvalConfig, dim: usize) -> Vec<f32> {
    images.iter().copied().cycle().take(config.images * dim).collect()
}

/// The evaluation of one denoiser, placed in a program: its buffers live there, beside those of whatever else
/// the program does. So a network in training is evaluated with its current weights.
#[derive(Debug)]
pub struct Evaluator {
    config: EvalConfig,
    dim: usize,
    sampling: Sampling,
    denoise: Routine,
    sigma: Buffer,
    batches: [Batch; 2],
    linearity: LinearityProbe,
}

/// A batch of clean images and their denoised noisy versions.
#[derive(Debug)]
struct Batch {
    clean: Arc<[f32]>,
    denoised: Buffer,
}

impl Evaluator {
    /// Places everything that an evaluation of `denoiser` needs in `program`.
    pub fn place(
        program: &mut Program,
        denoiser: &dyn Denoiser,
        split: &Split,
        sets: &TrainingSets,
        config: &EvalConfig,
    ) -> Result<Self> {
        let sampling = Sampling::place(program, denoiser, sets, config)?;
        let (rows, dim) = (config.images, denoiser.dim());
        // A buffer that is too large is refused before its contents are computed.
        let noisy = program.buffer("noisy images", elements([rows, dim]))?;
        let train_in = program.buffer("some training images", rows * dim)?;
        let held_out: Arc<[f32]> = repeat(split.held_out(), config, dim).into();
        let train: Arc<[f32]> =
            (0..program.members()).flat_map(|m| repeat(sets.images(m), config, dim)).collect();
        program.begin_with(train_in, Arc::clone(&train))?;
        let held_out_in = program.constant("held-out images", &held_out)?;
        let placed = denoiser.place(program, rows)?;
        let clock = place_clock(program, config)?;
        let sigma = program.shared("evaluation σ", 1)?;
        let mut batches = [(held_out, held_out_in), (train, train_in)]
            .map(|(clean, input)| (Batch { clean, denoised: input }, input));
        for (batch, _) in &mut batches {
            batch.denoised = program.buffer("denoised images", rows * dim)?;
        }
        let denoise = program.routine("denoise", |p| {
            for (batch, input) in &batches {
                let (level, input) = (Sigma::shared(sigma), Some((*input).into()));
                let stream = Stream::MetricNoise;
                noise::record(p, clock.into(), stream, level, input, noisy.into(), [rows, dim])?;
                placed.record(p, noisy.into(), level, batch.denoised.into())?;
            }
            Ok(())
        })?;
        let both = [&*placed, &*denoiser.place(program, 1)?];
        let linearity =
            LinearityProbe::place(program, both, split.held_out(), dim, rows, config.seed)?;
        let (config, batches) = (config.clone(), batches.map(|(batch, _)| batch));
        Ok(Self { config, dim, sampling, denoise, sigma, batches, linearity })
    }

    /// The configuration of the evaluation.
    #[must_use]
    pub const fn config(&self) -> &EvalConfig {
        &self.config
    }

    /// Evaluates each member.
    pub async fn run(&self, loaded: &mut Loaded) -> Result<Vec<Evaluation>> {
        let members = loaded.program().members();
        let mut evaluations = self.sampling.run(loaded).await?;
        for &sigma in &self.config.sigmas {
            loaded.upload(self.sigma, &[sigma])?;
            loaded.run_cooperative(self.denoise, 1).await?;
            for (part, batch) in self.batches.iter().enumerate() {
                let denoised = by_member(loaded.read(batch.denoised).await?, members);
                for (m, (evaluation, images)) in evaluations.iter_mut().zip(denoised).enumerate() {
                    let of =
                        if part == 0 { &mut evaluation.held_out } else { &mut evaluation.train };
                    // Held-out images are the same for all members.
                    let own = if part == 0 { 0 } else { m * images.len() };
                    of.push(images, &batch.clean[own..], self.dim);
                }
            }
            let linearity = self.linearity.measure(loaded, sigma).await?;
            evaluations.iter_mut().zip(linearity).for_each(|(p, value)| p.linearity.push(value));
        }
        Ok(evaluations)
    }
}

fn by_member(values: Vec<f32>, members: usize) -> Vec<Vec<f32>> {
    if members == 1 {
        return vec![values];
    }
    values.chunks_exact(values.len() / members).map(<[f32]>::to_vec).collect()
}

/// Evaluates a fitted denoiser, one per training set.
pub async fn evaluate(
    engine: &Engine,
    denoiser: &dyn Denoiser,
    split: &Split,
    sets: &TrainingSets,
    config: &EvalConfig,
) -> Result<Vec<Evaluation>> {
    let mut program = engine.program(sets.ranges().len())?;
    let evaluator = Evaluator::place(&mut program, denoiser, split, sets, config)?;
    let mut loaded = engine.load(program).await?;
    evaluator.run(&mut loaded).await
}

/// Evaluates D_L, one per training set, without the linearity: D_L is affine, so its score would only
/// measure its bias.
///
/// D_L must have been distilled at [`EvalConfig::all_sigmas`]; it is defined at no other noise level.
pub async fn evaluate_linear(
    engine: &Engine,
    linear: &Linear,
    split: &Split,
    sets: &TrainingSets,
    config: &EvalConfig,
) -> Result<Vec<Evaluation>> {
    let mut program = engine.program(sets.ranges().len())?;
    let sampling = Sampling::place(&mut program, linear, sets, config)?;
    let mut loaded = engine.load(program).await?;
    let mut evaluations = sampling.run(&mut loaded).await?;
    let (dim, first_level) = (split.dim(), config.sampler_steps);
    let mut noise = vec![0.0; config.images * dim];
    fill_normals(config.seed, Stream::MetricNoise, 0, &mut noise);
    for (m, (evaluation, fit)) in evaluations.iter_mut().zip(linear.fits()).enumerate() {
        let parts = [
            (&mut evaluation.held_out, repeat(split.held_out(), config, dim)),
            (&mut evaluation.train, repeat(sets.images(m), config, dim)),
        ];
        for (denoised, clean) in parts {
            for (level, sigma) in config.sigmas.iter().enumerate() {
                let noisy = clean.iter().zip(&noise).map(|(y, n)| f64::from(y + sigma * n));
                let noisy = DMatrix::from_iterator(dim, config.images, noisy);
                let images = noisy.column_iter().flat_map(|x| {
                    let x = fit.denoise(first_level + level, &x.into_owned());
                    x.iter().map(|&v| v as f32).collect::<Vec<_>>()
                });
                denoised.push(images.collect(), &clean, dim);
                engine.yield_now().await?;
            }
        }
    }
    Ok(evaluations)
}
