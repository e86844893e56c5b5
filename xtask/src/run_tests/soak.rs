//! The crash, race and fuzz loops at full size, with one table at the end.

use std::path::Path;

use super::report::{Case, Outcome};
use super::runner::{Run, Runner, Selection};
use super::{root_only, versions};

/// What `testkit::rounds` prints.
const SIZE: &str = "loop size: ";
const HEAD: [&str; 5] = ["loop", "size", "result", "seconds", "printed"];

/// Runs what has a size, to its end whatever fails, and fails where a part did.
pub fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let mut runner = Runner::start(root, &[("GPUAAS_SOAK", "1"), ("NEXTEST_PROFILE", "soak")])?;
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    let mut keep = |title: &str, done: Result<Run, String>| match done {
        Ok(run) => {
            rows.extend(run.report.cases.iter().filter_map(|it| row(title, it)));
            failures.extend(run.failure.map(|it| format!("{title}: {it}")));
        }
        Err(failure) => failures.push(format!("{title}: {failure}")),
    };
    keep(&format!("PostgreSQL {}", runner.postgres), runner.run(&Selection::of(args)));
    if args.is_empty() {
        keep("as root", root_only::step(&runner).map(|(run, _)| run));
        runner.stop()?;
        for version in versions::others(runner.postgres_major) {
            keep(&format!("PostgreSQL {version}"), versions::run(&runner, version).map(|(run, _)| run));
        }
        let server = crate::binaries(root).join("gpuaasd").to_string_lossy().into_owned();
        let started = std::time::Instant::now();
        let fuzzed = runner.call(root.join("scripts/schemathesis.sh"), &[&server]);
        let result = if fuzzed.is_ok() { "passed" } else { "FAILED" };
        let seconds = format!("{:.1}", started.elapsed().as_secs_f64());
        rows.push(["schemathesis", "ten times", result, &seconds, "-"].map(str::to_owned));
        failures.extend(fuzzed.err().map(|it| format!("schemathesis: {it}")));
    }
    runner.stop()?;
    println!("{}", table(&rows));
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// A line of the table, of a test that has a size.
fn row(title: &str, case: &Case) -> Option<[String; 5]> {
    let mut sizes: Vec<&str> =
        case.output.lines().filter_map(|line| line.split_once(SIZE)).map(|(_, size)| size.trim()).collect();
    sizes.dedup();
    if sizes.is_empty() {
        return None;
    }
    let result = match case.outcome {
        Outcome::Passed => "passed",
        Outcome::Flaky => "FLAKY",
        Outcome::Failed => "FAILED",
    };
    let printed = case.output.lines().rev().find(|line| is_own(line)).unwrap_or("-");
    Some([
        format!("{}, {title}", case.name),
        sizes.join(", "),
        result.to_owned(),
        format!("{:.1}", case.seconds),
        printed.trim().to_owned(),
    ])
}

/// Not one of the harness around the test.
fn is_own(line: &str) -> bool {
    let harness = ["running ", "test ", "successes:", "failures:"];
    let line = line.trim();
    !line.is_empty() && line != "ok" && !line.contains(SIZE) && !harness.iter().any(|it| line.starts_with(it))
}

fn table(rows: &[[String; 5]]) -> String {
    let head = HEAD.map(str::to_owned);
    let all: Vec<&[String; 5]> = std::iter::once(&head).chain(rows).collect();
    let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths = [0, 1, 2, 3].map(width);
    let line = |row: &&[String; 5]| {
        let [name, size, result, seconds, printed] = row;
        let [a, b, c, d] = widths;
        format!("{name:a$}  {size:>b$}  {result:c$}  {seconds:>d$}  {printed}")
    };
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(output: &str) -> Case {
        Case { name: "testkit::kill a_test".into(), outcome: Outcome::Passed, seconds: 12.34, output: output.into() }
    }

    #[test]
    fn a_loop_is_identified_by_its_size_and_shown_with_what_it_printed_last() {
        let output = "\nrunning 1 test\ntest a_test ... loop size: 50\nstarted\nloop size: 7\n50 kills, 0 lost\nok\n\n\
                      test result: ok. 1 passed; 0 failed; finished in 12.30s\n\n";
        let expected = ["testkit::kill a_test, PostgreSQL 15.18", "50, 7", "passed", "12.3", "50 kills, 0 lost"];
        assert_eq!(row("PostgreSQL 15.18", &case(output)).unwrap(), expected);
        assert_eq!(row("x", &case("loop size: 5\n")).unwrap()[4], "-");
        assert_eq!(row("x", &case("running 1 test\nno size\n")), None);
    }

    #[test]
    fn the_table_is_aligned() {
        let rows = [["a_loop", "200", "passed", "41.0", "0 lost"], ["b", "5", "FAILED", "1.5", "-"]];
        let rows = rows.map(|row| row.map(str::to_owned));
        let expected = "loop    size  result  seconds  printed\n\
                        a_loop   200  passed     41.0  0 lost\n\
                        b          5  FAILED      1.5  -";
        assert_eq!(table(&rows), expected);
    }
}
