//! The page about the consumers: who reacts to which events, as their code says it.

use std::collections::BTreeMap;

use contract::Event;

use crate::tidy::{File, Source};

pub const PAGE: &str = "docs/generated/consumers.md";

const MARK: &str = "::INFO.subject";

pub fn document(files: &[File]) -> String {
    let subjects = subjects();
    let code = files.iter().filter(|it| it.is_rust() && it.is_of_the_control_plane() && !it.is_test());
    let mut rows: Vec<String> = code.flat_map(|file| of_file(file, &subjects)).collect();
    rows.sort_unstable();
    format!(
        "# Consumers\n\nWritten from each `impl Consumer` by `make generate`; do not edit. [Events](events.md) says what \
         each event is about.\n\n| Consumer | Reacts to | Code |\n|---|---|---|\n{}",
        rows.concat()
    )
}

/// The subject of every event, by the name of its type.
fn subjects() -> BTreeMap<String, &'static str> {
    let mut known = BTreeMap::new();
    macro_rules! collect {
        ($($event:path),* $(,)?) => { $(
            let name: String = stringify!($event).split("::").last().unwrap_or_default().trim().to_owned();
            known.insert(name, <$event as Event>::INFO.subject);
        )* };
    }
    contract::for_each_event!(collect);
    known
}

fn of_file(file: &File, subjects: &BTreeMap<String, &'static str>) -> Vec<String> {
    let source = Source::of(file);
    let row = |start: usize| {
        let code = source.code_from(start);
        let name_at = start + code.find("fn name(")?;
        let name = source.literals.iter().find(|it| it.offset > name_at)?.text.trim().to_owned();
        let wants = body(&code[code.find("fn wants(")?..])?;
        let reacts_to = wanted(wants, &source, subjects);
        Some(format!("| `{name}` | {reacts_to} | `{}` |\n", file.path))
    };
    source.find("impl Consumer for").into_iter().filter(|at| !source.in_tests(*at)).filter_map(row).collect()
}

/// The subjects that a condition names, itself or by a constant of its file; otherwise
/// the condition.
fn wanted(condition: &str, source: &Source, subjects: &BTreeMap<String, &'static str>) -> String {
    let constant = condition.split(|it: char| !it.is_alphanumeric() && it != '_').find(|it| is_constant(it));
    let declared = constant.and_then(|it| source.find(&format!("const {it}:")).first().copied());
    let text = declared.map_or(condition, |at| {
        let code = source.code_from(at);
        &code[..code.find("];").unwrap_or(code.len())]
    });
    let before_mark = text.match_indices(MARK).map(|(at, _)| &text[..at]);
    let types = before_mark.filter_map(|it| it.rsplit(|it: char| !it.is_alphanumeric()).next());
    let named: Vec<String> = types.filter_map(|it| subjects.get(it)).map(|it| format!("`{it}`")).collect();
    if named.is_empty() { format!("what passes `{}`", condition.trim()) } else { named.join(", ") }
}

fn is_constant(word: &str) -> bool {
    word.len() > 1 && word != "INFO" && word.chars().all(|it| it.is_ascii_uppercase() || it == '_')
}

/// What stands in the braces of a function.
fn body(code: &str) -> Option<&str> {
    let start = code.find('{')? + 1;
    Some(&code[start..start + code[start..].find('}')?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(code: &str) -> Vec<String> {
        let subjects = BTreeMap::from([
            ("OrganizationClosed".to_owned(), "organization.closed"),
            ("UserErased".to_owned(), "user.erased"),
        ]);
        of_file(&File::new("a.rs", code), &subjects)
    }

    fn consumer(condition: &str) -> String {
        format!(
            "impl Consumer for A {{\n    fn name(&self) -> &'static str {{\n        \"a.b\"\n    }}\n    \
             fn wants(&self, subject: &str) -> bool {{\n        {condition}\n    }}\n}}\n"
        )
    }

    #[test]
    fn consumer_is_listed_with_the_events_that_its_code_names() {
        let direct = consumer("subject == OrganizationClosed::INFO.subject");
        assert_eq!(rows(&direct), ["| `a.b` | `organization.closed` | `a.rs` |\n"]);
        let constant = "const SUBJECTS: [&str; 2] = [OrganizationClosed::INFO.subject, UserErased::INFO.subject];\n";
        let listed = format!("{constant}{}", consumer("SUBJECTS.contains(&subject)"));
        assert_eq!(rows(&listed), ["| `a.b` | `organization.closed`, `user.erased` | `a.rs` |\n"]);
        assert_eq!(rows(&consumer("is_news(subject)")), ["| `a.b` | what passes `is_news(subject)` | `a.rs` |\n"]);
    }
}
