//! The one way to write a value as JSON bytes: keys sorted, no white space, no
//! floats. Signatures and hashes are made over these bytes.

use serde::Serialize;
use serde_json::Value;

const MAX_DEPTH: usize = 32; // bound: our messages nest six deep

/// Why a value has no canonical form.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    #[error("the value cannot be encoded as JSON")]
    NotJson(#[source] serde_json::Error),
    #[error("a number with a fraction has no canonical form; use an integer in a smaller unit")]
    Float,
    #[error("the value is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

/// The canonical bytes of a value.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let value = serde_json::to_value(value).map_err(EncodeError::NotJson)?;
    let mut bytes = Vec::with_capacity(512);
    write(&value, &mut bytes, 0)?;
    Ok(bytes)
}

fn write(value: &Value, out: &mut Vec<u8>, depth: usize) -> Result<(), EncodeError> {
    if depth > MAX_DEPTH {
        return Err(EncodeError::TooDeep);
    }
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) if number.is_f64() => return Err(EncodeError::Float),
        Value::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::String(text) => write_text(text, out)?,
        Value::Array(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                separate(at, out);
                write(item, out, depth + 1)?;
            }
            out.push(b']');
        }
        Value::Object(fields) => {
            // Whether the map is sorted depends on a feature that any crate may switch on.
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by(|a, b| a.0.cmp(b.0));
            out.push(b'{');
            for (at, (name, field)) in fields.into_iter().enumerate() {
                separate(at, out);
                write_text(name, out)?;
                out.push(b':');
                write(field, out, depth + 1)?;
            }
            out.push(b'}');
        }
    }
    Ok(())
}

fn separate(at: usize, out: &mut Vec<u8>) {
    if at > 0 {
        out.push(b',');
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    serde_json::to_writer(out, text).map_err(EncodeError::NotJson)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn text(value: Value) -> String {
        String::from_utf8(encode(&value).unwrap()).unwrap()
    }

    #[test]
    fn keys_are_sorted_and_nothing_is_added() {
        let value = json!({"b": [1, -2, null], "a": {"z": true, "A": "x\n\u{1}é"}});
        assert_eq!(text(value), r#"{"a":{"A":"x\n\u0001é","z":true},"b":[1,-2,null]}"#);
    }

    #[test]
    fn floats_and_endless_nesting_are_refused() {
        assert!(matches!(encode(&1.5), Err(EncodeError::Float)));
        let mut deep = json!(1);
        for _ in 0..40 {
            deep = json!([deep]);
        }
        assert!(matches!(encode(&deep), Err(EncodeError::TooDeep)));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..8)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn encoding_what_was_parsed_gives_the_same_bytes(value in any_json()) {
            let bytes = encode(&value).unwrap();
            let parsed: Value = serde_json::from_slice(&bytes).unwrap();
            prop_assert_eq!(&parsed, &value);
            prop_assert_eq!(encode(&parsed).unwrap(), bytes);
        }
    }
}
