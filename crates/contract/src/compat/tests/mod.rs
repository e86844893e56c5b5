//! For each rule a planted break that is found, and a harmless change that is not.

mod answers;
mod real;
mod requests;

use serde_json::{Value, json};

use super::*;

/// One operation that uses every kind of thing that is compared.
fn document() -> Value {
    json!({
        "openapi": "3.0.3",
        "paths": {
            "/v1/things/{thing_id}": {
                "post": {
                    "operationId": "ChangeThing",
                    "parameters": [
                        { "in": "path", "name": "thing_id", "required": true, "schema": { "type": "string" } },
                        { "in": "query", "name": "state", "required": false, "schema": { "$ref": "#/components/schemas/StateChoice" } },
                        { "$ref": "#/components/parameters/Key" },
                    ],
                    "requestBody": {
                        "required": true,
                        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/ThingSpec" } } },
                    },
                    "responses": {
                        "200": {
                            "headers": { "x-correlation-id": {} },
                            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Thing" } } },
                        },
                        "409": { "$ref": "#/components/responses/Refused" },
                    },
                    "security": [{ "bearer": [] }],
                    "x-policy": { "auth": "organization", "permission": "things:write" },
                },
            },
        },
        "components": {
            "parameters": {
                "Key": { "in": "header", "name": "Idempotency-Key", "required": true, "schema": { "type": "string", "maxLength": 128 } },
            },
            "responses": {
                "Refused": { "x-codes": ["conflict", "name_taken"], "headers": { "Retry-After": {} } },
            },
            "schemas": {
                "StateChoice": { "type": "string", "enum": ["open", "shut"] },
                "Name": { "type": "string", "minLength": 1, "maxLength": 64 },
                "ThingSpec": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {
                        "name": { "allOf": [{ "$ref": "#/components/schemas/Name" }], "description": "Its name." },
                        "note": { "type": "string", "nullable": true },
                        "size": { "type": "integer", "format": "int64", "minimum": 1, "maximum": 10 },
                        "states": { "type": "array", "items": { "$ref": "#/components/schemas/StateChoice" } },
                    },
                    "required": ["name"],
                },
                "Thing": {
                    "type": "object",
                    "properties": {
                        "id": { "type": "string" },
                        "state": { "type": "string", "x-known-values": ["open", "shut"] },
                        "size": { "type": "integer", "format": "int32" },
                        "parent": { "anyOf": [{ "$ref": "#/components/schemas/Thing" }, { "enum": [null] }] },
                        "note": { "type": "string" },
                        "extra": {},
                    },
                    "required": ["id", "state", "size"],
                },
            },
        },
    })
}

const OPERATION: &str = "/paths/~1v1~1things~1{thing_id}/post";
const SPEC: &str = "/components/schemas/ThingSpec";
const THING: &str = "/components/schemas/Thing";

/// What breaks when the value at `pointer` becomes `value`; null removes it.
fn after(base: &str, pointer: &str, value: Value) -> Vec<String> {
    changed(document(), &format!("{base}{pointer}"), value)
}

fn changed(old: Value, pointer: &str, value: Value) -> Vec<String> {
    let mut new = old.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let name = name.replace("~1", "/");
    match new.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}")) {
        Value::Object(fields) if value.is_null() => drop(fields.remove(&name)),
        Value::Object(fields) => drop(fields.insert(name, value)),
        Value::Array(items) if name == "-" => items.push(value),
        Value::Array(items) => drop(items.remove(name.parse().unwrap())),
        other => panic!("{pointer} is in {other}"),
    }
    assert_ne!(old, new, "{pointer} did not change");
    breaks(&old, &new)
}

#[track_caller]
fn assert_breaks(found: Vec<String>, expected: &[&str]) {
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (line, words) in found.iter().zip(expected) {
        assert!(line.contains(words), "`{line}` does not say `{words}`");
    }
}

#[track_caller]
fn assert_harmless(found: Vec<String>) {
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_document_does_not_break_itself() {
    assert_harmless(breaks(&document(), &document()));
}

#[test]
fn an_operation_stays_under_its_address_and_name() {
    assert_breaks(after(OPERATION, "", Value::Null), &["POST /v1/things/{thing_id}: the operation is gone"]);
    let whole_path = "/paths/~1v1~1things~1{thing_id}";
    assert_breaks(after(whole_path, "", Value::Null), &["the operation is gone"]);
    assert_breaks(after(OPERATION, "/operationId", json!("EditThing")), &["renames it"]);
    let another = json!({ "get": { "operationId": "ListThings", "responses": { "200": {} } } });
    assert_harmless(after("/paths", "/~1v1~1things", another));
    assert_harmless(after(OPERATION, "/summary", json!("Other words.")));
}

#[test]
fn access_of_clients_never_narrows() {
    let policy = format!("{OPERATION}/x-policy");
    assert_breaks(
        after(&policy, "/permission", json!("things:admin")),
        &["was organization `things:write` and is now organization `things:admin`"],
    );
    assert_breaks(after(&policy, "/auth", json!("platform")), &["is now platform"]);
    assert_harmless(after(OPERATION, "/security", json!([])));
    assert_harmless(after(OPERATION, "/x-policy", json!({ "auth": "signed_in" })));
    assert_harmless(after(&policy, "/lane", json!("admin")));

    let mut public = document();
    *public.pointer_mut(&format!("{OPERATION}/security")).unwrap() = json!([]);
    assert_breaks(breaks(&public, &document()), &["now asks for credentials"]);
}

#[test]
fn files_that_are_no_documents_are_refused_with_what_to_do() {
    let good = document().to_string();
    assert_eq!(check_files(&good, &good).unwrap(), Vec::<String>::new());
    for bad in ["", "{", "{}", r#"{"paths":{}}"#] {
        let error = check_files(bad, &good).unwrap_err().to_string();
        assert!(error.contains("released") && error.contains("restore"), "{error}");
        let error = check_files(&good, bad).unwrap_err().to_string();
        assert!(error.contains("current") && error.contains("generate"), "{error}");
    }
}
