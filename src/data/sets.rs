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
}

/// How the images of a set are obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SetOrigin {
    /// A procedure draws the images, as many as needed.
    Drawn,
    /// The images are packed into a file beside the page.
    Packed,
}

/// Every named data set.
pub static SETS: [SetEntry; 5] = [
    SetEntry { name: "faces", title: "Faces", origin: SetOrigin::Drawn },
    SetEntry { name: "patches", title: "Patches of photographs", origin: SetOrigin::Packed },
    SetEntry { name: "fashion", title: "Fashion-MNIST", origin: SetOrigin::Packed },
    SetEntry { name: "mnist", title: "MNIST", origin: SetOrigin::Packed },
    SetEntry { name: "cifar10", title: "CIFAR-10", origin: SetOrigin::Packed },
];
