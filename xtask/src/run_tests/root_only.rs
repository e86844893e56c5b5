//! The tests that need root, run as a step of their own. The sources say how many
//! there are, so that none is left out silently.

use std::path::Path;

use super::runner::{Run, Runner, Selection};
use crate::tidy::{self, Ignored};

/// Runs them. What came of it, in a line, too.
pub fn step(runner: &Runner) -> Result<(Run, String), String> {
    if let Err(line) = is_possible(runner.root) {
        return if is_ci() { Err(line) } else { Ok((Run::default(), line)) };
    }
    let wanted = tidy::root_only(&tidy::tracked(runner.root)?);
    let run = runner.run(&selection(&wanted))?;
    let ran: Vec<&str> = run.report.cases.iter().map(|it| it.name.as_str()).collect();
    let line = counted(&wanted, &ran)?;
    Ok((run, line))
}

/// Fails, with what to do, where somebody else than root asks.
pub fn is_possible(root: &Path) -> Result<(), String> {
    if nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    Err(line_without_root(tidy::root_only(&tidy::tracked(root)?).len()))
}

/// Where a machine judges a change, a test that did not run is a failure.
fn is_ci() -> bool {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|it| it == value);
    is("CI", "true") || is("NEXTEST_PROFILE", "ci")
}

fn line_without_root(count: usize) -> String {
    format!("root-only tests: 0 of {count} ran (run as root: sudo cargo xtask root-test)")
}

fn counted(wanted: &[Ignored], ran: &[&str]) -> Result<String, String> {
    let missing = |it: &&Ignored| !ran.iter().any(|name| name.split(' ').next_back() == Some(it.name.as_str()));
    let missing: Vec<&str> = wanted.iter().filter(missing).map(|it| it.name.as_str()).collect();
    let line = format!("root-only tests: {} of {} ran", ran.len(), wanted.len());
    if missing.is_empty() && ran.len() == wanted.len() {
        return Ok(line);
    }
    Err(format!("{line}; the runner did not find: {}", missing.join(", ")))
}

/// Exactly these, for either runner.
fn selection(tests: &[Ignored]) -> Selection {
    let one = |it: &Ignored| {
        let binary = it.binary.iter().fold(it.package.clone(), |package, binary| format!("{package}::{binary}"));
        format!("(binary_id(={binary}) & test(={}))", it.name)
    };
    let filter = tests.iter().map(one).collect::<Vec<_>>().join(" + ");
    let nextest = ["--run-ignored", "only", "-E", &filter].map(str::to_owned).to_vec();
    let mut cargo = vec!["--lib".to_owned()];
    let mut binaries: Vec<&String> = tests.iter().filter_map(|it| it.binary.as_ref()).collect();
    binaries.sort_unstable();
    binaries.dedup();
    cargo.extend(binaries.into_iter().flat_map(|it| ["--test".to_owned(), it.clone()]));
    cargo.extend(["--", "--ignored", "--exact"].map(str::to_owned));
    cargo.extend(tests.iter().map(|it| it.name.clone()));
    Selection { nextest, cargo: vec![cargo] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ignored(package: &str, binary: Option<&str>, name: &str) -> Ignored {
        Ignored { package: package.into(), binary: binary.map(str::to_owned), name: name.into() }
    }

    #[test]
    fn root_only_tests_that_did_not_run_are_named() {
        let wanted = [ignored("agent", Some("streams"), "linux::a"), ignored("gpuaasd", None, "dev::tests::b")];
        let both = ["agent::streams linux::a", "gpuaasd dev::tests::b"];
        assert_eq!(counted(&wanted, &both).unwrap(), "root-only tests: 2 of 2 ran");
        let refused = counted(&wanted, &both[..1]).unwrap_err();
        assert_eq!(refused, "root-only tests: 1 of 2 ran; the runner did not find: dev::tests::b");
        assert!(counted(&wanted, &[]).is_err());
        assert!(counted(&wanted, &["linux::a", "dev::tests::b"]).is_ok(), "as cargo test prints them");
        let text = "root-only tests: 0 of 2 ran (run as root: sudo cargo xtask root-test)";
        assert_eq!(line_without_root(2), text);
    }

    #[test]
    fn root_only_tests_are_selected_exactly_by_either_runner() {
        let tests = [ignored("agent", Some("streams"), "linux::a"), ignored("gpuaasd", None, "dev::tests::b")];
        let selection = selection(&tests);
        let filter = "(binary_id(=agent::streams) & test(=linux::a)) + (binary_id(=gpuaasd) & test(=dev::tests::b))";
        assert_eq!(selection.nextest, ["--run-ignored", "only", "-E", filter]);
        let words = "--lib --test streams -- --ignored --exact linux::a dev::tests::b";
        assert_eq!(selection.cargo, [words.split(' ').map(str::to_owned).collect::<Vec<_>>()]);
    }

    /// The step would be content with none.
    #[test]
    fn root_only_tests_are_found_in_the_sources() {
        let found = tidy::root_only(&tidy::tracked(&crate::root()).unwrap());
        let has = |binary: &str, module: &str| {
            found.iter().any(|it| it.binary.as_deref() == Some(binary) && it.name.starts_with(module))
        };
        for (binary, module) in [
            ("agent", "isolation::"),
            ("agent", "linux::"),
            ("agent", "streams::"),
            ("compute", "linux_host::"),
            ("access", "hosts::"),
        ] {
            assert!(has(binary, module), "{binary} {module}: {found:?}");
        }
    }
}
