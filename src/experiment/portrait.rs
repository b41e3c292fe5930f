//! A portrait of a denoiser: all that the figures show of it, taken with the same noise and the same
//! images for every denoiser, so that any two portraits can be laid side by side.

use std::sync::Arc;

use nalgebra::DMatrix;
use serde::Serialize;

use crate::compute::breath::breathe;
use crate::compute::{Buffer, Engine, Loaded, Program, Routine, elements};
use crate::data::Split;
use crate::denoiser::{Denoiser, Distill, Empirical, Linear, TrainingSets};
use crate::error::{Error, Result};
use crate::json::from_json;
use crate::kernels::{Sigma, noise};
use crate::metrics::{Comparison, Estimate, Linearity, LinearityProbe, Nearest, NearestImages};
use crate::rng::{Stream, fill_normals};
use crate::sampler::{Method, Sampler, Schedule, Trajectory, check_sigma};

/// What to look at.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Look {
    /// Samples to draw.
    pub samples: usize,
    /// Samples among them that are shown.
    pub shown: usize,
    /// Steps of the sampler.
    pub sampler_steps: usize,
    /// Lowest noise level of the sampler.
    pub sigma_min: f64,
    /// Highest noise level of the sampler.
    pub sigma_max: f64,
    /// The sampler's method.
    pub method: Method,
    /// Noise levels at which denoisers are compared.
    pub sigmas: Vec<f32>,
    /// Images of each kind that are denoised at each level, and pairs for the linearity.
    pub images: usize,
    /// How D_L is distilled, if it is looked at.
    pub distillation: Option<Distill>,
    /// Seed of all noise.
    pub seed: u64,
}

from_json!(Look {
    samples,
    shown,
    sampler_steps,
    sigma_min,
    sigma_max,
    method,
    sigmas,
    images,
    distillation,
    seed,
});

impl Default for Look {
    /// The recipe's sampler: Heun, 14 steps from σ = 40 to 0.02. The paper's 80 … 0.002 asks for
    /// noise levels that tiny networks hardly see in training.
    fn default() -> Self {
        Self {
            samples: 100,
            shown: 8,
            sampler_steps: 14,
            sigma_min: 0.02,
            sigma_max: 40.0,
            method: Method::Heun,
            sigmas: vec![10.0, 3.0, 1.0, 0.55, 0.4, 0.27, 0.15, 0.05],
            images: 100,
            distillation: None,
            seed: 1,
        }
    }
}

/// Samples, images and noise levels of a glance.
const GLANCE: usize = 24;
const GLANCE_SIGMAS: [f32; 2] = [1.0, 0.4];

impl Look {
    /// The same at a glance: a few of the samples, images and noise levels, with the same noise. It
    /// costs about as much as ten training steps of the quick preset.
    #[must_use]
    pub fn glance(&self) -> Self {
        let chosen = |sigma: &f32| GLANCE_SIGMAS.contains(sigma);
        let mut sigmas: Vec<f32> = self.sigmas.iter().copied().filter(chosen).collect();
        if sigmas.is_empty() {
            sigmas.extend(self.sigmas.first());
        }
        Self {
            samples: self.samples.min(GLANCE),
            images: self.images.min(GLANCE),
            sigmas,
            distillation: None,
            ..self.clone()
        }
    }

    /// The sampler that it asks for.
    pub fn sampler(&self) -> Result<Sampler> {
        let schedule = Schedule::edm(self.sampler_steps, self.sigma_min, self.sigma_max, 7.0)?;
        Ok(Sampler { schedule, method: self.method })
    }

    /// Where noise level `sigma` stands in the list, if it does.
    #[must_use]
    pub fn level(&self, sigma: f32) -> Option<usize> {
        self.sigmas.iter().position(|&s| s == sigma)
    }

    /// Every noise level at which a denoiser is asked: the sampler's and those of the comparison.
    pub fn all_sigmas(&self) -> Result<Vec<f32>> {
        let schedule = self.sampler()?.schedule;
        let mut all: Vec<f32> = schedule.sigmas()[..schedule.steps()].to_vec();
        all.extend(self.sigmas.iter().filter(|sigma| !schedule.sigmas().contains(sigma)));
        Ok(all)
    }

    fn check(&self) -> Result<()> {
        if !(1..=4096).contains(&self.samples) || !(1..=4096).contains(&self.images) {
            return Err(Error::bad_input(
                format!("{} samples and {} images", self.samples, self.images),
                "Choose 1 to 4096 of each",
            ));
        }
        if self.sigmas.is_empty() {
            return Err(Error::bad_input(
                "There is no noise level to look at",
                "Choose at least one σ",
            ));
        }
        self.sigmas.iter().try_for_each(|&sigma| check_sigma(sigma))
    }
}

/// What a denoiser did with one batch of images at every noise level.
#[derive(Debug, Clone, Default)]
pub struct Denoised {
    /// `D(y + σ n; σ)`, for each noise level.
    pub images: Vec<Vec<f32>>,
    /// `‖D(y + σ n; σ) - y‖ / √d`, for each noise level.
    pub error: Vec<Estimate>,
}

impl Denoised {
    /// Adds the next noise level: what became of the first of the `clean` images.
    fn push(&mut self, images: Vec<f32>, clean: &[f32], dim: usize) {
        let (zero, scale) = (vec![0.0; dim], (dim as f64).sqrt());
        self.error.push(Estimate::of(compare(&images, clean, &zero).map(|c| c.distance / scale)));
        self.images.push(images);
    }
}

/// A denoiser, as far as the figures are concerned.
#[derive(Debug, Clone)]
pub struct Portrait {
    /// `D(x_t)` along the sampler's way, for each noise level; all samples.
    pub path: Vec<Vec<f32>>,
    /// Generated images.
    pub samples: Vec<f32>,
    /// Their nearest training images.
    pub nearest: NearestImages,
    /// Held-out images, denoised.
    pub held_out: Denoised,
    /// Training images, denoised.
    pub train: Denoised,
    /// Linearity on held-out images, for each noise level.
    pub linearity: Vec<Linearity>,
}

impl Portrait {
    /// Cosine between the samples of two denoisers from the same noise, after subtracting `mean`.
    #[must_use]
    pub fn sample_cosine(&self, other: &Self, mean: &[f32]) -> Estimate {
        Estimate::of(compare(&self.samples, &other.samples, mean).map(|c| c.cosine()))
    }

    /// `‖a - b‖ / ‖a - mean‖` between the samples of two denoisers from the same noise.
    #[must_use]
    pub fn sample_nmse(&self, other: &Self, mean: &[f32]) -> Estimate {
        Estimate::of(compare(&self.samples, &other.samples, mean).map(|c| c.nmse()))
    }
}

/// Score difference (eq. 6) at each noise level between two denoisers on the same noisy images.
#[must_use]
pub fn score_difference(a: &Denoised, b: &Denoised, dim: usize) -> Vec<Estimate> {
    let zero = vec![0.0; dim];
    let level = |(a, b): (&Vec<f32>, &Vec<f32>)| {
        Estimate::of(compare(a, b, &zero).map(|c| c.distance / (dim as f64).sqrt()))
    };
    a.images.iter().zip(&b.images).map(level).collect()
}

/// Row by row, in f64, after subtracting `mean` from both.
fn compare<'a>(
    a: &'a [f32],
    b: &'a [f32],
    mean: &'a [f32],
) -> impl Iterator<Item = Comparison> + 'a {
    a.chunks_exact(mean.len()).zip(b.chunks_exact(mean.len())).map(move |(a, b)| {
        let mut sums = [0.0_f64; 4];
        for ((a, b), mean) in a.iter().zip(b).zip(mean) {
            let (a, b) = (f64::from(a - mean), f64::from(b - mean));
            sums[0] += a * a;
            sums[1] += b * b;
            sums[2] += a * b;
            sums[3] += (a - b) * (a - b);
        }
        let [norm_a, norm_b, dot, distance] = sums;
        Comparison { norm_a: norm_a.sqrt(), norm_b: norm_b.sqrt(), dot, distance: distance.sqrt() }
    })
}

/// What draws samples from one denoiser, in a program.
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
        look: &Look,
    ) -> Result<Self> {
        look.check()?;
        let (sampler, dim) = (look.sampler()?, denoiser.dim());
        let clock = place_clock(program, look)?;
        let start = program.buffer("starting noise", look.samples * dim)?;
        let placed = denoiser.place(program, look.samples)?;
        let images = Empirical::new(sets.clone()).place_in(program, look.samples)?;
        let mut found = None;
        let routine = program.routine("sample", |p| {
            sampler.record_noise(p, clock.into(), start.into(), [look.samples, dim])?;
            let trajectory = sampler.record(p, &*placed, start)?;
            let nearest = Nearest::record(p, &images, trajectory.end().into())?;
            found = Some((trajectory, nearest));
            Ok(())
        })?;
        let (trajectory, nearest) =
            found.ok_or_else(|| Error::bad_input("Nothing was recorded", ""))?;
        Ok(Self { routine, trajectory, nearest })
    }

    /// Portraits that show nothing but samples yet.
    async fn take(&self, loaded: &mut Loaded) -> Result<Vec<Portrait>> {
        let members = loaded.program().members();
        loaded.run_breathing(self.routine, 1).await?;
        let samples = by_member(loaded.read(self.trajectory.end()).await?, members);
        let mut paths = vec![Vec::new(); members];
        for buffer in &self.trajectory.denoised {
            let images = by_member(loaded.read(*buffer).await?, members);
            paths.iter_mut().zip(images).for_each(|(path, images)| path.push(images));
        }
        let nearest = self.nearest.read(loaded).await?;
        let portrait = |((samples, path), nearest)| Portrait {
            path,
            samples,
            nearest,
            held_out: Denoised::default(),
            train: Denoised::default(),
            linearity: Vec::new(),
        };
        Ok(samples.into_iter().zip(paths).zip(nearest).map(portrait).collect())
    }
}

/// The clock of all noise in portraits.
fn place_clock(program: &mut Program, look: &Look) -> Result<Buffer> {
    let clock: Arc<[f32]> = noise::clock(look.seed, 0).map(f32::from_bits).into();
    program.constant("look clock", &clock)
}

/// The first of `images`, over and over where there are fewer than asked for, so that every member
/// and every denoiser sees as many.
fn repeat(images: &[f32], look: &Look, dim: usize) -> Vec<f32> {
    images.iter().copied().cycle().take(look.images * dim).collect()
}

/// What takes portraits of one denoiser, in a program.
#[derive(Debug)]
pub struct Lens {
    look: Look,
    dim: usize,
    sampling: Sampling,
    denoise: Routine,
    sigma: Buffer,
    batches: [Batch; 2],
    linearity: LinearityProbe,
}

/// A batch of clean images and what the denoiser makes of them with noise.
#[derive(Debug)]
struct Batch {
    clean: Arc<[f32]>,
    denoised: Buffer,
}

impl Lens {
    /// Puts everything that a portrait of `denoiser` needs into `program`.
    pub fn place(
        program: &mut Program,
        denoiser: &dyn Denoiser,
        split: &Split,
        sets: &TrainingSets,
        look: &Look,
    ) -> Result<Self> {
        let sampling = Sampling::place(program, denoiser, sets, look)?;
        let (rows, dim) = (look.images, denoiser.dim());
        // What is too large is refused before there is anything to fill it with.
        let noisy = program.buffer("noisy images", elements([rows, dim]))?;
        let train_in = program.buffer("some training images", rows * dim)?;
        let held_out: Arc<[f32]> = repeat(split.held_out(), look, dim).into();
        let train: Arc<[f32]> =
            (0..program.members()).flat_map(|m| repeat(sets.images(m), look, dim)).collect();
        program.begin_with(train_in, Arc::clone(&train))?;
        let held_out_in = program.constant("held-out images", &held_out)?;
        let placed = denoiser.place(program, rows)?;
        let clock = place_clock(program, look)?;
        let sigma = program.shared("look σ", 1)?;
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
            LinearityProbe::place(program, both, split.held_out(), dim, rows, look.seed)?;
        let (look, batches) = (look.clone(), batches.map(|(batch, _)| batch));
        Ok(Self { look, dim, sampling, denoise, sigma, batches, linearity })
    }

    /// What it looks at.
    #[must_use]
    pub const fn look(&self) -> &Look {
        &self.look
    }

    /// A portrait of each member.
    pub async fn take(&self, loaded: &mut Loaded) -> Result<Vec<Portrait>> {
        let members = loaded.program().members();
        let mut portraits = self.sampling.take(loaded).await?;
        for &sigma in &self.look.sigmas {
            loaded.upload(self.sigma, &[sigma])?;
            loaded.run_breathing(self.denoise, 1).await?;
            for (part, batch) in self.batches.iter().enumerate() {
                let denoised = by_member(loaded.read(batch.denoised).await?, members);
                for (m, (portrait, images)) in portraits.iter_mut().zip(denoised).enumerate() {
                    let of = if part == 0 { &mut portrait.held_out } else { &mut portrait.train };
                    // Held-out images are the same for all members.
                    let own = if part == 0 { 0 } else { m * images.len() };
                    of.push(images, &batch.clean[own..], self.dim);
                }
            }
            let linearity = self.linearity.measure(loaded, sigma).await?;
            portraits.iter_mut().zip(linearity).for_each(|(p, value)| p.linearity.push(value));
        }
        Ok(portraits)
    }
}

fn by_member(values: Vec<f32>, members: usize) -> Vec<Vec<f32>> {
    if members == 1 {
        return vec![values];
    }
    values.chunks_exact(values.len() / members).map(<[f32]>::to_vec).collect()
}

/// Portraits of a denoiser that needs no training, one for each training set.
pub async fn portraits(
    engine: &Engine,
    denoiser: &dyn Denoiser,
    split: &Split,
    sets: &TrainingSets,
    look: &Look,
) -> Result<Vec<Portrait>> {
    let mut program = engine.program(sets.ranges().len())?;
    let lens = Lens::place(&mut program, denoiser, split, sets, look)?;
    let mut loaded = engine.load(program).await?;
    lens.take(&mut loaded).await
}

/// Portraits of D_L, one for each training set, without the linearity: D_L is affine, so its own
/// score would only tell how large its bias is.
///
/// D_L knows only the noise levels that it was distilled at, which must be [`Look::all_sigmas`].
pub async fn linear_portraits(
    engine: &Engine,
    linear: &Linear,
    split: &Split,
    sets: &TrainingSets,
    look: &Look,
) -> Result<Vec<Portrait>> {
    let mut program = engine.program(sets.ranges().len())?;
    let sampling = Sampling::place(&mut program, linear, sets, look)?;
    let mut loaded = engine.load(program).await?;
    let mut portraits = sampling.take(&mut loaded).await?;
    let dim = split.dim();
    let mut noise = vec![0.0; look.images * dim];
    fill_normals(look.seed, Stream::MetricNoise, 0, &mut noise);
    let unknown = || Error::bad_input("D_L was distilled at other noise levels", "");
    for (m, (portrait, fit)) in portraits.iter_mut().zip(linear.fits()).enumerate() {
        let parts = [
            (&mut portrait.held_out, repeat(split.held_out(), look, dim)),
            (&mut portrait.train, repeat(sets.images(m), look, dim)),
        ];
        for (denoised, clean) in parts {
            for &sigma in &look.sigmas {
                let level = fit.sigmas.iter().position(|&s| s == sigma).ok_or_else(unknown)?;
                let noisy = clean.iter().zip(&noise).map(|(y, n)| f64::from(y + sigma * n));
                let noisy = DMatrix::from_iterator(dim, look.images, noisy);
                let images = noisy.column_iter().flat_map(|x| {
                    let x = fit.denoise(level, &x.into_owned());
                    x.iter().map(|&v| v as f32).collect::<Vec<_>>()
                });
                denoised.push(images.collect(), &clean, dim);
                breathe().await?;
            }
        }
    }
    Ok(portraits)
}
