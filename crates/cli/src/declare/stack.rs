//! The documents of all files as one stack: named, complete, nothing twice, in
//! the order in which one needs the other.

use std::{fmt, rc::Rc};

use contract::Label;

use super::{
    fields::{self, Fields},
    thing::{AnyDocument, KINDS},
    tree::{self, Mistake, Node, Value},
};
use crate::{failure::Failure, table::harmless};

/// A file as it was read.
pub struct Source {
    pub name: String,
    pub text: String,
}

/// Where a document stands.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentPosition {
    pub file: Rc<str>,
    /// In its file, from one.
    pub document: usize,
    pub line: usize,
}

impl fmt::Display for DocumentPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: document {}, line {}", self.file, self.document, self.line)
    }
}

#[derive(Debug)]
pub struct Stack {
    pub name: Label,
    /// What others need stands before them.
    pub things: Vec<(DocumentPosition, AnyDocument)>,
}

// bound: what a person still reads the plan of
const MOST_DOCUMENTS: usize = 1000;
// bound: what fits on a screen
const MOST_MISTAKES: usize = 20;

/// Reads a stack, or says everything that is wrong with it.
pub fn read(sources: &[Source]) -> Result<Stack, Failure> {
    let mut reading = Reading::default();
    for source in sources {
        reading.source(source);
    }
    reading.finish()
}

#[derive(Default)]
struct Reading {
    names: Vec<(DocumentPosition, Label)>,
    things: Vec<(DocumentPosition, AnyDocument)>,
    mistakes: Vec<String>,
}

impl Reading {
    fn source(&mut self, source: &Source) {
        let file: Rc<str> = source.name.as_str().into();
        let documents = match tree::read(&source.text) {
            Ok(documents) => documents,
            Err(mistake) => return self.mistakes.push(format!("{file}: line {}: {}", mistake.line, mistake.what)),
        };
        // JSON has no several documents: there they are a list.
        let documents = documents.into_iter().flat_map(|it| match it.value {
            Value::List(items) => items,
            _ => vec![it],
        });
        for (at, node) in documents.enumerate() {
            let place = DocumentPosition { file: file.clone(), document: at + 1, line: node.line };
            if let Err(mistakes) = self.document(&place, &node) {
                self.mistakes.extend(mistakes.into_iter().map(|Mistake { line, path, what }| {
                    let at = DocumentPosition { line, ..place.clone() };
                    if path.is_empty() { format!("{at}: {what}") } else { format!("{at}: `{path}`: {what}") }
                }));
            }
        }
    }

    fn document(&mut self, place: &DocumentPosition, node: &Node) -> Result<(), Vec<Mistake>> {
        let mut fields = Fields::of(node).map_err(|it| vec![it])?;
        let Some(kind) = fields.required("kind", fields::text::<String>) else {
            // What else it holds cannot be judged.
            return Err(fields.finish().into_iter().filter(|it| it.path == "kind").collect());
        };
        if kind == "stack" {
            let name = fields.required("name", fields::text::<Label>);
            let mistakes = fields.finish();
            self.names.extend(name.filter(|_| mistakes.is_empty()).map(|it| (place.clone(), it)));
            return if mistakes.is_empty() { Ok(()) } else { Err(mistakes) };
        }
        let thing = AnyDocument::read(&kind, &mut fields);
        let Some(thing) = thing else {
            let known: Vec<&str> = ["stack"].into_iter().chain(KINDS.iter().copied()).collect();
            let what = format!("`{kind}`: {}", fields::unknown("kind", &kind, &known));
            return Err(vec![Mistake { path: "kind".into(), ..Mistake::new(node.line, what) }]);
        };
        let mistakes = fields.finish();
        match thing {
            Some(thing) if mistakes.is_empty() => {
                self.things.push((place.clone(), thing));
                Ok(())
            }
            _ => Err(mistakes),
        }
    }

    fn finish(mut self) -> Result<Stack, Failure> {
        if self.things.len() > MOST_DOCUMENTS {
            self.mistakes.push(format!("too many documents: {} of at most {MOST_DOCUMENTS}", self.things.len()));
        }
        let mut seen = std::collections::BTreeMap::new();
        for (place, thing) in &self.things {
            if let Some(before) = seen.insert((thing.kind(), thing.identity()), place.clone()) {
                let (kind, name) = (thing.kind(), thing.name());
                self.mistakes.push(format!("{place}: the {kind} {name} is already declared in {before}"));
            }
        }
        let name = match (self.names.len(), self.names.first()) {
            (1, Some((_, name))) => Some(name.clone()),
            // What may have been its name was wrong, and that is said already.
            (0, _) if !self.mistakes.is_empty() => None,
            (0, _) => {
                self.mistakes.push("the stack has no name; add a document with `kind: stack` and `name`".into());
                None
            }
            (_, _) => {
                let places: Vec<String> = self.names.iter().map(|(place, _)| place.to_string()).collect();
                self.mistakes
                    .push(format!("expected one document with `kind: stack`, found several: {}", places.join("; ")));
                None
            }
        };
        match name {
            Some(name) if self.mistakes.is_empty() => {
                // Stable: what depends on nothing else stays in the order of the file.
                self.things.sort_by_key(|(_, it)| it.rank());
                Ok(Stack { name, things: self.things })
            }
            _ => Err(refused(&self.mistakes)),
        }
    }
}

fn refused(mistakes: &[String]) -> Failure {
    let more = mistakes.len().saturating_sub(MOST_MISTAKES);
    let mut lines: Vec<String> = mistakes.iter().take(MOST_MISTAKES).map(|it| harmless(it)).collect();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    Failure::usage(
        lines.join("\n       "),
        "Nothing was changed. See docs/guides/declare.md for the kinds and their fields.",
    )
}

impl Stack {
    /// Whether a document declares it.
    pub fn declares(&self, kind: &str, identity: &str) -> bool {
        self.things.iter().any(|(_, it)| it.kind() == kind && it.identity() == identity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(text: &str) -> Result<Stack, String> {
        let source = Source { name: "a.yaml".into(), text: text.into() };
        read(&[source]).map_err(|it| it.for_people())
    }

    const NAME: &str = "kind: stack\nname: lab\n---\n";

    #[test]
    fn dependencies_come_first_whatever_the_order_of_the_files() {
        let text = format!(
            "{NAME}kind: allocation\nproject: vision\nname: a\nsku: slice\ngpus: 1\n---\nkind: price\nsku: slice\ncurrency: USD\namount: 2.50\n---\n{}",
            "kind: project\nname: vision\n---\nkind: sku\nname: slice\nshape: gpu_slice\ngpu_counts: [1]\n"
        );
        let kinds: Vec<_> = stack(&text).unwrap().things.iter().map(|(_, it)| it.kind()).collect();
        assert_eq!(kinds, ["sku", "price", "project", "allocation"]);
    }

    #[test]
    fn a_mistake_names_file_document_line_and_field() {
        let error = stack(&format!("{NAME}kind: project\nnam: vision\n")).unwrap_err();
        assert!(error.contains("a.yaml: document 2, line 4: `name`: required field is missing"), "{error}");
        assert!(error.contains("a.yaml: document 2, line 5: `nam`: unknown field; did you mean `name`?"), "{error}");
        let error = stack(&format!("{NAME}kind: projct\nname: vision\n")).unwrap_err();
        assert!(
            error.contains("document 2, line 4: `kind`: `projct`: unknown kind; did you mean `project`?"),
            "{error}"
        );
        let error = stack(&format!("{NAME}- kind: 7\n- just text\n")).unwrap_err();
        assert!(error.contains("`kind`: expected text") && error.contains("found text"), "{error}");
        let error = stack(&format!("{NAME}kind: project\nname: <b>x</b>\n")).unwrap_err();
        assert!(error.contains("`name`: a name has 1 to 64 letters"), "{error}");
    }

    #[test]
    fn a_resource_is_declared_once_whatever_the_case() {
        let error =
            stack(&format!("{NAME}kind: project\nname: Vision\n---\nkind: project\nname: vision\n")).unwrap_err();
        assert!(error.contains("document 3, line 7: the project vision is already declared in a.yaml: document 2"));
    }

    #[test]
    fn a_stack_has_one_name() {
        assert!(stack("kind: project\nname: a\n").unwrap_err().contains("the stack has no name"));
        assert!(stack(&format!("{NAME}{NAME}")).unwrap_err().contains("one document with `kind: stack`"));
        assert!(stack("").unwrap_err().contains("the stack has no name"));
        assert!(stack("a: [").unwrap_err().contains("a.yaml: line 2: invalid YAML: "));
    }

    #[test]
    fn a_list_is_several_documents_as_json_writes_them() {
        let text = r#"[{"kind": "stack", "name": "lab"}, {"kind": "project", "name": "vision"}]"#;
        assert_eq!(stack(text).unwrap().things.len(), 1);
    }

    #[test]
    fn mistakes_fit_on_a_screen() {
        let error = stack(&format!("{NAME}{}", "kind: x\n---\n".repeat(50))).unwrap_err();
        assert!(error.contains("and 30 more") && error.lines().count() < 30, "{error}");
    }
}
