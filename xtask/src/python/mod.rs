//! The generated core of the Python SDK: models, problems and one method per
//! endpoint, for programs that wait and for programs that await. What people
//! touch is written by hand beside it, in `sdk/python/src/gpuaas`.

mod methods;
mod models;
mod names;
mod parameters;
mod problems;
mod resources;
mod schema;

use std::path::PathBuf;

use serde_json::Value;

const FOLDER: &str = "sdk/python/src/gpuaas/_generated";
const NOTE: &str = "Generated from the contract; a change made here is lost. @generated";

/// Every file of the core: its path from the workspace root, and its content.
pub fn documents(document: &Value) -> Vec<(PathBuf, String)> {
    let file = |name: &str, text: String| (PathBuf::from(FOLDER).join(name), text);
    let version = document["info"]["version"].as_str().unwrap_or("0.0.0");
    vec![
        file("__init__.py", format!("\"\"\"{NOTE}\"\"\"\n\nVERSION = \"{version}\"\n")),
        file("models.py", models::module(document)),
        file("problems.py", problems::module()),
        file("resources.py", resources::module(document, methods::Face::Waiting)),
        file("async_resources.py", resources::module(document, methods::Face::Awaiting)),
    ]
}

/// A Python string literal. JSON's escapes are Python's, too.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Text that stands in a docstring.
fn prose(text: &str) -> String {
    text.replace('\\', "\\\\").replace("\"\"\"", "'''").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(document: &Value, name: &str) -> String {
        let files = documents(document);
        files.into_iter().find(|(path, _)| path.ends_with(name)).map(|(_, text)| text).unwrap()
    }

    fn contract() -> Value {
        contract::openapi::document()
    }

    #[test]
    fn every_endpoint_is_a_method_in_both_faces() {
        let document = contract();
        let (waiting, awaiting) = (of(&document, "resources.py"), of(&document, "async_resources.py"));
        for item in document["paths"].as_object().unwrap().values() {
            for operation in item.as_object().unwrap().values() {
                let call = format!("{}, ", operation["operationId"]);
                assert_eq!(waiting.matches(&call).count(), 1, "{call}");
                assert_eq!(awaiting.matches(&call).count(), 1, "{call}");
            }
        }
    }

    #[test]
    fn answers_stay_open_and_requests_name_their_choices() {
        let models = of(&contract(), "models.py");
        assert!(models.contains("AllocationState: TypeAlias = Literal[\"requested\""), "{models}");
        assert!(models.contains("\"release_failed\"] | str\n"), "{models}");
        assert!(models.contains("ShownSecret: TypeAlias = Secret\n"), "{models}");
    }

    #[test]
    fn names_that_meet_are_kept_apart_and_other_bodies_are_sent_as_they_are() {
        let operation = |content: Value| {
            json!({"operationId": "SendHook", "tags": ["hooks"], "x-policy": {"idempotency": "natural"}, "responses": {},
                "parameters": [{"in": "path", "name": "project_id", "schema": {"type": "string"}}],
                "requestBody": {"content": content}})
        };
        let document = |content| json!({"info": {}, "components": {}, "paths": {"/v1/{project_id}": {"post": operation(content)}}});
        let fields = json!({"schema": {"type": "object", "properties": {"project": {"type": "string"}}}});
        let text = of(&document(json!({"application/json": fields})), "resources.py");
        assert!(text.contains("project: str | None = None, project_: str | None = None"), "{text}");
        let text = of(&document(json!({"application/octet-stream": {}})), "resources.py");
        assert!(
            text.contains("content: bytes") && text.contains("content_type=\"application/octet-stream\""),
            "{text}"
        );
    }

    #[test]
    fn a_body_that_is_not_json_is_bytes_or_text() {
        let operation = |media: &str| {
            json!({"operationId": "GetInvoicePdf", "tags": ["invoices"], "summary": "The invoice.", "parameters": [],
                "x-policy": {"idempotency": "natural"},
                "responses": {"200": {"content": {media: {"schema": {"type": "string", "format": "binary"}}}}}})
        };
        let document = |media| {
            json!({"info": {}, "components": {"schemas": {}},
            "paths": {"/v1/invoice": {"get": operation(media)}}})
        };
        let text = of(&document("application/pdf"), "resources.py");
        assert!(text.contains("def get_pdf(self) -> bytes:"), "{text}");
        assert!(text.contains("accept=\"application/pdf\""), "{text}");
        assert!(of(&document("text/csv"), "resources.py").contains("def get_pdf(self) -> str:"));
    }
}
