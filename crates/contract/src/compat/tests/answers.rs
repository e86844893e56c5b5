//! What clients read.

use serde_json::{Value, json};

use super::{OPERATION, THING, after, assert_breaks, assert_harmless};

const RESPONSES: &str = "/paths/~1v1~1things~1{thing_id}/post/responses";

#[test]
fn a_field_stays() {
    assert_breaks(after(THING, "/properties/note", Value::Null), &["200.note: is gone"]);
    assert_harmless(after(THING, "/properties/color", json!({ "type": "string" })));
}

#[test]
fn a_field_that_was_always_there_stays_so() {
    assert_breaks(after(THING, "/required/0", json!(0)), &["200.id: is no longer always present"]);
    assert_harmless(after(THING, "/required/-", json!("note")));
}

#[test]
fn a_type_or_format_stays() {
    assert_breaks(after(THING, "/properties/size/type", json!("string")), &["200.size: type integer became string"]);
    assert_breaks(after(THING, "/properties/size", json!({})), &["type integer became any"]);
    assert_breaks(after(THING, "/properties/size/format", json!("int64")), &["format int32 became int64"]);
    assert_harmless(after(THING, "/properties/extra", json!({ "type": "string", "nullable": true })));
    assert_harmless(after(THING, "/properties/note/format", json!("uuid")));
}

#[test]
fn a_value_does_not_become_null() {
    assert_breaks(after(THING, "/properties/note/nullable", json!(true)), &["200.note: may now be null"]);
    let never_null = json!({ "$ref": "#/components/schemas/Thing" });
    assert_harmless(after(THING, "/properties/parent", never_null));
}

#[test]
fn an_open_set_of_words_may_change() {
    assert_harmless(after(THING, "/properties/state/x-known-values", json!(["open", "ajar"])));
    assert_harmless(after(THING, "/properties/state/x-known-values", json!(["open"])));
}

#[test]
fn a_closed_set_of_words_does_not_grow() {
    let mut closed = super::document();
    closed["components"]["schemas"]["Thing"]["properties"]["state"]["enum"] = json!(["open", "shut"]);
    let mut more = closed.clone();
    more["components"]["schemas"]["Thing"]["properties"]["state"]["enum"] = json!(["open", "shut", "ajar"]);
    let expected = [r#"200.state: "ajar" is a value that clients do not know"#];
    assert_breaks(super::breaks(&closed, &more), &expected);
    assert_harmless(super::breaks(&more, &closed));
    assert_breaks(super::breaks(&closed, &super::document()), &["any other value"]);
}

#[test]
fn bounds_of_answers_may_change() {
    assert_harmless(after(THING, "/properties/id/maxLength", json!(10)));
    assert_harmless(after(THING, "/properties/id/pattern", json!("^thing-")));
}

#[test]
fn a_success_keeps_its_status() {
    let mut moved = super::document();
    let responses = moved.pointer_mut(RESPONSES).unwrap().as_object_mut().unwrap();
    let answer = responses.remove("200").unwrap();
    responses.insert("202".into(), answer);
    let found = super::breaks(&super::document(), &moved);
    assert_breaks(found, &["200: is no longer answered", "202: is a success that clients do not know"]);
}

#[test]
fn a_status_stays_and_others_may_come() {
    assert_breaks(after(RESPONSES, "/409", Value::Null), &["409: is no longer answered"]);
    assert_harmless(after(RESPONSES, "/422", json!({ "x-codes": ["invalid_value"] })));
}

#[test]
fn a_status_keeps_its_meaning() {
    let codes = "/components/responses/Refused/x-codes";
    assert_breaks(after(codes, "/1", json!(0)), &["409: no longer means `name_taken`"]);
    assert_harmless(after(codes, "/-", json!("last_owner")));
    let elsewhere = json!({ "x-codes": ["name_taken", "conflict"], "headers": { "Retry-After": {} } });
    assert_harmless(after(RESPONSES, "/409", elsewhere));
}

#[test]
fn a_documented_header_stays() {
    let headers = format!("{RESPONSES}/200/headers");
    assert_breaks(after(&headers, "/x-correlation-id", Value::Null), &["200: the header `x-correlation-id` is gone"]);
    assert_harmless(after(&headers, "/etag", json!({})));
}

#[test]
fn an_answer_stays_in_its_media_type() {
    let content = format!("{OPERATION}/responses/200/content");
    assert_breaks(after(&content, "/application~1json", Value::Null), &["200: `application/json` is gone"]);
    assert_harmless(after(&content, "/text~1csv", json!({ "schema": { "type": "string" } })));
}

#[test]
fn a_schema_that_contains_itself_is_compared_once() {
    let recursive = json!({ "$ref": "#/components/schemas/Thing" });
    assert_harmless(after(THING, "/properties/twin", recursive));
    let found = after(THING, "/properties/id/type", json!("integer"));
    assert_breaks(found, &["200.id: type string became integer"]);
}
