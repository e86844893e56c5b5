//! How people reach each endpoint of the contract: by which command, and on
//! which page of the console. It is read from the code of both, so that the
//! table of it cannot rot, and what is left out needs a reason in `reach.toml`.

mod commands;
mod console;
mod page;
mod reasons;
mod rust;
mod script;
mod text;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

use contract::{Channel, Endpoint, EndpointInfo};

use crate::tidy::File;
use reasons::Reasons;

pub use page::PATH as PAGE;
pub use reasons::PATH as REASONS;

/// What is reached.
pub struct Operation {
    pub name: &'static str,
    pub verb: &'static str,
    pub path: &'static str,
    pub is_channel: bool,
}

/// One way for people to use the API.
struct Face {
    /// As `reach.toml` names it.
    name: &'static str,
    reached: BTreeMap<&'static str, Vec<String>>,
    reasons: Reasons,
    remedy: &'static str,
}

/// What is wrong, and in which line of `reach.toml`.
#[derive(Debug, PartialEq)]
pub struct Gap {
    pub line: usize,
    pub advice: String,
}

/// The page.
pub fn document(files: &[File]) -> Result<String, String> {
    let all = operations();
    Ok(page::write(&all, &faces(files, &all)?))
}

/// Endpoints that are neither reached nor excused, and excuses that excuse nothing.
pub fn gaps(files: &[File]) -> Vec<Gap> {
    gaps_among(files, &operations())
}

fn operations() -> Vec<Operation> {
    let of = |info: EndpointInfo, is_channel: bool| Operation {
        name: info.operation,
        verb: info.verb.as_str(),
        path: info.path,
        is_channel,
    };
    let mut all = Vec::new();
    macro_rules! collect {
        ($($endpoint:path),* $(,)?) => { $(all.push(of(<$endpoint as Endpoint>::INFO, false));)* };
    }
    contract::for_each_endpoint!(collect);
    macro_rules! collect {
        ($($channel:path),* $(,)?) => { $(all.push(of(<$channel as Channel>::INFO, true));)* };
    }
    contract::for_each_channel!(collect);
    all
}

fn faces(files: &[File], all: &[Operation]) -> Result<[Face; 2], String> {
    let commands = commands::Commands::of(files);
    let console = console::Console::of(files);
    Ok([
        Face {
            name: "command",
            reached: all.iter().map(|it| (it.name, commands.reaching(it.name))).collect(),
            reasons: Reasons::of(files, "command")?,
            remedy: "add a verb in crates/cli/src/nouns",
        },
        Face {
            name: "console",
            reached: all.iter().map(|it| (it.name, console.reaching(it))).collect(),
            reasons: Reasons::of(files, "console")?,
            remedy: "call it from a page in console/src, with its path as a literal",
        },
    ])
}

fn gaps_among(files: &[File], all: &[Operation]) -> Vec<Gap> {
    match faces(files, all) {
        Ok(faces) => faces.iter().flat_map(|it| it.gaps(files, all)).collect(),
        Err(advice) => vec![Gap { line: 1, advice }],
    }
}

impl Face {
    fn reached(&self, operation: &str) -> &[String] {
        self.reached.get(operation).map(Vec::as_slice).unwrap_or_default()
    }

    fn gaps(&self, files: &[File], all: &[Operation]) -> Vec<Gap> {
        let Self { name: face, remedy, .. } = self;
        let mut gaps = Vec::new();
        for Operation { name, verb, path, .. } in all {
            if self.reached(name).is_empty() && self.reasons.why(name).is_none() {
                let what = if *face == "command" { "no command reaches" } else { "no page of the console reaches" };
                let advice = format!("{what} {name} ({verb} {path}); {remedy}, or say why not under [{face}.<group>]");
                gaps.push(Gap { line: 1, advice });
            }
        }
        let mut seen = BTreeSet::new();
        for (_, name, why) in self.reasons.all() {
            let line = reasons::line_of(files, face, name);
            let advice = if !all.iter().any(|it| it.name == name) {
                format!("the contract has no operation {name}; delete this line")
            } else if let Some(by) = self.reached(name).first() {
                format!("{name} is reached now: {by}; delete this line")
            } else if why.trim().is_empty() {
                format!("{name} has no reason; say why it is not reached")
            } else if !seen.insert(name) {
                format!("{name} has two reasons; delete one of them")
            } else {
                continue;
            };
            gaps.push(Gap { line, advice });
        }
        gaps
    }
}

#[cfg(test)]
mod tests;
