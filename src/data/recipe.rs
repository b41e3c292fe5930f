//! How to obtain the images of a set again.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// How to reproduce the same images, in the same order, with the same ones held out.
///
/// Version 0.1 had only grey images, and saved neither channels, crop and class nor source and hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Recipe {
    /// The set's short name (see [`About::set`](super::About::set)).
    pub set: String,
    /// Side of an image in pixels.
    pub size: usize,
    /// Values per pixel: 1 (grey) or 3 (red, green, blue).
    #[serde(default = "grey")]
    pub channels: usize,
    /// Whether pictures were cropped to their middle square; otherwise they were stretched.
    #[serde(default = "cropped")]
    pub crop: bool,
    /// The only class that was taken, if one was chosen.
    #[serde(default)]
    pub class: Option<String>,
    /// Seed of the shuffle, and of images that are drawn.
    pub seed: u64,
    /// Number of images in total.
    pub count: usize,
    /// Number of images that are held out from training.
    pub held_out: usize,
    /// Where the images come from.
    #[serde(default)]
    pub source: String,
    /// The [`Dataset::hash`](super::Dataset::hash) of the images in hexadecimal. Empty in files of older
    /// versions.
    #[serde(default)]
    pub hash: String,
}

impl Recipe {
    /// Refuses images whose hash differs from this recipe's.
    pub fn check(&self, made: &Self) -> Result<()> {
        if self.hash.is_empty() || self.hash == made.hash {
            return Ok(());
        }
        Err(Error::bad_input(
            format!(
                "“{}” does not contain the images of the run (hash {}, expected {})",
                made.set, made.hash, self.hash
            ),
            "Pass the images of the run with --data",
        ))
    }
}

const fn grey() -> usize {
    1
}

const fn cropped() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serial::parse;

    #[test]
    fn recipes_are_read_back_and_old_ones_are_understood() {
        let old = r#"{"set":"faces","size":12,"seed":1,"count":1524,"heldOut":500}"#;
        let recipe: Recipe = parse(old).unwrap();
        assert_eq!((recipe.channels, recipe.crop, recipe.class.as_deref()), (1, true, None));
        let new = Recipe {
            channels: 3,
            crop: false,
            class: Some("horse".into()),
            hash: "00ff".into(),
            ..recipe.clone()
        };
        let text = serde_json::to_string(&new).unwrap();
        assert_eq!(parse::<Recipe>(&text).unwrap(), new);
        assert!(parse::<Recipe>(&text.replace("crop", "crops")).is_err());
        recipe.check(&new).unwrap();
        let error = new.check(&recipe).unwrap_err();
        assert!(error.message.contains("images of the run"), "{error}");
    }
}
