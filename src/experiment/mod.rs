//! The figures: configuration in, numbers and images out.
//!
//! | | figure | question |
//! |---|---|---|
//! | [`exact`] | | What do denoisers do that need no training? |
//! | [`transition`] | 1 | When do networks stop memorizing, and how linear are they by then? |
//! | [`gaussian_bias`] | 2 | Which of D_L, D_G and D_M is a network close to? |
//! | [`emergence`] | 3 | Do small or young networks find the Gaussian structure, too? |
//! | [`strong_generalization`] | | Do networks that share no training image generate the same images? |
//! | [`clocks`] | | After how long do networks generalize, and after how long do they memorize? |
//! | [`modes`] | | In which order do samples gain the variance of the images? |
//! | [`random_features`] | | The two clocks in a model that is solved exactly |
//! | [`wiener`] | | Does a linear denoiser learn D_G (Theorem 1)? |
//! | [`league`] | | Which theory predicts a network best? |
//! | [`edge`] | | At which noise does D_M begin to memorize? |
//!
//! An experiment trains an [`ensemble`], which an [`evaluator`] turns into [`evaluation`]s, beside
//! the fitted denoisers in [`references`]. A [`run`] saves it and produces reports; [`any`] finds
//! experiments by name.

pub mod any;
pub mod clocks;
mod cost;
pub mod edge;
pub mod emergence;
pub mod ensemble;
pub mod evaluation;
pub mod evaluator;
pub mod exact;
pub mod gaussian_bias;
pub mod images;
pub mod league;
pub mod modes;
pub mod over_training;
pub mod power_law;
pub mod random_features;
pub mod references;
pub mod run;
pub mod strong_generalization;
pub mod sweep;
pub mod transition;
pub mod wiener;

use std::ops::Range;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::compute::Engine;
use crate::data::Split;
use crate::error::{Error, Result};
use crate::shape::Shape;
use crate::train::{self, Session};
use ensemble::Ensemble;
use evaluation::EvalConfig;

/// An experiment. It advances while it is called, is paused otherwise, and is cancelled by dropping
/// it.
#[expect(async_fn_in_trait, reason = "an engine stays on its thread, so nobody needs Send")]
pub trait Experiment: Sized {
    /// Everything that determines the outcome, except the images.
    type Config: Clone + Serialize + DeserializeOwned + 'static;
    /// The outcome.
    type Findings: Serialize + 'static;
    /// Name on the command line and in reports.
    const NAME: &'static str;
    /// Title on the page.
    const TITLE: &'static str;
    /// Number of the figure in the paper, if any.
    const FIGURE: Option<u32>;

    /// The configuration of a preset for images of `shape`; all seeds derive from `seed`.
    fn preset(preset: Preset, shape: Shape, seed: u64) -> Self::Config;

    /// Number of training images that the experiment needs.
    fn images(config: &Self::Config) -> usize;

    /// How the experiment evaluates denoisers.
    fn evaluation(config: &Self::Config) -> &EvalConfig;

    /// Splits `config` into at most `parts` configurations of about equal work. Their findings, concatenated,
    /// are those of the whole.
    fn shards(config: &Self::Config, parts: usize) -> Vec<Self::Config>;

    /// Approximate floating-point operations for images of `dim` values, precise enough to compare
    /// configurations.
    fn flop(config: &Self::Config, dim: usize) -> Result<f64>;

    /// Prepares training on `split`.
    async fn new(engine: &Engine, split: &Split, config: Self::Config) -> Result<Self>;

    /// The findings so far; in full detail after the last step, the result.
    async fn findings(&mut self, detail: Detail) -> Result<Self::Findings>;

    /// The configuration of the experiment.
    fn config(&self) -> &Self::Config;

    /// The ensembles, always in the same order.
    fn ensembles(&mut self) -> Vec<&mut Ensemble>;

    /// Trains the ensemble that has done the smallest part of its steps for about `slice`.
    async fn advance(&mut self, slice: Duration) -> Result<Progress> {
        let ensembles = self.ensembles().into_iter();
        let behind = ensembles.min_by(|a, b| a.part_done().total_cmp(&b.part_done()));
        let training = behind.ok_or_else(nothing_to_train)?.advance(slice).await?;
        let [step, total] = steps(&self.sessions());
        Ok(Progress { step, total, seconds_left: training.seconds_left, training })
    }

    /// The training sessions, always in the same order.
    fn sessions(&mut self) -> Vec<&mut Session> {
        self.ensembles().into_iter().map(Ensemble::session_mut).collect()
    }

    /// Measurements that no session can restore.
    fn memory(&self) -> Result<Value> {
        Ok(Value::Null)
    }

    /// Restores what [`memory`](Self::memory) returned, or refuses it and stays unchanged.
    fn recall(&mut self, _memory: Value) -> Result<()> {
        Ok(())
    }
}

fn nothing_to_train() -> Error {
    Error::bad_input("There is nothing to train", "Choose at least one training-set size")
}

/// Training steps done, and in total.
fn steps(sessions: &[&mut Session]) -> [u32; 2] {
    let steps = sessions.iter().map(|s| [s.steps_done(), s.config().steps]);
    steps.fold([0, 0], |[a, b], [c, d]| [a.saturating_add(c), b.saturating_add(d)])
}

/// The largest of some training-set sizes.
fn largest(sizes: &[usize]) -> usize {
    sizes.iter().copied().max().unwrap_or(0)
}

/// Cuts a list of workloads into at most `parts` chunks, in order, of about equal work.
fn cut(work: &[f64], parts: usize) -> Vec<Range<usize>> {
    let total: f64 = work.iter().sum();
    let parts = parts.clamp(1, work.len().max(1)) as f64;
    let (mut chunks, mut first, mut sum) = (Vec::new(), 0, 0.0);
    for (next, pair) in (1..).zip(work.windows(2)) {
        sum += pair[0];
        let target = total * (chunks.len() + 1) as f64 / parts;
        if sum + pair[1] / 2.0 > target {
            chunks.push(first..next);
            first = next;
        }
    }
    chunks.push(first..work.len());
    chunks
}

/// Cuts a list into at most `parts` of about equal length.
fn cut_evenly<T: Clone>(list: &[T], parts: usize) -> impl Iterator<Item = Vec<T>> {
    cut(&vec![1.0; list.len()], parts).into_iter().map(|chunk| list[chunk].to_vec())
}

/// Cuts the networks of each size and seed into at most `parts`, first by size, then by seed, which preserves
/// the order of the findings.
fn cut_networks<S: Clone>(sizes: &[usize], seeds: &[S], parts: usize) -> Vec<(Vec<usize>, Vec<S>)> {
    let count = sizes.len().max(1);
    let cut_seeds = |(i, sizes): (usize, Vec<usize>)| {
        let of_size = if parts > count { share(i, count, parts) } else { 1 };
        cut_evenly(seeds, of_size).map(move |seeds| (sizes.clone(), seeds)).collect::<Vec<_>>()
    };
    cut_evenly(sizes, parts).enumerate().flat_map(cut_seeds).collect()
}

/// How many of `parts` the item at `index` out of `count` gets.
const fn share(index: usize, count: usize, parts: usize) -> usize {
    (index + 1) * parts / count - index * parts / count
}

/// How much to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// A few samples at a few noise levels: cheap enough to follow a run (see
    /// [`EvalConfig::preview`]).
    Preview,
    /// Everything that the configuration asks for.
    Full,
}

/// A preset: the size of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// An MLP of 192 units: less than a minute.
    Quick,
    /// An MLP of 384 units: minutes.
    Main,
    /// A U-Net, as in the paper: much longer.
    Faithful,
    /// A U-Net of 16 channels for photographs in colour: minutes on a GPU.
    CifarQuick,
    /// A U-Net of 32 channels for photographs in colour: a quarter of an hour per network on two cores.
    Cifar,
}

impl Preset {
    /// All presets, the smallest first.
    pub const ALL: [Self; 5] =
        [Self::Quick, Self::Main, Self::Faithful, Self::CifarQuick, Self::Cifar];

    /// Name of the preset.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Main => "main",
            Self::Faithful => "faithful",
            Self::CifarQuick => "cifar-quick",
            Self::Cifar => "cifar",
        }
    }

    /// The images for which the preset is meant.
    #[must_use]
    pub const fn shape(self) -> Shape {
        let (side, channels) = match self {
            Self::Quick | Self::Main => (12, 1),
            Self::Faithful => (16, 1),
            Self::CifarQuick | Self::Cifar => (32, 3),
        };
        Shape { height: side, width: side, channels }
    }

    /// Side in pixels of the images for which the preset is meant.
    #[must_use]
    pub const fn side(self) -> usize {
        self.shape().width
    }

    /// How the preset trains members with these `seeds` on images of `shape`.
    #[must_use]
    pub fn train(self, shape: Shape, seeds: Vec<u64>) -> train::Config {
        match self {
            Self::Quick => train::Config::quick(seeds),
            Self::Main => train::Config::main(seeds),
            Self::Faithful => train::Config::faithful(shape, seeds),
            Self::CifarQuick => train::Config::cifar(shape, 16, seeds),
            Self::Cifar => train::Config::cifar(shape, 32, seeds),
        }
    }

    /// How the preset evaluates.
    fn evaluation(self, seed: u64) -> EvalConfig {
        let sampler_steps = if self == Self::Quick { 10 } else { 14 };
        EvalConfig { sampler_steps, seed, ..EvalConfig::default() }
    }
}

/// How far an experiment has got.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Training steps done, over all ensembles.
    pub step: u32,
    /// Training steps in total.
    pub total: u32,
    /// Seconds to the end, if known.
    pub seconds_left: Option<f64>,
    /// Progress of the ensemble that has just trained.
    pub training: train::Progress,
}

impl Progress {
    /// Whether all steps are done.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.step >= self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_about_equal() {
        let sizes = |work: &[f64], parts| -> Vec<usize> {
            let chunks = cut(work, parts);
            assert_eq!(
                chunks.iter().flat_map(Clone::clone).collect::<Vec<_>>(),
                (0..work.len()).collect::<Vec<_>>()
            );
            chunks.iter().map(|chunk| chunk.len()).collect()
        };
        assert_eq!(sizes(&[1.0; 6], 3), [2, 2, 2]);
        assert_eq!(sizes(&[1.0; 5], 2), [3, 2]);
        assert_eq!(sizes(&[1.0; 9], 4), [2, 3, 2, 2]);
        assert_eq!(sizes(&[1.0; 2], 8), [1, 1]);
        assert_eq!(sizes(&[1.0; 3], 0), [3]);
        assert_eq!(sizes(&[4.0, 1.0, 1.0, 1.0, 1.0], 2), [1, 4]);
        assert_eq!(sizes(&[1.0, 1.0, 9.0, 1.0], 3), [2, 1, 1]);
        assert_eq!(sizes(&[], 3), [0]);
    }
}
