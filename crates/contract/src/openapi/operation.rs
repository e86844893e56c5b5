//! One operation of the document, from its endpoint type.

use serde_json::{Map, Value, json};

use super::{responses, statuses};
use crate::{
    Auth, Endpoint, EndpointInfo, is_nothing,
    schemas::{Fields, Schemas},
    wording,
};

pub(super) const IDEMPOTENCY_KEY: &str = "IdempotencyKey";

const ABOUT_KEY: &str = "Chosen by the caller, new for each new request. A repetition with the same key has one \
    effect and gets the same answer.";

pub(super) fn describe<E: Endpoint>(schemas: &mut Schemas) -> Value {
    let info = E::INFO;
    let mut operation = json!({
        "operationId": info.operation,
        "tags": [info.tag()],
        "summary": summary(&info),
        "description": description(&info),
        "parameters": parameters::<E>(schemas),
        "responses": answers::<E>(schemas),
        "security": security(info.policy.auth),
        "x-policy": wording::policy(&info.policy),
    });
    if !is_nothing::<E::Body>() {
        operation["requestBody"] = json!({
            "required": true,
            "content": { "application/json": { "schema": schemas.request::<E::Body>() } },
        });
    }
    operation
}

pub(super) fn summary(info: &EndpointInfo) -> &'static str {
    wording::summary(info.about)
}

pub(super) fn idempotency_key() -> Value {
    json!({
        "in": "header",
        "name": "Idempotency-Key",
        "required": true,
        "description": ABOUT_KEY,
        "schema": { "type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[\\x21-\\x7e]+$" },
    })
}

fn description(info: &EndpointInfo) -> String {
    let mut paragraphs = wording::paragraphs(info.about);
    paragraphs.push(format!("Who may call: {}.", wording::auth(info.policy.auth)));
    paragraphs.join("\n\n")
}

fn parameters<E: Endpoint>(schemas: &mut Schemas) -> Vec<Value> {
    let mut in_path = schemas.fields::<E::Path>();
    let mut list: Vec<Value> = wording::path_parameters(E::INFO.path)
        .into_iter()
        .filter_map(|name| in_path.properties.remove_entry(name))
        .map(|(name, schema)| parameter("path", &name, true, schema))
        .collect();
    let Fields { properties, required } = schemas.fields::<E::Query>();
    for (name, schema) in properties {
        let is_required = required.contains(&name);
        list.push(parameter("query", &name, is_required, schema));
    }
    if E::INFO.policy.idempotency.needs_key() {
        let reference = format!("#/components/parameters/{IDEMPOTENCY_KEY}");
        list.push(json!({ "$ref": reference }));
    }
    list
}

fn parameter(place: &str, name: &str, required: bool, mut schema: Value) -> Value {
    let mut parameter = json!({ "in": place, "name": name, "required": required });
    if let Some(text) = schema.as_object_mut().and_then(|it| it.remove("description")) {
        parameter["description"] = text;
    }
    parameter["schema"] = without_nul(without_wrapping(schema));
    parameter
}

/// The server refuses NUL everywhere; a text without a rule of its own says so here.
fn without_nul(mut schema: Value) -> Value {
    let is_ruled = ["pattern", "format", "enum"].iter().any(|it| schema.get(it).is_some());
    if schema["type"] == "string" && !is_ruled {
        schema["pattern"] = "^[^\\x00]*$".into();
    }
    schema
}

/// A reference that was wrapped only to carry a description needs it no more.
fn without_wrapping(schema: Value) -> Value {
    match schema["allOf"].as_array().map(Vec::as_slice) {
        Some([only]) if schema.as_object().is_some_and(|it| it.len() == 1) => only.clone(),
        _ => schema,
    }
}

fn answers<E: Endpoint>(schemas: &mut Schemas) -> Map<String, Value> {
    let info = E::INFO;
    let mut answers = Map::new();
    let success = responses::success(&info, schemas.answer::<E::Response>());
    answers.insert(info.success.to_string(), success);
    for (status, codes) in statuses(&info) {
        let name = responses::problem_name(&codes);
        let reference = format!("#/components/responses/{name}");
        answers.insert(status.to_string(), json!({ "$ref": reference }));
    }
    answers
}

fn security(auth: Auth) -> Value {
    match auth {
        Auth::Public { .. } => json!([]),
        Auth::SignedIn | Auth::Person | Auth::Organization(_) | Auth::Project(_) | Auth::Platform(_) => {
            json!([{ "bearer": [] }])
        }
    }
}
