//! How configurations and reports are read and written.

use std::fmt::{self, Display, Formatter};
use std::vec;

use erased_serde::Serialize;
use serde::de::value::{MapAccessDeserializer, StringDeserializer};
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;
use serde_json::map;

use crate::error::{Error, Result};
use crate::platform;

/// Reads JSON text.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    read(platform::parse_json(text).map_err(|problem| Error::bad_input(problem, ""))?)
}

/// Reads a JSON value. An error says where it happened: ``train.batch: invalid type …``.
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T> {
    T::deserialize(Reader(value)).map_err(|problem| Error::bad_input(problem.to_string(), ""))
}

/// A JSON value that is read. Every type is compiled for this reader alone, and each visitor for the one
/// kind of value that it expects: with `serde_path_to_error`, which notes paths for any format, reading
/// was a fifth of the page's library.
struct Reader(Value);

/// What is wrong, and where: the path is put together on the way out.
#[derive(Debug)]
struct Problem {
    path: String,
    message: String,
}

impl Problem {
    /// The same problem, seen from outside of `place`: a name, or an index in brackets.
    fn at(self, place: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        Self { path: format!("{place}{dot}{}", self.path), ..self }
    }
}

impl Display for Problem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let colon = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{}", self.path, self.message)
    }
}

impl std::error::Error for Problem {}

impl de::Error for Problem {
    fn custom<T: Display>(message: T) -> Self {
        Self { path: String::new(), message: message.to_string() }
    }
}

impl Reader {
    fn refuse(&self, expected: &dyn de::Expected) -> Problem {
        let found = match &self.0 {
            Value::Null => Unexpected::Unit,
            Value::Bool(value) => Unexpected::Bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(value), ..) => Unexpected::Unsigned(value),
                (_, Some(value), _) => Unexpected::Signed(value),
                (.., value) => Unexpected::Float(value.unwrap_or(f64::NAN)),
            },
            Value::String(text) => Unexpected::Str(text),
            Value::Array(_) => Unexpected::Seq,
            Value::Object(_) => Unexpected::Map,
        };
        de::Error::invalid_type(found, expected)
    }

    fn number<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let Value::Number(number) = &self.0 else { return Err(self.refuse(&visitor)) };
        match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(value), ..) => visitor.visit_u64(value),
            (_, Some(value), _) => visitor.visit_i64(value),
            (.., value) => visitor.visit_f64(value.unwrap_or(f64::NAN)),
        }
    }

    fn text<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0 {
            Value::String(text) => visitor.visit_string(text),
            _ => Err(self.refuse(&visitor)),
        }
    }

    fn list<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0 {
            Value::Array(list) => visitor.visit_seq(Items { left: list.into_iter(), next: 0 }),
            _ => Err(self.refuse(&visitor)),
        }
    }

    fn object<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0 {
            Value::Object(object) => visitor.visit_map(Fields::of(object)),
            _ => Err(self.refuse(&visitor)),
        }
    }
}

/// Methods of a deserializer that do what another one does.
macro_rules! same {
    ($($name:ident($($extra:ty),*) => $does:ident;)*) => {
        $(fn $name<V: Visitor<'de>>(self, $(_: $extra,)* visitor: V) -> Result<V::Value, Problem> {
            self.$does(visitor)
        })*
    };
}

impl<'de> de::Deserializer<'de> for Reader {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(_) => self.number(visitor),
            Value::String(text) => visitor.visit_string(text),
            Value::Array(_) => self.list(visitor),
            Value::Object(_) => self.object(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0 {
            Value::Bool(value) => visitor.visit_bool(value),
            _ => Err(self.refuse(&visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    /// `"variant"` or `{"variant": content}`.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(name.into_deserializer()),
            Value::Object(object) if object.len() == 1 => {
                visitor.visit_enum(MapAccessDeserializer::new(Fields::of(object)))
            }
            _ => Err(self.refuse(&visitor)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_unit()
    }

    same! {
        deserialize_u8() => number; deserialize_u16() => number; deserialize_u32() => number;
        deserialize_u64() => number; deserialize_u128() => number;
        deserialize_i8() => number; deserialize_i16() => number; deserialize_i32() => number;
        deserialize_i64() => number; deserialize_i128() => number;
        deserialize_f32() => number; deserialize_f64() => number;
        deserialize_str() => text; deserialize_string() => text; deserialize_identifier() => text;
        deserialize_seq() => list; deserialize_tuple(usize) => list;
        deserialize_tuple_struct(&'static str, usize) => list;
        deserialize_map() => object;
        deserialize_struct(&'static str, &'static [&'static str]) => object;
    }

    forward_to_deserialize_any! { char bytes byte_buf unit unit_struct }
}

/// The items of a list that are not yet read.
struct Items {
    left: vec::IntoIter<Value>,
    next: usize,
}

impl<'de> de::SeqAccess<'de> for Items {
    type Error = Problem;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Problem> {
        let Some(value) = self.left.next() else { return Ok(None) };
        let index = self.next;
        self.next += 1;
        seed.deserialize(Reader(value)).map(Some).map_err(|e| e.at(&format!("[{index}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// The fields of an object that are not yet read.
struct Fields {
    left: map::IntoIter,
    current: (String, Value),
}

impl Fields {
    fn of(object: map::Map<String, Value>) -> Self {
        Self { left: object.into_iter(), current: Default::default() }
    }
}

impl<'de> de::MapAccess<'de> for Fields {
    type Error = Problem;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Problem> {
        let Some(field) = self.left.next() else { return Ok(None) };
        self.current = field;
        let name: StringDeserializer<Problem> = self.current.0.clone().into_deserializer();
        seed.deserialize(name).map(Some).map_err(|e| e.at(&self.current.0))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Problem> {
        seed.deserialize(Reader(self.current.1.take())).map_err(|e| e.at(&self.current.0))
    }
}

/// A value as JSON text.
pub fn to_json<T: Serialize>(value: &T) -> Result<String> {
    platform::to_json(value).map_err(unwritten)
}

/// A value as a JSON value.
pub fn to_value<T: Serialize>(value: &T) -> Result<Value> {
    platform::to_value(value).map_err(unwritten)
}

#[expect(clippy::needless_pass_by_value, reason = "it maps an error")]
fn unwritten(error: String) -> Error {
    Error::internal(format!("A value could not be written as JSON: {error}"))
}

/// Writes `f32`s as the shortest decimals that name them. serde widens 0.4 to 0.4000000059604645
/// for readers that hold `f64`s, such as JavaScript; a reader should see the 0.4 that was written.
pub mod decimal {
    use serde::{Serialize, Serializer};

    use crate::platform;

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
            platform::parse_f64(&self.to_string())
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
    use serde::{Deserialize, Serialize};

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
        assert!(refuse("{} {}").contains("trailing characters"));
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
