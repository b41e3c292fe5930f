//! An ensemble under study: it trains in slices of time, and sits for portraits in between.
//!
//! The caller drives: `advance` while it wants to, `portraits` when it wants to look. So pausing is
//! not calling, and cancelling is dropping.

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use web_time::Instant;

use super::Detail;
use super::gallery::Gallery;
use super::portrait::{Lens, Look, Portrait, linear_portraits, score_difference};
use super::references::{Reference, References};
use crate::compute::Engine;
use crate::data::Split;
use crate::denoiser::{Distillation, DistilledOn, Linear, TrainingSets};
use crate::error::{Error, Result};
use crate::metrics::{Closeness, Estimate, Linearity};
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

impl Member {
    /// Its part of the pool.
    #[must_use]
    pub const fn range(&self) -> Range<usize> {
        self.first..self.first.saturating_add(self.n)
    }
}

/// An ensemble with everything that is measured of it.
#[derive(Debug)]
pub struct Study {
    engine: Engine,
    split: Split,
    sets: TrainingSets,
    session: Session,
    lens: Lens,
    glance: Lens,
    distillation: Option<Distillation>,
    /// Steps of the last slice, and how long each took.
    last: u32,
    step_seconds: Option<f64>,
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
        let ranges: Vec<_> = members.iter().map(Member::range).collect();
        let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
        let sets = TrainingSets::new(split.subset(0..end)?, split.dim(), ranges)?;
        let seeds = members.iter().map(|member| member.seed).collect();
        let mut plan = Plan::new(engine, Config { seeds, ..config.clone() }, &sets)?;
        let denoiser = plan.denoiser();
        let mut lens = |look| Lens::place(&mut plan.program, &denoiser, split, &sets, look);
        let (glance, lens) = (lens(&look.glance())?, lens(look)?);
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
        let (engine, split) = (engine.clone(), split.clone());
        let (last, step_seconds) = (1, None);
        Ok(Self { engine, split, sets, session, lens, glance, distillation, last, step_seconds })
    }

    /// Trains for about `slice`, and tells how it goes. Does nothing once all steps are done.
    pub async fn advance(&mut self, slice: Duration) -> Result<Report> {
        self.advance_to(u32::MAX, slice).await
    }

    /// The same, but not beyond step `until`.
    pub async fn advance_to(&mut self, until: u32, slice: Duration) -> Result<Report> {
        let start = Instant::now();
        let left = until.saturating_sub(self.session.steps_done());
        let fitting = self.step_seconds.map_or(1.0, |each| slice.as_secs_f64() / each);
        // Doubling at most keeps one wrong measurement from causing a long slice.
        let count = (fitting as u32).clamp(1, self.last.saturating_mul(2)).min(left);
        let done = self.session.step_breathing(count).await?;
        let report = self.session.report().await?;
        if done > 0 {
            self.step_seconds = Some(start.elapsed().as_secs_f64().max(1e-4) / f64::from(done));
            self.last = done;
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

    /// How the members are looked at.
    #[must_use]
    pub const fn look(&self) -> &Look {
        self.lens.look()
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
    pub async fn portraits(&mut self, detail: Detail) -> Result<Vec<Portrait>> {
        let lens = match detail {
            Detail::Glance => &self.glance,
            Detail::Full => &self.lens,
        };
        lens.take(&mut self.session.loaded).await
    }

    /// D_L of each member as it is now (eq. 5), and its portrait.
    pub async fn distil(&mut self) -> Result<(Linear, Vec<Portrait>)> {
        let Some(distillation) = &self.distillation else {
            return Err(Error::bad_input(
                "Nothing was made ready for distillation",
                "Say in the configuration how to distil",
            ));
        };
        let look = self.lens.look();
        let sigmas = look.all_sigmas()?;
        let linear = distillation.fit(&mut self.session.loaded, &sigmas).await?;
        let Self { engine, split, sets, .. } = self;
        let portraits = linear_portraits(engine, &linear, split, sets, look).await?;
        Ok((linear, portraits))
    }

    /// What the members' portraits say, beside the references.
    pub async fn points(
        &mut self,
        references: &mut References,
        detail: Detail,
    ) -> Result<Vec<Point>> {
        let portraits = self.portraits(detail).await?;
        self.describe(&portraits, references.at(detail).await?).await
    }

    /// The same of portraits that were just taken.
    pub async fn describe(
        &mut self,
        portraits: &[Portrait],
        references: &[Reference],
    ) -> Result<Vec<Point>> {
        let report = self.session.report().await?;
        let (config, parameters) = (self.session.config(), self.session.parameter_count());
        let (dim, shown) = (self.split.dim(), self.lens.look().shown);
        let point = |(m, portrait): (usize, &Portrait)| {
            let range = &self.sets.ranges()[m];
            let reference = Reference::of(references, range)?;
            let Reference { gaussian, empirical, .. } = reference;
            let (mean, status) = (reference.mean(), report.members[m].status);
            let images_seen = f64::from(status.steps(report.step)) * config.batch as f64;
            Ok(Point {
                member: Member { first: range.start, n: range.len(), seed: config.seeds[m] },
                parameters,
                step: report.step,
                epochs: images_seen / range.len() as f64,
                status,
                closeness: portrait.nearest.closeness.clone(),
                closeness_gaussian: gaussian.nearest.closeness.clone(),
                closeness_held_out: reference.held_out.clone(),
                linearity: portrait.linearity.clone(),
                linearity_gaussian: gaussian.linearity.clone(),
                linearity_empirical: empirical.linearity.clone(),
                cosine_gaussian: portrait.sample_cosine(gaussian, &mean),
                cosine_empirical: portrait.sample_cosine(empirical, &mean),
                nmse_gaussian: gaussian.sample_nmse(portrait, &mean),
                difference_gaussian: Differences::between(portrait, gaussian, dim),
                difference_empirical: Differences::between(portrait, empirical, dim),
                error_held_out: portrait.held_out.error.clone(),
                error_train: portrait.train.error.clone(),
                error_gaussian: gaussian.held_out.error.clone(),
                gallery: Gallery::new(
                    [portrait, gaussian, empirical],
                    &self.sets,
                    &self.split,
                    shown,
                ),
            })
        };
        portraits.iter().enumerate().map(point).collect()
    }
}

/// Score differences (eq. 6) at each noise level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Differences {
    /// On held-out images.
    pub held_out: Vec<Estimate>,
    /// On the member's own training images.
    pub train: Vec<Estimate>,
}

impl Differences {
    /// Between two denoisers that saw the same noisy images of `dim` numbers.
    #[must_use]
    pub fn between(a: &Portrait, b: &Portrait, dim: usize) -> Self {
        Self {
            held_out: score_difference(&a.held_out, &b.held_out, dim),
            train: score_difference(&a.train, &b.train, dim),
        }
    }
}

/// One network at one moment, in numbers. Lists run over the noise levels of the [`Look`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Point {
    /// What it was trained on.
    #[serde(flatten)]
    pub member: Member,
    /// Numbers that it learns.
    pub parameters: usize,
    /// Training steps of the ensemble so far.
    pub step: u32,
    /// How often it has learned from each training image, on average.
    pub epochs: f64,
    /// Whether it still learns. What is found of a network that does not is found of its last good
    /// weights, and says nothing of one that is trained.
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
    /// Some of its samples.
    pub gallery: Gallery,
}

impl Point {
    /// Keeps these noise levels of every list.
    pub fn keep(&mut self, levels: &[usize]) {
        fn pick<T: Clone>(list: &mut Vec<T>, levels: &[usize]) {
            *list = levels.iter().filter_map(|&level| list.get(level).cloned()).collect();
        }
        let linearities =
            [&mut self.linearity, &mut self.linearity_gaussian, &mut self.linearity_empirical];
        linearities.into_iter().for_each(|list| pick(list, levels));
        let (gaussian, empirical) = (&mut self.difference_gaussian, &mut self.difference_empirical);
        let estimates = [
            &mut gaussian.held_out,
            &mut gaussian.train,
            &mut empirical.held_out,
            &mut empirical.train,
            &mut self.error_held_out,
            &mut self.error_train,
            &mut self.error_gaussian,
        ];
        estimates.into_iter().for_each(|list| pick(list, levels));
    }
}
