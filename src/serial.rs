//! How configurations and reports are read and written.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Error, Result};

/// Reads JSON text.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(located)?;
    json.end().map_err(|error| Error::bad_input(error.to_string(), ""))?;
    Ok(value)
}

/// Reads a JSON value.
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T> {
    serde_path_to_error::deserialize(value).map_err(located)
}

/// An error with the place where it happened: ``train.batch: invalid type …``.
#[expect(clippy::needless_pass_by_value, reason = "it maps an error")]
fn located(error: serde_path_to_error::Error<serde_json::Error>) -> Error {
    let (path, inner) = (error.path().to_string(), error.inner());
    let place = if path == "." { String::new() } else { format!("{path}: ") };
    Error::bad_input(format!("{place}{inner}"), "")
}

/// A value as JSON text.
pub fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| Error::internal(format!("A value could not be written as JSON: {error}")))
}

/// A value as a JSON value.
pub fn to_value(value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value)
        .map_err(|error| Error::internal(format!("A value could not be written as JSON: {error}")))
}

/// Writes `f32`s as the shortest decimals that name them. serde widens 0.4 to 0.4000000059604645
/// for readers that hold `f64`s, such as JavaScript; a reader should see the 0.4 that was written.
pub mod decimal {
    use serde::{Serialize, Serializer};

    /// Numbers that are written as decimals.
    pub trait Decimal {
        /// What is written instead.
        type Wide: Serialize;
        /// The same numbers as `f64`s.
        fn widen(&self) -> Self::Wide;
    }

    impl Decimal for f32 {
        type Wide = f64;
        fn widen(&self) -> f64 {
            // Every finite f32 prints as a number.
            self.to_string().parse().unwrap_or(f64::NAN)
        }
    }

    impl Decimal for Vec<f32> {
        type Wide = Vec<f64>;
        fn widen(&self) -> Vec<f64> {
            self.iter().map(Decimal::widen).collect()
        }
    }

    impl Decimal for Option<f32> {
        type Wide = Option<f64>;
        fn widen(&self) -> Option<f64> {
            self.as_ref().map(Decimal::widen)
        }
    }

    /// For `#[serde(serialize_with = "decimal::serialize")]`.
    pub fn serialize<S: Serializer>(value: &impl Decimal, to: S) -> Result<S::Ok, S::Error> {
        value.widen().serialize(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        list: Vec<u32>,
        inner: Option<Inner>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[serde(serialize_with = "decimal::serialize")]
        number: f32,
    }

    #[test]
    fn errors_say_what_and_where() {
        let refuse = |text: &str| parse::<Outer>(text).unwrap_err().message.clone();
        assert!(refuse("{").contains("line 1"));
        assert!(refuse("{} {}").contains("missing field `list`"));
        assert!(refuse(r#"{"list":[1,-1]}"#).starts_with("list[1]: invalid value"));
        assert!(refuse(r#"{"lists":[]}"#).contains("unknown field `lists`"));
        let inner = refuse(r#"{"list":[],"inner":{"number":"x"}}"#);
        assert!(inner.starts_with("inner.number: invalid type"), "{inner}");
        let outer = Outer { list: vec![3], inner: None };
        assert_eq!(parse::<Outer>(r#"{"list":[3]}"#).unwrap(), outer);
    }

    #[test]
    fn decimals_stay_short() {
        let text = to_json(&Inner { number: 0.4 }).unwrap();
        assert_eq!(text, r#"{"number":0.4}"#);
        assert_eq!(serde_json::to_value(Inner { number: 0.4 }).unwrap()["number"], 0.4);
        for number in [f32::MIN_POSITIVE, f32::MAX, 1e-3, 80.0, 0.1 + 0.2] {
            let text = to_json(&Inner { number }).unwrap();
            assert_eq!(parse::<Inner>(&text).unwrap().number.to_bits(), number.to_bits());
        }
    }
}
