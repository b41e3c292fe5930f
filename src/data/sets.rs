//! The table of named data sets.

use serde::Serialize;

/// A row of the table of data sets.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetEntry {
    /// Name of the set on the command line and in reports.
    pub name: &'static str,
    /// Title of the set on the page.
    pub title: &'static str,
    /// How the images of the set are obtained.
    pub origin: SetOrigin,
    /// Pixels per side of its images: as the page shows them if they are drawn, otherwise as they are stored.
    pub side: usize,
    /// 1 for grey images, 3 for images in colour.
    pub channels: usize,
}

/// How the images of a set are obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SetOrigin {
    /// A procedure draws the images, as many as needed.
    Drawn,
    /// The images are packed into a file beside the page.
    Packed,
    /// Natively all images are downloaded once; some of them are packed into a file beside the page.
    Fetched,
}

/// Name of the set that is drawn.
pub const FACES: &str = "faces";
/// Name of the set that is downloaded.
pub const CIFAR10: &str = "cifar10";

/// Every named data set.
pub static SETS: [SetEntry; 5] = [
    entry(FACES, "Faces", SetOrigin::Drawn, 16, 1),
    entry("patches", "Patches of photographs", SetOrigin::Packed, 16, 1),
    entry("fashion", "Fashion-MNIST", SetOrigin::Packed, 28, 1),
    entry("mnist", "MNIST", SetOrigin::Packed, 28, 1),
    entry(CIFAR10, "CIFAR-10", SetOrigin::Fetched, 32, 3),
];

const fn entry(
    name: &'static str,
    title: &'static str,
    origin: SetOrigin,
    side: usize,
    channels: usize,
) -> SetEntry {
    SetEntry { name, title, origin, side, channels }
}

impl SetEntry {
    /// The row of the set `name`.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        SETS.iter().find(|entry| entry.name == name)
    }
}
