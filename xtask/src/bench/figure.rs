//! One measured value: its name, its unit, what it must reach, and how it reads
//! on a line.

use super::part::Part;

/// What a value is measured in, which also says whether more of it is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Of something else that was measured in the same run.
    Ratio,
    PerSecond,
    MegabytesPerSecond,
    Seconds,
    Milliseconds,
    Microseconds,
    Mebibytes,
    Kibibytes,
    Cores,
    /// How many for one of what the part is about, whatever the machine.
    Each,
    Count,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    Higher,
    Lower,
}

/// What a value must reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bar {
    AtLeast(f64),
    AtMost(f64),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    pub part: Part,
    pub name: String,
    pub unit: Unit,
    pub value: f64,
    /// Nothing of ours, such as a rate of bare `pgbench`: neither better nor worse.
    pub is_fact: bool,
    pub remark: String,
}

impl Unit {
    pub fn label(self) -> &'static str {
        match self {
            Unit::Ratio => "ratio",
            Unit::PerSecond => "/s",
            Unit::MegabytesPerSecond => "MB/s",
            Unit::Seconds => "s",
            Unit::Milliseconds => "ms",
            Unit::Microseconds => "µs",
            Unit::Mebibytes => "MiB",
            Unit::Kibibytes => "KiB",
            Unit::Cores => "cores",
            Unit::Each => "each",
            Unit::Count => "",
        }
    }

    pub fn better(self) -> Better {
        match self {
            Unit::Ratio | Unit::PerSecond | Unit::MegabytesPerSecond => Better::Higher,
            _ => Better::Lower,
        }
    }

    /// How much worse than recorded is no news. Ratios and counts hardly depend on
    /// how busy the machine is; the rest does.
    pub fn tolerance(self) -> f64 {
        match self {
            Unit::Ratio | Unit::Each => 0.15,
            _ => 0.30,
        }
    }
}

impl Bar {
    pub fn holds(self, value: f64) -> bool {
        match self {
            Bar::AtLeast(least) => value >= least,
            Bar::AtMost(most) => value <= most,
        }
    }

    pub fn words(self) -> String {
        match self {
            Bar::AtLeast(least) => format!("at least {least}"),
            Bar::AtMost(most) => format!("at most {most}"),
        }
    }
}

impl Figure {
    /// One line of the table that is printed while measuring.
    pub fn line(&self, bar: Option<Bar>, previous: Option<f64>) -> String {
        let value = with_unit(self.value, self.unit.label());
        let goal = bar.map_or(String::new(), |it| {
            format!("{} {}", it.words(), if it.holds(self.value) { "(ok)" } else { "(MISSED)" })
        });
        let before = previous.map_or(String::new(), number);
        let change = previous.and_then(|it| percent(it, self.value)).unwrap_or_default();
        let text = format!("{:<46} {value:>14}  {goal:<24} {before:>10} {change:>9}  {}", self.name, self.remark);
        text.trim_end().to_owned()
    }
}

/// The heads of the columns of [`Figure::line`].
pub fn heads() -> String {
    format!("{:<46} {:>14}  {:<24} {:>10} {:>9}", "figure", "value", "goal", "recorded", "change")
}

/// Short enough to read, exact enough to compare.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 100.0 {
        return format!("{value:.0}");
    }
    let text = if size >= 10.0 { format!("{value:.1}") } else { format!("{value:.3}") };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub fn with_unit(value: f64, label: &str) -> String {
    match label {
        "" => number(value),
        "/s" => format!("{}/s", number(value)),
        label => format!("{} {label}", number(value)),
    }
}

/// How a value changed, such as `+12 %`; nothing where there is nothing to divide by.
pub fn percent(before: f64, now: f64) -> Option<String> {
    (before != 0.0).then(|| format!("{:+.0} %", (now / before - 1.0) * 100.0))
}

/// By how much it is worse than recorded, if by more than is tolerated.
pub fn slower(figure: &Figure, previous: Option<f64>) -> Option<String> {
    let before = previous.filter(|it| *it != 0.0 && !figure.is_fact)?;
    let growth = figure.value / before - 1.0;
    let worse = match figure.unit.better() {
        Better::Higher => -growth,
        Better::Lower => growth,
    };
    let label = figure.unit.label();
    (worse > figure.unit.tolerance())
        .then(|| format!("{} was {}, is {}", figure.name, with_unit(before, label), with_unit(figure.value, label)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(unit: Unit, value: f64) -> Figure {
        Figure { part: Part::Writes, name: "a".to_owned(), unit, value, is_fact: false, remark: String::new() }
    }

    #[test]
    fn figure_that_got_slower_is_named() {
        let is_slower = |unit, before, now| slower(&figure(unit, now), Some(before)).is_some();
        assert!(is_slower(Unit::Ratio, 0.6, 0.5) && !is_slower(Unit::Ratio, 0.6, 0.55));
        assert!(is_slower(Unit::Milliseconds, 10.0, 13.1) && !is_slower(Unit::Milliseconds, 10.0, 12.9));
        assert!(is_slower(Unit::Each, 20.0, 24.0), "more round trips");
        assert!(!is_slower(Unit::PerSecond, 100.0, 200.0) && is_slower(Unit::PerSecond, 100.0, 69.0));
        let named = slower(&figure(Unit::Milliseconds, 40.0), Some(20.0)).unwrap();
        assert_eq!(named, "a was 20 ms, is 40 ms");
    }

    #[test]
    fn fact_and_new_figure_are_never_slower() {
        assert_eq!(slower(&Figure { is_fact: true, ..figure(Unit::PerSecond, 1.0) }, Some(100.0)), None);
        assert_eq!(slower(&figure(Unit::PerSecond, 1.0), None), None);
        assert_eq!(slower(&figure(Unit::Milliseconds, 1.0), Some(0.0)), None);
    }

    #[test]
    fn line_says_value_goal_and_change() {
        let line = figure(Unit::Ratio, 0.5).line(Some(Bar::AtLeast(0.65)), Some(0.4));
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words, ["a", "0.5", "ratio", "at", "least", "0.65", "(MISSED)", "0.4", "+25", "%"]);
        assert_eq!(figure(Unit::Count, 7.0).line(None, None).split_whitespace().count(), 2);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 0.5234, 12.34, 1234.5].map(number), ["0", "0.523", "12.3", "1234"]);
        assert_eq!(with_unit(1500.0, "/s"), "1500/s");
    }
}
