//! The page about the consumers: who reacts to which events, as their code says it.

use std::collections::BTreeMap;

use contract::Event;

use crate::tidy::{CONSUMERS, File, Source, is_code};

pub const PAGE: &str = "docs/generated/consumers.md";

const MARK: &str = "::INFO.subject";

pub fn document(files: &[File]) -> String {
    let subjects = subjects();
    let code: Vec<(&File, Source)> = files.iter().filter(is_code).map(|file| (file, Source::of(file))).collect();
    let mut rows: Vec<String> =
        code.iter().flat_map(|(file, source)| of_file(file, source, &code, &subjects)).collect();
    rows.sort_unstable();
    format!(
        "# Consumers\n\nWritten from each consumer that is registered, by `make generate`; do not edit. [Events](events.md) says what \
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

/// The rows of the consumers that a file implements and its folder registers.
fn of_file(file: &File, source: &Source, all: &[(&File, Source)], subjects: &BTreeMap<String, &str>) -> Vec<String> {
    let row = |start: usize| {
        let code = source.code_from(start);
        let name_at = start + code.find("fn name(")?;
        let name = source.literals.iter().find(|it| it.offset > name_at)?.text.trim().to_owned();
        let wants = body(&code[code.find("fn wants(")?..])?;
        let reacts_to = wanted(wants, source, subjects);
        Some(format!("| `{name}` | {reacts_to} | `{}` |\n", file.path))
    };
    let registered = CONSUMERS.implementations(source).into_iter();
    registered.filter(|(_, name)| CONSUMERS.is_registered(all, file, name)).filter_map(|(at, _)| row(at)).collect()
}

/// The subjects that a condition names, itself or by a constant of its file; otherwise
/// the condition.
fn wanted(condition: &str, source: &Source, subjects: &BTreeMap<String, &str>) -> String {
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
        let registered = File::new("crates/people/src/a/mod.rs", "registry.consumer(|_| Arc::new(A));");
        let file = File::new(PATH, code);
        let all = [(&file, Source::of(&file)), (&registered, Source::of(&registered))];
        of_file(&file, &all[0].1, &all, &subjects)
    }

    const PATH: &str = "crates/people/src/a/consume.rs";

    fn consumer(condition: &str) -> String {
        format!(
            "impl Consumer for A {{\n    fn name(&self) -> &'static str {{\n        \"a.b\"\n    }}\n    \
             fn wants(&self, subject: &str) -> bool {{\n        {condition}\n    }}\n}}\n"
        )
    }

    #[test]
    fn consumer_is_listed_with_the_events_that_its_code_names() {
        let direct = consumer("subject == OrganizationClosed::INFO.subject");
        assert_eq!(rows(&direct), [format!("| `a.b` | `organization.closed` | `{PATH}` |\n")]);
        assert_eq!(rows(&direct.replace("for A ", "for B ")), [""; 0], "one that nobody registered hears nothing");
        let constant = "const SUBJECTS: [&str; 2] = [OrganizationClosed::INFO.subject, UserErased::INFO.subject];\n";
        let listed = format!("{constant}{}", consumer("SUBJECTS.contains(&subject)"));
        assert_eq!(rows(&listed), [format!("| `a.b` | `organization.closed`, `user.erased` | `{PATH}` |\n")]);
        assert_eq!(
            rows(&consumer("is_news(subject)")),
            [format!("| `a.b` | what passes `is_news(subject)` | `{PATH}` |\n")]
        );
    }
}
