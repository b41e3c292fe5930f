//! Experiments that measure networks at several steps of their training, ever more rarely: what changes over
//! training changes on a logarithmic scale.

use std::fmt::Debug;
use std::ops::Range;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ensemble::{Ensemble, Member};
use super::evaluation::{EvalConfig, Evaluation};
use super::{Detail, Experiment, Preset, Progress, cost, cut, cut_evenly, largest};
use super::{nothing_to_train, steps};
use crate::compute::Engine;
use crate::data::Split;
use crate::denoiser::DenoiserId;
use crate::error::{Error, Result};
use crate::model::Architecture;
use crate::serial::{self, decimal};
use crate::shape::Shape;
use crate::train::{self, Optimizer, Status};

/// When to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Schedule {
    /// Step of the first measurement.
    pub first: u32,
    /// Number of measurements while the number of steps doubles.
    pub per_doubling: u32,
}

impl Schedule {
    /// The steps of the measurements in a run of `steps` steps, including the last step.
    pub fn steps(self, steps: u32) -> Result<Vec<u32>> {
        let Self { first, per_doubling } = self;
        if first == 0 || !(1..=64).contains(&per_doubling) {
            return Err(Error::bad_input(
                format!("Cannot measure {per_doubling} times per doubling from step {first} on"),
                "Start at step 1 or later, and measure 1 to 64 times per doubling",
            ));
        }
        let step = |k: u32| f64::from(first) * 2_f64.powf(f64::from(k) / f64::from(per_doubling));
        let mut all: Vec<u32> =
            (0..).map(|k| step(k).round() as u32).take_while(|&s| s < steps).collect();
        all.push(steps);
        all.dedup();
        Ok(all)
    }
}

/// What is measured of a member at one step.
#[expect(async_fn_in_trait, reason = "an engine stays on its thread, so nobody needs Send")]
pub trait Measurement: Clone + Debug + Serialize + DeserializeOwned {
    /// What members are compared with, computed once.
    type Context: Debug;

    /// Computes the context.
    async fn prepare(engine: &Engine, ensemble: &Ensemble) -> Result<Self::Context>;

    /// Measures each member, which was just evaluated at `step`.
    fn take(
        ensemble: &Ensemble,
        context: &Self::Context,
        step: u32,
        members: &[Evaluation],
    ) -> Result<Vec<Self>>;
}

/// A network, and how it is trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Network {
    /// The network's training set and seed.
    #[serde(flatten)]
    pub member: Member,
    /// The optimizer.
    pub optimizer: Optimizer,
    /// The learning rate.
    #[serde(serialize_with = "decimal::serialize")]
    pub rate: f32,
    /// The network's architecture.
    pub architecture: Architecture,
    /// Number of parameters that the network learns.
    pub parameters: usize,
    /// Whether the network is still learning.
    pub status: Status,
}

impl Network {
    fn of(ensemble: &Ensemble, member: usize, status: Status) -> Self {
        let (range, config) = (&ensemble.sets().ranges()[member], ensemble.session().config());
        Self {
            member: Member { first: range.start, n: range.len(), seed: config.seeds[member] },
            optimizer: config.optimizer,
            rate: config.rate,
            architecture: config.architecture.clone(),
            parameters: ensemble.session().parameter_count(),
            status,
        }
    }
}

/// Configuration of such an experiment: networks of each size and seed, trained in several ways, and when to
/// measure them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// Sizes of the training sets, which are nested.
    pub sizes: Vec<usize>,
    /// Each size is trained once from each seed.
    pub seeds: Vec<u64>,
    /// How the networks are trained.
    pub train: train::Config,
    /// Other ways to train them, such as with SGD instead of Adam, or a U-Net instead of an MLP.
    pub others: Vec<train::Config>,
    /// When to measure.
    pub schedule: Schedule,
    /// Number of principal axes that are measured, the strongest first. Only `modes` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axes: Option<usize>,
    /// How to measure. `clocks` measures the loss at the last of the noise levels.
    pub evaluation: EvalConfig,
}

impl Config {
    fn trainings(&self) -> impl Iterator<Item = &train::Config> {
        std::iter::once(&self.train).chain(&self.others)
    }
}

/// What one such experiment adds to [`OverTraining`].
pub trait Tracked: Debug + Sized {
    /// What is measured of a network at one step.
    type Measurement: Measurement;
    /// What is reported about a network.
    type Course: Serialize + 'static;
    /// See [`Experiment::NAME`].
    const NAME: &'static str;
    /// See [`Experiment::TITLE`].
    const TITLE: &'static str;

    /// See [`Experiment::preset`].
    fn preset(preset: Preset, shape: Shape, seed: u64) -> Config;

    /// The relative time of a training.
    fn work(train: &train::Config) -> f64;

    /// Refuses a configuration that cannot be measured.
    fn check(config: &Config) -> Result<()>;

    /// Reports on one member from its measurements so far.
    fn course(
        config: &Config,
        context: &<Self::Measurement as Measurement>::Context,
        member: usize,
        network: Network,
        measured: &[Self::Measurement],
    ) -> Self::Course;
}

/// The networks of one way to train.
#[derive(Debug)]
struct Track<M: Measurement> {
    ensemble: Ensemble,
    context: M::Context,
    schedule: Vec<u32>,
    /// The measurements, by step, then by member.
    measured: Vec<Vec<M>>,
    seconds_left: Option<f64>,
}

impl<M: Measurement> Track<M> {
    /// Measures if the next step of the schedule is reached: the ensemble has just arrived there, or an
    /// earlier measurement was interrupted.
    async fn measure(&mut self) -> Result<()> {
        let step = self.ensemble.session().steps_done();
        if self.schedule.get(self.measured.len()) == Some(&step) {
            let mut evaluated = self.ensemble.evaluate(Detail::Full).await?;
            let members = evaluated.denoisers.remove(&DenoiserId::TRAINED).unwrap_or_default();
            self.measured.push(M::take(&self.ensemble, &self.context, step, &members)?);
        }
        Ok(())
    }
}

/// An experiment that trains networks in several ways, each on all training sets. The ways take turns, so that
/// all are done at about the same time.
#[derive(Debug)]
pub struct OverTraining<E: Tracked> {
    config: Config,
    tracks: Vec<Track<E::Measurement>>,
}

impl<E: Tracked> Experiment for OverTraining<E> {
    type Config = Config;
    type Findings = Vec<E::Course>;
    const NAME: &'static str = E::NAME;
    const TITLE: &'static str = E::TITLE;
    const FIGURE: Option<u32> = None;

    fn preset(preset: Preset, shape: Shape, seed: u64) -> Config {
        E::preset(preset, shape, seed)
    }

    fn images(config: &Config) -> usize {
        largest(&config.sizes)
    }

    fn evaluation(config: &Config) -> &EvalConfig {
        &config.evaluation
    }

    fn shards(config: &Config, parts: usize) -> Vec<Config> {
        let Config { train, others, sizes, .. } = config;
        let cut = cut_trainings(train, others, sizes, parts, E::work).into_iter();
        let part = |(train, others, sizes)| Config { train, others, sizes, ..config.clone() };
        cut.map(part).collect()
    }

    fn flop(config: &Config, dim: usize) -> Result<f64> {
        let Config { sizes, seeds, schedule, evaluation, .. } = config;
        let of = |train: &train::Config| {
            let times = schedule.steps(train.steps)?.len();
            Ok(cost::networks(sizes, train, evaluation, times, dim)? * seeds.len() as f64)
        };
        config.trainings().map(of).sum()
    }

    async fn new(engine: &Engine, split: &Split, config: Config) -> Result<Self> {
        E::check(&config)?;
        let Config { sizes, seeds, schedule, evaluation, .. } = &config;
        if !evaluation.denoisers.is_empty() {
            return Err(Error::bad_input(
                "No denoiser can be evaluated beside networks that are measured over training",
                "Leave evaluation.denoisers empty",
            ));
        }
        let members = Member::nested(sizes, seeds);
        let mut tracks = Vec::new();
        for train in config.trainings() {
            let ensemble = Ensemble::new(engine, split, &members, train, evaluation).await?;
            let context = E::Measurement::prepare(engine, &ensemble).await?;
            let schedule = schedule.steps(train.steps)?;
            let (measured, seconds_left) = (Vec::new(), None);
            tracks.push(Track { ensemble, context, schedule, measured, seconds_left });
        }
        Ok(Self { config, tracks })
    }

    /// Trains the track that is furthest behind for about `slice`, or to its next measurement.
    async fn advance(&mut self, slice: Duration) -> Result<Progress> {
        let part = |track: &Track<E::Measurement>| track.ensemble.part_done();
        let behind = self.tracks.iter_mut().min_by(|a, b| part(a).total_cmp(&part(b)));
        let behind = behind.ok_or_else(nothing_to_train)?;
        let next = behind.schedule.get(behind.measured.len()).copied().unwrap_or(u32::MAX);
        let training = behind.ensemble.advance_to(next, slice).await?;
        behind.seconds_left = training.seconds_left;
        behind.measure().await?;
        let seconds_left = self.tracks.iter().map(|track| track.seconds_left).sum();
        let [step, total] = steps(&self.sessions());
        Ok(Progress { step, total, seconds_left, training })
    }

    /// The courses so far, one way to train after the other.
    async fn findings(&mut self, _: Detail) -> Result<Vec<E::Course>> {
        let mut courses = Vec::new();
        for track in &mut self.tracks {
            track.measure().await?;
            let progress = track.ensemble.session_mut().progress().await?;
            for (m, progress) in progress.members.iter().enumerate() {
                let measured: Vec<_> = track.measured.iter().map(|all| all[m].clone()).collect();
                let network = Network::of(&track.ensemble, m, progress.status);
                courses.push(E::course(&self.config, &track.context, m, network, &measured));
            }
        }
        Ok(courses)
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn ensembles(&mut self) -> Vec<&mut Ensemble> {
        self.tracks.iter_mut().map(|track| &mut track.ensemble).collect()
    }

    fn memory(&self) -> Result<Value> {
        serial::to_value(&self.tracks.iter().map(|track| &track.measured).collect::<Vec<_>>())
    }

    fn recall(&mut self, memory: Value) -> Result<()> {
        let saved: Vec<Vec<Vec<E::Measurement>>> = serial::read(memory)?;
        let fits = |(track, saved): (&Track<E::Measurement>, &Vec<Vec<E::Measurement>>)| {
            let members = track.ensemble.sets().ranges().len();
            saved.len() <= track.schedule.len() && saved.iter().all(|all| all.len() == members)
        };
        if saved.len() != self.tracks.len() || !self.tracks.iter().zip(&saved).all(fits) {
            return Err(Error::bad_input("The saved run measured other networks", ""));
        }
        self.tracks.iter_mut().zip(saved).for_each(|(track, saved)| track.measured = saved);
        Ok(())
    }
}

/// Cuts ways to train, and the sizes of their training sets, into at most `parts` of about equal work, in the
/// order of the findings: all sizes of the first way, then those of the second.
fn cut_trainings(
    train: &train::Config,
    others: &[train::Config],
    sizes: &[usize],
    parts: usize,
    work: impl Fn(&train::Config) -> f64,
) -> Vec<(train::Config, Vec<train::Config>, Vec<usize>)> {
    let all: Vec<&train::Config> = [train].into_iter().chain(others).collect();
    let works: Vec<f64> = all.iter().map(|train| work(train)).collect();
    if parts <= all.len() {
        let piece = |chunk: Range<usize>| {
            let mut some = all[chunk].iter().map(|&train| train.clone());
            Some((some.next()?, some.collect(), sizes.to_vec()))
        };
        return cut(&works, parts).into_iter().filter_map(piece).collect();
    }
    // Each way gets one part; then the way with the most work per part gets another, repeatedly.
    let mut shares = vec![1; all.len()];
    for _ in all.len()..parts {
        let each = |i: &usize| works[*i] / shares[*i] as f64;
        let open = (0..shares.len()).filter(|&i| shares[i] < sizes.len());
        if let Some(most) = open.max_by(|a, b| each(a).total_cmp(&each(b))) {
            shares[most] += 1;
        }
    }
    let pieces = all.into_iter().zip(shares).flat_map(|(train, share)| {
        cut_evenly(sizes, share).map(|sizes| (train.clone(), Vec::new(), sizes))
    });
    pieces.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_are_ever_rarer_and_end_with_the_run() {
        let all = |first, per_doubling, steps| Schedule { first, per_doubling }.steps(steps);
        assert_eq!(all(10, 1, 100).unwrap(), [10, 20, 40, 80, 100]);
        assert_eq!(all(1, 2, 8).unwrap(), [1, 2, 3, 4, 6, 8]);
        assert_eq!(all(50, 3, 20).unwrap(), [20]);
        assert!(all(0, 1, 10).is_err() && all(1, 0, 10).is_err());
    }

    #[test]
    fn parts_follow_one_another() {
        let quick = train::Config::quick(Vec::new());
        let long = train::Config { steps: 3 * quick.steps, ..quick.clone() };
        let (others, sizes) = ([long], [8, 16, 32, 64]);
        for parts in 1..10 {
            let cut = cut_trainings(&quick, &others, &sizes, parts, |t| f64::from(t.steps));
            assert_eq!(cut.len(), parts.min(8), "{parts}");
            let mut flat = Vec::new();
            for (train, others, sizes) in &cut {
                for train in [train].into_iter().chain(others) {
                    flat.extend(sizes.iter().map(|&n| (train.steps, n)));
                }
            }
            let all = [quick.steps, others[0].steps].into_iter();
            let all: Vec<_> = all.flat_map(|steps| sizes.map(|n| (steps, n))).collect();
            assert_eq!(flat, all, "{parts}");
        }
    }
}
