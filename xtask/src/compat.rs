//! Compares the API document with that of the last release: what a client of
//! it relies on must not break.

use std::path::Path;

use contract::compat::{self, RELEASED};

/// What would break; empty before the first release.
pub fn breaks(root: &Path) -> Result<Vec<String>, String> {
    let Some(released) = released(root)? else { return Ok(Vec::new()) };
    let documents = contract::generated();
    let current = documents.iter().find(|(path, _)| *path == "api/openapi.json").map(|(_, text)| text.as_str());
    compat::check_files(&released, current.unwrap_or_default()).map_err(|error| error.to_string())
}

/// The command: fails with every break, one a line.
pub fn run(root: &Path) -> Result<(), String> {
    if released(root)?.is_none() {
        println!("{RELEASED} is not there: nothing was released yet, so nothing can break");
        return Ok(());
    }
    let found = breaks(root)?;
    if found.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}\n{} would break clients of the last release; add instead of changing",
        found.join("\n"),
        found.len()
    ))
}

fn released(root: &Path) -> Result<Option<String>, String> {
    match std::fs::read_to_string(root.join(RELEASED)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot read {RELEASED}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaks_after(change: impl FnOnce(&mut serde_json::Value)) -> Vec<String> {
        let root = std::env::temp_dir().join(format!("xtask-compat-{}-{:p}", std::process::id(), &change));
        let path = root.join(RELEASED);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let documents = contract::generated();
        let mut released = serde_json::from_str(&documents[0].1).unwrap();
        change(&mut released);
        std::fs::write(path, released.to_string()).unwrap();
        let found = breaks(&root).unwrap();
        std::fs::remove_dir_all(root).unwrap();
        found
    }

    #[test]
    fn an_operation_that_a_release_promised_must_stay() {
        assert!(breaks_after(|_| ()).is_empty());
        let found = breaks_after(|it| it["paths"]["/v1/gone"] = it["paths"]["/v1/whoami"].clone());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("/v1/gone"), "{found:?}");
    }

    #[test]
    fn before_the_first_release_nothing_can_break() {
        assert!(breaks(Path::new("/nowhere")).unwrap().is_empty());
    }
}
