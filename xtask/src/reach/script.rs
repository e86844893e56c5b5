//! TypeScript files as far as the question of who uses what needs them. It
//! relies on what prettier guarantees: a declaration of a module starts a line,
//! and what belongs to it does not.

use std::collections::BTreeSet;

use super::Operation;
use super::text::{level_end, word_at, words};

pub struct Script {
    pub imports: Vec<Import>,
    pub declarations: Vec<Declaration>,
}

pub struct Import {
    pub name: String,
    pub local: String,
    pub from: String,
}

pub struct Declaration {
    pub name: String,
    pub words: BTreeSet<String>,
    /// Texts in quotes, in their order.
    pub literals: Vec<String>,
    /// Verb and path of each typed call.
    calls: Vec<(String, String)>,
    /// Addresses that are put together, with `{}` for what is filled in.
    addresses: Vec<String>,
}

impl Script {
    pub fn of(text: &str) -> Self {
        let (mut imports, mut declarations) = (Vec::new(), Vec::new());
        for part in parts(text) {
            if part.starts_with("import ") {
                imports.extend(import(&part));
            } else {
                declarations.push(Declaration::of(&part));
            }
        }
        Self { imports, declarations }
    }
}

impl Declaration {
    fn of(text: &str) -> Self {
        let addresses = quoted(text, '`').filter(|it| it.starts_with("/v1/")).map(|it| filled_in(&it)).collect();
        Self {
            name: declared_name(text).to_owned(),
            words: words(text).map(|(_, word)| word.to_owned()).collect(),
            literals: quoted(text, '\'').collect(),
            calls: calls(text),
            addresses,
        }
    }

    pub fn calls(&self, operation: &Operation) -> bool {
        if operation.is_channel {
            let wanted = unnamed(operation.path);
            return self.addresses.contains(&wanted);
        }
        self.calls.iter().any(|(verb, path)| verb == operation.verb && path == operation.path)
    }
}

/// The parts of a module that start a line, without lines of comment.
fn parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("//") || trimmed.starts_with("/*") || trimmed.starts_with('*') {
            continue;
        }
        let starts = line.bytes().next().is_some_and(|it| it.is_ascii_alphabetic());
        if starts || parts.is_empty() {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    parts
}

/// `import { a, b as c, type D } from './e';`
fn import(text: &str) -> Vec<Import> {
    let Some(from) = quoted(text, '\'').last() else { return Vec::new() };
    let names = text.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map_or("", |(names, _)| names);
    let named = names.split(',').map(str::trim).filter(|it| !it.is_empty() && !it.starts_with("type "));
    let import = |it: &str| {
        let (name, local) = it.split_once(" as ").unwrap_or((it, it));
        Import { name: name.trim().to_owned(), local: local.trim().to_owned(), from: from.clone() }
    };
    named.map(import).collect()
}

fn declared_name(text: &str) -> &str {
    const BEFORE: [&str; 7] = ["export", "default", "async", "function", "const", "let", "class"];
    words(text).map(|(_, word)| word).find(|it| !BEFORE.contains(it)).unwrap_or_default()
}

/// The path is the first argument, or a constant of the same declaration.
fn calls(text: &str) -> Vec<(String, String)> {
    let mut calls = Vec::new();
    for (at, word) in words(text).filter(|(_, word)| *word == "api") {
        let Some(rest) = text[at + word.len()..].strip_prefix('.') else { continue };
        let verb = word_at(rest);
        let Some(rest) = rest[verb.len()..].strip_prefix('(') else { continue };
        let argument = &rest[..end_of_argument(rest)];
        let constant = text.split_once(&format!("const {} = ", argument.trim()));
        let said = constant.map_or(argument, |(_, rest)| rest.split(';').next().unwrap_or_default());
        calls.extend(quoted(said, '\'').map(|path| (verb.to_owned(), path)));
    }
    calls
}

/// Braces of a path stand in quotes and are in pairs, so that they do no harm.
fn end_of_argument(text: &str) -> usize {
    level_end(text, &[','])
}

/// What stands between quotes of one kind. A text does not go over a line,
/// except between back-ticks.
fn quoted(text: &str, quote: char) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    let lines: Vec<&str> = if quote == '`' { vec![text] } else { text.lines().collect() };
    for line in lines {
        found.extend(line.split(quote).skip(1).step_by(2).map(str::to_owned));
    }
    found.into_iter()
}

/// `/v1/a/${b}/c` as `/v1/a/{}/c`
fn filled_in(address: &str) -> String {
    unnamed(&address.replace("${", "{"))
}

/// A path without the names of its parameters, nor what is asked for.
fn unnamed(path: &str) -> String {
    let mut text = String::new();
    let mut inside = 0_usize;
    for it in path.chars().take_while(|it| *it != '?') {
        match it {
            '{' => {
                inside += 1;
                text.push(it);
            }
            '}' => {
                inside = inside.saturating_sub(1);
                text.push(it);
            }
            other if inside == 0 => text.push(other),
            _ => (),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(verb: &'static str, path: &'static str, is_channel: bool) -> Operation {
        Operation { name: "Planted", verb, path, is_channel }
    }

    #[test]
    fn a_call_is_known_by_its_verb_and_its_path() {
        let script = Script::of(
            "import { api, type Page as P } from '@/api/client';\n\n\
             export async function save(it: P): Promise<void> {\n  const address = '/v1/a/{a_id}/pdf';\n  \
             await api.GET(address, { of: it });\n}\n\n\
             // api.DELETE('/v1/commented')\n\
             export const remove = () =>\n  api.DELETE('/v1/a/{a_id}', {\n    params: '/v1/no',\n  });\n",
        );
        assert_eq!(script.imports.len(), 1);
        let calls: Vec<_> = script.declarations.iter().map(|it| (it.name.as_str(), it.calls.clone())).collect();
        let call = |verb: &str, path: &str| vec![(verb.to_owned(), path.to_owned())];
        assert_eq!(calls, [("save", call("GET", "/v1/a/{a_id}/pdf")), ("remove", call("DELETE", "/v1/a/{a_id}"))]);
        assert!(script.declarations[1].calls(&operation("DELETE", "/v1/a/{a_id}", false)));
        assert!(!script.declarations[1].calls(&operation("GET", "/v1/a/{a_id}", false)));
    }

    #[test]
    fn a_websocket_is_known_by_its_address() {
        let script = Script::of("const watch = (it: string) => new WebSocket(`/v1/a/${it}/watch?b=${it}`);\n");
        assert!(script.declarations[0].calls(&operation("GET", "/v1/a/{a_id}/watch", true)));
        assert!(!script.declarations[0].calls(&operation("GET", "/v1/a/{a_id}/watch", false)));
    }
}
