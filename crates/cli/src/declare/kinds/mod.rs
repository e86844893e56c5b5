//! One file for each kind of thing that a stack can hold. Of an optional field
//! that a document leaves out, the server's choice stands.

pub mod allocation;
pub mod budget;
pub mod policy;
pub mod price;
pub mod project;
pub mod sku;
pub mod ssh_key;
pub mod webhook;

use std::fmt::Display;

use crate::declare::plan::Difference;

/// What differs in a field, where the document says something of it.
fn said<T: Display>(field: &str, before: impl Display, after: Option<&T>, in_place: bool) -> Option<Difference> {
    Difference::between(field, before, after?, in_place)
}

/// A value that may be absent, for people.
fn or_none<T: Display>(value: Option<&T>) -> String {
    value.map_or_else(|| "none".to_owned(), ToString::to_string)
}

fn joined<T: Display>(values: &[T]) -> String {
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    texts.join(", ")
}
