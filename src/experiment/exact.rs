//! Section I: the denoisers that need no training, side by side, and the posterior weights of D_M
//! (eq. 4).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::compute::{Buffer, Engine, Loaded, Routine};
use crate::data::{Split, TrainingSets};
use crate::denoiser::{
    Denoiser, DenoiserId, Empirical, Fit, Gaussian, GaussianFit, descending, table,
};
use crate::error::{Error, Result};
use crate::kernels::matmul::{Layout, Matmul};
use crate::kernels::softmax_tile::{self, ImageTile, STATE};
use crate::kernels::{Sigma, noise};
use crate::metrics::{Closeness, Nearest, NearestImages, nearest_images};
use crate::rng::Stream;
use crate::sampler::{Sampler, Trajectory, check_sigma};

/// Most weights that a [`Posterior`] lists.
const TOP: usize = 64;

/// Every fitted denoiser of the first `n` training images of a split.
#[derive(Debug)]
pub struct Exact {
    engine: Engine,
    denoisers: BTreeMap<DenoiserId, Box<dyn Denoiser>>,
    gaussian: Gaussian,
    images: Empirical,
    held_out: Arc<[f32]>,
    dim: usize,
    n: usize,
    one: OneImage,
    paths: Option<Paths>,
}

/// A noisy image, denoised by every denoiser.
#[derive(Debug, Clone)]
pub struct Denoised {
    /// `x = y + σ n`.
    pub noisy: Vec<f32>,
    /// `D(x; σ)` of each denoiser.
    pub denoisers: BTreeMap<DenoiserId, Vec<f32>>,
    /// The probabilities that x came from each training image.
    pub posterior: Posterior,
}

/// The probabilities of the training images given x: the softmax weights of D_M.
#[derive(Debug, Clone)]
pub struct Posterior {
    /// The largest weights, largest first.
    pub weights: Vec<f32>,
    /// The indices of the training images with these weights.
    pub indices: Vec<u32>,
    /// How many images effectively take part: `e^H` of the weights' entropy `H`.
    pub effective: f64,
}

/// The paths of a batch of noise to images under one denoiser.
#[derive(Debug, Clone)]
pub struct Sampled {
    /// `x_t` per noise level, and per image within a level.
    pub x: Vec<Vec<f32>>,
    /// `D(x_t)` at each noise level except the last.
    pub denoised: Vec<Vec<f32>>,
    /// The training images nearest to the final images.
    pub nearest: NearestImages,
}

impl Sampled {
    /// The final images.
    #[must_use]
    pub fn end(&self) -> &[f32] {
        self.x.last().map_or(&[], Vec::as_slice)
    }

    /// The fraction of the final images that are memorized.
    #[must_use]
    pub const fn memorized(&self) -> f64 {
        self.nearest.closeness.memorized.mean
    }
}

impl Exact {
    /// Fits every denoiser to the first `n` images of the training pool.
    pub async fn fit(engine: &Engine, split: &Split, n: usize) -> Result<Self> {
        Self::fit_with(engine, split, n, None, |_| ()).await
    }

    /// Fits every denoiser, with an existing fit of D_G to these images if given. D_G takes nearly all of the
    /// time, so `progress` receives the fraction of its fit that is done.
    pub async fn fit_with(
        engine: &Engine,
        split: &Split,
        n: usize,
        gaussian: Option<GaussianFit>,
        progress: impl FnMut(f64),
    ) -> Result<Self> {
        let dim = split.dim();
        let images = split.subset(0..n)?;
        let gaussian = match gaussian {
            Some(fit) if fit.mean.len() == dim => fit,
            Some(fit) => {
                let message =
                    format!("The saved fit is for images of {} values, not {dim}", fit.mean.len());
                return Err(Error::bad_input(message, "Fit it anew"));
            }
            None => GaussianFit::fit(engine, images, dim, progress).await?,
        };
        let gaussian = Gaussian::new(vec![Arc::new(gaussian)], dim);
        let sets = TrainingSets::single(images, dim)?;
        let mut denoisers: BTreeMap<DenoiserId, Box<dyn Denoiser>> = BTreeMap::new();
        let to = Fit { engine, sets: &sets, shape: split.shape() };
        for entry in table::fitted_in_paper().filter(|entry| entry.id != DenoiserId::GAUSSIAN) {
            denoisers.insert(entry.id, entry.fit(&to).await?);
            engine.yield_now().await?;
        }
        denoisers.insert(DenoiserId::GAUSSIAN, Box::new(gaussian.clone()));
        let images = Empirical::new(sets);
        let one = OneImage::load(engine, &denoisers, &images, n).await?;
        let held_out = split.held_out().into();
        let engine = engine.clone();
        Ok(Self { engine, denoisers, gaussian, images, held_out, dim, n, one, paths: None })
    }

    /// Adds noise of level `sigma` to `clean` and denoises it with each denoiser.
    pub async fn denoise(&mut self, clean: &[f32], sigma: f32, seed: u64) -> Result<Denoised> {
        check_sigma(sigma)?;
        self.one.denoise(clean, sigma, seed).await
    }

    /// Draws `count` samples with each denoiser, from the same noise.
    pub async fn sample(
        &mut self,
        sampler: &Sampler,
        count: usize,
        seed: u64,
    ) -> Result<BTreeMap<DenoiserId, Sampled>> {
        if !(1..=4096).contains(&count) {
            return Err(Error::bad_input(
                format!("Cannot draw {count} samples"),
                "Choose 1 to 4096",
            ));
        }
        // Dragging and replaying need the same shape again and again, so its program is kept.
        let paths = match self.paths.take() {
            Some(paths) if paths.count == count && paths.sampler == *sampler => {
                self.paths.insert(paths)
            }
            _ => {
                let Self { engine, denoisers, images, .. } = self;
                let paths = Paths::load(engine, denoisers, images, sampler, count).await?;
                self.paths.insert(paths)
            }
        };
        paths.run(seed).await
    }

    /// How close held-out images come to the training set: the score of a perfect generator.
    pub async fn held_out_closeness(&self, count: usize) -> Result<Closeness> {
        let images = &self.held_out[..self.held_out.len().min(count * self.dim)];
        let found = nearest_images(&self.engine, self.images.sets(), images).await?;
        let first = found.into_iter().next();
        first.map(|f| f.closeness).ok_or_else(|| Error::internal("No image was compared"))
    }

    /// The fit of D_G, which is worth caching: see [`GaussianFit::to_bytes`].
    #[must_use]
    pub fn gaussian(&self) -> Option<&GaussianFit> {
        self.gaussian.fits().first().map(|fit| &**fit)
    }

    /// Number of training images.
    #[must_use]
    pub const fn n(&self) -> usize {
        self.n
    }
}

/// The program that denoises one noisy image.
#[derive(Debug)]
struct OneImage {
    loaded: Loaded,
    routine: Routine,
    clock: Buffer,
    sigma: Buffer,
    clean: Buffer,
    noisy: Buffer,
    denoised: Vec<(DenoiserId, Buffer)>,
    weights: Buffer,
    state: Buffer,
}

impl OneImage {
    async fn load(
        engine: &Engine,
        denoisers: &BTreeMap<DenoiserId, Box<dyn Denoiser>>,
        images: &Empirical,
        n: usize,
    ) -> Result<Self> {
        let dim = images.dim();
        let mut p = engine.program(1)?;
        let images = images.place_in(&mut p, 1)?;
        let [clock, sigma] = [p.shared("clock", noise::CLOCK)?, p.shared("σ", 1)?];
        let clean = p.shared("clean image", dim)?;
        let noisy = p.buffer("noisy image", dim)?;
        let (mut placed, mut denoised) = (Vec::new(), Vec::new());
        for (&id, denoiser) in denoisers {
            placed.push(denoiser.place(&mut p, 1)?);
            denoised.push((id, p.buffer("denoised image", dim)?));
        }
        let weights = p.buffer("all weights", n)?;
        let state = p.buffer("weights' state", STATE)?;
        let level = Sigma::shared(sigma);
        let routine = p.routine("denoise", |p| {
            let (image, stream) = (Some(clean.into()), Stream::SamplerNoise);
            noise::record(p, clock.into(), stream, level, image, noisy.into(), [1, dim])?;
            for (placed, (_, out)) in placed.iter().zip(&denoised) {
                placed.record(p, noisy.into(), level, (*out).into())?;
            }
            // The streaming softmax of D_M does not keep its weights, and a figure shows all of them.
            Matmul::new(Layout::Nt, noisy, images.images(), weights, [1, n, dim]).record(p)?;
            let views =
                [images.norms().into(), images.ranges().into(), weights.into(), state.into()];
            softmax_tile::record(p, ImageTile { rows: 1, cols: n, first: 0 }, level, views)
        })?;
        let loaded = engine.load(p).await?;
        Ok(Self { loaded, routine, clock, sigma, clean, noisy, denoised, weights, state })
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
        let posterior = Posterior {
            weights: order.iter().map(|&i| (weights[i] / sum) as f32).collect(),
            indices: order.iter().map(|&i| i as u32).collect(),
            effective: entropy.exp(),
        };
        let mut denoisers = BTreeMap::new();
        for &(id, buffer) in &self.denoised {
            denoisers.insert(id, loaded.read(buffer).await?);
        }
        Ok(Denoised { noisy: loaded.read(self.noisy).await?, denoisers, posterior })
    }
}

/// The program that draws a batch of trajectories.
#[derive(Debug)]
struct Paths {
    loaded: Loaded,
    routine: Routine,
    clock: Buffer,
    sampler: Sampler,
    count: usize,
    paths: Vec<(DenoiserId, Trajectory, Nearest)>,
}

impl Paths {
    async fn load(
        engine: &Engine,
        denoisers: &BTreeMap<DenoiserId, Box<dyn Denoiser>>,
        images: &Empirical,
        sampler: &Sampler,
        count: usize,
    ) -> Result<Self> {
        let dim = images.dim();
        let mut program = engine.program(1)?;
        let images = images.place_in(&mut program, count)?;
        let mut placed = Vec::new();
        for (&id, denoiser) in denoisers {
            placed.push((id, denoiser.place(&mut program, count)?));
        }
        let clock = program.shared("clock", noise::CLOCK)?;
        let start = program.buffer("starting noise", count * dim)?;
        let mut paths = Vec::new();
        let routine = program.routine("sample", |p| {
            sampler.record_noise(p, clock.into(), start.into(), [count, dim])?;
            for (id, denoiser) in &placed {
                let path = sampler.record(p, &**denoiser, start)?;
                let nearest = Nearest::record(p, &images, path.end().into())?;
                paths.push((*id, path, nearest));
            }
            Ok(())
        })?;
        let loaded = engine.load(program).await?;
        Ok(Self { loaded, routine, clock, sampler: sampler.clone(), count, paths })
    }

    async fn run(&mut self, seed: u64) -> Result<BTreeMap<DenoiserId, Sampled>> {
        self.loaded.upload(self.clock, &noise::clock(seed, 0))?;
        self.loaded.run(self.routine, 1)?;
        let mut sampled = BTreeMap::new();
        for (id, path, nearest) in &self.paths {
            let mut x = Vec::new();
            for buffer in &path.x {
                x.push(self.loaded.read(*buffer).await?);
            }
            let mut denoised = Vec::new();
            for buffer in &path.denoised {
                denoised.push(self.loaded.read(*buffer).await?);
            }
            let nearest = nearest.read(&mut self.loaded).await?.swap_remove(0);
            sampled.insert(*id, Sampled { x, denoised, nearest });
        }
        Ok(sampled)
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::data::Faces;

    #[test]
    fn a_saved_gaussian_gives_the_same_image() {
        let split = Faces { size: 12, count: 60, seed: 3 }.draw().unwrap().split(3, 10).unwrap();
        let (engine, clean) = (Engine::cpu(), split.held_out()[..split.dim()].to_vec());
        pollster::block_on(async {
            let mut fitted = Exact::fit(&engine, &split, 40).await.unwrap();
            let saved = GaussianFit::from_bytes(&fitted.gaussian().unwrap().to_bytes()).unwrap();
            let progress = |_| panic!("nothing is fitted");
            let known = Exact::fit_with(&engine, &split, 40, Some(saved.clone()), progress).await;
            let [a, b] = [
                fitted.denoise(&clean, 0.5, 1).await.unwrap(),
                known.unwrap().denoise(&clean, 0.5, 1).await.unwrap(),
            ];
            assert_eq!(a.denoisers, b.denoisers);

            let small = Faces { size: 8, count: 60, seed: 3 }.draw().unwrap().split(3, 10).unwrap();
            let other = Exact::fit_with(&engine, &small, 40, Some(saved), |_| ()).await;
            assert_eq!(other.unwrap_err().kind, crate::ErrorKind::BadInput);
        });
    }
}
