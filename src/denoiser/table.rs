//! The table of denoisers. Reports hold maps keyed by its ids, and everything that compares or shows
//! denoisers iterates over it: a new denoiser is a new row.

use std::cmp::Ordering;
use std::fmt::{self, Debug, Display, Formatter};
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Denoiser, Empirical, Gaussian};
use crate::data::TrainingSets;
use crate::error::{Error, Result};

/// The name of a denoiser in configurations and reports. Ids are ordered as in [`TABLE`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DenoiserId(&'static str);

impl DenoiserId {
    /// D_θ, a trained network.
    pub const TRAINED: Self = Self("trained");
    /// D_L, the best linear fit to a network.
    pub const LINEAR: Self = Self("linear");
    /// D_G, the Gaussian denoiser.
    pub const GAUSSIAN: Self = Self("gaussian");
    /// D_M, the memorizing denoiser.
    pub const EMPIRICAL: Self = Self("empirical");

    /// An id called `name`. Only ids in [`TABLE`] can be read from a configuration.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// Its row in the table.
    #[must_use]
    pub fn entry(self) -> Option<&'static Entry> {
        TABLE.iter().find(|entry| entry.id == self)
    }

    /// Position in the table; ids that are not there come last.
    fn rank(self) -> usize {
        TABLE.iter().position(|entry| entry.id == self).unwrap_or(TABLE.len())
    }
}

impl Ord for DenoiserId {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.rank(), self.0).cmp(&(other.rank(), other.0))
    }
}

impl PartialOrd for DenoiserId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Debug for DenoiserId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Display for DenoiserId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl FromStr for DenoiserId {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = TABLE.iter().find(|entry| entry.id.0 == name);
        found.map(|entry| entry.id).ok_or_else(|| {
            let names: Vec<_> = TABLE.iter().map(|entry| entry.id.0).collect();
            Error::bad_input(
                format!("No denoiser is called “{name}”"),
                format!("Choose one of {}", names.join(", ")),
            )
        })
    }
}

impl Serialize for DenoiserId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for DenoiserId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// What a denoiser is made from.
#[derive(Debug, Clone, Copy)]
pub enum Origin {
    /// A network learns it from the training images.
    Training,
    /// It is fitted to another denoiser, a trained network.
    Distillation,
    /// It is computed from the training images, one denoiser for each training set.
    Fit(fn(&TrainingSets) -> Result<Box<dyn Denoiser>>),
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Training => "training",
            Self::Distillation => "distillation",
            Self::Fit(_) => "fit",
        })
    }
}

/// A row of the table.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Entry {
    /// Its name in configurations and reports.
    pub id: DenoiserId,
    /// Its symbol, such as D_G.
    pub symbol: &'static str,
    /// Its equation in the paper.
    pub equation: u32,
    /// Its name on the page.
    pub label: &'static str,
    /// What it is, in one sentence.
    pub about: &'static str,
    /// What it is made from.
    #[serde(rename = "needs")]
    pub origin: Origin,
}

impl Entry {
    /// The index of its symbol: G of D_G.
    #[must_use]
    pub fn letter(&self) -> &'static str {
        self.symbol.strip_prefix("D_").unwrap_or(self.symbol)
    }

    /// Fits the denoiser to each of `sets`.
    pub fn fit(&self, sets: &TrainingSets) -> Result<Box<dyn Denoiser>> {
        match self.origin {
            Origin::Fit(fit) => fit(sets),
            Origin::Training | Origin::Distillation => Err(Error::bad_input(
                format!("“{}” is not computed from training images alone", self.id),
                format!("Choose from {}", names(fitted())),
            )),
        }
    }
}

/// Every denoiser that figures show, in the order in which they are listed and drawn.
pub static TABLE: [Entry; 4] = [
    Entry {
        id: DenoiserId::TRAINED,
        symbol: "D_θ",
        equation: 3,
        label: "Trained network",
        about: "A network trained to remove noise from the training images.",
        origin: Origin::Training,
    },
    Entry {
        id: DenoiserId::LINEAR,
        symbol: "D_L",
        equation: 5,
        label: "Best linear fit",
        about: "The linear map that best matches the trained network at each noise level.",
        origin: Origin::Distillation,
    },
    Entry {
        id: DenoiserId::GAUSSIAN,
        symbol: "D_G",
        equation: 7,
        label: "Gaussian denoiser",
        about: "The optimal denoiser of a Gaussian with the training images' mean and covariance.",
        origin: Origin::Fit(|sets| Ok(Box::new(Gaussian::fit(sets)?))),
    },
    Entry {
        id: DenoiserId::EMPIRICAL,
        symbol: "D_M",
        equation: 4,
        label: "Memorizing denoiser",
        about: "The optimal denoiser of the training images themselves: it can only reproduce them.",
        origin: Origin::Fit(|sets| Ok(Box::new(Empirical::new(sets.clone())))),
    },
];

/// The rows that need nothing but training images.
pub fn fitted() -> impl Iterator<Item = &'static Entry> {
    TABLE.iter().filter(|entry| matches!(entry.origin, Origin::Fit(_)))
}

/// Ids, for a message.
fn names(entries: impl Iterator<Item = &'static Entry>) -> String {
    entries.map(|entry| entry.id.0).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ordered_as_in_the_table() {
        let ids: Vec<_> = TABLE.iter().map(|entry| entry.id).collect();
        assert!(ids.is_sorted());
        assert!(DenoiserId::new("a toy") > DenoiserId::EMPIRICAL);
    }

    #[test]
    fn ids_are_read_by_name() {
        for entry in &TABLE {
            assert_eq!(entry.id.name().parse::<DenoiserId>().unwrap(), entry.id);
        }
        let error = "gauss".parse::<DenoiserId>().unwrap_err();
        assert!(error.hint.contains("gaussian"), "{error}");
        assert!(serde_json::from_str::<DenoiserId>("\"gauss\"").is_err());
    }
}
