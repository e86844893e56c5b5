//! From the contract's schemas to Python's types.

use serde_json::Value;

use super::quoted;

/// Where a type stands: what is received is exact, what is passed may be looser.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Received,
    Passed,
}

/// The type of one field or parameter.
pub struct Kind {
    pub python: String,
    pub nullable: bool,
}

/// Reads schemas of one document. `prefix` stands before the names of models.
pub struct Types<'a> {
    pub document: &'a Value,
    pub prefix: &'static str,
    pub side: Side,
}

impl Types<'_> {
    pub fn kind(&self, schema: &Value) -> Kind {
        if let Some(choices) = schema["anyOf"].as_array() {
            let real: Vec<&Value> = choices.iter().filter(|it| !is_null(it)).collect();
            let nullable = real.len() < choices.len();
            let python = match real.as_slice() {
                [one] => self.kind(one).python,
                _ => "Any".to_owned(),
            };
            return Kind { python, nullable };
        }
        Kind { python: self.python(schema), nullable: schema["nullable"] == true }
    }

    fn python(&self, schema: &Value) -> String {
        if let Some(reference) = schema["$ref"].as_str() {
            return self.named(reference.rsplit('/').next().unwrap_or_default());
        }
        if let Some([one]) = schema["allOf"].as_array().map(Vec::as_slice) {
            return self.kind(one).python;
        }
        let words = schema["enum"].as_array().or(schema["x-known-values"].as_array());
        if let Some(words) = words.filter(|all| all.iter().all(Value::is_string)) {
            return self.words(words, schema["enum"].is_null());
        }
        let (list, map) = match self.side {
            Side::Received => ("list", "dict"),
            Side::Passed => ("Sequence", "Mapping"),
        };
        match (schema["type"].as_str(), schema["format"].as_str()) {
            (Some("string"), Some("date-time")) => self.loose("datetime"),
            (Some("string"), Some("password")) => self.loose("Secret"),
            (Some("string"), _) => "str".to_owned(),
            (Some("integer"), _) => "int".to_owned(),
            (Some("number"), _) => "float".to_owned(),
            (Some("boolean"), _) => "bool".to_owned(),
            (Some("array"), _) => format!("{list}[{}]", optional(self.kind(&schema["items"]))),
            (Some("object"), _) => match &schema["additionalProperties"] {
                of @ Value::Object(_) => format!("{map}[str, {}]", optional(self.kind(of))),
                _ => format!("{map}[str, Any]"),
            },
            _ => "Any".to_owned(),
        }
    }

    fn named(&self, name: &str) -> String {
        let schema = &self.document["components"]["schemas"][name];
        match (schema["format"].as_str(), self.side) {
            (Some("password"), Side::Passed) => "Secret | str".to_owned(),
            _ => format!("{}{name}", self.prefix),
        }
    }

    fn words(&self, words: &[Value], is_open: bool) -> String {
        let words: Vec<String> = words.iter().filter_map(Value::as_str).map(quoted).collect();
        format!("Literal[{}]{}", words.join(", "), if is_open { " | str" } else { "" })
    }

    fn loose(&self, exact: &str) -> String {
        match self.side {
            Side::Received => exact.to_owned(),
            Side::Passed => format!("{exact} | str"),
        }
    }
}

pub fn optional(kind: Kind) -> String {
    if kind.nullable && kind.python != "Any" { format!("{} | None", kind.python) } else { kind.python }
}

/// The schema that a reference names, or the schema itself.
pub fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap_or(schema),
        None => schema,
    }
}

/// A thing with fields of its own, so that it is a class.
pub fn is_model(schema: &Value) -> bool {
    schema["type"] == "object" && schema["additionalProperties"].as_object().is_none()
}

pub fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|all| all.iter().any(|it| it == name))
}

fn is_null(schema: &Value) -> bool {
    schema["enum"].as_array().is_some_and(|all| all.iter().all(Value::is_null))
}
