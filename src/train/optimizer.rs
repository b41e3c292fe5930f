//! The optimizers that turn gradients into updates.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::kernels::adam;
use crate::serial::decimal;

/// An optimizer, which turns gradients into updates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Optimizer {
    /// Adam (Kingma & Ba 2015).
    #[default]
    Adam,
    /// Stochastic gradient descent: `v ← momentum · v + g`, `w ← w - rate · v`.
    Sgd {
        /// Decay of the velocity per step.
        #[serde(serialize_with = "decimal::serialize")]
        momentum: f32,
    },
}

impl Optimizer {
    /// Name of the optimizer.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Adam => "Adam",
            Self::Sgd { .. } => "SGD",
        }
    }

    /// Whether it is Adam, the default of configurations.
    #[must_use]
    pub const fn is_adam(&self) -> bool {
        matches!(self, Self::Adam)
    }

    pub(super) fn check(self) -> Result<()> {
        match self {
            Self::Sgd { momentum } if !(0.0..1.0).contains(&momentum) => Err(Error::bad_input(
                format!("The momentum is {momentum}"),
                "Use a number from 0 to below 1",
            )),
            _ => Ok(()),
        }
    }

    /// Decay per step of the moments that are divided out of the learning rate.
    pub(super) const fn betas(self) -> [f32; 2] {
        match self {
            Self::Adam => [adam::BETA1, adam::BETA2],
            Self::Sgd { .. } => [0.0; 2],
        }
    }
}
