//! What the figures show: configuration in, numbers and images out.
//!
//! | | figure | what it asks |
//! |---|---|---|
//! | [`exact`] | | what D_M and D_G do, without any training |
//! | [`transition`] | 1 | when do networks stop to memorize, and how linear are they then? |
//! | [`gaussian_bias`] | 2 | which of D_L, D_G and D_M is a network close to? |
//! | [`emergence`] | 3 | do small or young networks find the Gaussian structure, too? |
//! | [`strong_generalization`] | | do networks that share no training image make the same images? |
//! | [`wiener`] | | does a linear denoiser learn D_G (Theorem 1)? |
//!
//! They are built of a [`study`], which trains an ensemble, [`portrait`]s, all that is shown of a
//! denoiser, and [`references`], the exact denoisers beside it. A [`run`] saves
//! them and makes reports; [`any`] finds them by name.

pub mod any;
pub mod emergence;
pub mod exact;
pub mod gallery;
pub mod gaussian_bias;
pub mod portrait;
pub mod references;
pub mod run;
pub mod strong_generalization;
pub mod study;
#[cfg(not(target_arch = "wasm32"))]
pub mod sweep;
pub mod transition;
pub mod wiener;

use std::ops::Range;
use std::time::Duration;

use serde::Serialize;

use crate::compute::Engine;
use crate::data::{Shape, Split};
use crate::error::Result;
use crate::json::FromJson;
use crate::train::{self, Session};
use portrait::Look;

/// An experiment in the caller's hand: it advances while it is called, pauses while it is not, and
/// is cancelled by dropping it.
#[expect(async_fn_in_trait, reason = "an engine stays on its thread, so nobody needs Send")]
pub trait Experiment: Sized {
    /// Everything that decides the outcome, but the images.
    type Config: Clone + Serialize + FromJson;
    /// What came out.
    type Findings: Serialize;
    /// Its name on the command line and in reports.
    const NAME: &'static str;

    /// The configuration of a preset for images of `shape`; every seed follows from `seed`.
    fn preset(preset: Preset, shape: Shape, seed: u64) -> Self::Config;

    /// Training images that it needs.
    fn images(config: &Self::Config) -> usize;

    /// How it looks at denoisers.
    fn look(config: &Self::Config) -> &Look;

    /// Splits `config` into at most `parts`, of about equal work. Their findings, one after the
    /// other, are the whole's.
    fn shares(config: &Self::Config, parts: usize) -> Vec<Self::Config>;

    /// Makes everything ready to train on `split`.
    async fn new(engine: &Engine, split: &Split, config: Self::Config) -> Result<Self>;

    /// Goes on for about `slice`.
    async fn advance(&mut self, slice: Duration) -> Result<Progress>;

    /// What there is to see now; in full after the last step, the result.
    async fn findings(&mut self, detail: Detail) -> Result<Self::Findings>;

    /// The configuration that it was made with.
    fn config(&self) -> &Self::Config;

    /// Its ensembles, always in the same order.
    fn sessions(&mut self) -> Vec<&mut Session>;

    /// What it saw on the way and no ensemble remembers, as JSON.
    fn memory(&self) -> Result<String> {
        Ok(String::new())
    }

    /// Takes over what [`memory`](Self::memory) said, or refuses it and stays what it was.
    fn recall(&mut self, _memory: &str) -> Result<()> {
        Ok(())
    }
}

/// Cuts a list of works into at most `parts` pieces, in order, of about equal work.
fn cut(work: &[f64], parts: usize) -> Vec<Range<usize>> {
    let total: f64 = work.iter().sum();
    let parts = parts.clamp(1, work.len().max(1)) as f64;
    let (mut pieces, mut first, mut sum) = (Vec::new(), 0, 0.0);
    for (next, pair) in (1..).zip(work.windows(2)) {
        sum += pair[0];
        let target = total * (pieces.len() + 1) as f64 / parts;
        if sum + pair[1] / 2.0 > target {
            pieces.push(first..next);
            first = next;
        }
    }
    pieces.push(first..work.len());
    pieces
}

/// The same for works that are all alike.
fn cut_evenly<T: Clone>(list: &[T], parts: usize) -> impl Iterator<Item = Vec<T>> {
    cut(&vec![1.0; list.len()], parts).into_iter().map(|piece| list[piece].to_vec())
}

/// How closely to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// A few samples at a few noise levels, so cheap that a page can look while it trains (see
    /// [`Look::glance`]).
    Glance,
    /// Everything.
    Full,
}

/// A size of experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// An MLP of 192 units: less than a minute.
    Quick,
    /// An MLP of 384 units: minutes.
    Main,
    /// A U-Net, as in the paper: much longer.
    Faithful,
}

impl Preset {
    /// All of them, the smallest first.
    pub const ALL: [Self; 3] = [Self::Quick, Self::Main, Self::Faithful];

    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Main => "main",
            Self::Faithful => "faithful",
        }
    }

    /// Sides of the images that it is meant for.
    #[must_use]
    pub const fn side(self) -> usize {
        match self {
            Self::Quick | Self::Main => 12,
            Self::Faithful => 16,
        }
    }

    /// How it trains on images of `shape`. The seeds are the members'.
    fn train(self, shape: Shape) -> train::Config {
        match self {
            Self::Quick => train::Config::quick(Vec::new()),
            Self::Main => train::Config::main(Vec::new()),
            Self::Faithful => train::Config::faithful(shape, Vec::new()),
        }
    }

    /// What it looks at.
    fn look(self, seed: u64) -> Look {
        let sampler_steps = if self == Self::Quick { 10 } else { 14 };
        Look { sampler_steps, seed, ..Look::default() }
    }
}

/// How far an experiment is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Training steps done, of all its ensembles.
    pub step: u32,
    /// Training steps in all.
    pub total: u32,
    /// Time to the end, if it is known.
    pub seconds_left: Option<f64>,
    /// The ensemble that has just trained.
    pub training: train::Report,
}

impl Progress {
    /// Whether all steps are done.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.step >= self.total
    }

    /// Of an experiment with one ensemble.
    const fn of(training: train::Report) -> Self {
        let train::Report { step, total, seconds_left, .. } = training;
        Self { step, total, seconds_left, training }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_about_equal() {
        let sizes = |work: &[f64], parts| -> Vec<usize> {
            let pieces = cut(work, parts);
            assert_eq!(
                pieces.iter().flat_map(Clone::clone).collect::<Vec<_>>(),
                (0..work.len()).collect::<Vec<_>>()
            );
            pieces.iter().map(|piece| piece.len()).collect()
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
