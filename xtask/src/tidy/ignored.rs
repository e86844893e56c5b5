//! A test that did not run must not count as passed. One that cannot run
//! everywhere is ignored by name, for one of a few reasons that say who runs it;
//! those that need root are run as a step of their own (`cargo xtask root-test`),
//! which finds them here.

use super::source::{Source, is_word};
use super::{File, Problem};

/// Tests that make users, or are about what root alone meets.
pub const NEEDS_ROOT: &str = "needs root; run by cargo xtask root-test";
const REASONS: &[&str] = &[
    NEEDS_ROOT,
    "boots a virtual machine; run by make host-test",
    "needs a real GPU; run by scripts/gpu-host-check.sh",
    "make guards",
    "started by other tests",
];
const SKIPPED: &str =
    "a test that cannot run here must not pass: ignore it by name, and let it fail where it cannot run";
const NOT_FOUND: &str = "`cargo xtask root-test` cannot name this test; move it to crates/<crate>/tests or src";

/// A test that is ignored, and where the runner finds it.
#[derive(Debug, PartialEq)]
pub struct Ignored {
    pub package: String,
    /// The integration test that it belongs to; the library's own where there is none.
    pub binary: Option<String>,
    /// With its modules, as the runner prints it.
    pub name: String,
}

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let source = Source::of(file);
        for (at, reason) in attributes(&source) {
            let line = source.line_of(at);
            if !REASONS.contains(&reason.as_str()) {
                let advice = format!("say why it is ignored and who runs it, as one of: {}", REASONS.join(" | "));
                problems.push(Problem::new(file, line, advice));
            } else if reason == NEEDS_ROOT && place(file, &source, at).is_none() {
                problems.push(Problem::new(file, line, NOT_FOUND));
            }
        }
        let is_test = |at: usize| file.is_test() || source.in_tests(at);
        let returns = ["is_root() { return", "is_root() { println!"].iter().flat_map(|it| source.find(it));
        let says = source.literals.iter().filter(|it| it.text.trim_start().starts_with("skipped")).map(|it| it.offset);
        let silent = returns.chain(says).filter(|at| is_test(*at));
        problems.extend(silent.map(|at| Problem::new(file, source.line_of(at), SKIPPED)));
    }
    problems
}

/// Every test that needs root.
pub fn root_only(files: &[File]) -> Vec<Ignored> {
    let rust = files.iter().filter(|file| file.is_rust());
    let of_file = |file: &File| {
        let source = Source::of(file);
        let found = attributes(&source).into_iter().filter(|(_, reason)| reason == NEEDS_ROOT);
        found.filter_map(|(at, _)| place(file, &source, at)).collect::<Vec<_>>()
    };
    rust.flat_map(of_file).collect()
}

/// Where `#[ignore…]` stands, with the reason, empty where there is none.
fn attributes(source: &Source) -> Vec<(usize, String)> {
    let starts = source.find("#[ignore").into_iter();
    starts.map(|at| (at, reason_of(source, at).unwrap_or_default())).collect()
}

fn reason_of(source: &Source, at: usize) -> Option<String> {
    let end = at + source.code_from(at).find(']')?;
    let literal = source.literals.iter().find(|it| (at..end).contains(&it.offset))?;
    Some(literal.text.trim().to_owned())
}

/// How the runner names the function below the attribute.
fn place(file: &File, source: &Source, at: usize) -> Option<Ignored> {
    let (_, rest) = source.code_from(at).split_once("fn ")?;
    let function: String = rest.chars().take_while(|it| it.is_ascii() && is_word(*it as u8)).collect();
    let (package, path) = file.path.strip_prefix("crates/")?.split_once('/')?;
    let mut folders: Vec<&str> = path.strip_suffix(".rs")?.split('/').collect();
    let kind = folders.remove(0);
    let binary = match kind {
        "tests" => Some(folders.remove(0).to_owned()),
        "src" => None,
        _ => return None,
    };
    if folders.last().is_some_and(|it| matches!(*it, "mod" | "main" | "lib")) {
        folders.pop();
    }
    if source.in_tests(at) {
        folders.push("tests");
    }
    folders.push(&function);
    Some(Ignored { package: package.to_owned(), binary, name: folders.join("::") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&[File::new(path, text)]).into_iter().map(|it| it.line).collect()
    }

    const TEST: &str = "crates/agent/tests/linux.rs";

    #[test]
    fn a_reason_of_ones_own_or_none_is_found() {
        assert_eq!(lines(TEST, "#[test]\n#[ignore]\nfn a() {}"), [2]);
        assert_eq!(lines(TEST, "#[test]\n#[ignore = \"flaky\"]\nfn a() {}"), [2]);
        let root = format!("#[test]\n#[ignore = \"{NEEDS_ROOT}\"]\nfn a() {{}}");
        assert!(lines(TEST, &root).is_empty());
        assert_eq!(lines("benches/a.rs", &root), [2], "nobody would run it");
    }

    #[test]
    fn a_test_that_returns_instead_of_running_is_found() {
        assert_eq!(lines(TEST, "fn a() {\n    if !geteuid().is_root() {\n        return;\n    }\n}"), [2]);
        assert_eq!(lines(TEST, "fn a() {\n    println!(\"skipped: no root\");\n}"), [2]);
        assert!(lines("crates/agent/src/doctor.rs", "fn a() { if !is_root() { return; } }").is_empty());
        assert!(lines(TEST, "fn a() { assert!(geteuid().is_root(), \"run it as root\"); }").is_empty());
    }

    #[test]
    fn a_root_only_test_is_named_as_the_runner_names_it() {
        let text = format!("#[tokio::test]\n#[ignore = \"{NEEDS_ROOT}\"]\nasync fn a_login() {{}}");
        let named = |path: &str, text: &str| {
            let found = root_only(&[File::new(path, text)]);
            found.into_iter().map(|it| (it.package, it.binary, it.name)).collect::<Vec<_>>()
        };
        let test = |binary: &str, name: &str| vec![("agent".to_owned(), Some(binary.to_owned()), name.to_owned())];
        assert_eq!(named("crates/agent/tests/linux.rs", &text), test("linux", "a_login"));
        assert_eq!(named("crates/agent/tests/streams/main.rs", &text), test("streams", "a_login"));
        assert_eq!(named("crates/agent/tests/streams/linux.rs", &text), test("streams", "linux::a_login"));
        assert_eq!(named("crates/agent/tests/streams/deep/mod.rs", &text), test("streams", "deep::a_login"));
        let library = |name: &str| vec![("gpuaasd".to_owned(), None, name.to_owned())];
        assert_eq!(named("crates/gpuaasd/src/dev/tests.rs", &text), library("dev::tests::a_login"));
        let inside = format!("#[cfg(test)]\nmod tests {{\n{text}\n}}");
        assert_eq!(named("crates/gpuaasd/src/dev/mod.rs", &inside), library("dev::tests::a_login"));
        assert!(named(TEST, &text.replace("root;", "a GPU;")).is_empty());
    }
}
