//! Takes the fields of one document, each by name and type. Everything that is
//! wrong is kept, so that people learn of all of it at once.

use std::{collections::BTreeMap, fmt::Display, str::FromStr};

use contract::{Label, Timestamp, Word, allocations::TagValue};

use super::tree::{self, Entry, Mistake, Node, Value};
use crate::{arguments, renamed};

/// A value, or what is wrong with it.
pub type Read<T> = Result<T, Mistake>;

pub struct Fields<'a> {
    entries: &'a [Entry],
    line: usize,
    known: Vec<&'static str>,
    mistakes: Vec<Mistake>,
}

impl<'a> Fields<'a> {
    pub fn of(node: &'a Node) -> Read<Self> {
        match &node.value {
            Value::Map(entries) => Ok(Self { entries, line: node.line, known: Vec::new(), mistakes: Vec::new() }),
            _ => Err(Mistake::new(node.line, format!("expected a map of fields, found {}", node.called()))),
        }
    }

    /// A field that may be left out.
    pub fn optional<T>(&mut self, name: &'static str, read: impl Fn(&Node) -> Read<T>) -> Option<T> {
        self.known.push(name);
        let entry = self.entries.iter().find(|it| it.name == name)?;
        match read(&entry.node) {
            Ok(value) => Some(value),
            Err(mistake) => {
                let path = if mistake.path.is_empty() { name.to_owned() } else { format!("{name}{}", mistake.path) };
                self.mistakes.push(Mistake { path, ..mistake });
                None
            }
        }
    }

    pub fn required<T>(&mut self, name: &'static str, read: impl Fn(&Node) -> Read<T>) -> Option<T> {
        if !self.entries.iter().any(|it| it.name == name) {
            let mistake = Mistake::new(self.line, "required field is missing");
            self.mistakes.push(Mistake { path: name.to_owned(), ..mistake });
        }
        self.optional(name, read)
    }

    /// What is wrong, with fields that nobody took.
    pub fn finish(mut self) -> Vec<Mistake> {
        for entry in self.entries.iter().filter(|it| !self.known.contains(&it.name.as_str())) {
            let renamed = renamed::field(&entry.name).filter(|it| self.known.contains(it));
            let what = renamed.map_or_else(
                || unknown("field", &entry.name, &self.known),
                |new| format!("unknown field; it was renamed to `{new}`"),
            );
            self.mistakes.push(Mistake { line: entry.line, path: entry.name.clone(), what });
        }
        self.mistakes.sort_by_key(|it| it.line);
        self.mistakes
    }
}

/// Says that a word is not known, and which was probably meant.
pub fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    let near = known.iter().map(|it| (distance(word, it), it)).min();
    match near {
        Some((distance, it)) if distance <= 3 && distance < it.len() => format!("unknown {what}; did you mean `{it}`?"),
        _ => format!("unknown {what}; expected one of {}", known.join(", ")),
    }
}

/// How many letters have to be added, left out or exchanged.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = at + 1;
        for (place, it) in other.iter().enumerate() {
            let kept = corner + usize::from(*it != letter);
            corner = row[place + 1];
            row[place + 1] = kept.min(corner + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}

fn wrong(node: &Node, what: impl Display) -> Mistake {
    Mistake::new(node.line, what.to_string())
}

fn expected(node: &Node, what: &str) -> Mistake {
    let hint = if what == "text" && node.called() != "nothing" && matches!(node.value, Value::Scalar { .. }) {
        "; add quotes"
    } else {
        ""
    };
    wrong(node, format!("expected {what}, found {}{hint}", node.called()))
}

/// A text of the contract, whose own words say what is wrong with it.
pub fn text<T: FromStr<Err: Display>>(node: &Node) -> Read<T> {
    match &node.value {
        Value::Scalar { text, .. } if node.called() == "text" => text.parse().map_err(|error| wrong(node, error)),
        _ => Err(expected(node, "text")),
    }
}

pub fn word<W: Word>(node: &Node) -> Read<W> {
    let written: String = text(node)?;
    let known: Vec<&str> = W::ALL.iter().map(|it| it.as_str()).collect();
    W::parse(&written).ok_or_else(|| wrong(node, format!("`{written}`: {}", unknown("word", &written, &known))))
}

/// A number with bounds.
pub fn number<T: FromStr<Err: Display>>(node: &Node) -> Read<T> {
    match &node.value {
        Value::Scalar { text, .. } if node.called() == "a number" => text.parse().map_err(|error| wrong(node, error)),
        _ => Err(expected(node, "a number")),
    }
}

pub fn flag(node: &Node) -> Read<bool> {
    match &node.value {
        Value::Scalar { text, is_plain: true } => tree::as_flag(text),
        _ => None,
    }
    .ok_or_else(|| expected(node, "true or false"))
}

/// An amount of money in millionths, as a number or as text.
pub fn amount(node: &Node) -> Read<i64> {
    match &node.value {
        Value::Scalar { text, .. } if !node.is_nothing() => arguments::micros(text).map_err(|error| wrong(node, error)),
        _ => Err(expected(node, "an amount such as 2.50")),
    }
}

pub fn moment(node: &Node) -> Read<Timestamp> {
    let written: String = text(node)?;
    written.parse().map_err(|_| wrong(node, "expected a timestamp such as 2026-12-31T00:00:00Z"))
}

/// A number, a truth value or text, as it was written.
pub fn anything(node: &Node) -> Read<String> {
    match &node.value {
        Value::Scalar { text, .. } if !node.is_nothing() => Ok(text.clone()),
        _ => Err(expected(node, "a number, true or false, or text")),
    }
}

pub fn list<T>(read: impl Fn(&Node) -> Read<T>) -> impl Fn(&Node) -> Read<Vec<T>> {
    move |node| {
        let Value::List(items) = &node.value else { return Err(expected(node, "a list")) };
        let one =
            |(at, item)| read(item).map_err(|mistake| Mistake { path: format!("[{at}]{}", mistake.path), ..mistake });
        items.iter().enumerate().map(one).collect()
    }
}

pub fn tags(node: &Node) -> Read<BTreeMap<String, TagValue>> {
    let Value::Map(entries) = &node.value else { return Err(expected(node, "a map of names and values")) };
    let one = |entry: &Entry| {
        let at = |mistake: Mistake| Mistake { path: format!(".{}", entry.name), ..mistake };
        let name: Label = entry.name.parse().map_err(|error| at(wrong(&entry.node, error)))?;
        Ok((name.into_string(), text(&entry.node).map_err(at)?))
    };
    entries.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use contract::{Name, Within, budgets::BudgetPeriod};

    use super::*;

    fn mistakes(text: &str, take: impl Fn(&mut Fields)) -> Vec<String> {
        let documents = tree::read(text).unwrap();
        let mut fields = Fields::of(&documents[0]).unwrap();
        take(&mut fields);
        fields.finish().into_iter().map(|it| format!("{}: {}: {}", it.line, it.path, it.what)).collect()
    }

    #[test]
    fn all_mistakes_are_reported_at_once() {
        let found = mistakes("name: 7\ngpu: 2\nperiod: mounth\nevents: [a, {}]\n", |fields| {
            fields.required("name", text::<Name>);
            fields.required("sku", text::<Label>);
            fields.optional("gpus", number::<Within<1, 64>>);
            fields.optional("period", word::<BudgetPeriod>);
            fields.optional("events", list(text::<Name>));
        });
        assert_eq!(
            found,
            [
                "1: name: expected text, found a number; add quotes",
                "1: sku: required field is missing",
                "2: gpu: unknown field; did you mean `gpus`?",
                "3: period: `mounth`: unknown word; did you mean `month`?",
                "4: events[1]: expected text, found a map of fields",
            ]
        );
    }

    #[test]
    fn a_renamed_field_is_refused_with_its_new_name() {
        let take = |fields: &mut Fields| drop(fields.optional("spread_group", text::<Label>));
        assert_eq!(mistakes("apart: web\n", take), ["1: apart: unknown field; it was renamed to `spread_group`"]);
        let other = mistakes("apart: web\n", |fields| drop(fields.optional("sku", text::<Label>)));
        assert_eq!(other, ["1: apart: unknown field; expected one of sku"], "only where the new name is a field");
    }

    #[test]
    fn values_keep_their_bounds_and_their_text() {
        let found = mistakes("a: 65\nb: 2.5\nc: \"2.5\"\nd: -1\ne: 1e3\nf: yes\n", |fields| {
            fields.optional("a", number::<Within<1, 64>>);
            assert_eq!(fields.optional("b", amount), Some(2_500_000));
            assert_eq!(fields.optional("c", amount), Some(2_500_000));
            fields.optional("d", amount);
            fields.optional("e", amount);
            fields.optional("f", flag);
        });
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[0].contains("from 1 to 64") && found[3].contains("expected true or false, found text"));
    }

    #[test]
    fn a_tag_is_named_by_a_label_and_says_text() {
        let found = mistakes("tags: {Team: a}\n", |fields| drop(fields.optional("tags", tags)));
        assert!(found[0].starts_with("1: tags.Team: a label has"), "{found:?}");
        let found = mistakes("tags: {team: 7}\n", |fields| drop(fields.optional("tags", tags)));
        assert!(found[0].starts_with("1: tags.team: expected text"), "{found:?}");
    }

    #[test]
    fn an_unknown_word_is_guessed_only_when_one_is_near() {
        assert_eq!(unknown("kind", "deployment", &["project", "sku"]), "unknown kind; expected one of project, sku");
        assert_eq!(unknown("kind", "x", &["sku"]), "unknown kind; expected one of sku");
        assert_eq!(unknown("kind", "projcet", &["project"]), "unknown kind; did you mean `project`?");
    }
}
