//! Training: an ensemble of networks, each on its own training set, in one program.
//!
//! ```no_run
//! # async fn example(images: Vec<f32>) -> hidden_gaussian::Result<()> {
//! use hidden_gaussian::{compute::Engine, data::TrainingSets, train::{Config, Session}};
//! let sets = TrainingSets::new(images, 144, vec![0..16, 0..1024])?;
//! let mut session = Session::new(&Engine::cpu(), Config::quick(vec![1, 2]), &sets).await?;
//! while session.step(100)? > 0 {
//!     println!("{:?}", session.progress().await?);
//! }
//! let bytes = session.snapshot().await?.to_bytes()?;
//! # Ok(()) }
//! ```

mod checkpoint;
mod optimizer;
mod session;

pub use checkpoint::Checkpoint;
pub use optimizer::Optimizer;
pub use session::{MemberProgress, Plan, Progress, Session, Status};

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::data::SIGMA_DATA;
use crate::error::{Error, Result};
use crate::kernels::finish_step::RateSchedule;
use crate::model::Architecture;
use crate::model::unet::{Head, Norm};
use crate::serial::decimal;
use crate::shape::Shape;

/// Most images in a batch.
pub const MAX_BATCH: usize = 4096;

/// How an ensemble is trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// The network's architecture, the same for all members.
    pub architecture: Architecture,
    /// Images in a batch.
    pub batch: usize,
    /// Steps of the whole run.
    pub steps: u32,
    /// The optimizer; Adam if a configuration does not name one.
    #[serde(default, skip_serializing_if = "Optimizer::is_adam")]
    pub optimizer: Optimizer,
    /// Highest learning rate.
    #[serde(serialize_with = "decimal::serialize")]
    pub rate: f32,
    /// Fraction of the learning rate that remains at the end; 1 keeps it constant.
    #[serde(serialize_with = "decimal::serialize")]
    pub floor: f32,
    /// Steps during which the learning rate rises.
    pub warm_up: u32,
    /// Largest norm of a gradient, if bounded.
    #[serde(serialize_with = "decimal::serialize")]
    pub clip: Option<f32>,
    /// A member whose loss exceeds this has diverged. An untrained network has loss 1.
    #[serde(serialize_with = "decimal::serialize")]
    pub blow_up: f32,
    /// Largest decay of the weights' moving average per step.
    #[serde(serialize_with = "decimal::serialize")]
    pub ema_limit: f32,
    /// Mean of `ln σ`.
    #[serde(serialize_with = "decimal::serialize")]
    pub log_sigma_mean: f32,
    /// Standard deviation of `ln σ`.
    #[serde(serialize_with = "decimal::serialize")]
    pub log_sigma_deviation: f32,
    /// Standard deviation of the data; a [`Split`](crate::data::Split) scales it to [`SIGMA_DATA`].
    #[serde(serialize_with = "decimal::serialize")]
    pub sigma_data: f32,
    /// The seed of each member.
    pub seeds: Vec<u64>,
}

impl Config {
    /// The quick preset: an MLP of 192 units that trains in seconds.
    #[must_use]
    pub fn quick(seeds: Vec<u64>) -> Self {
        Self {
            architecture: Architecture::Mlp { width: 192, depth: 2 },
            batch: 32,
            steps: 2000,
            optimizer: Optimizer::Adam,
            rate: 4e-3,
            floor: 0.02,
            warm_up: 100,
            clip: None,
            blow_up: 1e3,
            ema_limit: 0.99,
            log_sigma_mean: -0.6,
            log_sigma_deviation: 1.0,
            sigma_data: SIGMA_DATA,
            seeds,
        }
    }

    /// The main preset: an MLP of 384 units.
    #[must_use]
    pub fn main(seeds: Vec<u64>) -> Self {
        Self {
            architecture: Architecture::Mlp { width: 384, depth: 2 },
            batch: 64,
            steps: 3000,
            ..Self::quick(seeds)
        }
    }

    /// The faithful preset: a U-Net of 16 channels for images of `shape`.
    #[must_use]
    pub fn faithful(shape: Shape, seeds: Vec<u64>) -> Self {
        let (levels, norm, head) = (levels(shape), Norm::None, Head::Linear);
        Self {
            architecture: Architecture::UNet { shape, width: 16, levels, norm, head },
            batch: 64,
            steps: 4500,
            rate: 2e-3,
            ..Self::quick(seeds)
        }
    }

    /// The preset for photographs in colour: a U-Net of `width` channels for images of `shape`. Wider networks
    /// need a lower learning rate.
    #[must_use]
    pub fn cifar(shape: Shape, width: usize, seeds: Vec<u64>) -> Self {
        let (levels, norm, head) = (levels(shape), Norm::None, Head::Silu);
        Self {
            architecture: Architecture::UNet { shape, width, levels, norm, head },
            batch: 64,
            steps: if width > 16 { 3000 } else { 2000 },
            rate: if width > 16 { 2e-3 } else { 3e-3 },
            clip: Some(1.0),
            ema_limit: 0.995,
            ..Self::quick(seeds)
        }
    }

    /// Refuses a configuration that cannot train.
    pub fn check(&self) -> Result<()> {
        self.optimizer.check()?;
        let positive = [
            ("The learning rate", self.rate),
            ("The largest gradient norm", self.clip.unwrap_or(1.0)),
            ("The largest loss", self.blow_up),
            ("The spread of the noise levels", self.log_sigma_deviation),
            ("The standard deviation of the data", self.sigma_data),
        ];
        for (what, value) in positive {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::bad_input(
                    format!("{what} is {value}"),
                    "Use a positive number",
                ));
            }
        }
        let fractions = [("learning rate", self.floor), ("moving average", self.ema_limit)];
        for (what, value) in fractions {
            if !(0.0..=1.0).contains(&value) {
                return Err(Error::bad_input(
                    format!("The remaining fraction of the {what} is {value}"),
                    "Use a number from 0 to 1",
                ));
            }
        }
        if !self.log_sigma_mean.is_finite() {
            return Err(Error::bad_input("The mean of ln σ is not finite", "Use a number near -1"));
        }
        if self.batch > MAX_BATCH {
            let hint = "Use a smaller batch";
            let [need, have] = [self.batch, MAX_BATCH].map(|images| images as u64);
            return Err(Error::limit("Images in a batch", need, have, hint));
        }
        if self.batch == 0 || self.steps == 0 {
            return Err(Error::bad_input(
                format!("{} steps of {} images cannot train a network", self.steps, self.batch),
                "Choose at least one step and one image",
            ));
        }
        Ok(())
    }

    const fn schedule(&self) -> RateSchedule {
        RateSchedule {
            rate: self.rate,
            floor: self.floor,
            warm_up: self.warm_up,
            total: self.steps,
            clip: match self.clip {
                Some(clip) => clip,
                None => f32::MAX,
            },
            blow_up: self.blow_up,
            ema_limit: self.ema_limit,
            betas: self.optimizer.betas(),
        }
    }
}

/// Resolutions of a U-Net for images of `shape`: as many as halve evenly with at least three pixels per
/// side left, which is two for 16 × 16 and three for 32 × 32; at least two, and a network that cannot have
/// them is refused.
fn levels(shape: Shape) -> usize {
    let side = shape.height.min(shape.width);
    let halves = |levels: &usize| {
        let parts = 1 << levels;
        [shape.height, shape.width].iter().all(|side| side.is_multiple_of(parts))
            && side >= 3 * parts
    };
    (2..usize::BITS as usize - 1).take_while(halves).last().unwrap_or(2)
}

/// Describes a configuration in one phrase.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.architecture {
            Architecture::Mlp { width, depth } => {
                write!(f, "an MLP of {width} units and {depth} blocks")?;
            }
            Architecture::UNet { width, levels, .. } => {
                write!(f, "a U-Net of {width} channels at {levels} resolutions")?;
            }
        }
        let Self { steps, batch, rate, .. } = self;
        write!(f, ", {steps} steps of {batch} images, learning rate {rate}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Network;
    use crate::model::unet::UNet;

    fn square(side: usize, channels: usize) -> Shape {
        Shape { height: side, width: side, channels }
    }

    #[test]
    fn resolutions_follow_the_shape() {
        for (side, expected) in
            [(12, 2), (14, 2), (16, 2), (28, 2), (32, 3), (64, 4), (20, 2), (1, 2)]
        {
            assert_eq!(levels(square(side, 3)), expected, "{side}");
        }
    }

    /// The recipe's numbers of weights, and the descriptions of presets.
    #[test]
    fn the_presets_of_cifar() {
        let shape = square(32, 3);
        for (width, weights) in [(16, 289_052), (32, 1_083_372)] {
            let config = Config::cifar(shape, width, vec![1]);
            config.check().unwrap();
            let Architecture::UNet { levels, norm, head, .. } = config.architecture else {
                panic!()
            };
            assert_eq!(
                UNet::new(shape, width, levels, norm, head).unwrap().parameters().count(),
                weights
            );
        }
        assert_eq!(
            Config::cifar(shape, 32, vec![1]).to_string(),
            "a U-Net of 32 channels at 3 resolutions, 3000 steps of 64 images, learning rate 0.002"
        );
    }
}
