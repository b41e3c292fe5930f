//! An experiment that runs, and its report: what was found, with all that is needed to find it again.

use std::time::Duration;

use serde::Serialize;
use web_time::Instant;

use super::{Detail, Experiment, Progress};
use crate::compute::Engine;
use crate::data::{Recipe, Shape, Split};
use crate::error::Result;

/// What an experiment found.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report<C, F> {
    /// Which experiment.
    pub experiment: &'static str,
    /// Version of this crate.
    pub version: &'static str,
    /// `"cpu"` or `"gpu"`.
    pub engine: &'static str,
    /// Name of the GPU, if it was one.
    pub adapter: Option<String>,
    /// Shape of an image.
    pub shape: Shape,
    /// The images.
    pub data: Recipe,
    /// How long it ran so far.
    pub seconds: f64,
    /// Whether it was looked at in full.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// The noise levels over which lists run.
    pub sigmas: Vec<f32>,
    /// The configuration.
    pub config: C,
    /// The outcome.
    pub findings: F,
}

/// An experiment on its engine and its images.
#[derive(Debug)]
pub struct Run<E> {
    experiment: E,
    engine: Engine,
    shape: Shape,
    data: Recipe,
    seconds: f64,
}

impl<E: Experiment> Run<E> {
    /// Makes everything ready.
    pub async fn start(engine: &Engine, split: &Split, config: E::Config) -> Result<Self> {
        let start = Instant::now();
        let experiment = E::new(engine, split, config).await?;
        let (engine, shape, data) = (engine.clone(), split.shape(), split.recipe().clone());
        Ok(Self { experiment, engine, shape, data, seconds: start.elapsed().as_secs_f64() })
    }

    /// Goes on for about `slice`.
    pub async fn advance(&mut self, slice: Duration) -> Result<Progress> {
        let start = Instant::now();
        let progress = self.experiment.advance(slice).await;
        self.seconds += start.elapsed().as_secs_f64();
        progress
    }

    /// What there is to see now.
    pub async fn report(&mut self, detail: Detail) -> Result<Report<E::Config, E::Findings>> {
        let start = Instant::now();
        let findings = self.experiment.findings(detail).await?;
        self.seconds += start.elapsed().as_secs_f64();
        let config = self.experiment.config().clone();
        let sigmas = match detail {
            Detail::Glance => E::look(&config).glance().sigmas,
            Detail::Full => E::look(&config).sigmas.clone(),
        };
        Ok(Report {
            experiment: E::NAME,
            version: env!("CARGO_PKG_VERSION"),
            engine: self.engine.name(),
            adapter: match &self.engine {
                Engine::Cpu => None,
                Engine::Gpu(gpu) => Some(gpu.adapter()),
            },
            shape: self.shape,
            data: self.data.clone(),
            seconds: self.seconds,
            is_final: detail == Detail::Full,
            sigmas,
            config,
            findings,
        })
    }
}
