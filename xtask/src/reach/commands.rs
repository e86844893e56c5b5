//! Which commands of `gpuaas` use an endpoint: the arm of a verb that names it,
//! or else the arms that call what names it. That every command which is found
//! exists is a test of the command line itself.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::rust::{Code, Function, Type};
use super::text::{block_end, last_word, level_end, word_at, words};
use super::walk;
use crate::tidy::File;

const SOURCE: &str = "crates/cli/src/";

pub struct Commands {
    code: Vec<Code>,
    /// The words that lead to a type of arguments, by file and type; none where
    /// several verbs share it.
    words: BTreeMap<(usize, String), Option<Vec<String>>>,
    /// Arms of verbs, by file.
    arms: BTreeMap<usize, Vec<Arm>>,
    /// Calls by the name that is called, as file and index.
    calls: BTreeMap<String, Vec<(usize, usize)>>,
}

struct Arm {
    range: Range<usize>,
    command: String,
}

/// A place in a file.
type CodePosition = (usize, usize);

impl Commands {
    pub fn of(files: &[File]) -> Self {
        let is_ours = |it: &&File| it.path.starts_with(SOURCE) && it.is_rust() && !it.is_test();
        let code: Vec<Code> = files.iter().filter(is_ours).map(Code::of).collect();
        let mut calls: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
        for (file, it) in code.iter().enumerate() {
            for (index, call) in it.calls.iter().enumerate() {
                calls.entry(call.name.clone()).or_default().push((file, index));
            }
        }
        let mut commands = Self { code, words: BTreeMap::new(), arms: BTreeMap::new(), calls };
        for (variant, module, kind) in commands.nouns() {
            if let Some(file) = commands.code.iter().position(|it| it.is_noun && it.module == module) {
                commands.learn(file, &kind, vec!["gpuaas".to_owned(), kebab(&variant)]);
            }
        }
        commands
    }

    /// The commands that use an endpoint most directly.
    pub fn reaching(&self, endpoint: &str) -> Vec<String> {
        let mut starts: Vec<CodePosition> = Vec::new();
        for (file, code) in self.code.iter().enumerate() {
            let used = code.arguments.iter().filter(|(name, _)| name == endpoint);
            starts.extend(used.map(|(_, at)| (file, *at)));
        }
        let found = walk::goals(starts, |it| self.command(*it), |it| self.callers(*it));
        // Farther ones only find a thing by its name, or renew a session.
        found.into_iter().next().unwrap_or_default().into_iter().collect()
    }

    /// The lines of the list of nouns: `Projects(projects::Projects),`
    fn nouns(&self) -> Vec<(String, String, String)> {
        let list = self.code.iter().find(|it| it.module == "nouns").map(|it| it.text.as_str()).unwrap_or_default();
        list.lines().filter_map(noun).collect()
    }

    /// Learns which words lead to a type of arguments, and to those inside it.
    fn learn(&mut self, file: usize, kind: &str, words: Vec<String>) {
        let code = &self.code[file];
        let Some(declared) = code.types.iter().find(|it| it.name == kind) else { return };
        let mut inside: Vec<(String, Vec<String>)> = Vec::new();
        let mut arms = Vec::new();
        if declared.has_verbs {
            for (variant, holds) in variants(&declared.body) {
                let words: Vec<String> = words.iter().cloned().chain([kebab(variant)]).collect();
                inside.extend(inner_types(code, holds).map(|it| (it.name.clone(), words.clone())));
                let found = arms_of(&code.text, kind, variant);
                arms.extend(found.into_iter().map(|range| Arm { range, command: line(&words) }));
            }
        } else if !declared.is_enum {
            // The verbs of a noun that does something by itself too.
            inside.extend(
                inner_types(code, &declared.body).filter(|it| it.has_verbs).map(|it| (it.name.clone(), words.clone())),
            );
        }
        self.arms.entry(file).or_default().extend(arms);
        let key = (file, kind.to_owned());
        let is_shared = self.words.contains_key(&key);
        self.words.insert(key, (!is_shared).then_some(words));
        if is_shared {
            return;
        }
        for (kind, words) in inside {
            self.learn(file, &kind, words);
        }
    }

    /// The command that a place belongs to.
    fn command(&self, (file, at): CodePosition) -> Option<String> {
        let arms = self.arms.get(&file)?.iter().filter(|it| it.range.contains(&at));
        if let Some(arm) = arms.min_by_key(|it| it.range.len()) {
            return Some(arm.command.clone());
        }
        let owner = self.code[file].function_at(at)?.owner.as_ref()?;
        self.words.get(&(file, owner.name.clone()))?.as_ref().map(|it| line(it))
    }

    /// Where the function that a place is in is called.
    fn callers(&self, (file, at): CodePosition) -> Vec<CodePosition> {
        let here = &self.code[file];
        let Some(function) = here.function_at(at) else { return Vec::new() };
        let calls = self.calls.get(&function.name).map(Vec::as_slice).unwrap_or_default();
        let means = |(there, index): &&(usize, usize)| self.means(function, here, *there, *index);
        calls.iter().filter(means).map(|(there, index)| (*there, self.code[*there].calls[*index].at)).collect()
    }

    fn means(&self, function: &Function, here: &Code, there: usize, index: usize) -> bool {
        let there = &self.code[there];
        function.is_called_by(here, &there.calls[index], there)
    }
}

/// The command as it is shown.
fn line(words: &[String]) -> String {
    format!("`{}`", words.join(" "))
}

fn noun(line: &str) -> Option<(String, String, String)> {
    let (variant, rest) = line.trim().strip_suffix("),")?.split_once('(')?;
    let (module, kind) = rest.split_once("::")?;
    let is_name = |it: &str| !it.is_empty() && word_at(it) == it && !it.contains('$');
    let all_names = is_name(variant) && is_name(module) && is_name(kind);
    all_names.then(|| (variant.to_owned(), module.to_owned(), kind.to_owned()))
}

/// The variants of an enum, with what each of them holds in parentheses.
fn variants(body: &str) -> Vec<(&str, &str)> {
    let inside = body.strip_prefix('{').unwrap_or_default();
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let rest = &inside[at..];
        let end = level_end(rest, &[',']);
        let mut declared = rest[..end].trim_start();
        // Past the attributes.
        while let Some(attribute) = declared.strip_prefix("#[") {
            declared = attribute[(level_end(attribute, &[']']) + 1).min(attribute.len())..].trim_start();
        }
        let name = word_at(declared);
        if !name.is_empty() {
            let behind = declared[name.len()..].trim_start();
            let holds = behind.strip_prefix('(').map_or("", |it| &it[..level_end(it, &[')'])]);
            found.push((name, holds));
        }
        if !rest[end..].starts_with(',') {
            return found;
        }
        at += end + 1;
    }
}

/// The types of a file that a text names.
fn inner_types<'a>(code: &'a Code, text: &str) -> impl Iterator<Item = &'a Type> {
    let named: BTreeSet<String> = words(text).map(|(_, word)| word.to_owned()).collect();
    code.types.iter().filter(move |it| named.contains(&it.name))
}

/// What runs when a verb was given: the arms of its variant, and what follows a
/// `let` or `if let` of it.
fn arms_of(text: &str, kind: &str, variant: &str) -> Vec<Range<usize>> {
    let named = words(text).filter(|(_, word)| *word == variant);
    let named = named.filter(|(at, _)| text[..*at].strip_suffix("::").is_some_and(|it| last_word(it) == kind));
    named.filter_map(|(at, _)| body_of(text, at + variant.len())).collect()
}

/// What belongs to the pattern that a place is in.
fn body_of(text: &str, from: usize) -> Option<Range<usize>> {
    let mut at = from;
    loop {
        let rest = &text[at..];
        let mark = level_end(rest, &['=', ',', ';']);
        let found = &rest[mark..];
        at += mark;
        if found.starts_with("=>") {
            let body = text[at + 2..].trim_start();
            let start = text.len() - body.len();
            let length = if body.starts_with('{') { block_end(body, 0) } else { level_end(body, &[',']) };
            return Some(start..start + length);
        }
        if found.starts_with("==") {
            at += 2;
        } else if found.starts_with('=') && !text[..at].ends_with(['!', '<', '>']) {
            return binding_of(text, at + 1);
        } else if found.starts_with('=') || found.starts_with(')') {
            // A comparison in a guard, or the end of a pattern around this one.
            at += 1;
        } else {
            return None;
        }
    }
}

/// The block of an `if let`, or all that follows a `let`.
fn binding_of(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = &text[from..];
    let mark = level_end(rest, &['{', ';']);
    let start = from + mark;
    let is_plain = rest[mark..].starts_with(';') || last_word(rest[..mark].trim_end()) == "else";
    if is_plain {
        return Some(start..start + level_end(&text[start..], &[]));
    }
    rest[mark..].starts_with('{').then(|| start..block_end(text, start))
}

/// As clap names a variant.
fn kebab(name: &str) -> String {
    let mut text = String::new();
    for it in name.chars() {
        if it.is_ascii_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.push(it.to_ascii_lowercase());
    }
    text
}
