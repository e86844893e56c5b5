//! Properties of the document as a whole.

use super::*;
use crate::walk::{references, walk};

#[test]
fn every_reference_leads_somewhere_and_nothing_stands_beside_it() {
    let document = document();
    walk(&document, "#", &mut |place, object| {
        if let Some(target) = object.get("$ref").and_then(Value::as_str) {
            assert_eq!(object.len(), 1, "{place} has siblings of $ref");
            let pointer = target.trim_start_matches('#');
            assert!(document.pointer(pointer).is_some(), "{place} → {target}");
        }
    });
}

#[test]
fn every_component_is_used() {
    let document = document();
    let used = references(&document);
    for kind in ["schemas", "responses", "headers", "parameters"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            let address = format!("#/components/{kind}/{name}");
            assert!(used.contains(&address), "{address} is unused");
        }
    }
}

#[test]
fn the_dialect_is_3_0() {
    walk(&document(), "#", &mut |place, object| {
        for keyword in ["const", "$schema", "prefixItems", "$defs", "examples"] {
            assert!(!object.contains_key(keyword), "{place} has `{keyword}`");
        }
        let types = object.get("type").filter(|_| !place.ends_with("/properties"));
        assert!(types.is_none_or(Value::is_string), "{place}: {types:?}");
    });
}

#[test]
fn every_answer_names_the_correlation_id_and_when_to_come_back() {
    let document = document();
    let responses = document["components"]["responses"].as_object().unwrap();
    for (name, response) in responses {
        assert!(response["headers"].get("x-correlation-id").is_some(), "{name}");
        let codes = response["x-codes"].as_array().unwrap();
        let waits = codes
            .iter()
            .any(|it| ["too_many_requests", "unavailable", "request_in_progress"].iter().any(|name| it == name));
        assert_eq!(response["headers"].get("Retry-After").is_some(), waits, "{name}");
    }
    for (path, item) in document["paths"].as_object().unwrap() {
        for (verb, operation) in item.as_object().unwrap() {
            let answers = operation["responses"].as_object().unwrap();
            let (_, success) = answers.iter().find(|(it, _)| it.starts_with('2')).unwrap();
            assert!(success["headers"].get("x-correlation-id").is_some(), "{verb} {path}");
        }
    }
}

#[test]
fn a_mutation_with_a_key_says_so() {
    let document = document();
    let operation = &document["paths"]["/v1/organizations/{organization_id}/projects"]["post"];
    let parameters = operation["parameters"].as_array().unwrap();
    let key = json!({ "$ref": "#/components/parameters/IdempotencyKey" });
    assert!(parameters.contains(&key));
    for status in ["201", "400", "401", "403", "404", "409", "413", "415", "422", "429", "503"] {
        assert!(operation["responses"].get(status).is_some(), "{status}");
    }
}

#[test]
fn a_public_read_asks_for_no_credentials() {
    let document = document();
    let operation = &document["paths"]["/.well-known/jwks.json"]["get"];
    assert_eq!(operation["security"], json!([]));
    for status in ["401", "403", "404", "409", "413", "415", "422"] {
        assert!(operation["responses"].get(status).is_none(), "{status}");
    }
}

#[test]
fn an_optional_parameter_is_never_null() {
    let document = document();
    let operation = &document["paths"]["/v1/organizations/{organization_id}/projects"]["get"];
    let parameters = operation["parameters"].as_array().unwrap();
    let state = parameters.iter().find(|it| it["name"] == "state").unwrap();
    assert_eq!(state["schema"], json!({ "$ref": "#/components/schemas/ProjectStateChoice" }));
    assert_eq!(state["description"], "Only projects in this state. Default: all except deleted ones.");
    assert_eq!(state["required"], false);
}
