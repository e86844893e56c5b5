//! Runs the whole test suite: one disposable PostgreSQL for all of it, every
//! binary built before the tests that start them; the tests that need root as a
//! step of their own; the core of it on the oldest and the newest PostgreSQL; then
//! the API against its own document, and the Python SDK and the console against
//! the API.

mod report;
mod root_only;
mod runner;
mod soak;
mod versions;

use std::path::Path;

use report::Outcome;
use runner::{Run, Runner, Selection};
pub use soak::run as soak;

/// Runs nextest, or `cargo test` where nextest is missing, over the workspace.
/// Arguments narrow the run, so that what is not a test of that runner is left out.
pub fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let mut summary = Summary::default();
    let done = everything(root, args, &mut summary);
    summary.print();
    done
}

/// The tests that need root, alone.
pub fn root_test(root: &Path) -> Result<(), String> {
    root_only::is_possible(root)?;
    let mut summary = Summary::default();
    let mut runner = Runner::start(root, &[])?;
    let done = with_root(&runner, &mut summary);
    runner.stop()?;
    summary.print();
    done
}

/// The tests that meet the database most closely, alone, on the PostgreSQL that is
/// found first.
pub fn core_test(root: &Path) -> Result<(), String> {
    let mut summary = Summary::default();
    let mut runner = Runner::start(root, &[])?;
    let done = tested(&runner, &versions::core(), &mut summary);
    runner.stop()?;
    summary.print();
    done
}

fn everything(root: &Path, args: &[String], summary: &mut Summary) -> Result<(), String> {
    let mut runner = Runner::start(root, &[])?;
    let is_whole = args.is_empty();
    let done = tested(&runner, &Selection::of(args), summary).and_then(|()| match is_whole {
        true => runner.documentation().and_then(|()| with_root(&runner, summary)),
        false => Ok(()),
    });
    let stopped = runner.stop();
    done?;
    stopped?;
    if !is_whole {
        return Ok(());
    }
    for version in versions::others(runner.postgres_major) {
        let (run, lines) = versions::run(&runner, version)?;
        summary.lines.extend(lines);
        run.failure.map_or(Ok(()), Err)?;
    }
    let server = crate::binaries(root).join("gpuaasd").to_string_lossy().into_owned();
    runner.call(root.join("scripts/schemathesis.sh"), &[&server])?;
    runner.call(root.join("scripts/python-sdk.sh"), &["test", &server])?;
    runner.call(root.join("scripts/console.sh"), &["test"])?;
    runner.call(root.join("scripts/console.sh"), &["e2e", &server])
}

/// Runs a selection, and says on which PostgreSQL how many passed.
fn tested(runner: &Runner, selection: &Selection, summary: &mut Summary) -> Result<(), String> {
    let run = runner.run(selection)?;
    summary.lines.push(format!("PostgreSQL {}: {} tests passed", runner.postgres, run.report.passed()));
    summary.add_flaky(&run);
    run.failure.map_or(Ok(()), Err)
}

fn with_root(runner: &Runner, summary: &mut Summary) -> Result<(), String> {
    let (run, line) = root_only::step(runner)?;
    summary.lines.push(line);
    summary.add_flaky(&run);
    run.failure.map_or(Ok(()), Err)
}

/// What is printed at the end, below everything that the steps printed.
#[derive(Default)]
struct Summary {
    lines: Vec<String>,
    flaky: Vec<String>,
}

impl Summary {
    fn add_flaky(&mut self, run: &Run) {
        let flaky = run.report.cases.iter().filter(|it| it.outcome == Outcome::Flaky);
        self.flaky.extend(flaky.map(|it| format!("FLAKY, failed first and passed the second time: {}", it.name)));
    }

    fn print(&self) {
        for line in self.lines.iter().chain(&self.flaky) {
            println!("{line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy;

    /// The tests that CI tries once more are few and named; a name that nobody has
    /// would hide that one of them was renamed, or is gone.
    #[test]
    fn tests_with_a_second_try_are_named_and_exist() {
        let root = crate::root();
        let settings = std::fs::read_to_string(root.join(".config/nextest.toml")).unwrap();
        let settings: toml::Table = settings.parse().unwrap();
        let ci = &settings["profile"]["ci"];
        for profile in ["default", "ci"] {
            assert_eq!(settings["profile"][profile]["retries"].as_integer(), Some(0), "{profile}");
        }
        let files: Vec<_> = tidy::tracked(&root).unwrap().into_iter().filter(|it| it.is_test()).collect();
        for retried in ci["overrides"].as_array().unwrap() {
            for named in retried["filter"].as_str().unwrap().split('+').map(str::trim) {
                let within = |start, end| named.strip_prefix(start).and_then(|it: &str| it.strip_suffix(end));
                if let Some(place) = within("binary(=", ")").or_else(|| within("test(/^", "::/)")) {
                    let places = ["main.rs", "mod.rs"].map(|it| format!("/{place}/{it}"));
                    let is_there = |file: &str| {
                        file.ends_with(&format!("/{place}.rs")) || places.iter().any(|it| file.ends_with(it.as_str()))
                    };
                    assert!(files.iter().any(|it| is_there(&it.path)), "{place} is not in the sources");
                    continue;
                }
                let name = named.strip_prefix("test(=").and_then(|it| it.strip_suffix(')')).expect(named);
                let function = format!("fn {}()", name.rsplit("::").next().unwrap());
                assert!(files.iter().any(|it| it.text.contains(&function)), "{name} is not in the sources");
            }
        }
    }

    #[test]
    fn flaky_tests_are_named_at_the_end() {
        let case =
            |outcome| report::Case { name: "testkit::work a".into(), outcome, seconds: 1.0, output: String::new() };
        let cases = [Outcome::Passed, Outcome::Flaky, Outcome::Failed].map(case).into();
        let mut summary = Summary::default();
        summary.add_flaky(&Run { report: report::Report { cases }, failure: None });
        assert_eq!(summary.flaky, ["FLAKY, failed first and passed the second time: testkit::work a"]);
    }
}
