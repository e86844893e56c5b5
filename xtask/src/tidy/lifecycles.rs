//! A lifecycle says what every event does in every state: a wildcard arm would
//! swallow the next state or event that somebody adds. Its folder registers it, from
//! which the database's guard, the diagrams and the tests are made.
//! And only the typed `emit` and `transition` write events.

use super::source::Source;
use super::{File, Problem};

const ARM_ADVICE: &str = "name the states and events; a wildcard arm hides what a new one does";
const EMIT_ADVICE: &str = "call `events::emit` with a type of the contract, or `transition`";
const LIST_ADVICE: &str = "name it `<Noun>Lifecycle`, and register it: \
                           `registry.lifecycle::<lifecycle::<Noun>Lifecycle>();` in `register` of its folder";
const EMITTERS: &[&str] = &["crates/platform/src/events/mod.rs"];

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let code = |file: &&File| file.is_rust() && file.is_of_the_control_plane() && !file.is_test();
    for file in files.iter().filter(code) {
        let source = Source::of(file);
        if file.name() == "lifecycle.rs" {
            if !is_listed(file, files) {
                problems.push(Problem::new(file, 1, LIST_ADVICE));
            }
            let arms = source.find("_ =>").into_iter().filter(|at| {
                let before = &source.code_from(at.saturating_sub(1))[..1];
                !before.chars().any(|c| c.is_alphanumeric() || c == '_')
            });
            problems.extend(arms.map(|at| Problem::new(file, source.line_of(at), ARM_ADVICE)));
        }
        if !EMITTERS.contains(&file.path.as_str()) {
            let calls = source.find("outbox::emit(").into_iter().filter(|at| !source.in_tests(*at));
            problems.extend(calls.map(|at| Problem::new(file, source.line_of(at), EMIT_ADVICE)));
        }
    }
    problems
}

fn is_listed(lifecycle: &File, files: &[File]) -> bool {
    let Some(name) = name_of(lifecycle) else { return false };
    let call = format!("registry.lifecycle::<lifecycle::{name}>()");
    let folder = lifecycle.path.trim_end_matches("lifecycle.rs");
    let list = files.iter().find(|file| file.path == format!("{folder}mod.rs"));
    list.is_some_and(|list| !Source::of(list).find(&call).is_empty())
}

/// The name of the type, which says whose lifecycle it is: `ProjectLifecycle`.
fn name_of(lifecycle: &File) -> Option<&str> {
    let mut names = lifecycle.text.lines().filter_map(|line| line.strip_prefix("pub struct ")?.strip_suffix(';'));
    names.find(|name| name.strip_suffix("Lifecycle").is_some_and(|noun| !noun.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let list =
            "pub fn register(registry: &mut Registry<People>) { registry.lifecycle::<lifecycle::ProjectLifecycle>(); }";
        check(&[File::new(path, text), File::new("crates/people/src/projects/mod.rs", list)])
            .into_iter()
            .map(|problem| problem.line)
            .collect()
    }

    const LIFECYCLE: &str = "crates/people/src/projects/lifecycle.rs";

    #[test]
    fn a_wildcard_arm_is_found() {
        let lines_of = |body: &str| lines(LIFECYCLE, &format!("pub struct ProjectLifecycle;\n{body}"));
        assert_eq!(lines_of("match x {\n    A => 1,\n    _ => 2,\n}"), [4]);
        assert_eq!(lines_of("match (a, b) { (_, B) => 1, (A, _) => 2 }"), Vec::<usize>::new());
        assert!(lines("crates/people/src/projects/routes.rs", "match x { _ => 2 }").is_empty());
    }

    #[test]
    fn a_lifecycle_that_is_not_listed_is_found() {
        assert_eq!(lines("crates/people/src/notes/lifecycle.rs", "pub struct NoteLifecycle;"), [1]);
        assert_eq!(lines("crates/people/src/project/lifecycle.rs", "pub struct ProjectLifecycle;"), [1]);
        assert_eq!(lines(LIFECYCLE, "pub struct NoteLifecycle;"), [1]);
        assert!(lines(LIFECYCLE, "pub struct ProjectLifecycle;").is_empty());
    }

    #[test]
    fn lifecycle_without_a_noun_in_its_name_is_found() {
        assert_eq!(lines(LIFECYCLE, "pub struct Lifecycle;"), [1]);
    }

    #[test]
    fn an_untyped_event_is_found() {
        assert_eq!(lines("crates/people/src/projects/routes.rs", "outbox::emit(tx, event);"), [1]);
        assert!(lines("crates/platform/src/events/mod.rs", "outbox::emit(tx, event);").is_empty());
    }
}
