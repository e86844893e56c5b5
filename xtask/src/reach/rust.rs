//! Rust files as far as the question of who calls whom needs them: functions
//! and whose they are, calls, and the types that are declared.

use std::collections::BTreeSet;
use std::ops::Range;

use super::text::{block_end, last_word, level_end, word_at, words};
use crate::tidy::{File, Source};

pub struct Code {
    /// The file's name without its end; of a `mod.rs` the folder's.
    pub module: String,
    pub is_noun: bool,
    pub text: String,
    pub functions: Vec<Function>,
    pub types: Vec<Type>,
    pub calls: Vec<Call>,
    /// Types that stand alone between angle brackets: `ask::<GetProject>`.
    pub arguments: Vec<(String, usize)>,
    words: BTreeSet<String>,
    imported: BTreeSet<String>,
}

pub struct Function {
    pub name: String,
    /// The type that it is a method of, and the trait that asks for it.
    pub owner: Option<Owner>,
    pub range: Range<usize>,
}

#[derive(Clone)]
pub struct Owner {
    pub name: String,
    pub of_trait: Option<String>,
}

pub struct Call {
    pub name: String,
    pub at: usize,
    pub by: By,
}

/// What stands before the name of what is called.
#[derive(Debug, PartialEq)]
pub enum By {
    Nothing,
    Dot,
    Path(String),
}

/// A declared struct or enum.
pub struct Type {
    pub name: String,
    pub is_enum: bool,
    /// Whether clap reads verbs into it.
    pub has_verbs: bool,
    /// What stands between its braces.
    pub body: String,
}

impl Code {
    pub fn of(file: &File) -> Self {
        let mut parts = file.path.rsplit('/');
        let stem = parts.next().unwrap_or_default().trim_end_matches(".rs");
        let folder = parts.next().unwrap_or_default();
        let module = if stem == "mod" { folder } else { stem }.to_owned();
        let text = Source::of(file).without_tests();
        Self {
            module,
            is_noun: folder == "nouns",
            functions: functions(&text),
            types: types(&text),
            calls: calls(&text),
            arguments: arguments(&text),
            words: set(words(&text)),
            imported: imported(&text),
            text,
        }
    }

    pub fn function_at(&self, at: usize) -> Option<&Function> {
        self.functions.iter().filter(|it| it.range.contains(&at)).min_by_key(|it| it.range.len())
    }

    fn mentions(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    fn imports(&self, word: &str) -> bool {
        self.imported.contains(word)
    }
}

impl Function {
    /// Whether a call in `there` means this function, which is of `here`.
    pub fn is_called_by(&self, here: &Code, call: &Call, there: &Code) -> bool {
        let is_same_file = std::ptr::eq(here, there);
        match (&call.by, &self.owner) {
            (By::Nothing, None) => is_same_file || there.imports(&here.module) && there.imports(&self.name),
            (By::Path(path), None) => *path == here.module,
            // Nobody else holds what a verb was read into.
            (By::Dot, Some(owner)) => {
                let is_known = |it: &str| there.mentions(it);
                is_same_file
                    || !here.is_noun && (is_known(&owner.name) || owner.of_trait.as_deref().is_some_and(is_known))
            }
            (By::Path(path), Some(owner)) => *path == owner.name || path == "Self" && is_same_file,
            (By::Nothing, Some(_)) | (By::Dot, None) => false,
        }
    }
}

fn set<'a>(words: impl Iterator<Item = (usize, &'a str)>) -> BTreeSet<String> {
    words.map(|(_, word)| word.to_owned()).collect()
}

/// The words of every `use`.
fn imported(text: &str) -> BTreeSet<String> {
    let uses = words(text).filter(|(_, word)| *word == "use").map(|(at, _)| at);
    uses.flat_map(|at| set(words(&text[at..at + level_end(&text[at..], &[';'])]))).collect()
}

fn types(text: &str) -> Vec<Type> {
    let mut types = Vec::new();
    for (at, word) in words(text).filter(|(_, word)| ["struct", "enum"].contains(word)) {
        let rest = &text[at + word.len()..];
        let body = match rest.find(['{', ';', '(']) {
            Some(open) if rest[open..].starts_with('{') => rest[open..block_end(rest, open)].to_owned(),
            _ => String::new(),
        };
        let before = &text[..at];
        let attributes = &before[before.rfind(['}', ';']).unwrap_or_default()..];
        let has_verbs = words(attributes).any(|(_, word)| word == "Subcommand");
        types.push(Type { name: word_at(rest.trim_start()).to_owned(), is_enum: word == "enum", has_verbs, body });
    }
    types
}

fn functions(text: &str) -> Vec<Function> {
    let blocks: Vec<(Range<usize>, Owner)> =
        words(text).filter(|(_, word)| *word == "impl").filter_map(|(at, _)| owner(text, at)).collect();
    let mut functions = Vec::new();
    for (at, _) in words(text).filter(|(_, word)| *word == "fn") {
        let rest = &text[at + 2..];
        let open = level_end(rest, &['{', ';']);
        if !rest[open..].starts_with('{') {
            continue;
        }
        let range = at..at + 2 + block_end(rest, open);
        let owner = blocks.iter().find(|(it, _)| it.contains(&at)).map(|(_, owner)| owner.clone());
        functions.push(Function { name: word_at(rest.trim_start()).to_owned(), owner, range });
    }
    functions
}

/// The block of an `impl` that starts a line, and the type that it is for.
fn owner(text: &str, at: usize) -> Option<(Range<usize>, Owner)> {
    if at > 0 && !text[..at].ends_with('\n') {
        return None;
    }
    let rest = &text[at..];
    let open = rest.find('{')?;
    let head = &rest["impl".len()..open];
    let (of_trait, name) = match head.split_once(" for ") {
        Some((of_trait, name)) => (Some(last_word(of_trait).to_owned()), name),
        None => (None, head),
    };
    // Behind the parameters of `impl<T> Name`.
    let name = word_at(name.rsplit("> ").next().unwrap_or(name).trim()).to_owned();
    Some((at..at + block_end(rest, open), Owner { name, of_trait }))
}

fn calls(text: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    for (at, word) in words(text) {
        let behind = text[at + word.len()..].trim_start();
        if !behind.starts_with('(') && !behind.starts_with("::<") {
            continue;
        }
        let before = text[..at].trim_end();
        let by = if before.ends_with('.') {
            By::Dot
        } else if let Some(path) = before.strip_suffix("::") {
            By::Path(last_word(path).to_owned())
        } else if last_word(before) == "fn" {
            continue;
        } else {
            By::Nothing
        };
        calls.push(Call { name: word.to_owned(), at, by });
    }
    calls
}

fn arguments(text: &str) -> Vec<(String, usize)> {
    let alone = |(at, word): &(usize, &str)| text[..*at].ends_with('<') && text[at + word.len()..].starts_with('>');
    words(text).filter(alone).map(|(at, word)| (word.to_owned(), at)).collect()
}
