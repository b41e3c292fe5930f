//! Experiments by name, with their configurations and reports as JSON: what a page or a file has.

use std::marker::PhantomData;
use std::pin::Pin;
use std::time::Duration;

use serde_json::value::RawValue;
use web_time::Instant;

use super::emergence::Emergence;
use super::gaussian_bias::GaussianBias;
use super::portrait::Look;
use super::run::{Run, Stage, to_json};
use super::strong_generalization::StrongGeneralization;
use super::transition::Transition;
use super::{Detail, Experiment, Preset, Progress};
use crate::compute::Engine;
use crate::data::{Shape, Split};
use crate::error::{Error, Result};
use crate::json;

/// What comes of something that takes time.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// An experiment of which only the name is known.
pub trait AnyExperiment {
    /// The configuration of a preset (see [`Experiment::preset`]).
    fn preset(&self, preset: Preset, shape: Shape, seed: u64) -> Result<String>;

    /// Training images that it needs.
    fn images(&self, config: &str) -> Result<usize>;

    /// At most `parts` configurations of about equal work (see [`Experiment::shares`]).
    fn shares(&self, config: &str, parts: usize) -> Result<Vec<String>>;

    /// Makes everything ready to train on `split`.
    fn start<'a>(
        &'a self,
        engine: &'a Engine,
        split: &'a Split,
        config: &'a str,
    ) -> Later<'a, Box<dyn AnyRun>>;
}

/// A [`Run`] of any experiment.
pub trait AnyRun {
    /// See [`Run::advance`].
    fn advance(&mut self, slice: Duration) -> Later<'_, Progress>;

    /// See [`Run::report`].
    fn report(&mut self, detail: Detail) -> Later<'_, String>;

    /// See [`Run::weights`].
    fn weights(&mut self) -> Later<'_, Vec<Vec<u8>>>;

    /// See [`Run::snapshot`].
    fn snapshot(&mut self) -> Later<'_, Vec<u8>>;

    /// See [`Run::restore`].
    fn restore(&mut self, bytes: &[u8]) -> Result<()>;
}

/// What the experiments are called.
pub const NAMES: [&str; 4] =
    [Transition::NAME, GaussianBias::NAME, Emergence::NAME, StrongGeneralization::NAME];

/// The experiment called `name`.
pub fn by_name(name: &str) -> Result<&'static dyn AnyExperiment> {
    Ok(match name {
        Transition::NAME => &Of::<Transition>(PhantomData),
        GaussianBias::NAME => &Of::<GaussianBias>(PhantomData),
        Emergence::NAME => &Of::<Emergence>(PhantomData),
        StrongGeneralization::NAME => &Of::<StrongGeneralization>(PhantomData),
        _ => {
            return Err(Error::bad_input(
                format!("No experiment is called “{name}”"),
                format!("Choose one of {}", NAMES.join(", ")),
            ));
        }
    })
}

struct Of<E>(PhantomData<E>);

impl<E: Experiment> Of<E> {
    fn parse(config: &str) -> Result<E::Config> {
        json::parse(config).map_err(|error| unreadable(E::NAME, &error))
    }
}

fn unreadable(name: &str, error: &dyn std::error::Error) -> Error {
    Error::bad_input(
        format!("The configuration of “{name}” can't be read: {error}"),
        "Begin with that of a preset and change what you want",
    )
}

impl<E: Experiment + 'static> AnyExperiment for Of<E> {
    fn preset(&self, preset: Preset, shape: Shape, seed: u64) -> Result<String> {
        to_json(&E::preset(preset, shape, seed))
    }

    fn images(&self, config: &str) -> Result<usize> {
        Ok(E::images(&Self::parse(config)?))
    }

    fn shares(&self, config: &str, parts: usize) -> Result<Vec<String>> {
        E::shares(&Self::parse(config)?, parts).iter().map(to_json).collect()
    }

    fn start<'a>(
        &'a self,
        engine: &'a Engine,
        split: &'a Split,
        config: &'a str,
    ) -> Later<'a, Box<dyn AnyRun>> {
        Box::pin(async move {
            let run = Run::<E>::start(engine, split, Self::parse(config)?).await?;
            Ok(Box::new(run) as Box<dyn AnyRun>)
        })
    }
}

/// A report of JSON that is ready.
fn assemble(
    stage: &Stage,
    name: &'static str,
    detail: Detail,
    look: &Look,
    parts: [String; 2],
) -> Result<String> {
    let [config, findings] = parts.map(RawValue::from_string);
    let raw = |part: serde_json::Result<_>| part.map_err(|error| unreadable(name, &error));
    to_json(&stage.report(name, detail, look, raw(config)?, raw(findings)?))
}

impl<E: Experiment> AnyRun for Run<E> {
    fn advance(&mut self, slice: Duration) -> Later<'_, Progress> {
        Box::pin(self.advance(slice))
    }

    fn report(&mut self, detail: Detail) -> Later<'_, String> {
        Box::pin(async move {
            let start = Instant::now();
            let findings = to_json(&self.experiment.findings(detail).await?)?;
            self.stage.spend(start);
            let config = self.experiment.config();
            let (look, config) = (E::look(config), to_json(config)?);
            assemble(&self.stage, E::NAME, detail, look, [config, findings])
        })
    }

    fn weights(&mut self) -> Later<'_, Vec<Vec<u8>>> {
        Box::pin(self.weights())
    }

    fn snapshot(&mut self) -> Later<'_, Vec<u8>> {
        Box::pin(self.snapshot())
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        self.restore(bytes)
    }
}
