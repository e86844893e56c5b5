//! What a run has measured so far. Every figure is printed as soon as it is known
//! and recorded when its part is done; the verdict comes at the end.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::figure::{self, Bar, Figure, Unit};
use super::floors::Floor;
use super::http;
use super::options::Options;
use super::part::Part;
use super::record::Record;
use super::sample::{Sample, rounded};

/// The rounds of both contestants.
#[derive(Default)]
pub struct Compared {
    pub ours: Vec<Sample>,
    pub bare: Vec<Sample>,
}

pub struct Report {
    root: PathBuf,
    floors: Vec<Floor>,
    /// As it was before this run.
    last: Record,
    figures: Vec<Figure>,
    failed: Vec<String>,
    part: Part,
    started: Instant,
    /// Whether what is recorded may be compared with this run's figures of a part.
    is_comparable: fn(Part) -> bool,
}

impl Report {
    pub fn new(root: &Path, options: &Options, floors: Vec<Floor>) -> Result<Self, String> {
        // A debug build is slow in everything, but not in how often it asks.
        let is_comparable: fn(Part) -> bool = if options.is_short { |it| it == Part::Counts } else { |_| true };
        println!("{}", figure::heads());
        Ok(Self {
            root: root.to_owned(),
            floors,
            last: Record::read(root)?,
            figures: Vec::new(),
            failed: Vec::new(),
            part: Part::Idle,
            started: Instant::now(),
            is_comparable,
        })
    }

    /// What is measured from here on is of this part.
    pub fn enter(&mut self, part: Part) {
        self.part = part;
    }

    pub fn value(&mut self, name: &str, unit: Unit, value: f64) {
        self.remarked(name, unit, value, String::new());
    }

    pub fn remarked(&mut self, name: &str, unit: Unit, value: f64, remark: String) {
        self.add(Figure { is_fact: false, remark, ..self.figure(name, unit, value) });
    }

    /// What is no work of ours, or of which neither more nor less is better.
    pub fn fact(&mut self, name: &str, unit: Unit, value: f64) {
        self.add(self.figure(name, unit, value));
    }

    pub fn remarked_fact(&mut self, name: &str, unit: Unit, value: f64, remark: String) {
        self.add(Figure { remark, ..self.figure(name, unit, value) });
    }

    fn figure(&self, name: &str, unit: Unit, value: f64) -> Figure {
        let value = rounded(value);
        Figure { part: self.part, name: name.to_owned(), unit, value, is_fact: true, remark: String::new() }
    }

    fn add(&mut self, figure: Figure) {
        println!("{}", figure.line(self.bar(&figure.name), self.previous(&figure)));
        self.figures.push(figure);
    }

    /// The medians of the rounds of server and `pgbench`.
    pub fn compared(&mut self, name: &str, compared: &Compared) {
        let (ours, bare) = (Sample::median(&compared.ours), Sample::median(&compared.bare));
        let ratio = ours.per_second / bare.per_second.max(f64::MIN_POSITIVE);
        self.remarked(&format!("{name}.ratio"), Unit::Ratio, ratio, "of bare pgbench".to_owned());
        let rounds = |samples: &[Sample]| {
            let rates: Vec<String> = samples.iter().map(|it| figure::number(it.per_second.round())).collect();
            format!("rounds: {}", rates.join(", "))
        };
        self.remarked(&format!("{name}.per_second"), Unit::PerSecond, ours.per_second, rounds(&compared.ours));
        self.value(&format!("{name}.p50_ms"), Unit::Milliseconds, ours.p50_ms);
        self.value(&format!("{name}.p99_ms"), Unit::Milliseconds, ours.p99_ms);
        self.value(&format!("{name}.server_cpu_us"), Unit::Microseconds, ours.cpu.server_us);
        self.value(&format!("{name}.postgres_cpu_us"), Unit::Microseconds, ours.cpu.postgres_us);
        let pgbench = |what: &str| format!("{name}.pgbench_{what}");
        self.remarked_fact(&pgbench("per_second"), Unit::PerSecond, bare.per_second, rounds(&compared.bare));
        self.fact(&pgbench("p50_ms"), Unit::Milliseconds, bare.p50_ms);
        self.fact(&pgbench("p99_ms"), Unit::Milliseconds, bare.p99_ms);
        self.fact(&pgbench("postgres_cpu_us"), Unit::Microseconds, bare.cpu.postgres_us);
    }

    /// Something to read that is no figure.
    pub fn say(&self, text: impl Display) {
        println!("{text}");
    }

    /// What ends a part early is printed, and fails the run at its end.
    pub fn failed(&mut self, name: &str, error: &str) {
        println!("FAILED {name}: {error}");
        self.failed.push(format!("{name}: {error}"));
    }

    /// Says how long parts took that ended, and records what is known so far.
    pub fn done(&mut self, name: &str, options: &Options) -> Result<(), String> {
        let reconnects = match http::take_reconnects() {
            0 => String::new(),
            count => format!(", {count} connections opened again"),
        };
        println!("-- {name} took {:.0} s{reconnects}", self.started.elapsed().as_secs_f64());
        self.started = Instant::now();
        if !options.record {
            return Ok(());
        }
        let mut record = self.last.clone();
        for figure in &self.figures {
            record.put(figure, self.bar(&figure.name), self.last.value(&figure.name));
        }
        record.write(&self.root)
    }

    /// What must be said at the end, by kind.
    pub fn finish(&self, options: &Options) -> Verdict {
        let figures = self.figures.iter();
        let slower = figures.filter_map(|it| figure::slower(it, self.previous(it))).collect();
        Verdict { failed: self.failed.clone(), missed: self.missed(options), slower }
    }

    fn missed(&self, options: &Options) -> Vec<String> {
        let judged = self.floors.iter().filter(|it| options.measures(it.part));
        let verdict = |floor: &Floor| {
            let name = floor.figure;
            match self.figures.iter().find(|it| it.name == name) {
                Some(it) if floor.bar.holds(it.value) => None,
                Some(it) => Some(format!("{name} is {}, its bar is {}", it.value, floor.bar.words())),
                None => Some(format!("{name} was not measured, its bar is {}", floor.bar.words())),
            }
        };
        judged.filter_map(verdict).collect()
    }

    /// After a whole run without failures nothing stays that it did not measure.
    pub fn complete(
        &self,
        options: &Options,
        setting: serde_json::Map<String, serde_json::Value>,
    ) -> Result<(), String> {
        let mut record = Record::read(&self.root)?;
        if options.is_whole() || record.setting.is_empty() {
            record.setting = setting;
        }
        if self.failed.is_empty() {
            let measured: Vec<&str> = self.figures.iter().map(|it| it.name.as_str()).collect();
            record.keep_only(&options.parts, &measured);
        }
        record.write(&self.root)
    }

    fn bar(&self, name: &str) -> Option<Bar> {
        self.floors.iter().find(|it| it.figure == name).map(|it| it.bar)
    }

    fn previous(&self, figure: &Figure) -> Option<f64> {
        if (self.is_comparable)(figure.part) { self.last.value(&figure.name) } else { None }
    }
}

/// What a run comes to.
#[derive(Debug, Default, PartialEq)]
pub struct Verdict {
    pub failed: Vec<String>,
    pub missed: Vec<String>,
    pub slower: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::super::floors;
    use super::*;

    fn round(done: usize) -> Sample {
        Sample::new(done, 1.0, vec![1000])
    }

    fn options(text: &str) -> Options {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words).unwrap()
    }

    fn report(root: &Path, options: &Options) -> Report {
        std::fs::create_dir_all(root.join("docs/generated")).unwrap();
        Report::new(root, options, floors::of(options.is_short).collect()).unwrap()
    }

    #[test]
    fn missed_bar_is_named_with_its_value() {
        let root = tempfile::tempdir().unwrap();
        let options = options("--only writes --only reads");
        let mut report = report(root.path(), &options);
        report.enter(Part::Writes);
        report.compared("writes", &Compared { ours: vec![round(30)], bare: vec![round(100)] });
        report.failed("reads", "the server closed the connection");
        let verdict = report.finish(&options);
        let missed =
            ["writes.ratio is 0.3, its bar is at least 0.65", "reads.ratio was not measured, its bar is at least 0.7"];
        assert_eq!(verdict.missed, missed);
        assert_eq!(verdict.failed, ["reads: the server closed the connection"]);
    }

    #[test]
    fn part_of_a_run_replaces_its_own_figures_only() {
        let root = tempfile::tempdir().unwrap();
        let whole = options("");
        let mut first = report(root.path(), &whole);
        first.enter(Part::Relay);
        first.value("relay.per_second", Unit::PerSecond, 1000.0);
        first.enter(Part::Idle);
        first.value("idle_memory_mib", Unit::Mebibytes, 40.0);
        first.done("everything", &whole).unwrap();
        let part = options("--only idle");
        let mut second = report(root.path(), &part);
        second.value("idle_memory_mib", Unit::Mebibytes, 80.0);
        second.done("idle", &part).unwrap();
        second.complete(&part, serde_json::Map::new()).unwrap();
        assert_eq!(second.finish(&part).slower, ["idle_memory_mib was 40 MiB, is 80 MiB"]);
        let record = Record::read(root.path()).unwrap();
        assert_eq!((record.value("relay.per_second"), record.value("idle_memory_mib")), (Some(1000.0), Some(80.0)));
        assert_eq!(record.figures[1].previous, Some(40.0));
    }
}
