//! One byte form for the fields of a row, so that the same row always hashes
//! alike and two different rows never encode alike: every field has a tag and
//! a length, and absent differs from empty.
//!
//! A JSON column goes in as the text that the database returns for it, since
//! that is what a verifier can read again.

/// Collects fields in the order of the calls; that order is part of the form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Canonical(Vec<u8>);

const TEXT: u8 = b't';
const BYTES: u8 = b'b';
const INTEGER: u8 = b'i';
const BOOLEAN: u8 = b'?';
const UUID: u8 = b'u';
const ABSENT: u8 = b'-';

impl Canonical {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn text(self, value: &str) -> Self {
        self.field(TEXT, value.as_bytes())
    }

    pub fn bytes(self, value: &[u8]) -> Self {
        self.field(BYTES, value)
    }

    /// Numbers and times; a time goes in as microseconds since 1970, which is
    /// all that the database keeps of it.
    pub fn i64(self, value: i64) -> Self {
        self.field(INTEGER, &value.to_be_bytes())
    }

    pub fn bool(self, value: bool) -> Self {
        self.field(BOOLEAN, &[u8::from(value)])
    }

    pub fn uuid(self, value: uuid::Uuid) -> Self {
        self.field(UUID, value.as_bytes())
    }

    /// `.opt(row.reason.as_deref(), Canonical::text)`
    pub fn opt<T>(self, value: Option<T>, put: impl FnOnce(Self, T) -> Self) -> Self {
        match value {
            Some(value) => put(self, value),
            None => self.field(ABSENT, &[]),
        }
    }

    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    fn field(mut self, tag: u8, value: &[u8]) -> Self {
        self.0.push(tag);
        self.0.extend_from_slice(&(value.len() as u64).to_be_bytes());
        self.0.extend_from_slice(value);
        self
    }
}

/// JSON with its keys in order and nothing between tokens, whatever order the
/// library keeps: what was sealed once must read the same for all time.
pub fn canonical_json(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical_json).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields: Vec<String> = fields
                .into_iter()
                .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), canonical_json(value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    enum Field {
        Text(Option<String>),
        Bytes(Vec<u8>),
        Integer(i64),
        Boolean(bool),
        Uuid(u128),
    }

    fn encode(fields: &[Field]) -> Vec<u8> {
        let put = |row: Canonical, field: &Field| match field {
            Field::Text(it) => row.opt(it.as_deref(), Canonical::text),
            Field::Bytes(it) => row.bytes(it),
            Field::Integer(it) => row.i64(*it),
            Field::Boolean(it) => row.bool(*it),
            Field::Uuid(it) => row.uuid(uuid::Uuid::from_u128(*it)),
        };
        fields.iter().fold(Canonical::new(), put).finish()
    }

    fn any_field() -> impl Strategy<Value = Field> {
        prop_oneof![
            any::<Option<String>>().prop_map(Field::Text),
            any::<Vec<u8>>().prop_map(Field::Bytes),
            any::<i64>().prop_map(Field::Integer),
            any::<bool>().prop_map(Field::Boolean),
            any::<u128>().prop_map(Field::Uuid),
        ]
    }

    #[test]
    fn json_is_written_in_one_form() {
        let value = serde_json::json!({ "b": [1, { "z": null, "a": "\"x\"" }], "a": true });
        assert_eq!(canonical_json(&value), r#"{"a":true,"b":[1,{"a":"\"x\"","z":null}]}"#);
    }

    #[test]
    fn text_does_not_slide_between_fields() {
        let encode = |a: &str, b: &str| Canonical::new().text(a).text(b).finish();
        assert_ne!(encode("ab", "c"), encode("a", "bc"));
        assert_ne!(encode("", "a"), encode("a", ""));
    }

    #[test]
    fn absent_is_not_empty() {
        assert_ne!(encode(&[Field::Text(None)]), encode(&[Field::Text(Some(String::new()))]));
    }

    #[test]
    fn the_form_is_fixed_for_all_time() {
        let row = Canonical::new().text("é").i64(-2).opt(None, Canonical::text);
        let expected =
            b"t\0\0\0\0\0\0\0\x02\xc3\xa9i\0\0\0\0\0\0\0\x08\xff\xff\xff\xff\xff\xff\xff\xfe-\0\0\0\0\0\0\0\0";
        assert_eq!(row.finish(), expected);
    }

    proptest! {
        #[test]
        fn different_rows_never_encode_alike(
            a in prop::collection::vec(any_field(), 0..6),
            b in prop::collection::vec(any_field(), 0..6),
        ) {
            prop_assert_eq!(a == b, encode(&a) == encode(&b));
            prop_assert_eq!(encode(&a), encode(&a.clone()));
        }
    }
}
