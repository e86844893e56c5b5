//! A schema with its references followed and its parts joined, so that two
//! ways to write one thing compare as equal.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{fields, resolve, texts};

/// How deep parts are joined; only a schema that contains itself is deeper.
const DEEPEST: usize = 16;

#[derive(Default)]
pub(super) struct Shape<'a> {
    /// Where the type is stated; the same place is the same thing.
    pub origin: Option<&'a Value>,
    /// Absent when any type will do.
    pub kind: Option<&'a str>,
    pub nullable: bool,
    /// Absent when any value will do.
    pub words: Option<Vec<&'a Value>>,
    pub format: Option<&'a str>,
    pub patterns: BTreeSet<&'a str>,
    pub bounds: BTreeMap<&'static str, f64>,
    pub properties: BTreeMap<&'a str, &'a Value>,
    pub required: BTreeSet<&'a str>,
    pub refuses_unknown: bool,
    /// The schema of fields that have no name of their own, as in a map.
    pub unnamed: Option<&'a Value>,
    pub items: Option<&'a Value>,
    pub variants: Vec<&'a Value>,
}

/// Bounds that allow less when they grow, and bounds that allow less when they shrink.
pub(super) const LOWER: [&str; 4] = ["minimum", "minLength", "minItems", "minProperties"];
pub(super) const UPPER: [&str; 4] = ["maximum", "maxLength", "maxItems", "maxProperties"];

impl<'a> Shape<'a> {
    pub fn of(document: &'a Value, schema: &'a Value) -> Self {
        let mut shape = Shape::default();
        shape.join(document, schema, DEEPEST);
        // What may be anything may be null.
        let is_anything = shape.kind.is_none() && shape.words.is_none() && shape.variants.is_empty();
        shape.nullable |= is_anything;
        shape
    }

    fn join(&mut self, document: &'a Value, schema: &'a Value, depth: usize) {
        if depth == 0 {
            return;
        }
        let schema = resolve(document, schema);
        if self.kind.is_none() {
            self.kind = schema["type"].as_str();
            self.origin = Some(schema);
        }
        self.format = self.format.or(schema["format"].as_str());
        self.nullable |= schema["nullable"] == true;
        self.patterns.extend(schema["pattern"].as_str());
        self.refuses_unknown |= schema["additionalProperties"] == false;
        self.required.extend(texts(&schema["required"]));
        for (name, field) in fields(&schema["properties"]) {
            self.properties.insert(name, field);
        }
        self.items = self.items.or(schema.get("items"));
        let unnamed = schema.get("additionalProperties");
        self.unnamed = self.unnamed.or(unnamed.filter(|it| it.is_object()));
        if let Some(words) = schema["enum"].as_array() {
            self.words = Some(words.iter().filter(|it| !it.is_null()).collect());
        }
        for name in LOWER.into_iter().chain(UPPER) {
            if let Some(bound) = schema[name].as_f64() {
                self.bounds.insert(name, bound);
            }
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.join(document, part, depth - 1);
        }
        for keyword in ["anyOf", "oneOf"] {
            self.join_variants(document, &schema[keyword], depth - 1);
        }
    }

    /// "This or null" is this one, nullable; more than one stay separate.
    fn join_variants(&mut self, document: &'a Value, variants: &'a Value, depth: usize) {
        let is_null = |it: &&Value| it["enum"] == json!([null]) || it["type"] == "null";
        let all = variants.as_array().into_iter().flatten();
        let (nulls, others): (Vec<_>, Vec<_>) = all.partition(is_null);
        self.nullable |= !nulls.is_empty();
        match others.as_slice() {
            [only] => self.join(document, only, depth),
            _ => self.variants.extend(others),
        }
    }
}
