//! Answers that are not JSON: a document as it is, of the media type that its
//! endpoint declares. Problems stay JSON.

use std::{any::Any, borrow::Cow};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The media type of every answer that does not declare another.
pub const JSON: &str = "application/json";

/// The bytes of a document. Only an endpoint that says
/// `returns: 200 Raw as "application/pdf"` may answer with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raw {
    pub bytes: Vec<u8>,
    /// What to call it when it is saved; plain letters, digits, `.` and `-`.
    pub file_name: String,
}

impl Raw {
    /// A payload as a document, if it is one.
    pub fn of<T: 'static>(payload: &T) -> Option<&Raw> {
        (payload as &dyn Any).downcast_ref()
    }

    /// These bytes as the payload `T`, if `T` is a document.
    pub fn into_payload<T: 'static>(self) -> Result<T, Raw> {
        let mut whole = Some(self);
        let place = &mut whole as &mut dyn Any;
        match place.downcast_mut::<Option<T>>().and_then(Option::take) {
            Some(payload) => Ok(payload),
            None => Err(whole.unwrap_or_default()),
        }
    }
}

impl JsonSchema for Raw {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Raw".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "binary" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_document_is_one() {
        let raw = Raw { bytes: vec![1, 2], file_name: "a.pdf".into() };
        assert_eq!(Raw::of(&raw), Some(&raw));
        assert_eq!(Raw::of(&String::new()), None);
        assert_eq!(raw.clone().into_payload::<Raw>(), Ok(raw.clone()));
        assert_eq!(raw.clone().into_payload::<String>(), Err(raw));
    }
}
