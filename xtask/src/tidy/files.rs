//! The files that the rules look at, and what kind each of them is.

use std::path::Path;
use std::process::Command;

/// The crates of the areas, lower ones first, and the binary on top of them.
pub const CONTROL_PLANE: [&str; 7] = ["platform", "people", "fleet", "money", "compute", "access", "gpuaasd"];

/// A file of the working tree, by its path from the workspace root.
pub struct File {
    pub path: String,
    pub text: String,
}

impl File {
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    pub fn extension(&self) -> &str {
        self.name().rsplit_once('.').map_or("", |(_, end)| end)
    }

    pub fn is_rust(&self) -> bool {
        self.extension() == "rs"
    }

    pub fn is_sql(&self) -> bool {
        self.extension() == "sql"
    }

    pub fn is_migration(&self) -> bool {
        self.path.starts_with("migrations/") && self.is_sql()
    }

    /// Whether it is of a crate of the control plane: an area, or the binary that connects them.
    pub fn is_of_the_control_plane(&self) -> bool {
        CONTROL_PLANE.iter().any(|name| self.is_in(name))
    }

    /// Whether the whole file is test code; part of a file is `Source::in_tests`.
    pub fn is_test(&self) -> bool {
        let stem = self.name().split('.').next().unwrap_or_default();
        let in_folder =
            |folder: &str| self.path.starts_with(&format!("{folder}/")) || self.path.contains(&format!("/{folder}/"));
        stem == "tests"
            || stem.ends_with("_tests")
            || in_folder("tests")
            || in_folder("benches")
            || self.is_in("testkit")
    }

    /// Whether the file belongs to the crate of this folder name.
    pub fn is_in(&self, krate: &str) -> bool {
        self.path
            .strip_prefix("crates/")
            .and_then(|rest| rest.strip_prefix(krate))
            .is_some_and(|rest| rest.starts_with('/'))
    }

    pub fn is_in_a_crate(&self) -> bool {
        self.path.starts_with("crates/")
    }
}

/// Every file git knows or would add, so that a new file is judged before its
/// first commit.
pub fn tracked(root: &Path) -> Result<Vec<File>, String> {
    let mut files = Vec::new();
    for name in paths(root)? {
        let bytes = std::fs::read(root.join(&name)).map_err(|error| format!("cannot read {name}: {error}"))?;
        files.push(File::new(name, String::from_utf8_lossy(&bytes)));
    }
    Ok(files)
}

/// Their paths from the root.
pub fn paths(root: &Path) -> Result<Vec<String>, String> {
    let output = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()
        .map_err(|error| format!("cannot start git: {error}; install git"))?;
    if !output.status.success() {
        return Err(format!(
            "git cannot list the files: {}; run this in a clone of the repository",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    let names = String::from_utf8_lossy(&output.stdout);
    // Deleted but still in the index, a link, or a folder: nothing to read.
    let is_file = |name: &&str| root.join(name).symlink_metadata().is_ok_and(|meta| meta.is_file());
    Ok(names.split_terminator('\0').filter(is_file).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_code_is_known_by_its_path() {
        let is_test = |path| File::new(path, "").is_test();
        assert!(is_test("crates/people/src/projects/tests.rs"));
        assert!(is_test("crates/kernel/tests/work.rs"));
        assert!(is_test("crates/testkit/src/world.rs"));
        assert!(!is_test("crates/people/src/projects/store.rs"));
        assert!(!is_test("crates/people/src/contests/store.rs"));
    }

    #[test]
    fn a_crate_is_not_mistaken_for_one_with_a_longer_name() {
        let file = File::new("crates/client/src/lib.rs", "");
        assert!(file.is_in("client"));
        assert!(!file.is_in("cli"));
    }
}
