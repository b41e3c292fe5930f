//! The fitted denoisers that are evaluated beside the networks.

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use super::Detail;
use super::ensemble::Member;
use super::evaluation::{EvalConfig, Evaluation};
use super::evaluator::evaluate;
use crate::compute::Engine;
use crate::data::{Split, TrainingSets};
use crate::denoiser::{Denoiser, DenoiserId, Entry, Fit};
use crate::error::{Error, Result};
use crate::metrics::{Closeness, nearest_images};

/// The fitted denoisers of one training set, evaluated.
#[derive(Debug)]
pub struct Reference {
    range: Range<usize>,
    fitted: Rc<Fitted>,
    /// The evaluation of each denoiser.
    pub denoisers: BTreeMap<DenoiserId, Evaluation>,
    /// How close held-out images come to the training set: the score of a perfect generator.
    pub held_out: Closeness,
    /// The mean training image.
    pub mean: Vec<f32>,
}

/// Denoisers by id.
type Fitted = BTreeMap<DenoiserId, Box<dyn Denoiser>>;

impl Reference {
    /// Finds the reference of the training set `range`.
    pub fn of<'a>(list: &'a [Self], range: &Range<usize>) -> Result<&'a Self> {
        let found = list.iter().find(|reference| reference.range == *range);
        found.ok_or_else(|| {
            Error::internal(format!("No reference denoiser was fitted to training set {range:?}"))
        })
    }

    /// Returns the fitted denoiser `id`, if it exists and has this type.
    #[must_use]
    pub fn fitted<D: Denoiser>(&self, id: DenoiserId) -> Option<&D> {
        let denoiser: &dyn Any = &**self.fitted.get(&id)?;
        denoiser.downcast_ref()
    }
}

/// The references of several training sets. Fitting is quick and happens immediately, so that images
/// that are too large are refused before anything is trained. Evaluation happens on first use: D_M
/// takes longer than a network, since it visits every training image at every step.
#[derive(Debug)]
pub struct References {
    engine: Engine,
    split: Split,
    sets: TrainingSets,
    config: EvalConfig,
    fitted: Vec<Rc<Fitted>>,
    preview: Option<Vec<Reference>>,
    full: Option<Vec<Reference>>,
}

impl References {
    /// Fits the denoisers that `config` names to the training sets of `members`.
    pub async fn new(
        engine: &Engine,
        split: &Split,
        members: &[Member],
        config: &EvalConfig,
    ) -> Result<Self> {
        let entry = |id: &DenoiserId| {
            let unknown = || Error::bad_input(format!("“{id}” is not in the table"), "");
            id.entry().copied().ok_or_else(unknown)
        };
        let entries = config.denoisers.iter().map(entry).collect::<Result<Vec<_>>>()?;
        Self::with_entries(engine, split, members, config, &entries).await
    }

    /// Fits the denoisers in `entries`, which need not be in the table.
    pub async fn with_entries(
        engine: &Engine,
        split: &Split,
        members: &[Member],
        config: &EvalConfig,
        entries: &[Entry],
    ) -> Result<Self> {
        // Members that differ only in their seed share a reference.
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for member in members {
            if !ranges.contains(&member.range()) {
                ranges.push(member.range());
            }
        }
        let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
        let sets = TrainingSets::new(split.subset(0..end)?, split.dim(), ranges)?;
        let mut fitted = Vec::new();
        for set in 0..sets.ranges().len() {
            let set = sets.only(set)?;
            let to = Fit { engine, sets: &set, shape: split.shape() };
            let mut denoisers = Fitted::new();
            for entry in entries {
                denoisers.insert(entry.id, entry.fit(&to).await?);
                engine.yield_now().await?;
            }
            fitted.push(Rc::new(denoisers));
        }
        let (engine, split, config) = (engine.clone(), split.clone(), config.clone());
        Ok(Self { engine, split, sets, config, fitted, preview: None, full: None })
    }

    /// Returns the references in this detail, one per training set.
    pub async fn at(&mut self, detail: Detail) -> Result<&[Reference]> {
        let known = match detail {
            Detail::Preview => self.preview.take(),
            Detail::Full => self.full.take(),
        };
        let list = match known {
            Some(list) => list,
            None => self.evaluate(detail).await?,
        };
        let place = match detail {
            Detail::Preview => &mut self.preview,
            Detail::Full => &mut self.full,
        };
        Ok(place.insert(list))
    }

    async fn evaluate(&self, detail: Detail) -> Result<Vec<Reference>> {
        let config = match detail {
            Detail::Preview => &self.config.preview(),
            Detail::Full => &self.config,
        };
        let Self { engine, split, sets, fitted, .. } = self;
        let images = split.held_out();
        let images = &images[..images.len().min(config.samples * split.dim())];
        let held_out = nearest_images(engine, sets, images).await?;
        let mut list = Vec::new();
        // One set at a time: as members of one program, all would take as long as the largest set.
        for (set, (fitted, held_out)) in fitted.iter().zip(held_out).enumerate() {
            let (range, set) = (sets.ranges()[set].clone(), sets.only(set)?);
            let mut denoisers = BTreeMap::new();
            for (&id, denoiser) in &**fitted {
                let evaluations = evaluate(engine, &**denoiser, split, &set, config).await?;
                denoisers.extend(evaluations.into_iter().map(|evaluation| (id, evaluation)));
            }
            let (fitted, held_out) = (Rc::clone(fitted), held_out.closeness);
            list.push(Reference { range, fitted, denoisers, held_out, mean: set.mean(0) });
        }
        Ok(list)
    }
}
