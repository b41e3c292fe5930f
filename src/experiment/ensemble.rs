//! An ensemble of networks that is trained in slices of time and evaluated in between.
//!
//! The caller drives it: `advance` trains, `points` measures. So not calling it pauses it, and dropping it
//! cancels it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Detail;
use super::evaluation::{EvalConfig, Evaluation, Measures};
use super::evaluator::{Evaluator, evaluate_linear};
use super::references::{Reference, References};
use crate::compute::Engine;
use crate::data::{Split, TrainingSets};
use crate::denoiser::{DenoiserId, Distillation, DistilledOn, Linear};
use crate::error::{Error, Result};
use crate::metrics::Closeness;
use crate::model::Architecture;
use crate::platform::Instant;
use crate::train::{Config, Plan, Progress, Session, Status};

/// A network to train: on which part of the pool, and from which seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Index of the first training image.
    pub first: usize,
    /// Number of training images.
    pub n: usize,
    /// Seed of the weights and batches.
    pub seed: u64,
}

impl Member {
    /// Members of each size and seed, whose training sets are nested.
    #[must_use]
    pub fn nested(sizes: &[usize], seeds: &[u64]) -> Vec<Self> {
        let of_size = |&n| seeds.iter().map(move |&seed| Self { first: 0, n, seed });
        sizes.iter().flat_map(of_size).collect()
    }

    /// The range of the training images in the pool.
    #[must_use]
    pub const fn range(&self) -> Range<usize> {
        self.first..self.first.saturating_add(self.n)
    }
}

/// Networks that train together, and their evaluators, whose buffers live in the program that trains, so
/// that they see the current weights.
#[derive(Debug)]
pub struct Ensemble {
    engine: Engine,
    split: Split,
    sets: TrainingSets,
    session: Session,
    evaluator: Evaluator,
    preview: Evaluator,
    distillation: Option<Distillation>,
    /// Steps of the last slice.
    last: u32,
    step_seconds: Option<f64>,
}

/// The evaluated denoisers of an ensemble: one evaluation per member.
#[derive(Debug)]
pub struct Evaluated {
    /// D_θ, and D_L if it was distilled.
    pub denoisers: BTreeMap<DenoiserId, Vec<Evaluation>>,
    /// D_L itself.
    pub linear: Option<Linear>,
}

impl Ensemble {
    /// Records and loads the training of `members` on `split`; seeds come from `members`.
    pub async fn new(
        engine: &Engine,
        split: &Split,
        members: &[Member],
        train: &Config,
        evaluation: &EvalConfig,
    ) -> Result<Self> {
        let ranges: Vec<_> = members.iter().map(Member::range).collect();
        let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
        let sets = TrainingSets::new(split.subset(0..end)?, split.dim(), ranges)?;
        let seeds = members.iter().map(|member| member.seed).collect();
        let mut plan = Plan::new(engine, Config { seeds, ..train.clone() }, &sets)?;
        let denoiser = plan.denoiser();
        let mut evaluator =
            |config| Evaluator::place(&mut plan.program, &denoiser, split, &sets, config);
        let (preview, evaluator) = (evaluator(&evaluation.preview())?, evaluator(evaluation)?);
        let distillation = match evaluation.distillation {
            Some(how) => {
                let images = match how.images {
                    DistilledOn::Training => sets.clone(),
                    DistilledOn::HeldOut => {
                        let all = vec![0..split.held_out_len(); members.len()];
                        TrainingSets::new(split.held_out(), split.dim(), all)?
                    }
                };
                let p = &mut plan.program;
                Some(Distillation::place(p, &denoiser, &images, how, evaluation.seed)?)
            }
            None => None,
        };
        let session = plan.load(engine).await?;
        let (engine, split) = (engine.clone(), split.clone());
        let (last, step_seconds) = (1, None);
        Ok(Self {
            engine,
            split,
            sets,
            session,
            evaluator,
            preview,
            distillation,
            last,
            step_seconds,
        })
    }

    /// Trains for about `slice`. Does nothing once all steps are done.
    pub async fn advance(&mut self, slice: Duration) -> Result<Progress> {
        self.advance_to(u32::MAX, slice).await
    }

    /// Trains for about `slice`, but not beyond step `until`.
    pub async fn advance_to(&mut self, until: u32, slice: Duration) -> Result<Progress> {
        let start = Instant::now();
        let left = until.saturating_sub(self.session.steps_done());
        let fitting = self.step_seconds.map_or(1.0, |each| slice.as_secs_f64() / each);
        // The number at most doubles, so that one wrong measurement does not cause a long slice.
        let count = (fitting as u32).clamp(1, self.last.saturating_mul(2)).min(left);
        let done = self.session.step_cooperative(count).await?;
        let progress = self.session.progress().await?;
        if done > 0 {
            self.step_seconds = Some(start.elapsed().as_secs_f64().max(1e-4) / f64::from(done));
            self.last = done;
        }
        Ok(progress)
    }

    /// The fraction of the steps that is done, from 0 to 1.
    #[must_use]
    pub fn part_done(&self) -> f64 {
        f64::from(self.session.steps_done()) / f64::from(self.session.config().steps)
    }

    /// The training session.
    #[must_use]
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// The training session, to save or restore it.
    pub const fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// How the members are evaluated.
    #[must_use]
    pub const fn evaluation(&self) -> &EvalConfig {
        self.evaluator.config()
    }

    /// The training sets of the members.
    #[must_use]
    pub const fn sets(&self) -> &TrainingSets {
        &self.sets
    }

    /// The images that the ensemble is trained and tested on.
    #[must_use]
    pub const fn split(&self) -> &Split {
        &self.split
    }

    /// Evaluates the members as they are now; in full detail also D_L, if configured.
    pub async fn evaluate(&mut self, detail: Detail) -> Result<Evaluated> {
        let evaluator = match detail {
            Detail::Preview => &self.preview,
            Detail::Full => &self.evaluator,
        };
        let trained = evaluator.run(&mut self.session.loaded).await?;
        let mut denoisers = BTreeMap::from([(DenoiserId::TRAINED, trained)]);
        let mut linear = None;
        if detail == Detail::Full && self.distillation.is_some() {
            let distilled = self.distil().await?;
            let Self { engine, split, sets, evaluator, .. } = self;
            let evaluations =
                evaluate_linear(engine, &distilled, split, sets, evaluator.config()).await?;
            denoisers.insert(DenoiserId::LINEAR, evaluations);
            linear = Some(distilled);
        }
        Ok(Evaluated { denoisers, linear })
    }

    /// Distils D_L of each member as it is now (eq. 5), at [`EvalConfig::all_sigmas`].
    pub async fn distil(&mut self) -> Result<Linear> {
        let Some(distillation) = &self.distillation else {
            return Err(Error::bad_input(
                "The configuration does not say how to distil D_L",
                "Set evaluation.distillation",
            ));
        };
        let sigmas = self.evaluator.config().all_sigmas()?;
        distillation.fit(&mut self.session.loaded, &sigmas).await
    }

    /// Evaluates the members and reports on them beside the references.
    pub async fn points(
        &mut self,
        references: &mut References,
        detail: Detail,
    ) -> Result<Vec<Point>> {
        let evaluated = self.evaluate(detail).await?;
        self.describe(&evaluated, references.at(detail).await?).await
    }

    /// Reports on members that were just evaluated.
    pub async fn describe(
        &mut self,
        evaluated: &Evaluated,
        references: &[Reference],
    ) -> Result<Vec<Point>> {
        let progress = self.session.progress().await?;
        let (config, parameters) = (self.session.config(), self.session.parameter_count());
        let shown = self.evaluator.config().shown;
        let point = |(m, range): (usize, &Range<usize>)| {
            let reference = Reference::of(references, range)?;
            let own = evaluated.denoisers.iter().map(|(&id, all)| (id, &all[m]));
            let fitted = reference.denoisers.iter().map(|(&id, one)| (id, one));
            let evaluations = own.chain(fitted).collect();
            let status = progress.members[m].status;
            let images_seen = f64::from(status.steps(progress.step)) * config.batch as f64;
            Ok(Point {
                member: Member { first: range.start, n: range.len(), seed: config.seeds[m] },
                architecture: config.architecture.clone(),
                parameters,
                step: progress.step,
                epochs: images_seen / range.len() as f64,
                status,
                held_out: reference.held_out.clone(),
                denoisers: Measures::of(
                    &evaluations,
                    &reference.mean,
                    &self.sets,
                    &self.split,
                    shown,
                ),
            })
        };
        self.sets.ranges().iter().enumerate().map(point).collect()
    }
}

/// An ensemble and the fitted denoisers beside it.
#[derive(Debug)]
pub struct Networks {
    /// The networks.
    pub ensemble: Ensemble,
    /// The fitted denoisers of their training sets.
    pub references: References,
}

impl Networks {
    /// Prepares the training of `members`, and fits the denoisers beside them.
    pub async fn new(
        engine: &Engine,
        split: &Split,
        members: &[Member],
        train: &Config,
        evaluation: &EvalConfig,
    ) -> Result<Self> {
        let ensemble = Ensemble::new(engine, split, members, train, evaluation).await?;
        let references = References::new(engine, split, members, evaluation).await?;
        Ok(Self { ensemble, references })
    }

    /// Evaluates the networks and reports on them beside the fitted denoisers.
    pub async fn points(&mut self, detail: Detail) -> Result<Vec<Point>> {
        self.ensemble.points(&mut self.references, detail).await
    }
}

/// A network at one moment, and the denoisers beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Point {
    /// The network's training set and seed.
    #[serde(flatten)]
    pub member: Member,
    /// The network's architecture.
    pub architecture: Architecture,
    /// Number of parameters that the network learns.
    pub parameters: usize,
    /// Training steps of the ensemble so far.
    pub step: u32,
    /// How often the network has seen each training image, on average.
    pub epochs: f64,
    /// Whether the network is still learning. A network that diverged is measured with its last good weights,
    /// and its numbers say nothing about a trained one.
    pub status: Status,
    /// How close held-out images come to the training set: the score of a perfect generator.
    pub held_out: Closeness,
    /// The measures of D_θ and of the denoisers beside it.
    pub denoisers: BTreeMap<DenoiserId, Measures>,
}

impl Point {
    /// Returns the measures of denoiser `id`.
    pub fn of(&self, id: DenoiserId) -> Result<&Measures> {
        self.denoisers.get(&id).ok_or_else(|| {
            Error::bad_input(
                format!("“{id}” was not evaluated"),
                "Add it to evaluation.denoisers, or set evaluation.distillation",
            )
        })
    }

    /// Returns the measures of the network.
    pub fn trained(&self) -> Result<&Measures> {
        self.of(DenoiserId::TRAINED)
    }

    /// Keeps only these noise levels in every list.
    pub fn keep(&mut self, levels: &[usize]) {
        self.denoisers.values_mut().for_each(|measures| measures.keep(levels));
    }
}
