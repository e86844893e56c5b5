//! The document that is printed: what was measured, the bar, and who passed.

use serde_json::{Map, Value, json};

use super::sample::{self, Sample};

/// What a value must reach.
#[derive(Debug, Clone, Copy)]
pub enum Bar {
    AtLeast(f64),
    Below(f64),
}

/// How much of bare `pgbench`'s rate the server must reach.
const RATIO: Bar = Bar::AtLeast(0.4);

/// The rounds of both contestants.
#[derive(Default)]
pub struct Compared {
    pub ours: Vec<Sample>,
    pub bare: Vec<Sample>,
}

pub struct Report {
    fields: Map<String, Value>,
    missed: Vec<String>,
}

impl Bar {
    fn holds(self, value: f64) -> bool {
        match self {
            Bar::AtLeast(least) => value >= least,
            Bar::Below(limit) => value < limit,
        }
    }

    fn words(self) -> String {
        match self {
            Bar::AtLeast(least) => format!("at least {least}"),
            Bar::Below(limit) => format!("below {limit}"),
        }
    }
}

impl Report {
    pub fn new(seconds: u64, rounds: usize, postgres: u32) -> Self {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let setting = json!({
            "cores": cores, "postgres": postgres, "connections": super::places::CALLERS,
            "seconds_per_round": seconds, "rounds": rounds,
        });
        Self { fields: Map::from_iter([("setting".to_owned(), setting)]), missed: Vec::new() }
    }

    pub fn compared(&mut self, name: &str, compared: &Compared) {
        let rate = |rounds: &[Sample]| Sample::median(rounds).per_second;
        let ratio = rate(&compared.ours) / rate(&compared.bare).max(f64::MIN_POSITIVE);
        let document = json!({
            "gpuaas": sample::document(&compared.ours),
            "pgbench": sample::document(&compared.bare),
            "ratio": self.judged(&format!("{name}.ratio"), ratio, RATIO),
        });
        self.fields.insert(name.to_owned(), document);
    }

    pub fn value(&mut self, name: &str, value: f64, bar: Bar) {
        let document = self.judged(name, value, bar);
        self.fields.insert(name.to_owned(), document);
    }

    /// A figure without a bar.
    pub fn note(&mut self, name: &str, value: f64) {
        self.fields.insert(name.to_owned(), json!({ "value": sample::rounded(value) }));
    }

    pub fn finish(mut self) -> (Value, Vec<String>) {
        self.fields.insert("passed".to_owned(), self.missed.is_empty().into());
        (Value::Object(self.fields), self.missed)
    }

    fn judged(&mut self, name: &str, value: f64, bar: Bar) -> Value {
        let passed = bar.holds(value);
        let value = sample::rounded(value);
        if !passed {
            self.missed.push(format!("{name} is {value}, its bar is {}", bar.words()));
        }
        json!({ "value": value, "bar": bar.words(), "passed": passed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(done: usize) -> Sample {
        Sample::new(done, 1.0, vec![1000])
    }

    #[test]
    fn a_missed_bar_is_named_with_its_value() {
        let mut report = Report::new(1, 1, 15);
        report.compared("writes", &Compared { ours: vec![round(30)], bare: vec![round(100)] });
        report.value("idle_memory_mib", 12.0, Bar::Below(80.0));
        let (document, missed) = report.finish();
        assert_eq!(missed, ["writes.ratio is 0.3, its bar is at least 0.4"]);
        assert_eq!(document["passed"], false);
        assert_eq!(document["idle_memory_mib"]["passed"], true);
    }
}
