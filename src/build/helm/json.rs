//! JSON texts read into values at once, without a tree of another kind between.

use super::value::{Kind, Map, Value};
use crate::lang::yaml::Origin;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::sync::Arc;

/// A value that JSON says: every number is a `float64`, of a key twice the later one counts.
pub(super) struct Json(Value);

impl Json {
    /// The value, all of it written at one place.
    pub(super) fn at(self, origin: Option<&Origin>) -> Value {
        match origin {
            Some(origin) => placed(self.0, origin),
            None => self.0,
        }
    }
}

fn placed(value: Value, origin: &Origin) -> Value {
    let kind = match value.kind {
        Kind::List(items) => {
            Kind::List(Arc::new(items.iter().map(|item| placed(item.clone(), origin)).collect()))
        }
        Kind::Map(map) => {
            let entries = map.iter().map(|(key, value)| (key.clone(), placed(value.clone(), origin)));
            Kind::Map(Arc::new(entries.collect()))
        }
        other => other,
    };
    Value { kind, origin: Some(origin.clone()) }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Json, D::Error> {
        from.deserialize_any(JsonVisitor).map(|kind| Json(Value::new(kind)))
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Kind;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Float(value as f64))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Kind, E> {
        Ok(Kind::Float(value as f64))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Kind, E> {
        Ok(Kind::Float(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Kind, E> {
        Ok(Kind::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Kind, A::Error> {
        let mut items = Vec::new();
        while let Some(Json(item)) = from.next_element()? {
            items.push(item);
        }
        Ok(Kind::List(Arc::new(items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Kind, A::Error> {
        let mut entries: Vec<(Arc<str>, Value)> = Vec::new();
        while let Some((Key(key), Json(value))) = from.next_entry()? {
            entries.push((key, value));
        }
        // Made of all at once a map needs no search for each.
        Ok(Kind::Map(Arc::new(Map::from_iter(entries))))
    }
}

/// The key of an entry.
struct Key(Arc<str>);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Key, D::Error> {
        struct KeyVisitor;
        impl Visitor<'_> for KeyVisitor {
            type Value = Key;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a key")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Key, E> {
                Ok(Key(text.into()))
            }
        }
        from.deserialize_str(KeyVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_json_decodes_them() {
        let read = |text: &str| serde_json::from_str::<Json>(text).map(|json| json.at(None).to_string());
        let text =
            r#"{"b": [1, -2, 2.5, 18446744073709551615], "a": {"x\n": null}, "b": true, "c": "\u0061"}"#;
        assert_eq!(read(text).expect("JSON"), "map[a:map[x\n:<nil>] b:true c:a]");
        assert_eq!(read("[1, -2, 2.5, 1e3]").expect("JSON"), "[1 -2 2.5 1000]");
        assert!(read("{").is_err() && read("1e999").is_err());
    }
}
