//! What clients send.

use serde_json::{Value, json};

use super::{OPERATION, SPEC, after, assert_breaks, assert_harmless};

const PARAMETERS: &str = "/paths/~1v1~1things~1{thing_id}/post/parameters";

#[test]
fn a_parameter_stays_accepted() {
    assert_breaks(after(PARAMETERS, "/1", json!(0)), &["query `state`: is no longer accepted"]);
    assert_harmless(after(PARAMETERS, "/1/description", json!("Which ones.")));
}

#[test]
fn no_parameter_becomes_required() {
    let optional = json!({ "in": "query", "name": "deep", "required": false, "schema": { "type": "boolean" } });
    let mut required = optional.clone();
    required["required"] = json!(true);
    assert_breaks(after(PARAMETERS, "/-", required), &["query `deep`: must now be sent"]);
    assert_harmless(after(PARAMETERS, "/-", optional));
    assert_breaks(after(PARAMETERS, "/1/required", json!(true)), &["query `state`: must now be sent"]);
}

#[test]
fn no_header_becomes_required_whatever_its_case() {
    let header = json!({ "in": "header", "name": "X-Reason", "required": true, "schema": { "type": "string" } });
    assert_breaks(after(PARAMETERS, "/-", header), &["header `x-reason`: must now be sent"]);
    assert_harmless(after("/components/parameters/Key", "/name", json!("idempotency-key")));
    assert_harmless(after("/components/parameters/Key", "/required", json!(false)));
}

#[test]
fn no_body_becomes_required() {
    let mut without = super::document();
    without.pointer_mut(OPERATION).unwrap().as_object_mut().unwrap().remove("requestBody");
    let found = super::breaks(&without, &super::document());
    assert_breaks(found, &["body: must now be sent"]);
    let body = format!("{OPERATION}/requestBody");
    assert_harmless(after(&body, "/required", json!(false)));
}

#[test]
fn a_body_stays_accepted_in_its_media_type() {
    assert_breaks(after(OPERATION, "/requestBody", Value::Null), &["`application/json` is gone"]);
    let content = format!("{OPERATION}/requestBody/content");
    assert_harmless(after(&content, "/application~1cbor", json!({ "schema": {} })));
}

#[test]
fn no_field_becomes_required() {
    assert_breaks(after(SPEC, "/required/-", json!("note")), &["body.note: must now be sent"]);
    assert_harmless(after(SPEC, "/required/0", json!(0)));
    assert_harmless(after(SPEC, "/properties/color", json!({ "type": "string" })));
}

#[test]
fn a_field_stays_accepted() {
    assert_breaks(after(SPEC, "/properties/note", Value::Null), &["body.note: is no longer accepted"]);
}

#[test]
fn unknown_fields_stay_accepted_where_they_were() {
    let mut open = super::document();
    open.pointer_mut(SPEC).unwrap().as_object_mut().unwrap().remove("additionalProperties");
    assert_breaks(super::breaks(&open, &super::document()), &["unknown fields are now refused"]);
    assert_harmless(super::breaks(&super::document(), &open));
}

#[test]
fn a_set_of_words_only_grows() {
    let words = "/components/schemas/StateChoice/enum";
    assert_breaks(
        after(words, "/1", json!(0)),
        &[r#"query `state`: "shut" is no longer accepted"#, r#"body.states[]: "shut" is no longer"#],
    );
    assert_harmless(after(words, "/-", json!("ajar")));
    assert_harmless(after("/components/schemas/StateChoice", "/enum", Value::Null));
    let only = json!(["big"]);
    assert_breaks(after(SPEC, "/properties/note/enum", only), &["any other value is no longer accepted"]);
}

#[test]
fn bounds_only_widen() {
    let name = "/components/schemas/Name";
    assert_breaks(after(name, "/maxLength", json!(32)), &["body.name: maxLength is now 32"]);
    assert_breaks(after(name, "/minLength", json!(2)), &["body.name: minLength is now 2"]);
    assert_breaks(after(SPEC, "/properties/size/minimum", json!(2)), &["minimum is now 2"]);
    assert_breaks(after(SPEC, "/properties/states/maxItems", json!(9)), &["maxItems is now 9"]);
    assert_harmless(after(name, "/maxLength", json!(128)));
    assert_harmless(after(name, "/minLength", Value::Null));
    assert_harmless(after(SPEC, "/properties/size/maximum", json!(20)));
}

#[test]
fn a_pattern_only_goes_away() {
    let name = "/components/schemas/Name";
    assert_breaks(after(name, "/pattern", json!("^a")), &["must now match `^a`"]);
    let mut with_pattern = super::document();
    with_pattern["components"]["schemas"]["Name"]["pattern"] = json!("^a");
    assert_harmless(super::breaks(&with_pattern, &super::document()));
}

#[test]
fn a_type_or_format_only_widens() {
    let size = "/properties/size";
    assert_breaks(after(SPEC, "/properties/size/type", json!("string")), &["type integer became string"]);
    assert_breaks(after(SPEC, "/properties/size/format", json!("int32")), &["format int64 became int32"]);
    assert_breaks(after(SPEC, "/properties/note/format", json!("uuid")), &["format any became uuid"]);
    let number = json!({ "type": "number", "minimum": 1, "maximum": 10 });
    assert_harmless(after(SPEC, size, number));
    assert_harmless(after(SPEC, size, json!({})));
}

#[test]
fn null_stays_accepted() {
    assert_breaks(after(SPEC, "/properties/note/nullable", Value::Null), &["body.note: null is no longer accepted"]);
    assert_harmless(after(SPEC, "/properties/size/nullable", json!(true)));
}

#[test]
fn two_ways_to_write_one_schema_are_equal() {
    let reference = json!({ "$ref": "#/components/schemas/Name" });
    assert_harmless(after(SPEC, "/properties/name", reference));
    let inline = json!({ "type": "string", "minLength": 1, "maxLength": 64 });
    assert_harmless(after(SPEC, "/properties/name", inline));
}

#[test]
fn a_choice_keeps_its_variants() {
    let one = json!({ "type": "string" });
    let two = json!({ "type": "integer" });
    let mut both = super::document();
    both["components"]["schemas"]["ThingSpec"]["properties"]["any"] = json!({ "oneOf": [one, two] });
    let mut fewer = both.clone();
    fewer["components"]["schemas"]["ThingSpec"]["properties"]["any"] = json!({ "oneOf": [one] });
    let found = super::breaks(&both, &fewer);
    assert_breaks(found, &["body.any: type any became string"]);
    let mut more = both.clone();
    more["components"]["schemas"]["ThingSpec"]["properties"]["any"] =
        json!({ "oneOf": [one, two, { "type": "boolean" }] });
    assert_harmless(super::breaks(&both, &more));
    assert_breaks(super::breaks(&more, &both), &["body.any: accepts fewer variants"]);
}
