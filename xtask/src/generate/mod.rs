//! The files that are written by code and committed: one list drives both
//! writing them and noticing that a committed copy is stale.

mod binaries;
mod commands;
mod consumers;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::{bench, reach, schema, tidy};

/// Every generated file: its path from the workspace root, and its content.
pub fn documents(root: &Path) -> Result<Vec<(PathBuf, String)>, GenerateError> {
    let all = contract::generated().into_iter().chain(gpuaasd::documents::generated());
    let tasks = (PathBuf::from("docs/generated/tasks.md"), protocol::catalog());
    let python = crate::python::documents(&contract::openapi::document());
    let failed = |page: &str| {
        let path = PathBuf::from(page);
        move |error: String| GenerateError { path, source: io::Error::other(error) }
    };
    let files = tidy::tracked(root).map_err(failed(reach::PAGE))?;
    let coverage = (PathBuf::from(reach::PAGE), reach::document(&files).map_err(failed(reach::PAGE))?);
    let schema = (PathBuf::from(schema::PAGE), schema::document(&schema::read(&files)));
    let binaries = (PathBuf::from(binaries::PAGE), binaries::document(&files).map_err(failed(binaries::PAGE))?);
    let consumers = (PathBuf::from(consumers::PAGE), consumers::document(&files));
    let bench = bench::document(root).map_err(failed(bench::PAGE))?;
    let all = all.map(|(path, text)| (PathBuf::from(path), text));
    Ok(all.chain([tasks, coverage, schema, binaries, consumers, bench]).chain(python).collect())
}

/// Writes the stale files, or with `check` leaves them alone; answers their paths.
pub fn generate(check: bool) -> Result<Vec<String>, GenerateError> {
    let root = crate::root();
    reconcile(&root, documents(&root)?, check)
}

/// The command: writes, or fails when something is stale.
pub fn run(check: bool) -> Result<(), String> {
    let stale = generate(check).map_err(|error| error.to_string())?;
    if check && !stale.is_empty() {
        return Err(format!("stale: {}; run make generate and commit the result", stale.join(", ")));
    }
    for path in stale {
        println!("wrote {path}");
    }
    Ok(())
}

/// A generated file that cannot be read or written.
#[derive(Debug)]
pub struct GenerateError {
    path: PathBuf,
    source: io::Error,
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot generate {}: {}", self.path.display(), self.source)
    }
}

impl std::error::Error for GenerateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

fn reconcile(root: &Path, documents: Vec<(PathBuf, String)>, check: bool) -> Result<Vec<String>, GenerateError> {
    let mut stale = Vec::new();
    for (path, wanted) in documents {
        let target = root.join(&path);
        let failed = |source| GenerateError { path: path.clone(), source };
        let current = match std::fs::read_to_string(&target) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        if current.as_deref() == Some(wanted.as_str()) {
            continue;
        }
        if !check {
            if let Some(folder) = target.parent() {
                std::fs::create_dir_all(folder).map_err(failed)?;
            }
            std::fs::write(&target, wanted).map_err(failed)?;
        }
        stale.push(path.display().to_string());
    }
    Ok(stale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty_folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_check_names_stale_files_and_writes_nothing() {
        let root = empty_folder("generate-check");
        let wanted = || vec![(PathBuf::from("api/a.json"), "{}".to_owned())];
        assert_eq!(reconcile(&root, wanted(), true).unwrap(), ["api/a.json"]);
        assert!(!root.join("api/a.json").exists());
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_written_file_is_up_to_date_until_its_source_changes() {
        let root = empty_folder("generate-write");
        let document = |text: &str| vec![(PathBuf::from("api/a.json"), text.to_owned())];
        assert_eq!(reconcile(&root, document("{}"), false).unwrap(), ["api/a.json"]);
        assert!(reconcile(&root, document("{}"), true).unwrap().is_empty());
        assert_eq!(reconcile(&root, document("[]"), true).unwrap(), ["api/a.json"]);
        std::fs::remove_dir_all(root).unwrap();
    }
}
