//! The table of denoisers. Reports hold maps keyed by its ids, and everything that compares or shows
//! denoisers iterates over it: a new denoiser is a new row.

use std::cmp::Ordering;
use std::fmt::{self, Debug, Display, Formatter};
use std::pin::Pin;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Denoiser, Empirical, Gaussian};
#[cfg(feature = "training")]
use super::{GaussianFit, Local, Mixture, PcaLocality, window_thresholds};
use crate::compute::Engine;
use crate::data::{Shape, TrainingSets};
use crate::error::{Error, Result};
#[cfg(feature = "training")]
use crate::kernels::locality::Locality;

/// The id of a denoiser in configurations and reports. Ids are ordered as in [`TABLE`].
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
    /// LS, the local score machine.
    pub const LS: Self = Self("ls");
    /// ELS, the equivariant local score machine.
    pub const ELS: Self = Self("els");
    /// PCA-locality.
    pub const PCA_LOCALITY: Self = Self("pca-locality");
    /// A mixture of Gaussians.
    pub const MIXTURE: Self = Self("mixture");

    /// Creates the id called `name`. Only ids in [`TABLE`] can be read from a configuration.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The id as text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// The denoiser's row in the table.
    #[must_use]
    pub fn entry(self) -> Option<&'static Entry> {
        TABLE.iter().find(|entry| entry.id == self)
    }

    /// Index in the table; ids that are not in it come last.
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

/// What a denoiser is computed from.
#[derive(Debug, Clone, Copy)]
pub enum Origin {
    /// A network learns the denoiser from training images.
    Training,
    /// The denoiser is fitted to another denoiser, a trained network.
    Distillation,
    /// The denoiser is computed from the images of one training set.
    Fit(for<'a> fn(&'a Fit<'a>) -> Fitted<'a>),
}

/// What a denoiser is fitted to, and where.
#[derive(Debug, Clone, Copy)]
pub struct Fit<'a> {
    /// The engine to compute on.
    pub engine: &'a Engine,
    /// The training images: one set.
    pub sets: &'a TrainingSets,
    /// The shape of an image.
    pub shape: Shape,
}

/// A fit in progress, which resolves to the denoiser.
pub type Fitted<'a> = Pin<Box<dyn Future<Output = Result<Box<dyn Denoiser>>> + 'a>>;

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Training => "training",
            Self::Distillation => "distillation",
            Self::Fit(_) => "fit",
        })
    }
}

/// A row of the table of denoisers.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Entry {
    /// Id in configurations and reports.
    pub id: DenoiserId,
    /// Symbol, such as D_G.
    pub symbol: &'static str,
    /// Number of the equation in the paper; `None` for later denoisers, which only Section V shows.
    pub equation: Option<u32>,
    /// The publication that introduced it.
    pub source: &'static str,
    /// Name on the page.
    pub label: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// What it is computed from.
    #[serde(rename = "needs")]
    pub origin: Origin,
    /// Multiply-adds of denoising one image of `d` numbers after a fit to `n` images, or as many as take the same
    /// time: the coefficients of `d²`, `n·d` and `n·d²`. Estimates and the cut of sweeps depend on them.
    pub work: [f64; 3],
}

impl Entry {
    /// Multiply-adds of denoising one image of `d` numbers after a fit to `n` images.
    #[must_use]
    pub fn multiply_adds(&self, n: f64, d: f64) -> f64 {
        self.work.iter().zip([d * d, n * d, n * d * d]).map(|(factor, size)| factor * size).sum()
    }

    /// The index of the symbol, such as G of D_G.
    #[must_use]
    pub fn letter(&self) -> &'static str {
        self.symbol.strip_prefix("D_").unwrap_or(self.symbol)
    }

    /// Fits the denoiser to a training set.
    pub async fn fit(&self, to: &Fit<'_>) -> Result<Box<dyn Denoiser>> {
        match self.origin {
            Origin::Fit(fit) => fit(to).await,
            Origin::Training | Origin::Distillation => Err(Error::bad_input(
                format!("“{}” is not computed from training images alone", self.id),
                format!("Choose from {}", names(fitted())),
            )),
        }
    }
}

const PAPER: &str = "Li, Dai and Qu, 2024 (arXiv:2410.24060)";
#[cfg(feature = "training")]
const LOCAL: &str = "Kamb and Ganguli, 2025 (arXiv:2412.20292)";

/// The default threshold of PCA-locality's mask, as a fraction of the largest ratio. Published values range
/// from 0.005 (MNIST) to 0.05 (CIFAR-10).
pub const LOCALITY_THRESHOLD: f32 = 0.02;

/// The default number of Gaussians in a mixture that is fitted to `n` images: as many as MNIST has digits,
/// if each has enough images for a covariance.
#[must_use]
pub fn default_components(n: usize) -> usize {
    (n / 64).clamp(1, 10)
}

/// Every denoiser that figures show, in the order in which they are listed and drawn. The package that the
/// page starts with omits theories that came after the paper.
pub static TABLE: &[Entry] = &[
    Entry {
        id: DenoiserId::TRAINED,
        symbol: "D_θ",
        equation: Some(3),
        source: PAPER,
        label: "Trained network",
        about: "A network trained to remove noise from the training images.",
        origin: Origin::Training,
        work: [0.0; 3],
    },
    Entry {
        id: DenoiserId::LINEAR,
        symbol: "D_L",
        equation: Some(5),
        source: PAPER,
        label: "Best linear fit",
        about: "The linear map that best matches the trained network at each noise level.",
        origin: Origin::Distillation,
        work: [1.0, 0.0, 0.0],
    },
    Entry {
        id: DenoiserId::GAUSSIAN,
        symbol: "D_G",
        equation: Some(7),
        source: PAPER,
        label: "Gaussian denoiser",
        about: "The optimal denoiser of a Gaussian with the training images' mean and covariance.",
        origin: Origin::Fit(|to| Box::pin(async { Ok(boxed(Gaussian::fit(to.sets)?)) })),
        work: [2.0, 0.0, 0.0],
    },
    Entry {
        id: DenoiserId::EMPIRICAL,
        symbol: "D_M",
        equation: Some(4),
        source: PAPER,
        label: "Memorizing denoiser",
        about: "The optimal denoiser of the training images themselves: it can only reproduce them.",
        origin: Origin::Fit(|to| Box::pin(async { Ok(boxed(Empirical::new(to.sets.clone()))) })),
        work: [0.0, 2.0, 0.0],
    },
    #[cfg(feature = "training")]
    Entry {
        id: DenoiserId::LS,
        symbol: "LS",
        equation: None,
        source: LOCAL,
        label: "Local score machine",
        about: "Memorizes windows instead of images: each pixel sees only its surroundings.",
        origin: Origin::Fit(|to| Box::pin(async { Ok(boxed(local(to, false)?)) })),
        work: [0.0, 28.0, 0.0],
    },
    #[cfg(feature = "training")]
    Entry {
        id: DenoiserId::ELS,
        symbol: "ELS",
        equation: None,
        source: LOCAL,
        label: "Equivariant local score machine",
        about: "Memorizes windows wherever they are in the image: each pixel sees only its surroundings.",
        origin: Origin::Fit(|to| Box::pin(async { Ok(boxed(local(to, true)?.equivariant())) })),
        work: [0.0, 0.0, 25.0],
    },
    #[cfg(feature = "training")]
    Entry {
        id: DenoiserId::PCA_LOCALITY,
        symbol: "PCA",
        equation: None,
        source: "Lukoianov et al., 2025 (arXiv:2509.09672)",
        label: "PCA-locality",
        about: "Memorizes what the Gaussian denoiser gives weight to, pixel by pixel.",
        origin: Origin::Fit(|to| {
            Box::pin(async {
                let mask = Locality::Threshold(LOCALITY_THRESHOLD);
                Ok(boxed(PcaLocality::new(to.sets.clone(), Gaussian::fit(to.sets)?, mask)?))
            })
        }),
        work: [0.0, 0.0, 1.0],
    },
    #[cfg(feature = "training")]
    Entry {
        id: DenoiserId::MIXTURE,
        symbol: "GMM",
        equation: None,
        source: "Wang and Vastola, 2024 (arXiv:2412.09726)",
        label: "Mixture of Gaussians",
        about: "The optimal denoiser of several Gaussians, one for each cluster of training images.",
        origin: Origin::Fit(|to| {
            Box::pin(async {
                let components = default_components(to.sets.images(0).len() / to.sets.dim());
                let seed = CLUSTER_SEED;
                let rank = to.sets.dim();
                Ok(boxed(Mixture::fit(to.engine, to.sets, components, rank, seed).await?))
            })
        }),
        work: [20.0, 0.0, 0.0],
    },
];

/// Seed of a mixture's clusters.
pub const CLUSTER_SEED: u64 = 1;

fn boxed(denoiser: impl Denoiser) -> Box<dyn Denoiser> {
    Box::new(denoiser)
}

/// Creates a local score machine with the windows that its images' covariance allows.
#[cfg(feature = "training")]
fn local(to: &Fit<'_>, equivariant: bool) -> Result<Local> {
    let (images, dim) = (to.sets.images(0), to.sets.dim());
    let fit = GaussianFit::new(images, dim)?;
    let thresholds = window_thresholds(&fit, to.shape, images.len() / dim, equivariant)?;
    Local::new(to.sets.clone(), to.shape, thresholds)
}

/// The rows of denoisers that need nothing but training images.
pub fn fitted() -> impl Iterator<Item = &'static Entry> {
    TABLE.iter().filter(|entry| matches!(entry.origin, Origin::Fit(_)))
}

/// The rows of [`fitted`] denoisers that are in the paper.
pub fn fitted_in_paper() -> impl Iterator<Item = &'static Entry> {
    fitted().filter(|entry| entry.equation.is_some())
}

/// Joins ids for a message.
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
        for entry in TABLE {
            assert_eq!(entry.id.name().parse::<DenoiserId>().unwrap(), entry.id);
        }
        let error = "gauss".parse::<DenoiserId>().unwrap_err();
        assert!(error.hint.contains("gaussian"), "{error}");
        assert!(serde_json::from_str::<DenoiserId>("\"gauss\"").is_err());
    }
}
