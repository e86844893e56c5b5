//! Reads YAML, and JSON as a part of it, into a tree that knows its lines.
//! What has no place in a list of settings is refused: anchors, aliases, tags,
//! keys that are given twice.

use std::borrow::Cow;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// From one.
    pub line: usize,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Its text as it was written, so that 2.50 stays 2.50.
    Scalar {
        text: String,
        /// Without quotes, it may be a number, `true`, `false` or nothing.
        is_plain: bool,
    },
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub line: usize,
    pub name: String,
    pub node: Node,
}

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Mistake {
    pub line: usize,
    /// From the document's top to the field, like `tags.team`; may be empty.
    pub path: String,
    pub what: String,
}

impl Mistake {
    pub fn new(line: usize, what: impl Into<String>) -> Self {
        Self { line, path: String::new(), what: what.into() }
    }
}

// bound: a field of a map in a document is the deepest that there is
const DEEPEST: usize = 8;

/// The documents of a text; empty ones do not count.
pub fn read(text: &str) -> Result<Vec<Node>, Mistake> {
    let mut events = Events { parser: Parser::new_from_str(text) };
    let mut documents = Vec::new();
    loop {
        let (event, line) = events.next()?;
        match event {
            Event::StreamEnd => return Ok(documents),
            Event::DocumentStart(_) => {
                let (event, line) = events.next()?;
                let node = events.node(event, line, 0)?;
                if !node.is_nothing() {
                    documents.push(node);
                }
            }
            Event::StreamStart | Event::DocumentEnd | Event::Nothing => (),
            _ => return Err(Mistake::new(line, "expected a document")),
        }
    }
}

impl Node {
    /// Nothing was written, or `null`.
    pub fn is_nothing(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, is_plain: true } if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// What it is, in words.
    pub fn called(&self) -> &'static str {
        match &self.value {
            Value::List(_) => "a list",
            Value::Map(_) => "a map of fields",
            Value::Scalar { .. } if self.is_nothing() => "nothing",
            Value::Scalar { is_plain: false, .. } => "text",
            Value::Scalar { text, .. } if as_flag(text).is_some() => "a boolean",
            Value::Scalar { text, .. } if is_number(text) => "a number",
            Value::Scalar { .. } => "text",
        }
    }
}

pub fn as_flag(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

pub fn is_number(text: &str) -> bool {
    let size = text.strip_prefix(['-', '+']).unwrap_or(text);
    size.starts_with(|it: char| it.is_ascii_digit() || it == '.') && size.parse::<f64>().is_ok()
        || ["0x", "0o"].iter().any(|it| size.starts_with(it))
}

struct Events<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
}

impl<'a> Events<'a> {
    fn next(&mut self) -> Result<(Event<'a>, usize), Mistake> {
        match self.parser.next_event() {
            Some(Ok((event, Span { start, .. }))) => Ok((event, start.line().max(1))),
            Some(Err(error)) => {
                Err(Mistake::new(error.marker().line().max(1), format!("invalid YAML: {}", error.info())))
            }
            None => Err(Mistake::new(1, "unexpected end of the document")),
        }
    }

    fn node(&mut self, event: Event<'a>, line: usize, depth: usize) -> Result<Node, Mistake> {
        if depth > DEEPEST {
            return Err(Mistake::new(line, format!("nested more than {DEEPEST} levels deep")));
        }
        let (anchor, tag) = match &event {
            Event::Alias(_) => (true, false),
            Event::Scalar(_, _, anchor, tag) => (*anchor > 0, tag.is_some()),
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => (*anchor > 0, tag.is_some()),
            _ => (false, false),
        };
        if anchor {
            return Err(Mistake::new(line, "anchors and aliases (`&`, `*`) are not supported; repeat the value"));
        }
        if tag {
            return Err(Mistake::new(line, "tags (`!`) are not supported; remove the tag, or quote the text"));
        }
        let value = match event {
            Event::Scalar(text, style, _, _) => {
                Value::Scalar { text: Cow::into_owned(text), is_plain: style == ScalarStyle::Plain }
            }
            Event::SequenceStart(..) => self.list(depth)?,
            Event::MappingStart(..) => self.map(depth)?,
            _ => return Err(Mistake::new(line, "expected a value")),
        };
        Ok(Node { line, value })
    }

    fn list(&mut self, depth: usize) -> Result<Value, Mistake> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Value::List(items)),
                (event, line) => items.push(self.node(event, line, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value, Mistake> {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let (event, line) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(Value::Map(entries));
            }
            let Value::Scalar { text: name, .. } = self.node(event, line, depth + 1)?.value else {
                return Err(Mistake::new(line, "field names must be text"));
            };
            if let Some(before) = entries.iter().find(|it| it.name == name) {
                let what = format!("duplicate field `{name}`, first set on line {}", before.line);
                return Err(Mistake::new(line, what));
            }
            let (event, at) = self.next()?;
            let node = self.node(event, at, depth + 1)?;
            entries.push(Entry { line, name, node });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(text: &str) -> (usize, String) {
        let it = read(text).unwrap_err();
        (it.line, it.what)
    }

    #[test]
    fn documents_are_read_with_their_lines() {
        let read = read("a: 1\n---\n# nothing\n---\nb:\n  - 2.50\n  - \"true\"\n").unwrap();
        assert_eq!(read.len(), 2);
        let Value::Map(entries) = &read[1].value else { panic!("{read:?}") };
        assert_eq!((entries[0].line, entries[0].name.as_str()), (5, "b"));
        let Value::List(items) = &entries[0].node.value else { panic!("{read:?}") };
        assert_eq!((items[0].line, items[0].called()), (6, "a number"));
        assert_eq!(items[0].value, Value::Scalar { text: "2.50".into(), is_plain: true });
        assert_eq!((items[1].line, items[1].called()), (7, "text"));
    }

    #[test]
    fn json_is_read_too_tabs_included() {
        let read = read("{\n\t\"name\": \"a\\u00e9\\n\",\n\t\"list\": [1, true, null, {}]\n}\n").unwrap();
        let Value::Map(entries) = &read[0].value else { panic!("{read:?}") };
        assert_eq!(entries[0].node.value, Value::Scalar { text: "a\u{e9}\n".into(), is_plain: false });
        let Value::List(items) = &entries[1].node.value else { panic!("{read:?}") };
        let called: Vec<_> = items.iter().map(Node::called).collect();
        assert_eq!(called, ["a number", "a boolean", "nothing", "a map of fields"]);
    }

    #[test]
    fn yaml_features_that_are_not_settings_are_refused_with_their_line() {
        assert_eq!(mistake("a: 1\nb: [1,\n"), (3, mistake("a: 1\nb: [1,\n").1));
        assert!(mistake("a: 1\n  b: 2\n").1.starts_with("invalid YAML: "));
        assert_eq!(mistake("a: 1\nb: 2\na: 3\n"), (3, "duplicate field `a`, first set on line 1".into()));
        for (text, says) in [("a: &x 1\nb: *x\n", "anchors"), ("a: !!str 1\n", "tags"), ("[a]: 1\n", "text")] {
            assert!(mistake(text).1.contains(says), "{text}: {:?}", mistake(text));
        }
        let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(mistake(&deep).1.contains("levels deep") || mistake(&deep).1.contains("recursion"), "{deep:.20}");
    }
}
