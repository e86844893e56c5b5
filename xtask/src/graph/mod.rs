//! Who uses whom inside a crate: its top-level folders and files, and the paths
//! between them. `cargo xtask graph` prints it; the rule `folder-edges` holds it.

mod components;
mod paths;
mod report;

pub use report::run;

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::{File, Source};

/// The files that a crate begins with. They name every folder and are none.
const ROOTS: [&str; 2] = ["lib", "main"];

/// A line where one folder names another.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceLocation {
    pub path: String,
    pub line: usize,
}

/// From one folder to another.
pub type Edge = (String, String);

/// The folders of one crate with the paths between them; test code does not count.
pub struct Graph {
    pub files: usize,
    pub lines: usize,
    pub folders: BTreeSet<String>,
    pub edges: BTreeMap<Edge, Vec<SourceLocation>>,
}

impl Graph {
    pub fn of(krate: &str, files: &[File]) -> Self {
        let root = if krate == "xtask" { "xtask/src/".to_owned() } else { format!("crates/{krate}/src/") };
        let code: Vec<(Vec<&str>, &File)> = files
            .iter()
            .filter(|file| file.is_rust() && !file.is_test())
            .filter_map(|file| Some((paths::module(file.path.strip_prefix(&root)?), file)))
            .collect();
        let folders: BTreeSet<String> =
            code.iter().filter_map(|(module, _)| Some((*module.first()?).to_owned())).collect();
        let exported: BTreeMap<String, String> = code
            .iter()
            .filter(|(module, _)| module.is_empty())
            .flat_map(|(_, file)| paths::exports(&Source::of(file).without_tests(), &folders))
            .collect();
        let mut edges: BTreeMap<Edge, Vec<SourceLocation>> = BTreeMap::new();
        for (module, file) in code.iter().filter(|(module, _)| !module.is_empty()) {
            let source = Source::of(file);
            for (offset, first) in paths::used(&source.without_tests(), module) {
                let target = exported.get(&first).unwrap_or(&first);
                if folders.contains(target) && target != module[0] {
                    let location = SourceLocation { path: file.path.clone(), line: source.line_of(offset) };
                    edges.entry((module[0].to_owned(), target.clone())).or_default().push(location);
                }
            }
        }
        let lines = code.iter().map(|(_, file)| file.text.lines().count()).sum();
        Self { files: code.len(), lines, folders, edges }
    }

    /// The folders that all reach each other; the largest such group of the crate.
    pub fn largest_cycle(&self) -> Vec<String> {
        components::largest(&self.folders, self.edges.keys())
    }

    /// The edge without which the largest group is smallest; of several, the one that fewest
    /// lines need.
    pub fn edge_to_cut(&self) -> Option<(&Edge, &Vec<SourceLocation>)> {
        let cycle = self.largest_cycle();
        let inside = |(from, to): &Edge| cycle.contains(from) && cycle.contains(to);
        let rest = |cut: &Edge| components::largest(&self.folders, self.edges.keys().filter(|it| *it != cut)).len();
        self.edges.iter().filter(|(edge, _)| inside(edge)).min_by_key(|(edge, locations)| (rest(edge), locations.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(files: &[(&str, &str)]) -> Graph {
        let files: Vec<File> =
            files.iter().map(|(path, text)| File::new(format!("crates/people/src/{path}"), *text)).collect();
        Graph::of("people", &files)
    }

    fn edges(files: &[(&str, &str)]) -> Vec<(String, String)> {
        graph(files).edges.into_keys().collect()
    }

    fn edge(from: &str, to: &str) -> (String, String) {
        (from.to_owned(), to.to_owned())
    }

    const KEYS: (&str, &str) = ("keys/mod.rs", "");

    #[test]
    fn folder_that_names_another_by_any_path_uses_it() {
        for (path, text) in [
            ("users/routes.rs", "use crate::keys;"),
            ("users/routes.rs", "use crate::{PeopleArea, keys::{self, store}};"),
            ("users/mod.rs", "fn a() { crate::keys::revoke::<A>() }"),
            ("users/mod.rs", "use super::keys;"),
            ("users/store.rs", "use super::super::keys;"),
            ("users.rs", "use super::{\n    text,\n    keys::Key,\n};"),
        ] {
            assert_eq!(edges(&[KEYS, (path, text)]), [edge("users", "keys")], "{path}: {text}");
        }
    }

    #[test]
    fn paths_of_tests_of_comments_and_inside_a_folder_do_not_count() {
        for (path, text) in [
            ("users/tests.rs", "use crate::keys;"),
            ("users/mod.rs", "#[cfg(test)]\nmod tests { use crate::keys; }"),
            ("users/mod.rs", "// crate::keys\nconst A: &str = \"crate::keys\";"),
            ("users/store.rs", "use super::keys;"),
            ("users/mod.rs", "use other::keys;"),
            ("lib.rs", "pub mod keys; use crate::keys;"),
        ] {
            assert_eq!(edges(&[KEYS, (path, text)]), [], "{path}: {text}");
        }
    }

    #[test]
    fn name_that_the_root_exports_is_of_its_folder() {
        let root = ("lib.rs", "pub mod keys;\npub use keys::{Key as ApiKey, revoke};");
        assert_eq!(edges(&[KEYS, root, ("users/mod.rs", "use crate::ApiKey;")]), [edge("users", "keys")]);
        assert_eq!(edges(&[KEYS, root, ("users/mod.rs", "use crate::Key;")]), []);
    }

    #[test]
    fn cut_is_the_edge_that_leaves_the_least_of_a_cycle() {
        let cycle = graph(&[
            ("a/mod.rs", "use crate::b;"),
            ("b/mod.rs", "use crate::{a, c};\nfn f() { crate::c::g() }"),
            ("c/mod.rs", "use crate::a;"),
            ("d/mod.rs", "use crate::a;"),
        ]);
        assert_eq!(cycle.largest_cycle(), ["a", "b", "c"]);
        let (cut, locations) = cycle.edge_to_cut().unwrap();
        assert_eq!((cut, locations.len()), (&edge("a", "b"), 1));
        assert_eq!(locations[0], SourceLocation { path: "crates/people/src/a/mod.rs".to_owned(), line: 1 });
    }
}
