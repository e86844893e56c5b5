//! Reads the paths of Rust code far enough to know which folder they lead to.

use std::collections::BTreeSet;

use super::ROOTS;
use crate::tidy::is_word;

/// The module that a file is, from its path below `src/`.
pub fn module(path: &str) -> Vec<&str> {
    let mut module: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
    let is_root = module.len() == 1 && ROOTS.contains(&module[0]);
    if is_root || module.last() == Some(&"mod") {
        module.pop();
    }
    module
}

/// Where code in `module` names something by `crate::` or `super::`, and the first
/// word of its path from the root of the crate.
pub fn used(code: &str, module: &[&str]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for start in ["crate", "super"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].trim_end();
            let is_whole = !code[..at].ends_with(|it: char| it.is_ascii() && is_word(it as u8));
            if is_whole && !before.ends_with("::") {
                let targets = Reader { code, at }.tree();
                found.extend(targets.iter().filter_map(|it| Some((at, absolute(it, module)?))));
            }
        }
    }
    found
}

/// The names that a root file exports from its folders, each with its folder.
pub fn exports(code: &str, folders: &BTreeSet<String>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, start) in code.match_indices("pub use ") {
        for path in (Reader { code, at: at + start.len() }).tree() {
            let path = path.strip_prefix(&["crate".to_owned()]).unwrap_or(&path);
            let (Some(first), Some(name)) = (path.first(), path.last()) else { continue };
            if folders.contains(first) {
                found.push((name.clone(), first.clone()));
            }
        }
    }
    found
}

/// The first word of a path from the root.
fn absolute(path: &[String], module: &[&str]) -> Option<String> {
    let ups = path.iter().take_while(|it| *it == "super").count();
    let rest = path.get(ups.max(1)..)?;
    // As many steps up as the module is deep lead to the root.
    if ups > 0 && ups < module.len() {
        return Some(module[0].to_owned());
    }
    rest.first().cloned()
}

/// Reads one path, with all that its braces hold.
struct Reader<'a> {
    code: &'a str,
    at: usize,
}

impl Reader<'_> {
    /// Every path of a `use` tree, or the one path of an expression.
    fn tree(&mut self) -> Vec<Vec<String>> {
        let mut path = Vec::new();
        loop {
            let word = self.word();
            if word.is_empty() {
                return vec![path];
            }
            path.push(word);
            if !self.skip("::") {
                if self.skip("as ") {
                    path.push(self.word());
                }
                return vec![path];
            }
            if self.skip("{") {
                return self.group().into_iter().map(|rest| [path.clone(), rest].concat()).collect();
            }
        }
    }

    fn group(&mut self) -> Vec<Vec<String>> {
        let mut paths = Vec::new();
        while self.at < self.code.len() && !self.skip("}") {
            let before = self.at;
            paths.extend(self.tree());
            if !self.skip(",") && before == self.at {
                self.at += 1;
            }
        }
        paths
    }

    fn word(&mut self) -> String {
        self.spaces();
        let rest = &self.code[self.at..];
        let end = rest.bytes().position(|it| !is_word(it)).unwrap_or(rest.len());
        self.at += end;
        rest[..end].to_owned()
    }

    fn skip(&mut self, token: &str) -> bool {
        self.spaces();
        let found = self.code[self.at..].starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn spaces(&mut self) {
        let rest = &self.code[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_is_read_to_its_last_brace() {
        let read = |code: &str| -> Vec<String> {
            Reader { code, at: 0 }.tree().into_iter().map(|path| path.join("/")).collect()
        };
        assert_eq!(read("crate::{a::{self, b}, c as d, *};"), ["crate/a/self", "crate/a/b", "crate/c/d", "crate"]);
        assert_eq!(read("crate::a::f::<B>(c)"), ["crate/a/f"]);
        assert_eq!(read("crate::{a"), ["crate/a"]);
    }
}
