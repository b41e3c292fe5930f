//! Configurations from JSON. serde's derive writes a parser out in full for each struct, which was a
//! tenth of the page's library; here a struct is a list of fields, and one parser serves all.

use std::ops::Range;

use serde_json::Value;

use crate::error::{Error, Result};

/// What can be read from JSON.
pub trait FromJson: Sized {
    /// Reads it, or says what is wrong and where.
    fn from_json(json: &Json<'_>) -> Result<Self>;
}

/// A piece of JSON, and where it stands in the whole.
#[derive(Debug)]
pub struct Json<'a> {
    value: &'a Value,
    path: String,
}

/// Reads `text`.
pub fn parse<T: FromJson>(text: &str) -> Result<T> {
    let value = serde_json::from_str(text);
    read(&value.map_err(|error| Error::bad_input(error.to_string(), ""))?)
}

/// Reads `value`.
pub fn read<T: FromJson>(value: &Value) -> Result<T> {
    T::from_json(&Json { value, path: String::new() })
}

impl<'a> Json<'a> {
    /// Field `name`, whose name in JSON is in camel case.
    pub fn get<T: FromJson>(&self, name: &str) -> Result<T> {
        T::from_json(&self.field(name))
    }

    /// The same, not read yet.
    #[must_use]
    pub fn field(&self, name: &str) -> Self {
        let name = camel_case(name);
        let dot = if self.path.is_empty() { "" } else { "." };
        let path = format!("{}{dot}{name}", self.path);
        Self { value: self.value.get(name).unwrap_or(&Value::Null), path }
    }

    /// Refuses an object with other fields than these.
    pub fn check_fields(&self, known: &[&str]) -> Result<()> {
        let object = self.expect("an object", self.value.as_object())?;
        for name in object.keys() {
            if !known.iter().any(|known| camel_case(known) == *name) {
                let place = if self.path.is_empty() { "it" } else { &self.path };
                let known: Vec<_> = known.iter().map(|name| camel_case(name)).collect();
                let message = format!("{place} has the unknown field `{name}`");
                let hint = format!("Its fields are {}", known.join(", "));
                return Err(Error::bad_input(message, hint));
            }
        }
        Ok(())
    }

    /// One of these strings, by its place among them.
    pub fn one_of(&self, names: &[&str]) -> Result<usize> {
        let found = names.iter().position(|name| self.value == name);
        self.expect(&format!("one of {}", names.join(", ")), found)
    }

    fn list(&self) -> Result<&'a [Value]> {
        self.expect("a list", self.value.as_array().map(Vec::as_slice))
    }

    fn whole(&self) -> Result<u64> {
        self.expect("a whole number", self.value.as_u64())
    }

    fn number(&self) -> Result<f64> {
        self.expect("a number", self.value.as_f64())
    }

    fn expect<T>(&self, what: &str, found: Option<T>) -> Result<T> {
        found.ok_or_else(|| {
            let found = if self.value.is_null() { "missing" } else { "something else" };
            Error::bad_input(format!("`{}` should be {what} and is {found}", self.path), "")
        })
    }
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at(1);
        camel += &first.to_ascii_uppercase();
        camel += rest;
    }
    camel
}

/// `from_json!(Struct { field, … })` reads a struct that has these fields and no others;
/// `from_json!(Enum { Name = "name", … })` an enum of names.
macro_rules! from_json {
    ($type:ident { $($field:ident),* $(,)? }) => {
        impl $crate::json::FromJson for $type {
            fn from_json(json: &$crate::json::Json<'_>) -> $crate::Result<Self> {
                json.check_fields(&[$(stringify!($field)),*])?;
                Ok(Self { $($field: json.get(stringify!($field))?),* })
            }
        }
    };
    ($type:ident { $($variant:ident = $name:literal),* $(,)? }) => {
        impl $crate::json::FromJson for $type {
            fn from_json(json: &$crate::json::Json<'_>) -> $crate::Result<Self> {
                Ok([$(Self::$variant),*][json.one_of(&[$($name),*])?])
            }
        }
    };
}
pub(crate) use from_json;

impl FromJson for u64 {
    fn from_json(json: &Json<'_>) -> Result<Self> {
        json.whole()
    }
}

impl FromJson for u32 {
    fn from_json(json: &Json<'_>) -> Result<Self> {
        json.expect("a smaller number", json.whole()?.try_into().ok())
    }
}

impl FromJson for usize {
    fn from_json(json: &Json<'_>) -> Result<Self> {
        json.expect("a smaller number", json.whole()?.try_into().ok())
    }
}

impl FromJson for f64 {
    fn from_json(json: &Json<'_>) -> Result<Self> {
        json.number()
    }
}

impl FromJson for f32 {
    fn from_json(json: &Json<'_>) -> Result<Self> {
        Ok(json.number()? as Self)
    }
}

impl FromJson for bool {
    fn from_json(json: &Json<'_>) -> Result<Self> {
        json.expect("true or false", json.value.as_bool())
    }
}

impl FromJson for String {
    fn from_json(json: &Json<'_>) -> Result<Self> {
        json.expect("text", json.value.as_str().map(Self::from))
    }
}

impl<T: FromJson> FromJson for Option<T> {
    fn from_json(json: &Json<'_>) -> Result<Self> {
        if json.value.is_null() { Ok(None) } else { T::from_json(json).map(Some) }
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(json: &Json<'_>) -> Result<Self> {
        let mut list = Self::new();
        for (i, value) in json.list()?.iter().enumerate() {
            list.push(T::from_json(&Json { value, path: format!("{}[{i}]", json.path) })?);
        }
        Ok(list)
    }
}

impl<T: FromJson, const N: usize> FromJson for [T; N] {
    fn from_json(json: &Json<'_>) -> Result<Self> {
        let list: Vec<T> = Vec::from_json(json)?;
        json.expect(&format!("a list of {N}"), list.try_into().ok())
    }
}

impl<T: FromJson> FromJson for Range<T> {
    fn from_json(json: &Json<'_>) -> Result<Self> {
        Ok(json.get("start")?..json.get("end")?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Outer {
        some_list: Vec<u32>,
        pair: [u64; 2],
        inner: Option<Inner>,
        kind: Kind,
    }

    #[derive(Debug, PartialEq)]
    struct Inner {
        a_number: f32,
    }

    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Kind {
        Plain,
    }

    from_json!(Outer { some_list, pair, inner, kind });
    from_json!(Inner { a_number });
    from_json!(Kind { Plain = "plain" });

    #[test]
    fn structs_are_read() {
        let outer = parse::<Outer>(
            r#"{"someList":[3],"pair":[1,2],"inner":{"aNumber":0.1},"kind":"plain"}"#,
        );
        let (inner, kind) = (Some(Inner { a_number: 0.1 }), Kind::Plain);
        assert_eq!(outer.unwrap(), Outer { some_list: vec![3], pair: [1, 2], inner, kind });
        let outer: Outer = parse(r#"{"someList":[],"pair":[1,2],"kind":"plain"}"#).unwrap();
        assert_eq!(outer.inner, None);
    }

    #[test]
    fn errors_say_what_and_where() {
        let refuse = |text: &str| parse::<Outer>(text).unwrap_err().message.clone();
        assert!(refuse("{").contains("line 1"));
        assert!(refuse("[]").contains("an object"));
        assert!(refuse("{}").contains("`someList` should be a list and is missing"));
        assert!(refuse(r#"{"someLists":3}"#).contains("unknown field `someLists`"));
        assert!(
            refuse(r#"{"someList":[1,-1]}"#).contains("`someList[1]` should be a whole number")
        );
        assert!(refuse(r#"{"someList":[5000000000]}"#).contains("a smaller number"));
        let rest = r#""someList":[],"pair""#;
        assert!(refuse(&format!("{{{rest}:[1]}}")).contains("a list of 2"));
        let inner = refuse(&format!(r#"{{{rest}:[1,2],"inner":{{"aNumber":"x"}}}}"#));
        assert!(inner.contains("`inner.aNumber` should be a number"), "{inner}");
        let kind = refuse(&format!(r#"{{{rest}:[1,2],"kind":"odd"}}"#));
        assert!(kind.contains("`kind` should be one of plain"), "{kind}");
    }
}
