//! Images in reports: bytes to display, written as base64.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::data::{Standardization, TrainingSets};
use crate::metrics::NearestImages;

/// Images to display, one byte per value, one image after the other. In JSON they are base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Images(Vec<u8>);

impl Images {
    /// Converts standardized images for display.
    #[must_use]
    pub fn of(rows: &[f32], standardization: &Standardization) -> Self {
        Self(standardization.to_display(rows))
    }

    /// Converts signed patterns for display: 0 is grey, and the number beside each pattern is white, its
    /// negative black.
    pub fn signed(patterns: impl IntoIterator<Item = (Vec<f64>, f64)>) -> Self {
        let show = |(pattern, largest): (Vec<f64>, f64)| {
            let scale = if largest > 0.0 { 127.0 / largest } else { 0.0 };
            // The cast truncates towards zero, saturates, and maps NaN to 0.
            pattern.into_iter().map(move |v| (v * scale + 128.5) as u8)
        };
        Self(patterns.into_iter().flat_map(show).collect())
    }

    /// The distance from other images: the root mean square in grey levels of 255.
    pub(super) fn distance(&self, other: &Self) -> f64 {
        let pairs = self.0.iter().zip(&other.0);
        let squares = pairs.map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2));
        (squares.sum::<f64>() / self.0.len().max(1) as f64).sqrt()
    }

    /// Converts a non-negative pattern for display: 0 is black, and `largest` is white.
    #[must_use]
    pub fn heat(pattern: &[f64], largest: f64) -> Self {
        let scale = if largest > 0.0 { 255.0 / largest } else { 0.0 };
        Self(pattern.iter().map(|v| (v * scale).round() as u8).collect())
    }

    /// The bytes, one per value.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Serialize for Images {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&base64(&self.0))
    }
}

impl<'de> Deserialize<'de> for Images {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        from_base64(&text).map(Self).ok_or_else(|| D::Error::custom("Images are not base64"))
    }
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= chunk.len() { digit.into() } else { '=' });
        }
    }
    text
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let (groups, rest) = text.as_bytes().as_chunks::<4>();
    let mut bytes = Vec::with_capacity(groups.len() * 3);
    for group in groups {
        let padding = group.iter().rev().take_while(|&&c| c == b'=').count();
        let digits = group.get(..4 - padding).filter(|digits| digits.len() > 1)?;
        let value = |word: u32, c: &u8| {
            Some(word << 6 | DIGITS.iter().position(|digit| digit == c)? as u32)
        };
        let word = digits.iter().try_fold(0, value)? << (6 * padding);
        bytes.extend_from_slice(word.to_be_bytes().get(1..4 - padding)?);
    }
    rest.is_empty().then_some(bytes)
}

/// The training images nearest to the first `shown` samples.
pub(super) fn nearest_images(found: &NearestImages, sets: &TrainingSets, shown: usize) -> Vec<f32> {
    let image = |&i: &u32| &sets.pool()[i as usize * sets.dim()..][..sets.dim()];
    found.index.iter().take(shown).flat_map(image).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 4648.
    #[test]
    fn base64_is_the_standard_one() {
        let examples =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (bytes, text) in examples {
            assert_eq!(base64(bytes.as_bytes()), text);
            assert_eq!(from_base64(text).as_deref(), Some(bytes.as_bytes()));
        }
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(base64(&bytes[252..]), "/P3+/w==");
        assert_eq!(from_base64(&base64(&bytes)), Some(bytes));
        for damaged in ["Zg=", "Zg", "Z===", "====", "Zm9v=", "Z!=="] {
            assert_eq!(from_base64(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn distances_are_in_grey_levels() {
        let [a, b] = [vec![0, 255, 10], vec![0, 252, 14]].map(Images);
        assert!((a.distance(&b) - (25.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(Images(vec![]).distance(&Images(vec![])), 0.0);
    }

    #[test]
    fn signed_patterns_are_grey_at_zero() {
        let patterns = [(vec![0.0, -2.0, 2.0, 1.0], 2.0), (vec![0.0, 3.0], 4.0), (vec![0.0], 0.0)];
        assert_eq!(Images::signed(patterns).bytes(), [128, 1, 255, 192, 128, 223, 128]);
    }
}
