//! Experiments by name, with configurations as JSON values, for the page and for files.

use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;
use std::pin::Pin;
use std::time::Duration;

use serde_json::Value;

use super::clocks::Clocks;
use super::emergence::Emergence;
use super::gaussian_bias::GaussianBias;
use super::modes::Modes;
use super::run::Run;
use super::strong_generalization::StrongGeneralization;
use super::transition::Transition;
use super::{Detail, Experiment, Preset, Progress};
use crate::compute::Engine;
use crate::data::Split;
use crate::error::{Error, Result};
use crate::serial;
use crate::shape::Shape;

/// A boxed future of a result.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// An experiment behind a trait object.
pub trait AnyExperiment: Sync + Debug {
    /// See [`Experiment::NAME`].
    fn name(&self) -> &'static str;

    /// See [`Experiment::TITLE`].
    fn title(&self) -> &'static str;

    /// See [`Experiment::FIGURE`].
    fn figure(&self) -> Option<u32>;

    /// The configuration of a preset (see [`Experiment::preset`]).
    fn preset(&self, preset: Preset, shape: Shape, seed: u64) -> Result<Value>;

    /// Number of training images that the experiment needs.
    fn images(&self, config: Value) -> Result<usize>;

    /// At most `parts` configurations of about equal work (see [`Experiment::shards`]).
    fn shards(&self, config: Value, parts: usize) -> Result<Vec<Value>>;

    /// Approximate floating-point operations (see [`Experiment::flop`]).
    fn flop(&self, config: Value, dim: usize) -> Result<f64>;

    /// Prepares training on `split`.
    fn start<'a>(
        &'a self,
        engine: &'a Engine,
        split: &'a Split,
        config: Value,
    ) -> Later<'a, Box<dyn AnyRun>>;
}

/// A [`Run`] behind a trait object.
pub trait AnyRun {
    /// See [`Run::advance`].
    fn advance(&mut self, slice: Duration) -> Later<'_, Progress>;

    /// See [`Run::report`].
    fn report(&mut self, detail: Detail) -> Later<'_, Box<dyn erased_serde::Serialize>>;

    /// See [`Run::weights`].
    fn weights(&mut self) -> Later<'_, Vec<Vec<u8>>>;

    /// See [`Run::snapshot`].
    fn snapshot(&mut self) -> Later<'_, Vec<u8>>;

    /// See [`Run::restore`].
    fn restore(&mut self, bytes: &[u8]) -> Result<()>;
}

/// Every experiment that a page can run.
pub static ALL: [&dyn AnyExperiment; 6] = [
    &Of::<Transition>(PhantomData),
    &Of::<GaussianBias>(PhantomData),
    &Of::<Emergence>(PhantomData),
    &Of::<StrongGeneralization>(PhantomData),
    &Of::<Clocks>(PhantomData),
    &Of::<Modes>(PhantomData),
];

/// Experiments that take too long for a page.
#[cfg(not(target_arch = "wasm32"))]
static NATIVE: [&dyn AnyExperiment; 1] = [&Of::<super::league::League>(PhantomData)];
#[cfg(target_arch = "wasm32")]
static NATIVE: [&dyn AnyExperiment; 0] = [];

/// Every experiment that can be named here: in a page those of [`ALL`], natively a few more.
pub fn known() -> impl Iterator<Item = &'static dyn AnyExperiment> {
    ALL.into_iter().chain(NATIVE)
}

/// Finds the experiment called `name`.
pub fn by_name(name: &str) -> Result<&'static dyn AnyExperiment> {
    let found = known().find(|experiment| experiment.name() == name);
    found.ok_or_else(|| {
        let names = known().map(AnyExperiment::name).collect::<Vec<_>>().join(", ");
        Error::bad_input(
            format!("No experiment is called “{name}”"),
            format!("Choose one of {names}"),
        )
    })
}

struct Of<E>(PhantomData<fn() -> E>);

impl<E: Experiment> Debug for Of<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(E::NAME)
    }
}

impl<E: Experiment> Of<E> {
    fn read(config: Value) -> Result<E::Config> {
        serial::read(config).map_err(|error| {
            Error::bad_input(
                format!("The configuration of “{}” is not valid: {}", E::NAME, error.message),
                "Start from the configuration of a preset and change what you want",
            )
        })
    }
}

impl<E: Experiment + 'static> AnyExperiment for Of<E> {
    fn name(&self) -> &'static str {
        E::NAME
    }

    fn title(&self) -> &'static str {
        E::TITLE
    }

    fn figure(&self) -> Option<u32> {
        E::FIGURE
    }

    fn preset(&self, preset: Preset, shape: Shape, seed: u64) -> Result<Value> {
        serial::to_value(&E::preset(preset, shape, seed))
    }

    fn images(&self, config: Value) -> Result<usize> {
        Ok(E::images(&Self::read(config)?))
    }

    fn shards(&self, config: Value, parts: usize) -> Result<Vec<Value>> {
        E::shards(&Self::read(config)?, parts).iter().map(serial::to_value).collect()
    }

    fn flop(&self, config: Value, dim: usize) -> Result<f64> {
        E::flop(&Self::read(config)?, dim)
    }

    fn start<'a>(
        &'a self,
        engine: &'a Engine,
        split: &'a Split,
        config: Value,
    ) -> Later<'a, Box<dyn AnyRun>> {
        Box::pin(async move {
            let run = Run::<E>::start(engine, split, Self::read(config)?).await?;
            Ok(Box::new(run) as Box<dyn AnyRun>)
        })
    }
}

impl<E: Experiment> AnyRun for Run<E> {
    fn advance(&mut self, slice: Duration) -> Later<'_, Progress> {
        Box::pin(self.advance(slice))
    }

    fn report(&mut self, detail: Detail) -> Later<'_, Box<dyn erased_serde::Serialize>> {
        Box::pin(async move {
            let report = self.report(detail).await?;
            Ok(Box::new(report) as Box<dyn erased_serde::Serialize>)
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
