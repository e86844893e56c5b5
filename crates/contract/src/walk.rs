//! Looking through whole documents in tests.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Calls `visit` with every object in the document and where it is.
pub fn walk(value: &Value, place: &str, visit: &mut impl FnMut(&str, &Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            visit(place, object);
            for (name, child) in object {
                walk(child, &format!("{place}/{name}"), visit);
            }
        }
        Value::Array(items) => {
            for (index, child) in items.iter().enumerate() {
                walk(child, &format!("{place}/{index}"), visit);
            }
        }
        _ => {}
    }
}

/// Every target of a `$ref`.
pub fn references(document: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    walk(document, "#", &mut |_, object| {
        if let Some(Value::String(target)) = object.get("$ref") {
            found.insert(target.clone());
        }
    });
    found
}
