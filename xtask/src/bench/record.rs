//! The last figures, as they are committed: `docs/generated/bench.json`, and the
//! page that is made of it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::figure::{Bar, Figure};
use super::page;
use super::part::Part;

pub const FILE: &str = "docs/generated/bench.json";
pub const PAGE: &str = "docs/generated/bench.md";

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Record {
    /// The machine, and how long a round lasted.
    pub setting: Map<String, Value>,
    pub figures: Vec<Recorded>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    pub part: Part,
    pub name: String,
    /// The unit's label.
    pub unit: String,
    pub value: f64,
    /// What it must reach, and whether it did.
    pub goal: Option<(String, bool)>,
    /// The value that was recorded before this one.
    pub previous: Option<f64>,
    pub remark: String,
}

impl Record {
    /// What is recorded; nothing where no run was.
    pub fn read(root: &Path) -> Result<Self, String> {
        let text = match fs::read_to_string(root.join(FILE)) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(format!("cannot read {FILE}: {error}")),
        };
        let malformed = |what: &str| format!("{FILE} {what}: remove it, or run `make bench`, which writes it");
        let document: Value =
            serde_json::from_str(&text).map_err(|error| malformed(&format!("is no JSON ({error})")))?;
        Self::parse(&document).ok_or(malformed("does not hold figures"))
    }

    fn parse(document: &Value) -> Option<Self> {
        let setting = document["setting"].as_object()?.clone();
        let figures = document["figures"].as_array()?.iter().map(Recorded::parse).collect::<Option<Vec<_>>>()?;
        Some(Self { setting, figures })
    }

    fn document(&self) -> Value {
        let figures: Vec<Value> = self.figures.iter().map(Recorded::document).collect();
        json!({ "command": "make bench", "setting": self.setting, "figures": figures })
    }

    pub fn value(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|it| it.name == name).map(|it| it.value)
    }

    /// Takes the place of the recorded one, or comes last.
    pub fn put(&mut self, figure: &Figure, bar: Option<Bar>, previous: Option<f64>) {
        let recorded = Recorded {
            part: figure.part,
            name: figure.name.clone(),
            unit: figure.unit.label().to_owned(),
            value: figure.value,
            goal: bar.map(|it| (it.words(), it.holds(figure.value))),
            previous,
            remark: figure.remark.clone(),
        };
        match self.figures.iter_mut().find(|it| it.name == recorded.name) {
            Some(known) => *known = recorded,
            None => self.figures.push(recorded),
        }
    }

    /// Forgets figures of those parts that this run no longer measured.
    pub fn keep_only(&mut self, parts: &[Part], measured: &[&str]) {
        self.figures.retain(|it| !parts.contains(&it.part) || measured.contains(&it.name.as_str()));
    }

    /// Writes the record and its page.
    pub fn write(&self, root: &Path) -> Result<(), String> {
        let write = |path: &str, text: String| {
            let target = root.join(path);
            fs::write(&target, text).map_err(|error| format!("cannot write {path}: {error}"))
        };
        write(FILE, format!("{:#}\n", self.document()))?;
        write(PAGE, page::text(self))
    }
}

impl Recorded {
    fn parse(document: &Value) -> Option<Self> {
        let text = |name: &str| document[name].as_str().map(str::to_owned);
        let goal = text("goal").and_then(|it| Some((it, document["is_reached"].as_bool()?)));
        Some(Self {
            part: Part::of(document["part"].as_str()?)?,
            name: text("name")?,
            unit: text("unit")?,
            value: document["value"].as_f64()?,
            goal,
            previous: document["previous"].as_f64(),
            remark: text("remark").unwrap_or_default(),
        })
    }

    fn document(&self) -> Value {
        let mut document =
            json!({ "part": self.part.name(), "name": self.name, "value": self.value, "unit": self.unit });
        if let Some((goal, is_reached)) = &self.goal {
            document["goal"] = goal.as_str().into();
            document["is_reached"] = (*is_reached).into();
        }
        if let Some(previous) = self.previous {
            document["previous"] = previous.into();
        }
        if !self.remark.is_empty() {
            document["remark"] = self.remark.as_str().into();
        }
        document
    }
}

/// The page, made of what is recorded without measuring anything.
pub fn document(root: &Path) -> Result<(PathBuf, String), String> {
    Ok((PathBuf::from(PAGE), page::text(&Record::read(root)?)))
}

#[cfg(test)]
mod tests {
    use super::super::figure::Unit;
    use super::*;

    fn figure(part: Part, name: &str, value: f64) -> Figure {
        Figure { part, name: name.to_owned(), unit: Unit::Ratio, value, is_fact: false, remark: "by turns".to_owned() }
    }

    #[test]
    fn record_is_read_as_it_was_written() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("docs/generated")).unwrap();
        assert_eq!(Record::read(root.path()).unwrap(), Record::default(), "before the first run");
        let mut record = Record::default();
        record.setting.insert("cores".to_owned(), 2.into());
        record.put(&figure(Part::Writes, "writes.ratio", 0.5), Some(Bar::AtLeast(0.65)), Some(0.25));
        record.put(&figure(Part::Reads, "reads.ratio", 0.75), None, None);
        record.write(root.path()).unwrap();
        assert_eq!(Record::read(root.path()).unwrap(), record);
        let (_, page) = document(root.path()).unwrap();
        assert_eq!(page, fs::read_to_string(root.path().join(PAGE)).unwrap());
        fs::write(root.path().join(FILE), "{}").unwrap();
        assert!(Record::read(root.path()).unwrap_err().contains("make bench"));
    }

    #[test]
    fn figure_of_another_part_stays() {
        let mut record = Record::default();
        for (part, name) in [(Part::Writes, "writes.ratio"), (Part::Writes, "writes.old"), (Part::Reads, "reads.ratio")]
        {
            record.put(&figure(part, name, 1.0), None, None);
        }
        record.put(&figure(Part::Writes, "writes.ratio", 2.0), None, Some(1.0));
        record.keep_only(&[Part::Writes], &["writes.ratio"]);
        let left: Vec<&str> = record.figures.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(left, ["writes.ratio", "reads.ratio"]);
        assert_eq!((record.value("writes.ratio"), record.figures[0].previous), (Some(2.0), Some(1.0)));
    }
}
