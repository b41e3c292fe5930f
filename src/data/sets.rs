//! The table of data sets that have a name.

use serde::Serialize;

/// A row of the table.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetEntry {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// Its name on the page.
    pub title: &'static str,
    /// How its images are obtained.
    pub origin: SetOrigin,
}

/// How the images of a set are obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SetOrigin {
    /// They are drawn by a procedure, as many as needed.
    Drawn,
    /// They are packed into a file beside the page.
    Packed,
}

/// Every set that has a name.
pub static SETS: [SetEntry; 4] = [
    SetEntry { name: "faces", title: "Faces", origin: SetOrigin::Drawn },
    SetEntry { name: "patches", title: "Patches of photographs", origin: SetOrigin::Packed },
    SetEntry { name: "fashion", title: "Fashion-MNIST", origin: SetOrigin::Packed },
    SetEntry { name: "mnist", title: "MNIST", origin: SetOrigin::Packed },
];
