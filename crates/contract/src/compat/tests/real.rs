//! The rules on the real document.

use serde_json::{Value, json};

use super::{assert_breaks, assert_harmless, changed};
use crate::{compat::breaks, openapi::document};

fn at(pointer: &str, value: Value) -> Vec<String> {
    changed(document(), pointer, value)
}

const CREATE: &str = "/paths/~1v1~1organizations~1{organization_id}~1projects/post";
const LIST: &str = "/paths/~1v1~1organizations~1{organization_id}~1projects/get";
const SCHEMAS: &str = "/components/schemas";

#[test]
fn document_does_not_break_itself() {
    assert_harmless(breaks(&document(), &document()));
}

#[test]
fn a_removed_operation_is_found() {
    assert_breaks(at(CREATE, Value::Null), &["POST /v1/organizations/{organization_id}/projects"]);
}

#[test]
fn a_removed_filter_is_found() {
    assert_breaks(at(&format!("{LIST}/parameters/1"), json!(0)), &["query `cursor`: is no longer accepted"]);
}

#[test]
fn a_new_required_field_is_found_wherever_the_schema_is_used() {
    let pointer = format!("{SCHEMAS}/ProjectSpec/required/-");
    assert_breaks(
        at(&pointer, json!("region")),
        &[
            "POST /v1/organizations/{organization_id}/projects body.region",
            "PATCH /v1/projects/{project_id} body.region",
        ],
    );
}

#[test]
fn a_narrowed_choice_is_found_behind_references() {
    let pointer = format!("{SCHEMAS}/RoleChoice/enum/0");
    let found = at(&pointer, json!(0));
    assert!(found.len() >= 5, "{found:#?}");
    assert!(found.iter().all(|it| it.contains(r#""owner" is no longer accepted"#)), "{found:#?}");
}

#[test]
fn a_tightened_text_is_found() {
    let found = at(&format!("{SCHEMAS}/Name/maxLength"), json!(32));
    assert!(found.iter().any(|it| it.contains("projects body.name: maxLength is now 32")), "{found:#?}");
    assert!(found.iter().all(|it| !it.contains(" 200")), "answers may tighten: {found:#?}");
}

#[test]
fn a_removed_answer_field_is_found_in_lists_too() {
    let found = at(&format!("{SCHEMAS}/Project/properties/version"), Value::Null);
    assert!(found.iter().any(|it| it.ends_with("200.items[].version: is gone")), "{found:#?}");
    assert!(found.iter().any(|it| it.ends_with("201.version: is gone")), "{found:#?}");
}

#[test]
fn an_answer_that_may_be_null_is_found() {
    let pointer = format!("{SCHEMAS}/User/properties/email");
    let nullable = json!({ "anyOf": [{ "$ref": "#/components/schemas/Email" }, { "enum": [null] }] });
    let found = at(&pointer, nullable);
    assert!(found.iter().any(|it| it.contains(".email: may now be null")), "{found:#?}");
}

#[test]
fn a_status_that_lost_a_code_is_found() {
    let reference = json!({ "$ref": "#/components/responses/InProgress" });
    let pointer = format!("{CREATE}/responses/409");
    assert_breaks(at(&pointer, reference), &["409: no longer means `name_taken`"]);
}

#[test]
fn another_permission_is_found() {
    let pointer = format!("{CREATE}/x-policy/permission");
    assert_breaks(at(&pointer, json!("organization:write")), &["is now organization `organization:write`"]);
}

#[test]
fn growth_is_harmless() {
    assert_harmless(at(&format!("{SCHEMAS}/ProjectSpec/properties/region"), json!({ "type": "string" })));
    assert_harmless(at(&format!("{SCHEMAS}/Project/properties/region"), json!({ "type": "string" })));
    assert_harmless(at(&format!("{SCHEMAS}/RoleChoice/enum/-"), json!("guest")));
    assert_harmless(at(&format!("{SCHEMAS}/ProjectState/x-known-values/0"), json!(0)));
    let filter = json!({ "in": "query", "name": "region", "required": false, "schema": { "type": "string" } });
    assert_harmless(at(&format!("{LIST}/parameters/-"), filter));
    let operation = json!({ "operationId": "CountThings", "responses": { "200": {} } });
    assert_harmless(at("/paths/~1v1~1things", json!({ "get": operation })));
}
