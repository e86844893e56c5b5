//! What people read uses the words that they would search for: `docs/glossary.md`
//! says which, and this holds the part of it that a machine can see.

use super::source::Source;
use super::{File, Problem, links};

/// What is not written, and what is written instead.
const BANNED: &[(&str, &str)] = &[
    ("a short memory", "cache"),
    ("anew", "again"),
    ("are away", "are unavailable, or offline"),
    ("asked for", "requested"),
    ("at once", "immediately, or concurrently, or at the same time"),
    ("authorise", "authorize"),
    ("by itself", "automatically"),
    ("by themselves", "automatically"),
    ("colour", "color"),
    ("enrol", "enroll"),
    ("enrolment", "enrollment"),
    ("for ever", "forever, or permanently"),
    ("gave back", "released (GPUs), refunded (money) or returned (machines)"),
    ("gave it back", "released it (GPUs), refunded it (money) or returned it (machines)"),
    ("give back", "release (GPUs), refund (money) or return (machines)"),
    ("given back", "released (GPUs), refunded (money) or returned (machines)"),
    ("gives back", "releases (GPUs), refunds (money) or returns (machines)"),
    ("heard from", "seen, or received from"),
    ("heard of", "seen"),
    ("how it stands", "status"),
    ("is away", "is unavailable, or offline"),
    ("kept", "stored, retained or reserved"),
    ("let in", "authorized, or connected"),
    ("mend", "fix"),
    ("parted by", "separated by"),
    ("remembered", "cached, or stored"),
    ("rubbish", "malformed"),
    ("there is no such", "not found, or does not exist"),
    ("told", "notified, or reported"),
    ("trouble", "error"),
    ("utilisation", "utilization"),
    ("waits in a circle", "deadlock"),
    ("was away", "was unavailable, or offline"),
    ("whoever", "anyone who"),
];

/// Where people read what is in the tree, and how it is found in a file.
struct Area {
    under: &'static str,
    extension: &'static str,
    read: fn(&File) -> Vec<Text>,
}

/// A text that people read, from the line on which it begins.
struct Text {
    line: usize,
    text: String,
}

const AREAS: &[Area] = &[
    Area { under: "README.md", extension: "md", read: prose },
    Area { under: "docs/", extension: "md", read: prose },
    Area { under: "console/src/strings/", extension: "ts", read: script_strings },
    Area { under: "crates/cli/src/", extension: "rs", read: help },
    Area { under: "crates/contract/src/problem.rs", extension: "rs", read: literals },
    Area { under: "crates/contract/src/", extension: "rs", read: doc_comments },
    Area { under: "crates/contract/src/notification_kinds.rs", extension: "rs", read: literals },
    Area { under: "crates/compute/src/allocations/", extension: "rs", read: literals },
    Area { under: "crates/gateway/src/", extension: "rs", read: literals },
    Area { under: "crates/people/src/mails/", extension: "rs", read: literals },
    Area { under: "crates/people/src/notifications/", extension: "rs", read: literals },
    Area { under: "crates/planner/src/", extension: "rs", read: literals },
    Area { under: "crates/platform/src/policies/", extension: "rs", read: literals },
    Area { under: "crates/", extension: "rs", read: error_texts },
];

/// Decisions keep the words of their day; generated pages have those of their source,
/// these guides walk through code in its own words, and the list of renamed words has the old ones.
const EXEMPT: &[&str] = &[
    "crates/cli/src/renamed.rs",
    "docs/decisions/",
    "docs/generated/",
    "docs/guides/add-a-resource",
    "docs/guides/change-the-schema.md",
];

/// The page with the words themselves, and the heading of their table.
const GLOSSARY: &str = "docs/glossary.md";
const REPLACED: &str = "## Words we do not use";

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for area in AREAS {
        let of_area = files.iter().filter(|file| file.path.starts_with(area.under));
        for file in of_area.filter(|file| file.extension() == area.extension && !file.is_test() && !is_exempt(file)) {
            for text in (area.read)(file) {
                // Areas overlap: an error is a literal, too.
                let new = banned_in(file, &text).into_iter().filter(|it| !problems.contains(it));
                problems.extend(new.collect::<Vec<_>>());
            }
        }
    }
    problems
}

fn is_exempt(file: &File) -> bool {
    EXEMPT.iter().any(|folder| file.path.starts_with(folder))
}

fn banned_in(file: &File, text: &Text) -> Vec<Problem> {
    let (plain, lines) = squeezed(&without_code(&text.text).to_ascii_lowercase());
    let found = BANNED.iter().flat_map(|(word, instead)| whole(&plain, word).map(move |at| (at, word, instead)));
    found
        .map(|(at, word, instead)| {
            let advice = format!("`{word}` is not a word of the product; write {instead}");
            Problem::new(file, text.line + lines[at], advice)
        })
        .collect()
}

/// The text with one space for every gap, since a phrase may be wrapped, and how many
/// lines stand above each byte.
fn squeezed(text: &str) -> (String, Vec<usize>) {
    let (mut squeezed, mut lines) = (String::new(), Vec::new());
    for (above, line) in text.lines().enumerate() {
        for word in line.split_whitespace() {
            squeezed.extend([word, " "]);
            lines.resize(squeezed.len(), above);
        }
    }
    (squeezed, lines)
}

/// Where a phrase stands in lower-case text as whole words.
fn whole<'a>(text: &'a str, phrase: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(phrase).map(|(at, _)| at).filter(move |at| {
        let (before, after) = (&text[..*at], &text[at + phrase.len()..]);
        !before.chars().next_back().is_some_and(is_word) && !after.chars().next().is_some_and(is_word)
    })
}

/// Names in backquotes are code, not words; blanked so that lines stay true.
fn without_code(text: &str) -> String {
    let pieces = text.split('`').enumerate();
    let blanked = pieces.map(|(n, piece)| {
        let is_code = n % 2 == 1 && !piece.contains('\n');
        if is_code { " ".repeat(piece.len()) } else { piece.to_owned() }
    });
    blanked.collect::<Vec<_>>().join(" ")
}

fn prose(file: &File) -> Vec<Text> {
    let end = if file.path == GLOSSARY { file.text.find(REPLACED) } else { None };
    let text = &file.text[..end.unwrap_or(file.text.len())];
    links::prose(text).map(|(line, text)| Text { line, text }).collect()
}

fn literals(file: &File) -> Vec<Text> {
    let source = Source::of(file);
    let read = source.literals.iter().filter(|it| !source.in_tests(it.offset));
    read.map(|it| Text { line: it.line, text: it.text.clone() }).collect()
}

/// `///` above an item, its lines together.
fn doc_comments(file: &File) -> Vec<Text> {
    let mut texts: Vec<Text> = Vec::new();
    let mut last = 0;
    for (line, comment) in &Source::of(file).comments {
        let Some(comment) = comment.strip_prefix("///") else { continue };
        match texts.last_mut() {
            Some(text) if *line == last + 1 => text.text.extend(["\n", comment]),
            _ => texts.push(Text { line: *line, text: comment.to_owned() }),
        }
        last = *line;
    }
    texts
}

/// What the command line prints: clap makes its help from doc comments.
fn help(file: &File) -> Vec<Text> {
    let mut texts = doc_comments(file);
    texts.extend(literals(file));
    texts
}

/// The texts of `#[error("…")]`.
fn error_texts(file: &File) -> Vec<Text> {
    let source = Source::of(file);
    let attributes = source.find("#[error(").into_iter();
    let first = |at: usize| source.literals.iter().find(|it| it.offset > at);
    attributes.filter_map(first).map(|it| Text { line: it.line, text: it.text.clone() }).collect()
}

/// The strings of a script, without its comments and without what is computed into
/// them.
fn script_strings(file: &File) -> Vec<Text> {
    let (text, mut texts, mut at) = (file.text.as_str(), Vec::new(), 0);
    while let Some(open) = text[at..].find(['\'', '"', '`', '/']).map(|found| at + found) {
        let rest = &text[open..];
        at = if rest.starts_with("//") {
            open + rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            open + rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with('/') {
            open + 1
        } else {
            let end = open + 1 + end_of_string(&rest[1..], rest.as_bytes()[0]);
            let line = text[..open].matches('\n').count() + 1;
            texts.push(Text { line, text: without_values(&text[open + 1..end]) });
            (end + 1).min(text.len())
        };
    }
    texts
}

fn end_of_string(text: &str, quote: u8) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().position(|byte| {
        let ends = byte == quote && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.unwrap_or(text.len())
}

/// `${…}` is code.
fn without_values(text: &str) -> String {
    let mut pieces = text.split("${");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + " " + piece.split_once('}').map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&[File::new(path, text)]).into_iter().map(|it| it.line).collect()
    }

    #[test]
    fn banned_words_in_documents_are_found_at_their_line() {
        for (word, _) in BANNED {
            assert_eq!(lines("docs/guides/a.md", &format!("# Title\n\nIt is {word}.\n")), [3], "{word}");
        }
        assert_eq!(lines("README.md", "People are Told."), [1]);
    }

    #[test]
    fn banned_words_in_strings_help_and_errors_are_found_at_their_line() {
        let strings = "export const a = {\n  b: 'kept',\n  c: `parted by ${comma}`,\n};\n";
        assert_eq!(lines("console/src/strings/a.ts", strings), [2, 3]);
        let command = "/// Gets what was asked\n/// for.\nfn f() { print(\"told\"); }\n";
        assert_eq!(lines("crates/cli/src/nouns/a.rs", command), [1, 3]);
        assert_eq!(lines("crates/contract/src/problem.rs", "const A: &str = \"trouble\";"), [1]);
        let wrapped = "const A: &str = \"one\n    two asked \\\n    for it\";";
        assert_eq!(lines("crates/contract/src/problem.rs", wrapped), [2]);
        assert_eq!(lines("crates/contract/src/a.rs", "struct A {\n    /// Who was told.\n    b: u8,\n}\n"), [2]);
        let error = "enum E {\n    #[error(\"a host sent rubbish\")]\n    A,\n}\n";
        assert_eq!(lines("crates/gateway/src/a.rs", error), [2]);
    }

    #[test]
    fn code_comments_and_longer_words_pass() {
        assert!(lines("docs/a.md", "`trouble`, enrollment, a kept-alive connection\n```\ntold\n```\n").is_empty());
        let strings = "// told\nconst path = '/kept_for'; /* anew */\nconst b = `${told} is ${it.kept}`;\n";
        assert!(lines("console/src/strings/a.ts", strings).is_empty());
        assert!(lines("crates/contract/src/a.rs", "//! told\n// told\nconst A: &str = \"told\";").is_empty());
        assert!(lines("crates/kernel/src/a.rs", "/// told\n#[error(\"gone\")]\nfn f() { log(\"told\") }").is_empty());
        let tested = "#[cfg(test)]\nmod tests { const A: &str = \"told\"; }\n";
        assert!(lines("crates/cli/src/a.rs", tested).is_empty());
    }

    #[test]
    fn decisions_generated_pages_and_the_glossarys_table_pass() {
        assert!(lines("docs/decisions/0001-a.md", "people are told").is_empty());
        assert!(lines("docs/generated/events.md", "people are told").is_empty());
        let page = format!("# Glossary\n\ntold\n\n{REPLACED}\n\n| told | notified |\n");
        assert_eq!(lines(GLOSSARY, &page), [3]);
    }
}
