//! JSON of requests, in which a key stands once: of two, another program on the
//! way may have read the one that we do not.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reads a value; one whose objects repeat a key is refused.
pub fn read(bytes: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice::<Once>(bytes).map(|it| it.0)
}

struct Once(Value);

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OnceVisitor).map(Once)
    }
}

struct OnceVisitor;

impl<'de> Visitor<'de> for OnceVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Once(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some((name, Once(value))) = fields.next_entry::<String, Once>()? {
            if all.contains_key(&name) {
                return Err(de::Error::custom(format_args!("`{name}` is given more than once")));
            }
            all.insert(name, value);
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_by_the_library() {
        for text in [r#"{"a":[1,-2,3.5,null,true,"x\u0041",{}],"b":{"a":1}}"#, "[]", "18446744073709551615", "1e300"] {
            assert_eq!(read(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        }
        assert!(read(b"{\"a\":1} more").is_err() && read(b"{").is_err());
    }

    #[test]
    fn repeated_keys_are_refused_at_any_depth() {
        for text in [r#"{"a":1,"a":2}"#, r#"[{"x":{"a":1,"b":2,"a":1}}]"#, r#"{"a":1,"\u0061":2}"#] {
            assert!(read(text.as_bytes()).unwrap_err().to_string().contains("`a` is given more than once"), "{text}");
        }
    }
}
