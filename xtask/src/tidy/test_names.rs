//! The name of a test is a sentence that begins with its noun: it is what a failed run shows,
//! and the noun is the word by which people look for it.

use super::source::{Source, is_word};
use super::{File, Problem};

const ADVICE: &str = "begin the name of the test with the noun that it is about, as in \
                      `released_allocation_cannot_be_released_again`";
/// Words that stand where the noun should.
const WORDS: &[&str] = &[
    "anybody",
    "anyone",
    "anything",
    "everybody",
    "everyone",
    "everything",
    "how",
    "it",
    "nobody",
    "nothing",
    "of",
    "one_of",
    "one_that",
    "one_who",
    "others",
    "somebody",
    "someone",
    "something",
    "that",
    "these",
    "they",
    "those",
    "what",
    "whatever",
    "when",
    "where",
    "which",
    "who",
    "whoever",
    "whom",
    "whose",
    "why",
];
/// The last part of the path of an attribute that makes a function a test.
const ATTRIBUTES: &[&str] = &["test", "rstest", "test_case", "case"];

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files {
        let names = match file.extension() {
            "rs" => in_rust(file),
            "py" => in_python(file),
            _ => continue,
        };
        let bad = names.into_iter().filter(|(_, name)| lacks_a_noun(name));
        problems.extend(bad.map(|(line, _)| Problem::new(file, line, ADVICE)));
    }
    problems
}

fn lacks_a_noun(name: &str) -> bool {
    WORDS.iter().any(|word| name.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('_')))
}

/// The names of test functions, with their lines.
fn in_rust(file: &File) -> Vec<(usize, String)> {
    let source = Source::of(file);
    let mut names = Vec::new();
    for at in source.find("#[") {
        let after = source.code_from(at);
        let Some((path, _)) = after.trim_start_matches(['#', '[', ' ']).split_once([']', '(']) else { continue };
        if !ATTRIBUTES.contains(&path.rsplit("::").next().unwrap_or_default().trim()) {
            continue;
        }
        let Some((before, function)) = after.split_once("fn ") else { continue };
        let name: String = function.chars().take_while(|it| it.is_ascii() && is_word(*it as u8)).collect();
        names.push((source.line_of(at + before.len()), name));
    }
    // A function with several such attributes is one test.
    names.dedup();
    names
}

fn in_python(file: &File) -> Vec<(usize, String)> {
    let name = |line: &str| {
        let line = line.trim_start();
        let function = line.strip_prefix("async ").unwrap_or(line).strip_prefix("def test_")?;
        Some(function.chars().take_while(|it| it.is_ascii() && is_word(*it as u8)).collect())
    };
    file.text.lines().enumerate().filter_map(|(at, line)| Some((at + 1, name(line)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&[File::new(path, text)]).into_iter().map(|it| it.line).collect()
    }

    const TEST: &str = "crates/testkit/tests/work.rs";

    #[test]
    fn test_names_without_a_noun_are_found() {
        for word in WORDS {
            assert_eq!(lines(TEST, &format!("#[test]\nfn {word}_is_so() {{}}")), [2], "{word}");
        }
        let attributes =
            "#[tokio::test(flavor = \"multi_thread\")]\n#[ignore = \"later\"]\n// Said.\nasync fn who_waits() {}";
        assert_eq!(lines(TEST, attributes), [4]);
        assert_eq!(lines(TEST, "#[rstest]\n#[case(1)]\n#[case(2)]\nfn those_of_it(#[case] a: u8) {}"), [4]);
        assert_eq!(lines(TEST, "proptest! {\n    #[test]\n    fn what_is_so(a: u8) {}\n}"), [3]);
        assert_eq!(lines("crates/kernel/src/a.rs", "#[cfg(test)]\nmod tests {\n#[test]\nfn it_is_so() {}\n}"), [4]);
        let python = "import a\n\nasync def test_what_is_so() -> None:\n    pass\n";
        assert_eq!(lines("sdk/python/tests/test_a.py", python), [3]);
    }

    #[test]
    fn test_names_with_a_noun_and_other_functions_pass() {
        for name in ["a_row_is_there", "whole_rows_are_there", "one_row_is_there", "item_is_there", "offer_is_read"] {
            assert!(lines(TEST, &format!("#[test]\nfn {name}() {{}}")).is_empty(), "{name}");
        }
        assert!(lines(TEST, "async fn what_is_left() {}\n#[test]\nfn row_is_there() {}").is_empty());
        assert!(lines(TEST, "#[cfg(test)]\nfn what_is_left() {}").is_empty());
        assert!(lines("sdk/python/tests/a.py", "def what_is_left() -> None:\n    pass\n").is_empty());
    }
}
