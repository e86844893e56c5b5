//! The page about the last figures: one table for each part.

use super::figure::{number, percent, with_unit};
use super::part::Part;
use super::record::{FILE, Record, Recorded};

pub fn text(record: &Record) -> String {
    let mut text = format!(
        "# Benchmark\n\nWritten from `{FILE}` by `make generate`; do not edit. `make bench` measures everything and \
         rewrites both files; `make bench ARGS='--only writes'` measures one part again and leaves the others as they \
         are.\n"
    );
    if record.figures.is_empty() {
        return text + "\nNo figures are recorded yet.\n";
    }
    text += &format!("\nMeasured with {}.\n", setting(record));
    for part in Part::ALL {
        let figures: Vec<&Recorded> = record.figures.iter().filter(|it| it.part == part).collect();
        if !figures.is_empty() {
            text += &section(part, &figures);
        }
    }
    text
}

fn setting(record: &Record) -> String {
    let words: Vec<String> =
        record.setting.iter().map(|(name, value)| format!("{} {value}", name.replace('_', " "))).collect();
    words.join(", ")
}

fn section(part: Part, figures: &[&Recorded]) -> String {
    let rows: String = figures.iter().map(|it| row(it)).collect();
    format!(
        "\n## {}\n\n{}\n\n| Figure | Value | Goal | Recorded before | Change | Details |\n|---|---|---|---|---|---|\n{rows}",
        part.title(),
        part.about(),
    )
}

fn row(it: &Recorded) -> String {
    let goal = match &it.goal {
        None => String::new(),
        Some((words, true)) => words.clone(),
        Some((words, false)) => format!("{words}: **missed**"),
    };
    let previous = it.previous.map_or(String::new(), number);
    let change = it.previous.and_then(|before| percent(before, it.value)).unwrap_or_default();
    let value = with_unit(it.value, &it.unit);
    let remark = it.remark.replace('|', "\\|");
    format!("| `{}` | {value} | {goal} | {previous} | {change} | {remark} |\n", it.name)
}

#[cfg(test)]
mod tests {
    use super::super::figure::{Bar, Figure, Unit};
    use super::*;

    #[test]
    fn page_without_figures_says_so() {
        assert!(text(&Record::default()).contains("No figures are recorded yet."));
    }

    #[test]
    fn page_shows_goal_and_change_under_its_part() {
        let mut record = Record::default();
        record.setting.insert("cores".to_owned(), 2.into());
        let figure = Figure {
            part: Part::Writes,
            name: "writes.ratio".to_owned(),
            unit: Unit::Ratio,
            value: 0.5,
            is_fact: false,
            remark: "2000/s beside 4000/s".to_owned(),
        };
        record.put(&figure, Some(Bar::AtLeast(0.65)), Some(0.4));
        let page = text(&record);
        assert!(page.contains("Measured with cores 2.\n\n## Creates\n"), "{page}");
        let row = "| `writes.ratio` | 0.5 ratio | at least 0.65: **missed** | 0.4 | +25 % | 2000/s beside 4000/s |";
        assert!(page.contains(row), "{page}");
    }
}
