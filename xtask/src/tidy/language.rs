//! The repository speaks of the product alone: nothing in it depends on, or tells
//! of, the machine or the way it was written on.

use super::{File, Problem};

/// What may not appear, spelled in halves so that this file keeps its own rule.
const WORDS: &[(&str, &str)] = &[
    (concat!("/wo", "rk/"), "name a path from the repository's root"),
    (concat!("../sha", "red/"), "bring what is needed into the repository"),
    (concat!("co-authored", "-by:"), "say what the change does"),
];

/// The one sibling folder that may be used when it exists.
const SIBLING: &str = concat!("../sha", "red/advisory-db");

const IMPORTING: &[&str] = &["rs", "ts", "tsx", "js", "mjs", "css", "py"];

/// Lock files name where a package comes from; only the public registries.
const REGISTRIES: &[&str] = &[
    "https://registry.npmjs.org/",
    "https://pypi.org/",
    "https://files.pythonhosted.org/",
    "https://github.com/rust-lang/crates.io-index",
];
const SOURCES: &[&str] = &["\"resolved\": \"", "registry = \"", "source = \"registry+", "url = \""];

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files {
        let is_lock = file.extension() == "lock" || file.name() == "package-lock.json";
        // Where a relative path names a module of the product itself.
        let imports = IMPORTING.contains(&file.extension());
        for (at, line) in file.text.lines().enumerate() {
            let line = line.replace(SIBLING, "").to_ascii_lowercase();
            let found = WORDS
                .iter()
                .filter(|(word, _)| !(imports && word.starts_with("..")))
                .find(|(word, _)| mentions(&line, word));
            if let Some((word, advice)) = found {
                let advice = format!("`{word}` is not about the product; {advice}");
                problems.push(Problem::new(file, at + 1, advice));
            }
            if is_lock && names_other_registry(&line) {
                let advice = "lock against the public registry, so that everybody can fetch it";
                problems.push(Problem::new(file, at + 1, advice));
            }
        }
    }
    problems
}

/// A path counts only where it begins: `/v1/work/` is an address of ours.
fn mentions(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '}' | '_' | '-' | '/' | '.'))
    })
}

fn names_other_registry(line: &str) -> bool {
    let sources = SOURCES.iter().filter_map(|sign| line.split_once(sign));
    sources
        .map(|(_, address)| address)
        .any(|address| address.starts_with("http") && !REGISTRIES.iter().any(|known| address.starts_with(known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> usize {
        check(&[File::new(path, text)]).len()
    }

    #[test]
    fn words_about_the_workshop_are_found() {
        for (word, _) in WORDS {
            assert_eq!(problems("docs/a.md", &format!("see {word}x")), 1, "{word}");
        }
    }

    #[test]
    fn a_lock_file_of_another_registry_is_found() {
        let line = "\"resolved\": \"https://mirror.example/left-pad.tgz\"";
        assert_eq!(problems("console/package-lock.json", line), 1);
        let line = "source = \"registry+https://mirror.example/index\"";
        assert_eq!(problems("Cargo.lock", line), 1);
    }

    #[test]
    fn words_about_the_product_pass() {
        assert_eq!(problems("docs/a.md", "the OpenAI API; GET /v1/work/{id}; a session"), 0);
        assert_eq!(problems("Makefile", &format!("db = {SIBLING}")), 0);
        let import = concat!("import { Button } from \"../sha", "red/button\";");
        assert_eq!(problems("console/src/a.ts", import), 0);
        let line = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
        assert_eq!(problems("Cargo.lock", line), 0);
    }
}
