//! Modes in order (Wang & Pehlevan, NeurIPS 2025): samples gain the variance of the images along the
//! strong principal axes first. A linear denoiser learns axis k after a time proportional to
//! `1 / λ_k` (as in Theorem 1), an MLP nearly so, and a U-Net learns all axes at about the same time.
//!
//! Networks train at a constant rate, without a moving average of their weights. A measurement draws samples
//! and computes their variance along each principal axis of the training images.

use nalgebra::DVector;
use serde::{Deserialize, Serialize};

use super::Preset;
use super::ensemble::Ensemble;
use super::evaluation::{EvalConfig, Evaluation};
use super::over_training::{Config, Measurement, Network, OverTraining, Schedule, Tracked};
use super::power_law::{Point, PowerLaw};
use crate::compute::Engine;
use crate::denoiser::GaussianFit;
use crate::error::{Error, Result};
use crate::model::Architecture;
use crate::shape::Shape;
use crate::train;

/// A network over its training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Course {
    /// The network, and how it is trained.
    #[serde(flatten)]
    pub network: Network,
    /// λ_k: the variance of the training images along each axis.
    pub variances: Vec<f64>,
    /// The measurements at each step.
    pub moments: Vec<Moment>,
    /// The step at which each axis emerged: its variance first passed the geometric mean of those at the
    /// first and the last step. `null` where images and first samples differ by less than a factor of two, so
    /// that there is nothing to learn.
    pub emerged: Vec<Option<f64>>,
}

/// The measurements of a network at one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Moment {
    /// Training steps so far.
    pub step: u32,
    /// The variance of the network's samples along each axis.
    pub variances: Vec<f64>,
}

impl Measurement for Moment {
    /// The principal axes of each member's training images.
    type Context = Vec<GaussianFit>;

    async fn prepare(_: &Engine, ensemble: &Ensemble) -> Result<Vec<GaussianFit>> {
        let (sets, dim) = (ensemble.sets(), ensemble.split().dim());
        let mut fits: Vec<GaussianFit> = Vec::new();
        for (m, range) in sets.ranges().iter().enumerate() {
            // Members that differ only in their seed share a training set.
            let known = sets.ranges()[..m].iter().position(|other| other == range);
            fits.push(match known {
                Some(other) => fits[other].clone(),
                None => GaussianFit::new(sets.images(m), dim)?,
            });
        }
        Ok(fits)
    }

    fn take(
        _: &Ensemble,
        fits: &Vec<GaussianFit>,
        step: u32,
        members: &[Evaluation],
    ) -> Result<Vec<Self>> {
        let moment = |(fit, member): (&GaussianFit, &Evaluation)| {
            let (dim, axes) = (fit.mean.len(), fit.eigenvalues.len());
            let (mut sums, mut squares) = (DVector::zeros(axes), DVector::<f64>::zeros(axes));
            for sample in member.samples.chunks_exact(dim) {
                let sample = DVector::from_iterator(dim, sample.iter().map(|&v| f64::from(v)));
                let along = fit.eigenvectors.tr_mul(&(sample - &fit.mean));
                squares += along.component_mul(&along);
                sums += along;
            }
            let count = (member.samples.len() / dim) as f64;
            let variance =
                |(square, sum): (&f64, &f64)| (square - sum * sum / count) / (count - 1.0);
            Self { step, variances: squares.iter().zip(&sums).map(variance).collect() }
        };
        Ok(fits.iter().zip(members).map(moment).collect())
    }
}

/// The step at which each axis emerged.
fn emerged(moments: &[Moment], targets: &[f64]) -> Vec<Option<f64>> {
    let (Some(first), Some(last)) = (moments.first(), moments.last()) else {
        return vec![None; targets.len()];
    };
    let axis = |(k, target): (usize, &f64)| {
        let (start, end) = (first.variances[k], last.variances[k]);
        if (0.5..=2.0).contains(&(target / start)) || end <= 0.0 {
            return None;
        }
        // The progress from start to end on a logarithmic scale, from 0 to 1.
        let far = |moment: &Moment| (moment.variances[k] / start).ln() / (end / start).ln();
        let at = moments.iter().position(|moment| far(moment) >= 0.5)?;
        let (before, after) = (moments.get(at.checked_sub(1)?)?, &moments[at]);
        let part = (0.5 - far(before)) / (far(after) - far(before));
        let [from, to] = [before, after].map(|moment| f64::from(moment.step).ln());
        Some((from + part * (to - from)).exp())
    };
    targets.iter().enumerate().map(axis).collect()
}

impl Course {
    /// How the time of emergence depends on the variance λ, for axes that gain variance and for those that
    /// lose it.
    #[must_use]
    pub fn laws(&self) -> [Option<PowerLaw>; 2] {
        let start = self.moments.first().map_or(&[][..], |moment| &moment.variances);
        let modes = self.variances.iter().zip(&self.emerged).zip(start);
        let law = |gains: bool| {
            let of = modes.clone().filter(|((target, _), start)| (target > start) == gains);
            let points = of.filter_map(|((&x, &y), _)| Some(Point { x, y: y?, draws: &[] }));
            PowerLaw::fit(&points.collect::<Vec<_>>())
        };
        [law(true), law(false)]
    }
}

/// The experiment of modes in order.
pub type Modes = OverTraining<ModesInOrder>;

/// What modes in order add to [`OverTraining`].
#[derive(Debug)]
pub struct ModesInOrder;

impl Tracked for ModesInOrder {
    type Measurement = Moment;
    type Course = Course;
    const NAME: &'static str = "modes";
    const TITLE: &'static str = "Modes in order";

    fn preset(preset: Preset, shape: Shape, seed: u64) -> Config {
        let constant = |train: train::Config, steps: u32| train::Config {
            floor: 1.0,
            warm_up: 1,
            ema_limit: 0.0,
            rate: 3e-4,
            steps,
            ..train
        };
        let mlp = constant(preset.train(shape, Vec::new()), 3200);
        let unet = train::Config {
            batch: mlp.batch,
            ..constant(train::Config::faithful(shape, Vec::new()), 1600)
        };
        let others = match mlp.architecture {
            // A U-Net halves the images twice.
            Architecture::Mlp { .. }
                if shape.height.is_multiple_of(4) && shape.width.is_multiple_of(4) =>
            {
                vec![unet]
            }
            _ => Vec::new(),
        };
        let evaluation = EvalConfig {
            denoisers: Vec::new(),
            sigmas: vec![1.0],
            samples: 512,
            images: 16,
            shown: 0,
            ..preset.evaluation(seed)
        };
        let schedule = Schedule { first: 1, per_doubling: 3 };
        let (sizes, seeds) = (vec![1024], vec![seed]);
        Config { sizes, seeds, train: mlp, others, schedule, axes: Some(100), evaluation }
    }

    fn work(train: &train::Config) -> f64 {
        // A step of a U-Net takes many times as long as that of an MLP of the same width.
        match train.architecture {
            Architecture::Mlp { .. } => f64::from(train.steps),
            Architecture::UNet { .. } => 8.0 * f64::from(train.steps),
        }
    }

    fn check(config: &Config) -> Result<()> {
        if config.evaluation.samples < 2 {
            return Err(Error::bad_input(
                "One sample has no variance",
                "Set evaluation.samples to at least 2",
            ));
        }
        Ok(())
    }

    fn course(
        config: &Config,
        fits: &Vec<GaussianFit>,
        member: usize,
        network: Network,
        measured: &[Moment],
    ) -> Course {
        let axes = config.axes.unwrap_or(usize::MAX);
        let variances: Vec<f64> = fits[member].eigenvalues.iter().take(axes).copied().collect();
        let mut moments = measured.to_vec();
        moments.iter_mut().for_each(|moment| moment.variances.truncate(axes));
        Course { network, emerged: emerged(&moments, &variances), variances, moments }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Axes that gain or lose variance as `e^{-t / τ}` on a logarithmic scale, with `τ = 1000 / λ`.
    #[test]
    fn the_exponent_of_a_known_law_is_found() {
        let targets = [4.0, 2.0, 1.0, 0.3, 0.05, 0.01_f64];
        let start = 0.25_f64;
        let moment = |step: u32| {
            let variance = |target: &f64| {
                let missing = (-f64::from(step - 1) * target / 1000.0).exp();
                (target.ln() + missing * (start / target).ln()).exp()
            };
            Moment { step, variances: targets.iter().map(variance).collect() }
        };
        let moments: Vec<Moment> =
            (0..=120).map(|k| moment(2_f64.powf(f64::from(k) / 6.0) as u32)).collect();
        let emerged = emerged(&moments, &targets);
        for (target, time) in targets.iter().zip(&emerged) {
            let expected = (*target != 0.3).then(|| 1.0 + 1000.0 * 2_f64.ln() / target);
            match (time, expected) {
                (Some(time), Some(expected)) => {
                    assert!((time / expected - 1.0).abs() < 0.02, "{time} {expected}");
                }
                (time, expected) => assert!(time.is_none() && expected.is_none()),
            }
        }
    }
}
