//! Measures this build of the server against bare `pgbench` on the same PostgreSQL,
//! in one run and by turns, and prints every figure as soon as it is known beside
//! the one that is recorded. It compares; it does not explain: for that, attach a
//! profiler while it runs.

mod access;
mod counts;
mod cpu;
mod daemon;
mod figure;
mod fleet;
mod floors;
mod http;
mod load;
mod money;
mod nats;
mod options;
mod page;
mod part;
mod pgbench;
mod places;
mod psql;
mod record;
mod relay;
mod report;
mod requests;
mod sample;

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};

use gpuaasd::dev::postgres::Binaries;
use options::Options;
use part::Part;
use report::{Report, Verdict};

pub use record::{PAGE, document};

/// Parts that share a server, and those that stand alone.
const STEPS: &[&[Part]] = &[
    &[Part::Idle, Part::Writes, Part::Reads, Part::Lists],
    &[Part::Counts],
    &[Part::Allocations],
    &[Part::Relay],
    &[Part::Money],
    &[Part::Planner],
    &[Part::Large],
    &[Part::Agents],
    &[Part::Access],
];

/// No step takes longer on a machine that works.
const PATIENCE: Duration = Duration::from_secs(1_200);

/// Runs everything and prints it; fails at the end when a part failed or a bar is missed.
pub fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    if cfg!(debug_assertions) && !options.is_short {
        return Err("run `make bench`: an unoptimized load generator would measure itself".to_owned());
    }
    // One thread is enough to keep the server busy and leaves it the others.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    let verdict = runtime.block_on(measure(root, &options))?;
    for text in &verdict.slower {
        println!("slower than recorded: {text}");
    }
    conclude(&verdict, &options)
}

async fn measure(root: &Path, options: &Options) -> Result<Verdict, String> {
    let setting = setting(options)?;
    let mut report = Report::new(root, options, floors::of(options.is_short).collect())?;
    for step in STEPS {
        let chosen: Vec<&str> = step.iter().filter(|it| options.measures(**it)).map(|it| it.name()).collect();
        if chosen.is_empty() {
            continue;
        }
        let name = chosen.join(", ");
        let measured = tokio::time::timeout(PATIENCE, perform(step[0], root, options, &mut report)).await;
        let outcome = measured.unwrap_or_else(|_| Err(format!("it was not done after {PATIENCE:?}")));
        if let Err(error) = outcome {
            report.failed(&name, &error);
        }
        report.done(&name, options)?;
    }
    if options.record {
        report.complete(options, setting)?;
        println!("recorded in {} and {}", record::FILE, record::PAGE);
    }
    Ok(report.finish(options))
}

/// Measures the step that begins with the part.
async fn perform(first: Part, root: &Path, options: &Options, report: &mut Report) -> Result<(), String> {
    report.enter(first);
    match first {
        Part::Idle | Part::Writes | Part::Reads | Part::Lists => requests::measure(options, report).await,
        Part::Counts => counts::measure(options, report).await,
        Part::Allocations => fleet::allocations::measure(report).await,
        Part::Relay => relay::measure(report).await,
        Part::Money => money::measure(report).await,
        Part::Planner => fleet::planner::measure(report),
        Part::Large => fleet::large::measure(report).await,
        Part::Agents => fleet::agents::measure(report).await,
        Part::Access => access::measure(root, report).await,
    }
}

/// Where and how it is measured.
fn setting(options: &Options) -> Result<Map<String, Value>, String> {
    let postgres = Binaries::find().map_err(|error| error.to_string())?.version();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let setting = json!({
        "cores": cores, "postgres": postgres, "connections": places::CALLERS,
        "seconds_per_round": options.seconds, "rounds": options.rounds,
    });
    setting.as_object().cloned().ok_or("the setting is an object above".to_owned())
}

fn conclude(verdict: &Verdict, options: &Options) -> Result<(), String> {
    let mut text = String::new();
    if !verdict.failed.is_empty() {
        text += &format!("failed: {}\n", verdict.failed.join("; "));
    }
    if options.bars && !verdict.missed.is_empty() {
        text += &format!("missed: {}\n{}\n", verdict.missed.join("; "), advice(options));
    }
    if text.is_empty() { Ok(()) } else { Err(text.trim_end().to_owned()) }
}

fn advice(options: &Options) -> &'static str {
    if options.is_short {
        "Run `make bench-short` again on a machine that does nothing else. If it misses again, the change made \
         requests or allocations more expensive: compare the rows, wakes and statements above with \
         docs/generated/bench.md, and take out what need not be there. If the cost is intended, raise the ceiling or \
         lower the floor in xtask/src/bench/floors.rs and say why in the commit."
    } else {
        "Measure one part alone with `make bench ARGS='--only PART --no-record'`, and attach a profiler meanwhile."
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Options {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words).unwrap()
    }

    #[test]
    fn steps_hold_every_part_once() {
        let parts: Vec<Part> = STEPS.iter().flat_map(|it| it.iter().copied()).collect();
        assert_eq!(parts, Part::ALL);
    }

    #[test]
    fn verdict_names_failures_and_misses_with_what_to_do() {
        let verdict = Verdict {
            failed: vec!["relay: no nats-server".to_owned()],
            missed: vec!["writes.ratio is 0.3".to_owned()],
            slower: Vec::new(),
        };
        let text = conclude(&verdict, &options("--short")).unwrap_err();
        assert!(text.starts_with("failed: relay: no nats-server\nmissed: writes.ratio is 0.3\n"), "{text}");
        assert!(text.contains("xtask/src/bench/floors.rs"));
        assert_eq!(conclude(&verdict, &options("--no-bars")).unwrap_err(), "failed: relay: no nats-server");
        assert_eq!(conclude(&Verdict::default(), &options("")), Ok(()));
    }
}
