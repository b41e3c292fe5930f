//! The league of theories: how well each denoiser that is computed from the training images predicts a
//! network's output on images that neither has seen, and how well it denoises them.

mod score;
mod sensitivity;
mod setting;

use serde::{Deserialize, Serialize};

pub use score::Prediction;
pub use sensitivity::Sensitivity;
pub use setting::Setting;

use super::edge::Posterior;
use super::ensemble::{Ensemble, Member};
use super::evaluation::EvalConfig;
use super::images::{Images, nearest_images as nearest_rows};
use super::{Detail, Experiment, Preset, cost, cut_evenly, largest};
use crate::compute::Engine;
use crate::data::{Split, TrainingSets};
use crate::denoiser::{Denoiser, DenoiserId, Fit, Trained, denoise, table};
use crate::error::{Error, Result};
use crate::metrics::{Closeness, Estimate, RowComparison, nearest_images};
use crate::model::Architecture;
use crate::rng::{Stream, fill_normals};
use crate::sampler::{Noise, sample};
use crate::shape::Shape;
use crate::train::{self, Status};
use score::{relative, squared_errors};

/// Configuration of the experiment: what to train and how to compare it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// Sizes of the training sets.
    pub sizes: Vec<usize>,
    /// Seed of the networks.
    pub seed: u64,
    /// How the networks are trained.
    pub train: train::Config,
    /// How the networks are evaluated, and beside which denoisers.
    pub evaluation: EvalConfig,
    /// Number of held-out images on which the theories' free parameters are calibrated; they are not among the
    /// measured ones.
    pub calibration: usize,
    /// Numbers of Gaussians in the mixtures between D_G and D_M. Those above the number of training images are
    /// omitted, and that number itself is added.
    pub components: Vec<usize>,
    /// Noise levels at which the sensitivity of a pixel is shown.
    #[serde(serialize_with = "crate::serial::decimal::serialize")]
    pub sensitivity: Vec<f32>,
}

/// A network and the theories beside it. Lists run over the noise levels.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// The network's training set and seed.
    #[serde(flatten)]
    pub member: Member,
    /// The network's architecture.
    pub architecture: Architecture,
    /// Number of parameters that the network learns.
    pub parameters: usize,
    /// Training steps so far.
    pub step: u32,
    /// Whether the network is still learning.
    pub status: Status,
    /// How close the network's samples come to the training set.
    pub closeness: Closeness,
    /// The network's squared error on held-out images, relative to D_G's.
    pub error: Vec<Estimate>,
    /// Some of the network's samples.
    pub samples: Images,
    /// The training images nearest to these samples.
    pub nearest: Images,
    /// Entropy of D_M's posterior on the same noisy images, in nats.
    pub entropy: Vec<Estimate>,
    /// The theories, in the order of the table.
    pub theories: Vec<Theory>,
    /// Mixtures of increasingly many Gaussians, from D_G to D_M.
    pub mixtures: Vec<Scores>,
    /// The inputs on which a pixel in the middle depends, at a few noise levels.
    pub sensitivity: Vec<Sensitivity>,
}

/// The scores of a theory with one setting. Lists run over the noise levels.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Scores {
    /// The theory's free parameter.
    #[serde(flatten)]
    pub setting: Setting,
    /// How well the theory predicts the network's denoised images.
    pub prediction: Vec<Prediction>,
    /// The theory's squared error on held-out images, relative to D_G's.
    pub error: Vec<Estimate>,
}

/// A theory beside a network.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Theory {
    /// Id of the theory.
    pub id: DenoiserId,
    /// Scores with the free parameter calibrated against the network.
    #[serde(flatten)]
    pub scores: Scores,
    /// Scores with the parameter that follows from the training images alone; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncalibrated: Option<Scores>,
    /// How well the theory's samples predict those of the network from the same noise.
    pub samples_prediction: Prediction,
    /// Cosine between these samples, after subtracting the mean training image.
    pub samples_cosine: Estimate,
    /// Some of the theory's samples.
    pub samples: Images,
}

impl Theory {
    /// The unexplained fraction of variance, averaged over the noise levels, by which the league is sorted. It
    /// is a geometric mean, since the fractions differ by orders of magnitude.
    #[must_use]
    pub fn unexplained(&self) -> f64 {
        let logs = self.scores.prediction.iter().map(|p| (1.0 - p.r2.mean).max(1e-9).ln());
        (logs.sum::<f64>() / self.scores.prediction.len().max(1) as f64).exp()
    }
}

/// The experiment of the league of theories.
#[derive(Debug)]
pub struct League {
    engine: Engine,
    config: Config,
    ensemble: Ensemble,
}

impl Experiment for League {
    type Config = Config;
    type Findings = Vec<Standing>;
    const NAME: &'static str = "league";
    const TITLE: &'static str = "The league of theories";
    const FIGURE: Option<u32> = None;

    fn preset(preset: Preset, shape: Shape, seed: u64) -> Config {
        let sizes = match preset {
            Preset::Quick => vec![32, 256],
            _ => vec![64, 1024],
        };
        let cifar = matches!(preset, Preset::CifarQuick | Preset::Cifar);
        let [images, samples, calibration] = match preset {
            Preset::Main => [48, 24, 12],
            _ => [32, 16, 8],
        };
        // On photographs in colour, ELS takes hours: it compares each pixel with every pixel of every image.
        let theories = table::fitted().map(|entry| entry.id);
        let evaluation = EvalConfig {
            denoisers: theories.filter(|id| !cifar || *id != DenoiserId::ELS).collect(),
            images,
            samples,
            ..preset.evaluation(seed)
        };
        Config {
            sizes,
            seed,
            train: preset.train(shape, Vec::new()),
            evaluation,
            calibration,
            components: vec![1, 2, 4, 8, 16, 32, 64, 128],
            sensitivity: vec![3.0, 1.0, 0.27],
        }
    }

    fn images(config: &Config) -> usize {
        largest(&config.sizes)
    }

    fn evaluation(config: &Config) -> &EvalConfig {
        &config.evaluation
    }

    fn shards(config: &Config, parts: usize) -> Vec<Config> {
        cut_evenly(&config.sizes, parts).map(|sizes| Config { sizes, ..config.clone() }).collect()
    }

    fn flop(config: &Config, dim: usize) -> Result<f64> {
        cost::networks(&config.sizes, &config.train, &config.evaluation, 1, dim)
    }

    async fn new(engine: &Engine, split: &Split, config: Config) -> Result<Self> {
        let Config { seed, train, evaluation, calibration, .. } = &config;
        let needed = evaluation.images + calibration;
        if *calibration == 0 || needed > split.held_out_len() {
            return Err(Error::bad_input(
                format!(
                    "The league needs {needed} held-out images, and the split has {}",
                    split.held_out_len()
                ),
                "Measure and calibrate on fewer images, at least one each, or hold out more",
            ));
        }
        if !evaluation.denoisers.contains(&DenoiserId::GAUSSIAN) {
            return Err(Error::bad_input(
                "Errors are relative to those of the Gaussian denoiser",
                "Add “gaussian” to evaluation.denoisers",
            ));
        }
        config.sensitivity.iter().try_for_each(|&sigma| evaluation.level(sigma).map(|_| ()))?;
        let members = Member::nested(&config.sizes, &[*seed]);
        // Theories that refuse such images do so before training starts.
        let first = TrainingSets::single(split.subset(0..1)?, split.dim())?;
        let to = Fit { engine, sets: &first, shape: split.shape() };
        for id in &evaluation.denoisers {
            let entry =
                id.entry().ok_or_else(|| Error::internal("A theory is not in the table"))?;
            entry.fit(&to).await?;
        }
        let ensemble = Ensemble::new(engine, split, &members, train, evaluation).await?;
        Ok(Self { engine: engine.clone(), config, ensemble })
    }

    async fn findings(&mut self, detail: Detail) -> Result<Vec<Standing>> {
        let progress = self.ensemble.session_mut().progress().await?;
        let networks = self.ensemble.session_mut().snapshot().await?.denoiser()?;
        let mut standings = Vec::new();
        for (m, member) in progress.members.iter().enumerate() {
            let network = networks.only(m)?;
            let match_up = Match::new(self, m, &network, detail).await?;
            standings.push(match_up.standing(progress.step, member.status).await?);
        }
        Ok(standings)
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn ensembles(&mut self) -> Vec<&mut Ensemble> {
        vec![&mut self.ensemble]
    }
}

/// Images at every noise level.
struct Noisy {
    clean: Vec<f32>,
    levels: Vec<Vec<f32>>,
    /// The network's denoised images.
    denoised: Vec<Vec<f32>>,
}

impl Noisy {
    async fn new(
        engine: &Engine,
        network: &Trained,
        clean: &[f32],
        sigmas: &[f32],
        seed: u64,
    ) -> Result<Self> {
        let mut noise = vec![0.0; clean.len()];
        fill_normals(seed, Stream::MetricNoise, 0, &mut noise);
        let add = |sigma: &f32| clean.iter().zip(&noise).map(|(y, n)| y + sigma * n).collect();
        let levels: Vec<Vec<f32>> = sigmas.iter().map(add).collect();
        let denoised = denoise_levels(engine, network, &levels, sigmas).await?;
        Ok(Self { clean: clean.to_vec(), levels, denoised })
    }
}

async fn denoise_levels(
    engine: &Engine,
    denoiser: &dyn Denoiser,
    levels: &[Vec<f32>],
    sigmas: &[f32],
) -> Result<Vec<Vec<f32>>> {
    let mut denoised = Vec::new();
    for (x, &sigma) in levels.iter().zip(sigmas) {
        denoised.push(denoise(engine, denoiser, x, sigma).await?);
    }
    Ok(denoised)
}

/// One network against all theories.
struct Match<'a> {
    league: &'a League,
    network: &'a Trained,
    sets: TrainingSets,
    evaluation: EvalConfig,
    detail: Detail,
    measured: Noisy,
    calibration: Noisy,
    /// Squared errors of D_G on the measured images per noise level.
    reference: Vec<Vec<f64>>,
}

impl<'a> Match<'a> {
    async fn new(
        league: &'a League,
        member: usize,
        network: &'a Trained,
        detail: Detail,
    ) -> Result<Self> {
        let (engine, split) = (&league.engine, league.ensemble.split());
        let evaluation = match detail {
            Detail::Preview => league.config.evaluation.preview(),
            Detail::Full => league.config.evaluation.clone(),
        };
        let EvalConfig { sigmas, images, seed, .. } = &evaluation;
        let (dim, held_out) = (split.dim(), split.held_out());
        let (measured, rest) = held_out.split_at(images * dim);
        let others = &rest[..league.config.calibration * dim];
        let measured = Noisy::new(engine, network, measured, sigmas, *seed).await?;
        let other_seed = seed.wrapping_add(1);
        let calibration = Noisy::new(engine, network, others, sigmas, other_seed).await?;
        let sets = league.ensemble.sets().only(member)?;
        let to = Fit { engine, sets: &sets, shape: split.shape() };
        let entry = DenoiserId::GAUSSIAN.entry();
        let gaussian = entry.ok_or_else(|| Error::internal("D_G is not in the table"))?;
        let gaussian = gaussian.fit(&to).await?;
        let levels = denoise_levels(engine, &*gaussian, &measured.levels, sigmas).await?;
        let errors = |images: &Vec<f32>| squared_errors(images, &measured.clean, dim).collect();
        let reference = levels.iter().map(errors).collect();
        Ok(Self { league, network, sets, evaluation, detail, measured, calibration, reference })
    }

    const fn engine(&self) -> &Engine {
        &self.league.engine
    }

    fn shape(&self) -> Shape {
        self.league.ensemble.split().shape()
    }

    fn to(&self) -> Fit<'_> {
        Fit { engine: self.engine(), sets: &self.sets, shape: self.shape() }
    }

    async fn standing(&self, step: u32, status: Status) -> Result<Standing> {
        let (engine, split) = (self.engine(), self.league.ensemble.split());
        let (session, dim) = (self.league.ensemble.session(), split.dim());
        let EvalConfig { sigmas, shown, .. } = &self.evaluation;
        let samples = self.samples(self.network).await?;
        let nearest = nearest_images(engine, &self.sets, &samples).await?;
        let nearest = nearest.first().ok_or_else(|| Error::internal("No image was compared"))?;
        let mut theories = Vec::new();
        for &id in &self.evaluation.denoisers {
            theories.push(self.theory(id, &samples).await?);
        }
        let range = self.sets.ranges()[0].clone();
        let n = range.len();
        let (mut mixtures, mut sensitivity) = (Vec::new(), Vec::new());
        if self.detail == Detail::Full {
            let sizes = self.league.config.components.iter().copied().filter(|&k| k < n);
            for components in sizes.chain([n]) {
                let setting = Setting::mixture(components);
                mixtures.push(self.scores(DenoiserId::MIXTURE, setting).await?);
            }
            sensitivity = self.sensitivity(&theories).await?;
        }
        let mut entropy = Vec::new();
        for (x, &sigma) in self.measured.levels.iter().zip(sigmas) {
            let images = self.sets.images(0);
            let of = |x| Posterior::of(images, x, sigma).entropy;
            entropy.push(Estimate::of(x.chunks_exact(dim).map(of)));
            engine.yield_now().await?;
        }
        Ok(Standing {
            member: Member { first: range.start, n, seed: self.league.config.seed },
            architecture: session.config().architecture.clone(),
            parameters: session.parameter_count(),
            step,
            status,
            closeness: nearest.closeness.clone(),
            error: self.errors(&self.measured.denoised),
            samples: self.show(&samples),
            nearest: self.show(&nearest_rows(nearest, &self.sets, *shown)),
            entropy,
            theories,
            mixtures,
            sensitivity,
        })
    }

    /// Scores a theory with its calibrated setting, and with the one that follows from the training images.
    async fn theory(&self, id: DenoiserId, samples: &[f32]) -> Result<Theory> {
        let to = self.to();
        let entry = id.entry().ok_or_else(|| Error::internal("A theory is not in the table"))?;
        let plain = Setting::of_table(id, &to, &self.evaluation.sigmas)?;
        let calibrated = match self.detail {
            Detail::Full => self.calibrate(id).await?,
            Detail::Preview => None,
        };
        let (denoiser, setting, uncalibrated) = match calibrated {
            Some(setting) => {
                let scores = self.scores(id, plain).await?;
                (setting.fit(id, &to).await?, setting, Some(scores))
            }
            None => (entry.fit(&to).await?, plain, None),
        };
        let own = self.samples(&*denoiser).await?;
        let dim = self.sets.dim();
        let mean = self.sets.mean(0);
        let centred = |rows: &[f32]| -> Vec<f32> {
            rows.iter().zip(mean.iter().cycle()).map(|(v, m)| v - m).collect()
        };
        let (a, b) = (centred(&own), centred(samples));
        let cosines = a.chunks_exact(dim).zip(b.chunks_exact(dim)).map(|(a, b)| {
            let dot = |a: &[f32], b: &[f32]| {
                a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>()
            };
            let (norm_a, norm_b) = (dot(a, a).sqrt(), dot(b, b).sqrt());
            RowComparison { norm_a, norm_b, dot: dot(a, b), distance: 0.0 }.cosine()
        });
        Ok(Theory {
            id,
            scores: self.score(&*denoiser, setting).await?,
            uncalibrated,
            samples_prediction: Prediction::of(&own, samples, dim),
            samples_cosine: Estimate::of(cosines),
            samples: self.show(&own),
        })
    }

    /// Finds the setting that predicts the network best on the calibration images; `None` for theories without
    /// a free parameter.
    async fn calibrate(&self, id: DenoiserId) -> Result<Option<Setting>> {
        let (sigmas, to) = (&self.evaluation.sigmas, self.to());
        let n = self.sets.ranges()[0].len();
        if id == DenoiserId::LS || id == DenoiserId::ELS {
            let sides = setting::sides(self.shape(), id == DenoiserId::ELS);
            let mut costs = vec![Vec::new(); sigmas.len()];
            for &side in &sides {
                let window = Setting::windows(&[1.0], &[side], &[vec![1.0]]);
                let missed = self.missed(&*window.fit(id, &to).await?).await?;
                costs.iter_mut().zip(missed).for_each(|(costs, missed)| costs.push(missed));
            }
            return Ok(Some(Setting::windows(sigmas, &sides, &costs)));
        }
        let settings: Vec<Setting> = match id {
            DenoiserId::PCA_LOCALITY => setting::THRESHOLDS.map(Setting::mask).into(),
            DenoiserId::MIXTURE => {
                // With fewer images than this, a component is hardly a Gaussian.
                let fitting = |&&k: &&usize| k == 1 || 4 * k <= n;
                self.league
                    .config
                    .components
                    .iter()
                    .filter(fitting)
                    .copied()
                    .map(Setting::mixture)
                    .collect()
            }
            _ => return Ok(None),
        };
        let mut best: Option<(f64, Setting)> = None;
        for setting in settings {
            let missed = self.missed(&*setting.fit(id, &to).await?).await?;
            let cost: f64 = missed.iter().map(|missed| missed.max(1e-12).ln()).sum();
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, setting));
            }
        }
        Ok(best.map(|(_, setting)| setting))
    }

    /// The fraction of the network's variance that a theory misses on the calibration images.
    async fn missed(&self, denoiser: &dyn Denoiser) -> Result<Vec<f64>> {
        let Noisy { levels, denoised, .. } = &self.calibration;
        let own = denoise_levels(self.engine(), denoiser, levels, &self.evaluation.sigmas).await?;
        let dim = self.sets.dim();
        let missed = |(own, network): (&Vec<f32>, &Vec<f32>)| {
            1.0 - Prediction::of(own, network, dim).r2.mean
        };
        Ok(own.iter().zip(denoised).map(missed).collect())
    }

    async fn scores(&self, id: DenoiserId, setting: Setting) -> Result<Scores> {
        let denoiser = setting.fit(id, &self.to()).await?;
        self.score(&*denoiser, setting).await
    }

    async fn score(&self, denoiser: &dyn Denoiser, setting: Setting) -> Result<Scores> {
        let Noisy { levels, denoised, .. } = &self.measured;
        let own = denoise_levels(self.engine(), denoiser, levels, &self.evaluation.sigmas).await?;
        let dim = self.sets.dim();
        let compare = |(own, network): (&Vec<f32>, &Vec<f32>)| Prediction::of(own, network, dim);
        let prediction = own.iter().zip(denoised).map(compare).collect();
        Ok(Scores { setting, prediction, error: self.errors(&own) })
    }

    /// Squared errors relative to D_G's.
    fn errors(&self, levels: &[Vec<f32>]) -> Vec<Estimate> {
        let relative = |(images, reference): (&Vec<f32>, &Vec<f64>)| {
            let errors = squared_errors(images, &self.measured.clean, self.sets.dim());
            relative(&errors.collect::<Vec<_>>(), reference)
        };
        levels.iter().zip(&self.reference).map(relative).collect()
    }

    async fn samples(&self, denoiser: &dyn Denoiser) -> Result<Vec<f32>> {
        let EvalConfig { samples, seed, .. } = self.evaluation;
        sample(self.engine(), denoiser, &self.evaluation.sampler()?, Noise { count: samples, seed })
            .await
    }

    fn show(&self, rows: &[f32]) -> Images {
        let shown = self.evaluation.shown.saturating_mul(self.sets.dim());
        let standardization = self.league.ensemble.split().standardization();
        Images::of(&rows[..rows.len().min(shown)], standardization)
    }
}
