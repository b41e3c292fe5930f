//! An ensemble under study: it trains in slices of time, and sits for portraits in between.
//!
//! The caller drives: `advance` while it wants to, `portraits` when it wants to look. So pausing is
//! not calling, and cancelling is dropping.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use web_time::Instant;

use super::portrait::{Lens, Look, Portrait, linear_portraits, portraits, score_difference};
use crate::compute::Engine;
use crate::data::Split;
use crate::denoiser::{
    Denoiser, Distillation, DistilledOn, Empirical, Gaussian, Linear, TrainingSets,
};
use crate::error::{Error, Result};
use crate::metrics::{Closeness, Estimate, Linearity, nearest_images};
use crate::train::{Config, Plan, Report, Session, Status};

/// A network to train: on which part of the pool, and from which seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// First training image.
    pub first: usize,
    /// Number of training images.
    pub n: usize,
    /// Seed of its weights and batches.
    pub seed: u64,
}

/// An ensemble with everything that is measured of it.
#[derive(Debug)]
pub struct Study {
    engine: Engine,
    split: Split,
    sets: TrainingSets,
    look: Look,
    session: Session,
    lens: Lens,
    distillation: Option<Distillation>,
    /// Steps that fill a slice of time, as far as is known.
    pace: u32,
}

impl Study {
    /// Records and loads the training of `members` on `split`; the seeds of `config` are theirs.
    pub async fn new(
        engine: &Engine,
        split: &Split,
        members: &[Member],
        config: &Config,
        look: &Look,
    ) -> Result<Self> {
        let ranges: Vec<_> = members.iter().map(|m| m.first..m.first + m.n).collect();
        let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
        let sets = TrainingSets::new(split.subset(0..end)?, split.dim(), ranges)?;
        let seeds = members.iter().map(|member| member.seed).collect();
        let mut plan = Plan::new(engine, Config { seeds, ..config.clone() }, &sets)?;
        let denoiser = plan.denoiser();
        let lens = Lens::place(&mut plan.program, &denoiser, split, &sets, look)?;
        let distillation = match look.distillation {
            Some(how) => {
                let images = match how.images {
                    DistilledOn::Training => sets.clone(),
                    DistilledOn::HeldOut => {
                        let all = vec![0..split.held_out_len(); members.len()];
                        TrainingSets::new(split.held_out(), split.dim(), all)?
                    }
                };
                let p = &mut plan.program;
                Some(Distillation::place(p, &denoiser, &images, how, look.seed)?)
            }
            None => None,
        };
        let session = plan.load(engine).await?;
        let (engine, split, look) = (engine.clone(), split.clone(), look.clone());
        Ok(Self { engine, split, sets, look, session, lens, distillation, pace: 1 })
    }

    /// Trains for about `slice`, and tells how it goes. Does nothing once all steps are done.
    pub async fn advance(&mut self, slice: Duration) -> Result<Report> {
        self.advance_to(u32::MAX, slice).await
    }

    /// The same, but not beyond step `until`.
    pub async fn advance_to(&mut self, until: u32, slice: Duration) -> Result<Report> {
        let start = Instant::now();
        let count = self.pace.min(until.saturating_sub(self.session.steps_done()));
        let done = self.session.step(count)?;
        let report = self.session.report().await?;
        let elapsed = start.elapsed().as_secs_f64().max(1e-4);
        if done == self.pace {
            // Doubling at most keeps one slow measurement from causing a long slice.
            let fitting = f64::from(done) * slice.as_secs_f64() / elapsed;
            self.pace = (fitting as u32).clamp(1, self.pace.saturating_mul(2));
        }
        Ok(report)
    }

    /// Whether all steps are done.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.session.steps_done() >= self.session.config().steps
    }

    /// The training run.
    #[must_use]
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// The training run, to save or restore it.
    pub const fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// The training sets of the members.
    #[must_use]
    pub const fn sets(&self) -> &TrainingSets {
        &self.sets
    }

    /// The images that it learns from and is tested on.
    #[must_use]
    pub const fn split(&self) -> &Split {
        &self.split
    }

    /// Portraits of the members as they are now.
    pub async fn portraits(&mut self) -> Result<Vec<Portrait>> {
        self.lens.take(&mut self.session.loaded).await
    }

    /// D_L of each member as it is now (eq. 5), and its portrait.
    pub async fn distil(&mut self) -> Result<(Linear, Vec<Portrait>)> {
        let Some(distillation) = &self.distillation else {
            return Err(Error::bad_input(
                "Nothing was made ready for distillation",
                "Say in the configuration how to distil",
            ));
        };
        let sigmas = self.look.all_sigmas()?;
        let linear = distillation.fit(&mut self.session.loaded, &sigmas).await?;
        let Self { engine, split, sets, look, .. } = self;
        let portraits = linear_portraits(engine, &linear, split, sets, look).await?;
        Ok((linear, portraits))
    }

    /// Portraits of D_G and D_M of each member's training set.
    pub async fn references(&self) -> Result<References> {
        let gaussian = Gaussian::fit(&self.sets)?;
        let empirical = Empirical::new(self.sets.clone());
        let images = self.split.held_out();
        let images = &images[..images.len().min(self.look.samples * self.split.dim())];
        let held_out = nearest_images(&self.engine, &self.sets, images).await?;
        Ok(References {
            gaussian: self.portraits_of(&gaussian).await?,
            empirical: self.portraits_of(&empirical).await?,
            held_out: held_out.into_iter().map(|found| found.closeness).collect(),
            fits: gaussian,
        })
    }

    /// What the members' portraits say, beside the references.
    pub async fn points(&mut self, references: &References) -> Result<Vec<Point>> {
        let portraits = self.portraits().await?;
        self.describe(&portraits, references).await
    }

    /// The same of portraits that were just taken.
    pub async fn describe(
        &mut self,
        portraits: &[Portrait],
        references: &References,
    ) -> Result<Vec<Point>> {
        let report = self.session.report().await?;
        let config = self.session.config();
        let point = |(m, portrait): (usize, &Portrait)| {
            let range = &self.sets.ranges()[m];
            let (gaussian, empirical) = (&references.gaussian[m], &references.empirical[m]);
            let mean = references.mean(m);
            let dim = self.split.dim();
            let difference = |other: &Portrait| Differences {
                held_out: score_difference(&portrait.held_out, &other.held_out, dim),
                train: score_difference(&portrait.train, &other.train, dim),
            };
            Point {
                member: Member { first: range.start, n: range.len(), seed: config.seeds[m] },
                step: report.step,
                epochs: f64::from(report.step) * config.batch as f64 / range.len() as f64,
                status: report.members[m].status,
                closeness: portrait.nearest.closeness.clone(),
                closeness_gaussian: gaussian.nearest.closeness.clone(),
                closeness_held_out: references.held_out[m].clone(),
                linearity: portrait.linearity.clone(),
                linearity_gaussian: gaussian.linearity.clone(),
                linearity_empirical: empirical.linearity.clone(),
                cosine_gaussian: portrait.sample_cosine(gaussian, &mean),
                cosine_empirical: portrait.sample_cosine(empirical, &mean),
                nmse_gaussian: gaussian.sample_nmse(portrait, &mean),
                difference_gaussian: difference(gaussian),
                difference_empirical: difference(empirical),
                error_held_out: portrait.held_out.error.clone(),
                error_train: portrait.train.error.clone(),
                error_gaussian: gaussian.held_out.error.clone(),
            }
        };
        Ok(portraits.iter().enumerate().map(point).collect())
    }

    async fn portraits_of(&self, denoiser: &dyn Denoiser) -> Result<Vec<Portrait>> {
        portraits(&self.engine, denoiser, &self.split, &self.sets, &self.look).await
    }
}

/// The two exact denoisers of each member's training set.
#[derive(Debug)]
pub struct References {
    /// D_G of each member.
    pub gaussian: Vec<Portrait>,
    /// D_M of each member.
    pub empirical: Vec<Portrait>,
    /// How close held-out images come to each training set: what a perfect generator would score.
    pub held_out: Vec<Closeness>,
    /// The Gaussians themselves.
    pub fits: Gaussian,
}

impl References {
    /// The mean of a member's training images.
    #[must_use]
    pub fn mean(&self, member: usize) -> Vec<f32> {
        self.fits.fits()[member].mean.iter().map(|&v| v as f32).collect()
    }
}

/// Score differences (eq. 6) at each noise level.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Differences {
    /// On held-out images.
    pub held_out: Vec<Estimate>,
    /// On the member's own training images.
    pub train: Vec<Estimate>,
}

/// One network at one moment, in numbers. Lists run over the noise levels of the [`Look`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Point {
    /// What it was trained on.
    #[serde(flatten)]
    pub member: Member,
    /// Training steps so far.
    pub step: u32,
    /// How often it has seen each training image, on average.
    pub epochs: f64,
    /// Whether it still learns.
    pub status: Status,
    /// How close its samples come to its training set.
    pub closeness: Closeness,
    /// How close D_G's samples come to it.
    pub closeness_gaussian: Closeness,
    /// How close held-out images come to it.
    pub closeness_held_out: Closeness,
    /// Linearity of D_θ.
    pub linearity: Vec<Linearity>,
    /// Linearity of D_G.
    pub linearity_gaussian: Vec<Linearity>,
    /// Linearity of D_M.
    pub linearity_empirical: Vec<Linearity>,
    /// Cosine between its samples and D_G's from the same noise, about the training mean.
    pub cosine_gaussian: Estimate,
    /// Cosine between its samples and D_M's.
    pub cosine_empirical: Estimate,
    /// `‖x_G - x_θ‖ / ‖x_G - mean‖` of samples from the same noise.
    pub nmse_gaussian: Estimate,
    /// Score difference between D_θ and D_G.
    pub difference_gaussian: Differences,
    /// Score difference between D_θ and D_M.
    pub difference_empirical: Differences,
    /// Denoising error of D_θ on held-out images.
    pub error_held_out: Vec<Estimate>,
    /// Denoising error of D_θ on its training images.
    pub error_train: Vec<Estimate>,
    /// Denoising error of D_G on held-out images.
    pub error_gaussian: Vec<Estimate>,
}
