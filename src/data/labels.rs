//! The classes of images.

use crate::error::{Error, Result};

/// The class of each image of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    names: Vec<String>,
    classes: Vec<u8>,
}

impl Labels {
    /// Creates labels where image i is of the class `names[classes[i]]`.
    pub fn new(names: Vec<String>, classes: Vec<u8>) -> Result<Self> {
        if classes.iter().any(|&class| usize::from(class) >= names.len()) {
            let message = format!("A label is not one of the {} classes", names.len());
            return Err(Error::bad_input(message, "Download or export the file again"));
        }
        Ok(Self { names, classes })
    }

    /// The names of the classes.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The class of each image, as an index into [`names`](Self::names).
    #[must_use]
    pub fn classes(&self) -> &[u8] {
        &self.classes
    }

    /// The name of the class of image `i`, if there is such an image.
    #[must_use]
    pub fn name_of(&self, i: usize) -> Option<&str> {
        self.classes.get(i).map(|&class| self.names[usize::from(class)].as_str())
    }

    /// The indices of the images of the class called `name`.
    pub(super) fn images_of(&self, name: &str) -> Result<Vec<usize>> {
        let class = self.names.iter().position(|known| known.eq_ignore_ascii_case(name));
        let class = class.ok_or_else(|| {
            Error::bad_input(
                format!("No class of the set is called “{name}”"),
                format!("Choose one of {}", self.names.join(", ")),
            )
        })?;
        let labelled = self.classes.iter().enumerate();
        Ok(labelled.filter(|(_, of)| usize::from(**of) == class).map(|(i, _)| i).collect())
    }

    /// The labels of images `order`, in that order.
    pub(super) fn reordered(&self, order: &[usize]) -> Self {
        let classes = order.iter().map(|&i| self.classes[i]).collect();
        Self { names: self.names.clone(), classes }
    }
}
