//! Says what in a new OpenAPI document would break a client of an old one.
//! Knows the shapes that [`crate::openapi`] emits, not all of OpenAPI.

mod operation;
mod schema;
mod shape;

use std::fmt;

use serde_json::Value;

/// Where the document of the last release is stored. Before the first release
/// there is none, and nothing to break.
pub const RELEASED: &str = "api/released/openapi.json";

/// Everything that would break a client of `old`, each as one line that names the place.
pub fn breaks(old: &Value, new: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (path, item) in fields(&old["paths"]) {
        for (verb, before) in fields(item).filter(|(it, _)| is_verb(it)) {
            let place = format!("{} {path}", verb.to_uppercase());
            match new["paths"].get(path).and_then(|it| it.get(verb)) {
                Some(after) => operation::compare(Pair { old, new }, &place, before, after, &mut found),
                None => found.push(format!("{place}: the operation is gone")),
            }
        }
    }
    found
}

/// [`breaks`] for the texts of two files.
pub fn check_files(released: &str, current: &str) -> Result<Vec<String>, NotADocument> {
    let released = parse(SchemaVersion::Released, released)?;
    let current = parse(SchemaVersion::Current, current)?;
    Ok(breaks(&released, &current))
}

/// The text that was given is not an OpenAPI document.
#[derive(Debug)]
pub struct NotADocument {
    which: SchemaVersion,
    source: Option<serde_json::Error>,
}

#[derive(Debug, Clone, Copy)]
enum SchemaVersion {
    Released,
    Current,
}

impl fmt::Display for NotADocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (which, advice) = match self.which {
            SchemaVersion::Released => ("released", "restore it from the release's tag"),
            SchemaVersion::Current => ("current", "generate it again"),
        };
        write!(f, "the {which} OpenAPI document cannot be read; {advice}")
    }
}

impl std::error::Error for NotADocument {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|it| it as _)
    }
}

fn parse(which: SchemaVersion, text: &str) -> Result<Value, NotADocument> {
    let document: Value = serde_json::from_str(text).map_err(|error| NotADocument { which, source: Some(error) })?;
    // Without this, an empty file would promise nothing and so break nothing.
    if fields(&document["paths"]).next().is_none() {
        return Err(NotADocument { which, source: None });
    }
    Ok(document)
}

/// The two documents that are compared, for following references.
#[derive(Clone, Copy)]
struct Pair<'a> {
    old: &'a Value,
    new: &'a Value,
}

/// Who reads a value: requests may grow what they accept, answers may not
/// grow what they hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Request,
    Answer,
}

/// A path item holds more than verbs.
fn is_verb(name: &str) -> bool {
    ["get", "put", "post", "delete", "patch"].contains(&name)
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Follows references to other parts of the document, a bounded number of times.
fn resolve<'a>(document: &'a Value, mut value: &'a Value) -> &'a Value {
    for _ in 0..16 {
        let Some(target) = value["$ref"].as_str() else {
            break;
        };
        match document.pointer(target.trim_start_matches('#')) {
            Some(found) => value = found,
            None => break,
        }
    }
    value
}

#[cfg(test)]
mod tests;
