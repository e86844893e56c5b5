//! Unfinished work is an issue, not a remark in the code. (`unwrap` is left to
//! clippy's `unwrap_used`, which knows its types.)

use super::source::{Source, is_word};
use super::{File, Problem};

// Spelled in halves so that this file keeps its own rule.
const MARKERS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
const MACROS: &[&str] = &["todo!", "unimplemented!", "dbg!"];
const CODE: &[&str] =
    &["rs", "sql", "sh", "toml", "yml", "yaml", "ts", "tsx", "js", "mjs", "py", "css", "html", "proto", "service"];

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| is_code(file)) {
        let source = file.is_rust().then(|| Source::of(file));
        for (at, line) in file.text.lines().enumerate() {
            let marker = MARKERS.iter().find(|marker| has_word(line, marker));
            if let Some(marker) = marker.filter(|marker| !is_currency(marker, at + 1, &source)) {
                let advice = format!("finish what {marker} promises, or open an issue and remove it");
                problems.push(Problem::new(file, at + 1, advice));
            }
        }
        if let Some(source) = source {
            for at in MACROS.iter().flat_map(|name| source.find(name)) {
                let advice = "remove the placeholder or the debugging aid";
                problems.push(Problem::new(file, source.line_of(at), advice));
            }
        }
    }
    problems
}

fn is_code(file: &File) -> bool {
    CODE.contains(&file.extension()) || matches!(file.path.as_str(), "Makefile" | ".ci/run")
}

/// ISO 4217 gives three of the letter X to "no currency": outside comments that
/// is what they mean.
fn is_currency(marker: &str, line: usize, source: &Option<Source>) -> bool {
    let says_it = |(at, text): &(usize, String)| *at == line && has_word(text, marker);
    let source = source.as_ref().filter(|_| marker.starts_with('X'));
    source.is_some_and(|source| !source.comments.iter().any(says_it))
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = at.checked_sub(1).map(|at| line.as_bytes()[at]);
        let after = line.as_bytes().get(at + word.len()).copied();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_clean(path: &str, text: &str) -> bool {
        check(&[File::new(path, text)]).is_empty()
    }

    #[test]
    fn markers_and_placeholders_are_found() {
        for marker in MARKERS {
            assert!(!is_clean("crates/kernel/src/a.rs", &format!("// {marker}: later")));
            assert!(!is_clean("scripts/a.sh", &format!("# {marker}(x)")));
        }
        assert!(!is_clean("crates/kernel/src/a.rs", "fn f() { todo!() }"));
        assert!(!is_clean("crates/kernel/src/a.rs", "dbg!(x);"));
    }

    #[test]
    fn longer_words_and_prose_pass() {
        assert!(is_clean("scripts/a.sh", "mktemp a.XXXXXX"));
        let currency = format!("let none = \"{}\";", MARKERS[2]);
        assert!(is_clean("crates/kernel/src/a.rs", &currency));
        assert!(is_clean("crates/kernel/src/a.rs", "// no todo!() here\nlet todos = 1;"));
    }
}
