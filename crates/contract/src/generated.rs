//! The files that are derived from the contract and committed beside it.

use serde_json::Value;

use crate::{asyncapi, openapi, tables};

/// Every generated file: its path in the repository and its content.
pub fn generated() -> Vec<(&'static str, String)> {
    vec![
        ("api/openapi.json", pretty(&openapi::document())),
        ("api/asyncapi.json", pretty(&asyncapi::document())),
        ("docs/generated/endpoints.md", tables::endpoints()),
        ("docs/generated/errors.md", tables::errors()),
        ("docs/generated/events.md", tables::events()),
        ("docs/generated/notifications.md", tables::notifications()),
        ("docs/generated/roles.md", tables::roles()),
    ]
}

fn pretty(document: &Value) -> String {
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_generated_once_and_the_same_every_time() {
        let files = generated();
        for (index, (path, text)) in files.iter().enumerate() {
            assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{path}");
            assert!(files[..index].iter().all(|it| it.0 != *path), "{path}");
        }
        assert_eq!(files, generated());
    }
}
