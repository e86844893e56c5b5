//! What a resource implements for the program to run is named in `register` of its
//! folder: reconcilers, consumers and caches. One that is forgotten there compiles, and
//! its rows are never driven, its events never heard, its cache never refreshed. A
//! function that measures is a gauge, or somebody calls it.

use super::source::Source;
use super::{File, Problem, is_word};

/// A trait whose implementations the registry hands to the program.
pub struct Registered {
    name: &'static str,
    /// How a folder registers one.
    call: &'static str,
}

const RECONCILERS: Registered = Registered { name: "Reconciler", call: "registry.reconciler(" };
pub const CONSUMERS: Registered = Registered { name: "Consumer", call: "registry.consumer(" };
const CACHES: Registered = Registered { name: "Forget", call: "registry.cache::<" };

/// How the binary adds what needs to know every area.
const ADD: &str = "workers.add(";
const BINARY: &str = "crates/gpuaasd/src/";

/// Above a cache that no event makes stale.
const CACHE_MARKER: &str = "cache:";
const CACHE_ADVICE: &str = "`impl Forget` for what caches, and register it: `registry.cache::<…>(nouns, |area| …)`; \
                            or say `// cache: <why no event makes it stale>`";

pub fn check(files: &[File]) -> Vec<Problem> {
    let code: Vec<(&File, Source)> = files.iter().filter(is_code).map(|file| (file, Source::of(file))).collect();
    let mut problems = Vec::new();
    for (file, source) in &code {
        for kind in [RECONCILERS, CONSUMERS, CACHES] {
            for (at, name) in kind.implementations(source) {
                if !kind.is_registered(&code, file, &name) {
                    let advice = format!("name `{name}` in `register` of its folder: `{}…`", kind.call);
                    problems.push(Problem::new(file, source.line_of(at), advice));
                }
            }
        }
        problems.extend(unregistered_caches(file, source));
        problems.extend(unused_measures(file, source, &code));
    }
    problems
}

/// Whether it is code of the control plane, where resources are.
pub fn is_code(file: &&File) -> bool {
    file.is_rust() && file.is_of_the_control_plane() && !file.is_test()
}

impl Registered {
    /// Where types of this file implement it, and their names.
    pub fn implementations(&self, source: &Source) -> Vec<(usize, String)> {
        let found = source.find(&format!("{} for", self.name)).into_iter().filter(|at| !source.in_tests(*at));
        let named = found.filter_map(|at| {
            let (_, target) = source.code_from(at).split_once(" for ")?;
            let path: String = target.chars().take_while(|it| it.is_alphanumeric() || "_:".contains(*it)).collect();
            Some((at, path.rsplit(':').next()?.to_owned()))
        });
        named.collect()
    }

    /// Whether `register` of a file's folder names the type, or the binary adds it.
    pub fn is_registered(&self, code: &[(&File, Source)], file: &File, name: &str) -> bool {
        let folder = folder(&file.path);
        code.iter().any(|(other, source)| {
            let call = match other.path.strip_prefix(BINARY) {
                Some(_) => ADD,
                None if other.path.starts_with(folder) => self.call,
                None => return false,
            };
            source.find(call).into_iter().any(|at| has_word(statement(source.code_from(at)), name))
        })
    }
}

/// Types that cache, by their name or by the library they use, in files without a cache
/// that events make stale.
fn unregistered_caches(file: &File, source: &Source) -> Vec<Problem> {
    if !CACHES.implementations(source).is_empty() {
        return Vec::new();
    }
    let structs = source.find("struct").into_iter().filter(|at| {
        let name = source.code_from(*at).trim_start_matches("struct").trim_start();
        name.split(|it: char| !it.is_alphanumeric()).next().is_some_and(|name| name.contains("Cache"))
    });
    let caches = structs.chain(source.find("moka::")).filter(|at| !source.in_tests(*at));
    let lines = caches.map(|at| source.line_of(at)).filter(|line| !source.explained(*line, CACHE_MARKER));
    lines.map(|line| Problem::new(file, line, CACHE_ADVICE)).collect()
}

/// Functions with the signature of a gauge's that nobody calls.
fn unused_measures(file: &File, source: &Source, code: &[(&File, Source)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for at in source.find("fn") {
        let Some((name, rest)) = source.code_from(at)[2..].split_once('(') else { continue };
        let name = name.trim();
        let is_measure = rest.starts_with("tx: &mut Tx) -> sqlx::Result<i64>") && !source.in_tests(at);
        let is_called = |(_, other): &(&File, Source)| {
            let code = other.without_tests();
            code.match_indices(name).any(|(at, _)| is_call(&code, at, name))
        };
        if is_measure && !code.iter().any(is_called) {
            let advice =
                format!("register it: `registry.gauge(\"gpuaas_…\", |tx| Box::pin({name}(tx)))`, or remove it");
            problems.push(Problem::new(file, source.line_of(at), advice));
        }
    }
    problems
}

fn is_call(code: &str, at: usize, name: &str) -> bool {
    let before = code[..at].trim_end_matches(is_name);
    let is_whole = before.len() == at;
    is_whole && code[at + name.len()..].starts_with('(') && !code[..at].ends_with("fn ")
}

fn is_name(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}

/// The folder of a resource: `crates/people/src/projects/`.
fn folder(path: &str) -> &str {
    let ends: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
    let end = ends.get(3).or(ends.get(2)).map_or(path.len(), |at| at + 1);
    &path[..end]
}

/// The code up to the end of the statement that it begins in.
fn statement(code: &str) -> &str {
    let mut depth = 0i32;
    for (at, it) in code.char_indices() {
        match it {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth -= 1,
            ';' if depth == 0 => return &code[..at],
            _ => (),
        }
        if depth < 0 {
            return &code[..at];
        }
    }
    code
}

fn has_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].bytes().last().is_some_and(is_word);
        let after = code[at + word.len()..].bytes().next().is_some_and(is_word);
        !before && !after
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(registered: &str, implemented: &str) -> usize {
        let register = format!("pub fn register(registry: &mut Registry<Area>) {{\n    {registered}\n}}\n");
        check(&[
            File::new("crates/people/src/notes/mod.rs", register),
            File::new("crates/people/src/notes/reconcile.rs", implemented),
        ])
        .len()
    }

    #[test]
    fn reconciler_that_its_folder_does_not_register_is_found() {
        let reconciler = "impl<S: Share> Reconciler for NoteReconciler<S> {\n}\n";
        assert_eq!(problems("registry\n        .reconciler(|_| NoteReconciler { a: 1 });", reconciler), 0);
        assert_eq!(problems("registry.reconciler(|_| NoteReconcilerOfOthers);", reconciler), 1);
        assert_eq!(problems("other(NoteReconciler);", reconciler), 1);
        let tested = format!("#[cfg(test)]\nmod tests {{\n{reconciler}}}\n");
        assert_eq!(problems("", &tested), 0);
    }

    #[test]
    fn reconciler_that_the_binary_adds_is_registered() {
        let files = |added: &str| {
            [
                File::new("crates/platform/src/letters/reconcile.rs", "impl Reconciler for LetterReconciler {}\n"),
                File::new("crates/gpuaasd/src/roles.rs", format!("fn workers() {{\n    {added}\n}}\n")),
            ]
        };
        assert_eq!(check(&files("workers.add(LetterReconciler { all: all() });")), []);
        assert_eq!(check(&files("workers.add(OtherReconciler);")).len(), 1);
    }

    #[test]
    fn consumer_that_only_another_folder_registers_is_found() {
        let consumer = File::new("crates/people/src/notes/consume.rs", "impl Consumer for DeleteWithOrganization {}\n");
        let other = "registry.consumer(|_| Arc::new(DeleteWithOrganization));";
        let files = |folder: &str| {
            [File::new(&consumer.path, &consumer.text), File::new(format!("crates/people/src/{folder}/mod.rs"), other)]
        };
        assert_eq!(check(&files("notes")), []);
        assert_eq!(check(&files("projects")).len(), 1);
    }

    #[test]
    fn cache_that_events_do_not_reach_is_found() {
        let cache = "impl Forget for Notes {\n}\n";
        assert_eq!(problems("registry.cache::<Notes>(&[\"note\"], |area| &area.notes);", cache), 0);
        assert_eq!(problems("", cache), 1);
        assert_eq!(problems("", "struct NoteCache {\n}\n"), 1);
        assert_eq!(problems("", "use moka::future::Cache;\n"), 1);
        assert_eq!(problems("", "// cache: read again every second\nstruct NoteCache {\n}\n"), 0);
    }

    #[test]
    fn measure_that_nobody_calls_is_found() {
        let measure = "pub async fn count_notes(tx: &mut Tx) -> sqlx::Result<i64> {\n}\n";
        assert_eq!(problems("registry.gauge(\"gpuaas_notes\", |tx| Box::pin(count_notes(tx)));", measure), 0);
        assert_eq!(problems("", measure), 1);
        assert_eq!(problems("recount_notes(tx);", measure), 1);
        assert_eq!(problems("", "pub async fn count_of(tx: &mut Tx, id: Uuid) -> sqlx::Result<i64> {\n}\n"), 0);
    }
}
