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
//! denoiser, and [`references`], the exact denoisers beside it. A [`run`] makes reports of them.

pub mod emergence;
pub mod exact;
pub mod gallery;
pub mod gaussian_bias;
pub mod portrait;
pub mod references;
pub mod run;
pub mod strong_generalization;
pub mod study;
pub mod transition;
pub mod wiener;

use std::time::Duration;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::compute::Engine;
use crate::data::{Shape, Split};
use crate::error::Result;
use crate::train;
use portrait::Look;

/// An experiment in the caller's hand: it advances while it is called, pauses while it is not, and
/// is cancelled by dropping it.
#[expect(async_fn_in_trait, reason = "an engine stays on its thread, so nobody needs Send")]
pub trait Experiment: Sized {
    /// Everything that decides the outcome, but the images.
    type Config: Clone + Serialize + DeserializeOwned;
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

    /// Makes everything ready to train on `split`.
    async fn new(engine: &Engine, split: &Split, config: Self::Config) -> Result<Self>;

    /// Goes on for about `slice`.
    async fn advance(&mut self, slice: Duration) -> Result<Progress>;

    /// What there is to see now; in full after the last step, the result.
    async fn findings(&mut self, detail: Detail) -> Result<Self::Findings>;

    /// The configuration that it was made with.
    fn config(&self) -> &Self::Config;
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
