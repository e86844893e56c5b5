//! The core of the suite on other versions of PostgreSQL than the one that the whole
//! of it runs on: between them, the oldest and the newest that are known to work.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use gpuaasd::migrations::KNOWN_POSTGRES;

use super::runner::{Run, Runner, Selection};

/// What meets the database most closely. The programs that it starts are `gpuaasd
/// dev` and `serve`.
const PACKAGE: &str = "kernel";
const MODULES: &[(&str, &[&str])] = &[
    ("compute", &["allocations", "quotas", "race"]),
    ("money", &["ledger", "wallets"]),
    ("people", &["identity", "resources"]),
    ("platform", &["dev", "embedded", "gates", "migrations", "row_security", "seals", "work"]),
];
/// They compare dumps, and pg_dump comes with no pinned server.
const WITHOUT: &[&str] =
    &["a_database_of_a_pre_release_build_is_refused_and_left_alone", "a_populated_database_goes_down_and_up_again"];

pub fn core() -> Selection {
    let of_area = |(area, modules): &(&str, &[&str])| {
        format!(" + (binary_id(=testkit::{area}) & test(/^({})::/))", modules.join("|"))
    };
    let modules: String = MODULES.iter().map(of_area).collect();
    let without: String = WITHOUT.iter().map(|it| format!(" - test({it})")).collect();
    let nextest = vec!["-E".to_owned(), format!("(package({PACKAGE}){modules}){without}")];
    let package = ["--package", PACKAGE].map(str::to_owned).to_vec();
    let words = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let of_area = |(area, modules): &(&str, &[&str])| {
        let mut tests = words(&["--package", "testkit", "--test", area, "--"]);
        tests.extend(modules.iter().map(|it| format!("{it}::")));
        tests.extend(WITHOUT.iter().flat_map(|it| words(&["--skip", it])));
        tests
    };
    let areas = MODULES.iter().map(of_area);
    Selection { nextest, cargo: std::iter::once(package).chain(areas).collect() }
}

/// The ends of the known range that the whole suite did not meet.
pub fn others(main: u32) -> Vec<u32> {
    [*KNOWN_POSTGRES.start(), *KNOWN_POSTGRES.end()].into_iter().filter(|it| *it != main).collect()
}

/// Runs the core on a version. What it came to, and the lines that it ended with.
pub fn run(runner: &Runner, version: u32) -> Result<(Run, Vec<String>), String> {
    let script = runner.root.join("scripts/postgres-version.sh");
    let found = Command::new(script).current_dir(runner.root).arg(version.to_string()).output();
    let found = found.map_err(|error| format!("cannot start scripts/postgres-version.sh: {error}"))?;
    eprint!("{}", String::from_utf8_lossy(&found.stderr));
    if !found.status.success() {
        return Err(format!("PostgreSQL {version} is not to be had: its message is above"));
    }
    let programs = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    println!("the core of the suite on PostgreSQL {version}, in {programs}");
    // A process of its own: where the programs are is part of its environment.
    // Not the file of this process: building the tests has replaced it.
    let this = crate::binaries(runner.root).join("xtask");
    let mut command = runner.program(this);
    command.env("GPUAAS_PG_BIN", programs).arg("core-test").stdout(Stdio::piped());
    let mut lines = Vec::new();
    let run = runner.observed(&mut command, |child| {
        for line in BufReader::new(child).lines().map_while(Result::ok) {
            println!("{line}");
            if is_result(&line) {
                lines.push(line);
            }
        }
    })?;
    Ok((run, lines))
}

/// What `core-test` ends with.
fn is_result(line: &str) -> bool {
    line.starts_with("PostgreSQL ") || line.starts_with("FLAKY, ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_and_the_newest_are_met_whatever_the_suite_runs_on() {
        let (oldest, newest) = (*KNOWN_POSTGRES.start(), *KNOWN_POSTGRES.end());
        assert_eq!(others(oldest), [newest]);
        assert_eq!(others(newest), [oldest]);
        assert_eq!(others(oldest + 1), [oldest, newest]);
    }

    #[test]
    fn the_core_is_selected_by_either_runner() {
        let core = core();
        assert_eq!(core.nextest[0], "-E");
        let first = "(package(kernel) + (binary_id(=testkit::compute) & test(/^(allocations|quotas|race)::/)) + ";
        assert!(core.nextest[1].starts_with(first), "{}", core.nextest[1]);
        // A difference binds tighter than a union.
        assert!(core.nextest[1].contains(&format!(") - test({})", WITHOUT[0])), "{}", core.nextest[1]);
        assert_eq!(core.nextest[1].matches(" - test(").count(), WITHOUT.len());
        assert_eq!(core.cargo[0], ["--package", "kernel"]);
        let skips: String = WITHOUT.iter().map(|it| format!(" --skip {it}")).collect();
        let compute = format!("--package testkit --test compute -- allocations:: quotas:: race::{skips}");
        assert_eq!(core.cargo[1].join(" "), compute);
        assert!(!core.cargo.iter().flatten().any(|it| it == "-E"), "cargo test knows no filters");
    }

    /// A module that was renamed would be left out without an error.
    #[test]
    fn every_module_of_the_core_exists() {
        let folder = crate::root().join("crates/testkit/tests");
        let exists = |it: &str| folder.join(format!("{it}.rs")).exists() || folder.join(it).join("mod.rs").exists();
        let modules = MODULES.iter().flat_map(|(area, modules)| modules.iter().map(move |it| format!("{area}/{it}")));
        let missing: Vec<_> = modules.filter(|it| !exists(it)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
