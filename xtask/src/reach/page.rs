//! `docs/generated/coverage.md`.

use std::collections::BTreeMap;

use super::{Face, Operation};

pub const PATH: &str = "docs/generated/coverage.md";

// bound: one row stays readable
const SHOWN: usize = 3;

pub fn write(all: &[Operation], faces: &[Face; 2]) -> String {
    let mut text = String::from(
        "<!-- Generated from crates/contract, crates/cli, console/src and reach.toml; a change made here is lost. -->\n\n\
         # How people reach every endpoint\n\n\
         Every endpoint beside the commands and the pages of the console that use it most directly. \
         A dash stands where there is none; the reason is below.\n\n",
    );
    let [commands, console] =
        faces.each_ref().map(|face| all.iter().filter(|it| !face.reached(it.name).is_empty()).count());
    text.push_str(&format!("Of {} endpoints {commands} have a command and {console} a page.\n\n", all.len()));
    text.push_str("| Endpoint | Operation | Command | Page |\n| --- | --- | --- | --- |\n");
    for Operation { name, verb, path, .. } in all {
        let [command, page] = faces.each_ref().map(|it| cell(it.reached(name)));
        text.push_str(&format!("| {verb} `{path}` | {name} | {command} | {page} |\n"));
    }
    for (face, title) in faces.iter().zip(["Without a command", "Without a page in the console"]) {
        text.push_str(&reasons(face, title, all));
    }
    text
}

fn cell(reached: &[String]) -> String {
    match reached {
        [] => "–".to_owned(),
        some if some.len() <= SHOWN => some.join(", "),
        many => format!("{} and {} more", many[..SHOWN].join(", "), many.len() - SHOWN),
    }
}

fn reasons(face: &Face, title: &str, all: &[Operation]) -> String {
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for Operation { name, verb, path, .. } in all.iter().filter(|it| face.reached(it.name).is_empty()) {
        let (group, why) = face.reasons.why(name).unwrap_or(("no reason given", "**missing**"));
        groups.entry(group).or_default().push(format!("| {verb} `{path}` | {name} | {why} |\n"));
    }
    let mut text = format!("\n## {title}\n");
    if groups.is_empty() {
        text.push_str("\nNone.\n");
    }
    for (group, lines) in groups {
        let group = group.replace('-', " ");
        let (first, rest) = group.split_at(1);
        text.push_str(&format!("\n### {}{rest}\n\n", first.to_uppercase()));
        text.push_str("| Endpoint | Operation | Why |\n| --- | --- | --- |\n");
        text.push_str(&lines.concat());
    }
    text
}
