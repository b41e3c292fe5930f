//! Section I: the two denoisers that need no training, D_M (eq. 4) and D_G (eq. 7), side by side.

use std::sync::Arc;

use crate::compute::{Buffer, Engine, Loaded, Routine};
use crate::data::Split;
use crate::denoiser::{Denoiser, Empirical, Gaussian, Placed, TrainingSets, descending};
use crate::error::{Error, Result};
use crate::kernels::matmul::{Layout, Matmul};
use crate::kernels::softmax_tile::{self, STATE, Tile};
use crate::kernels::{Sigma, noise};
use crate::metrics::{Closeness, Nearest, NearestImages, nearest_images};
use crate::rng::Stream;
use crate::sampler::{Sampler, Trajectory, check_sigma};

/// Largest number of weights that [`Denoised`] tells one by one.
const TOP: usize = 64;

/// D_M and D_G of the first `n` training images of a split.
#[derive(Debug)]
pub struct Exact {
    engine: Engine,
    empirical: Empirical,
    gaussian: Gaussian,
    held_out: Arc<[f32]>,
    dim: usize,
    n: usize,
    one: OneImage,
    paths: Option<Paths>,
}

/// One noisy image and what the two denoisers make of it.
#[derive(Debug, Clone)]
pub struct Denoised {
    /// `y + σ n`.
    pub noisy: Vec<f32>,
    /// `D_M(y + σ n; σ)`.
    pub empirical: Vec<f32>,
    /// `D_G(y + σ n; σ)`.
    pub gaussian: Vec<f32>,
    /// The largest softmax weights of D_M, largest first.
    pub weights: Vec<f32>,
    /// The training images that they belong to.
    pub indices: Vec<u32>,
    /// How many images effectively take part: `e^H` of the weights' entropy `H`.
    pub effective: f64,
}

/// What one denoiser made of a batch of noise.
#[derive(Debug, Clone)]
pub struct Sampled {
    /// `x_t` at each noise level: levels, then images.
    pub x: Vec<Vec<f32>>,
    /// `D(x_t)` at each noise level but the last.
    pub denoised: Vec<Vec<f32>>,
    /// The training images nearest to the ends.
    pub nearest: NearestImages,
}

impl Sampled {
    /// The images that were reached.
    #[must_use]
    pub fn end(&self) -> &[f32] {
        self.x.last().map_or(&[], Vec::as_slice)
    }
}

impl Exact {
    /// Fits both denoisers to the first `n` images of the training pool.
    pub async fn fit(engine: &Engine, split: &Split, n: usize) -> Result<Self> {
        let dim = split.dim();
        let sets = TrainingSets::single(split.subset(0..n)?, dim)?;
        let gaussian = Gaussian::fit(&sets)?;
        let empirical = Empirical::new(sets);
        let one = OneImage::load(engine, &empirical, &gaussian, n).await?;
        let held_out = split.held_out().into();
        let engine = engine.clone();
        Ok(Self { engine, empirical, gaussian, held_out, dim, n, one, paths: None })
    }

    /// The Gaussian, with its mean and principal axes.
    #[must_use]
    pub const fn gaussian(&self) -> &Gaussian {
        &self.gaussian
    }

    /// Adds noise of level `sigma` to `clean` and denoises it with both.
    pub async fn denoise(&mut self, clean: &[f32], sigma: f32, seed: u64) -> Result<Denoised> {
        check_sigma(sigma)?;
        self.one.denoise(clean, sigma, seed).await
    }

    /// Takes `count` images of noise to images with both denoisers, D_M first, from the same noise.
    pub async fn sample(
        &mut self,
        sampler: &Sampler,
        count: usize,
        seed: u64,
    ) -> Result<[Sampled; 2]> {
        if !(1..=4096).contains(&count) {
            return Err(Error::bad_input(format!("{count} samples"), "Choose 1 to 4096"));
        }
        // Dragging and replaying ask for the same shape again and again: keep its program.
        let paths = match self.paths.take() {
            Some(paths) if paths.count == count && paths.sampler == *sampler => {
                self.paths.insert(paths)
            }
            _ => {
                let denoisers: [&dyn Denoiser; 2] = [&self.empirical, &self.gaussian];
                let paths =
                    Paths::load(&self.engine, &self.empirical, denoisers, sampler, count).await?;
                self.paths.insert(paths)
            }
        };
        paths.run(seed).await
    }

    /// How close held-out images come to the training set: what a perfect generator would score.
    pub async fn held_out_closeness(&self, count: usize) -> Result<Closeness> {
        let images = &self.held_out[..self.held_out.len().min(count * self.dim)];
        let found = nearest_images(&self.engine, self.empirical.sets(), images).await?;
        let first = found.into_iter().next();
        first.map(|f| f.closeness).ok_or_else(|| Error::bad_input("No image was compared", ""))
    }

    /// How many training images there are.
    #[must_use]
    pub const fn n(&self) -> usize {
        self.n
    }
}

/// The program of one noisy image.
#[derive(Debug)]
struct OneImage {
    loaded: Loaded,
    routine: Routine,
    clock: Buffer,
    sigma: Buffer,
    clean: Buffer,
    noisy: Buffer,
    empirical: Buffer,
    gaussian: Buffer,
    weights: Buffer,
    state: Buffer,
}

impl OneImage {
    async fn load(
        engine: &Engine,
        empirical: &Empirical,
        gaussian: &Gaussian,
        n: usize,
    ) -> Result<Self> {
        let dim = empirical.dim();
        let mut p = engine.program(1)?;
        let d_m = empirical.place_in(&mut p, 1)?;
        let d_g = gaussian.place(&mut p, 1)?;
        let [clock, sigma] = [p.shared("clock", noise::CLOCK)?, p.shared("σ", 1)?];
        let clean = p.shared("clean image", dim)?;
        let noisy = p.buffer("noisy image", dim)?;
        let [empirical, gaussian] = [p.buffer("D_M", dim)?, p.buffer("D_G", dim)?];
        let weights = p.buffer("all weights", n)?;
        let state = p.buffer("weights' state", STATE)?;
        let level = Sigma::shared(sigma);
        let routine = p.routine("denoise", |p| {
            let image = Some(clean.into());
            noise::record(
                p,
                clock.into(),
                Stream::SamplerNoise,
                level,
                image,
                noisy.into(),
                [1, dim],
            )?;
            d_m.record(p, noisy.into(), level, empirical.into())?;
            d_g.record(p, noisy.into(), level, gaussian.into())?;
            // The streaming softmax forgets its weights; the reader wants to see all of them at once.
            Matmul::new(Layout::Nt, noisy, d_m.images(), weights, [1, n, dim]).record(p)?;
            let views = [d_m.norms().into(), d_m.ranges().into(), weights.into(), state.into()];
            softmax_tile::record(p, Tile { rows: 1, cols: n, first: 0 }, level, views)
        })?;
        let loaded = engine.load(p).await?;
        Ok(Self {
            loaded,
            routine,
            clock,
            sigma,
            clean,
            noisy,
            empirical,
            gaussian,
            weights,
            state,
        })
    }

    async fn denoise(&mut self, clean: &[f32], sigma: f32, seed: u64) -> Result<Denoised> {
        let loaded = &mut self.loaded;
        loaded.upload(self.clean, clean)?;
        loaded.upload(self.sigma, &[sigma])?;
        loaded.upload(self.clock, &noise::clock(seed, 0))?;
        loaded.run(self.routine, 1)?;
        let weights: Vec<f32> = loaded.read(self.weights).await?;
        let state: Vec<f32> = loaded.read(self.state).await?;
        let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
        let mut order = descending(&weights);
        order.truncate(TOP);
        let sum = f64::from(state[1]);
        // H = ln Z - Σ (w / Z) logit, with logits counted from the largest.
        let entropy = sum.ln() - f64::from(state[3]) / sum;
        Ok(Denoised {
            noisy: loaded.read(self.noisy).await?,
            empirical: loaded.read(self.empirical).await?,
            gaussian: loaded.read(self.gaussian).await?,
            weights: order.iter().map(|&i| (weights[i] / sum) as f32).collect(),
            indices: order.iter().map(|&i| i as u32).collect(),
            effective: entropy.exp(),
        })
    }
}

/// The program of a batch of trajectories.
#[derive(Debug)]
struct Paths {
    loaded: Loaded,
    routine: Routine,
    clock: Buffer,
    sampler: Sampler,
    count: usize,
    paths: Vec<(Trajectory, Nearest)>,
}

impl Paths {
    async fn load(
        engine: &Engine,
        images: &Empirical,
        denoisers: [&dyn Denoiser; 2],
        sampler: &Sampler,
        count: usize,
    ) -> Result<Self> {
        let dim = images.dim();
        let mut program = engine.program(1)?;
        let images = images.place_in(&mut program, count)?;
        let placed = denoisers.map(|denoiser| denoiser.place(&mut program, count));
        let clock = program.shared("clock", noise::CLOCK)?;
        let start = program.buffer("starting noise", count * dim)?;
        let mut paths = Vec::new();
        let routine = program.routine("sample", |p| {
            sampler.record_noise(p, clock.into(), start.into(), [count, dim])?;
            for denoiser in placed {
                let path = sampler.record(p, &*denoiser?, start)?;
                let nearest = Nearest::record(p, &images, path.end().into())?;
                paths.push((path, nearest));
            }
            Ok(())
        })?;
        let loaded = engine.load(program).await?;
        Ok(Self { loaded, routine, clock, sampler: sampler.clone(), count, paths })
    }

    async fn run(&mut self, seed: u64) -> Result<[Sampled; 2]> {
        self.loaded.upload(self.clock, &noise::clock(seed, 0))?;
        self.loaded.run(self.routine, 1)?;
        let mut sampled = Vec::new();
        for (path, nearest) in &self.paths {
            let mut x = Vec::new();
            for buffer in &path.x {
                x.push(self.loaded.read(*buffer).await?);
            }
            let mut denoised = Vec::new();
            for buffer in &path.denoised {
                denoised.push(self.loaded.read(*buffer).await?);
            }
            let nearest = nearest.read(&mut self.loaded).await?.swap_remove(0);
            sampled.push(Sampled { x, denoised, nearest });
        }
        sampled.try_into().map_err(|_| Error::bad_input("Two denoisers make two paths", ""))
    }
}
