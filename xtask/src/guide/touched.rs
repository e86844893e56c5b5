//! What a guide touched: the files and lines of its change, by where they are.

use std::path::Path;

use super::perform::git;

/// Where a file of the change is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FileOrigin {
    NewFolder,
    NewFile,
    Existing,
}

/// A file with its added and removed lines.
#[derive(Debug, PartialEq)]
struct Change {
    path: String,
    lines: usize,
    origin: FileOrigin,
}

/// Prints every file of the change, and the sums by where they are.
pub fn print(copy: &Path) -> Result<(), String> {
    git(copy, &["add", "--all"])?;
    let added = git(copy, &["diff", "--cached", "--name-only", "--diff-filter=A"])?;
    let before = git(copy, &["ls-tree", "-r", "--name-only", "HEAD"])?;
    let numbers = git(copy, &["diff", "--cached", "--numstat", "--no-renames"])?;
    let changes: Vec<Change> = numbers.lines().filter_map(|line| change(line, &added, &before)).collect();
    for (origin, name) in [
        (FileOrigin::NewFolder, "new folders"),
        (FileOrigin::NewFile, "new files in folders that were there"),
        (FileOrigin::Existing, "files that were there"),
    ] {
        let of_origin: Vec<&Change> = changes.iter().filter(|it| it.origin == origin).collect();
        let lines: usize = of_origin.iter().map(|it| it.lines).sum();
        println!("{name}: {} files, {lines} lines", of_origin.len());
        of_origin.iter().for_each(|it| println!("{:>6} {}", it.lines, it.path));
    }
    Ok(())
}

/// One line of `git diff --numstat`: added, removed and path, separated by tabs.
fn change(line: &str, added: &str, before: &str) -> Option<Change> {
    let mut parts = line.split('\t');
    let lines = parts.next()?.parse::<usize>().ok()? + parts.next()?.parse::<usize>().ok()?;
    let path = parts.next()?;
    let folder = &path[..path.rfind('/').map_or(0, |at| at + 1)];
    let origin = if !added.lines().any(|it| it == path) {
        FileOrigin::Existing
    } else if before.lines().any(|it| it.starts_with(folder)) {
        FileOrigin::NewFile
    } else {
        FileOrigin::NewFolder
    };
    Some(Change { path: path.to_owned(), lines, origin })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_is_new_when_nothing_was_in_it_before() {
        let before = "crates/people/src/lib.rs\nCargo.toml";
        let added = "crates/people/src/notes/mod.rs\ncrates/people/src/b.rs\na.md";
        let of = |path: &str| change(&format!("3\t1\t{path}"), added, before).map(|it| (it.lines, it.origin));
        assert_eq!(of("crates/people/src/notes/mod.rs"), Some((4, FileOrigin::NewFolder)));
        assert_eq!(of("crates/people/src/b.rs"), Some((4, FileOrigin::NewFile)));
        assert_eq!(of("a.md"), Some((4, FileOrigin::NewFile)));
        assert_eq!(of("crates/people/src/lib.rs"), Some((4, FileOrigin::Existing)));
    }
}
