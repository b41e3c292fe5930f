//! The exact denoisers beside which networks are seen.

use std::ops::Range;
use std::sync::Arc;

use super::Detail;
use super::portrait::{Look, Portrait, portraits};
use super::study::Member;
use crate::compute::Engine;
use crate::compute::breath::breathe;
use crate::data::Split;
use crate::denoiser::{Empirical, Gaussian, GaussianFit, TrainingSets};
use crate::error::{Error, Result};
use crate::metrics::{Closeness, nearest_images};

/// D_G and D_M of one training set.
#[derive(Debug)]
pub struct Reference {
    range: Range<usize>,
    /// D_G.
    pub gaussian: Portrait,
    /// D_M.
    pub empirical: Portrait,
    /// How close held-out images come to the training set: what a perfect generator would score.
    pub held_out: Closeness,
    /// The Gaussian itself.
    pub fit: Arc<GaussianFit>,
}

impl Reference {
    /// That of the training set `range`.
    pub fn of<'a>(list: &'a [Self], range: &Range<usize>) -> Result<&'a Self> {
        let found = list.iter().find(|reference| reference.range == *range);
        found.ok_or_else(|| Error::bad_input(format!("Nothing to hold {range:?} against"), ""))
    }

    /// The mean of the training images.
    #[must_use]
    pub fn mean(&self) -> Vec<f32> {
        self.fit.mean.iter().map(|&v| v as f32).collect()
    }
}

/// The references of several training sets. They are made when they are first asked for: D_M takes
/// longer than a network, as it looks at every training image at every step.
#[derive(Debug)]
pub struct References {
    engine: Engine,
    split: Split,
    sets: TrainingSets,
    look: Look,
    fits: Option<Gaussian>,
    glance: Option<Vec<Reference>>,
    full: Option<Vec<Reference>>,
}

impl References {
    /// Those of the training sets of `members`, looked at with `look`.
    pub fn new(engine: &Engine, split: &Split, members: &[Member], look: &Look) -> Result<Self> {
        // Now, rather than when something has been trained for nothing.
        GaussianFit::check(split.dim())?;
        // Members that differ in their seed only share theirs.
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for member in members {
            if !ranges.contains(&member.range()) {
                ranges.push(member.range());
            }
        }
        let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
        let sets = TrainingSets::new(split.subset(0..end)?, split.dim(), ranges)?;
        let (engine, split, look) = (engine.clone(), split.clone(), look.clone());
        Ok(Self { engine, split, sets, look, fits: None, glance: None, full: None })
    }

    /// The references in this detail, one for each training set.
    pub async fn at(&mut self, detail: Detail) -> Result<&[Reference]> {
        let known = match detail {
            Detail::Glance => self.glance.take(),
            Detail::Full => self.full.take(),
        };
        let list = match known {
            Some(list) => list,
            None => self.make(detail).await?,
        };
        let place = match detail {
            Detail::Glance => &mut self.glance,
            Detail::Full => &mut self.full,
        };
        Ok(place.insert(list))
    }

    async fn make(&mut self, detail: Detail) -> Result<Vec<Reference>> {
        let look = match detail {
            Detail::Glance => &self.look.glance(),
            Detail::Full => &self.look,
        };
        let Self { engine, split, sets, .. } = self;
        let fits = match self.fits.take() {
            Some(fits) => fits,
            None => {
                let mut fits = Vec::new();
                for member in 0..sets.ranges().len() {
                    fits.push(GaussianFit::new(sets.images(member), sets.dim())?.into());
                    breathe().await?;
                }
                Gaussian::new(fits, sets.dim())
            }
        };
        let fits = &*self.fits.insert(fits);
        let images = split.held_out();
        let images = &images[..images.len().min(look.samples * split.dim())];
        let held_out = nearest_images(engine, sets, images).await?;
        let gaussian = portraits(engine, fits, split, sets, look).await?;
        // One at a time: members of one program would all take as long as the largest set.
        let mut empirical = Vec::new();
        for member in 0..sets.ranges().len() {
            let set = sets.only(member)?;
            let denoiser = Empirical::new(set.clone());
            empirical.extend(portraits(engine, &denoiser, split, &set, look).await?);
        }
        let mut list = Vec::new();
        let exact = gaussian.into_iter().zip(empirical).zip(held_out);
        let sets = sets.ranges().iter().zip(fits.fits());
        for ((range, fit), ((gaussian, empirical), held_out)) in sets.zip(exact) {
            let (range, fit, held_out) = (range.clone(), Arc::clone(fit), held_out.closeness);
            list.push(Reference { range, gaussian, empirical, held_out, fit });
        }
        Ok(list)
    }
}
