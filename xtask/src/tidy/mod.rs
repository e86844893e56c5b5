//! The repository's own rules, each a pure function over the files under version
//! control. What the compiler or clippy can say is left to them.

mod channels;
mod clocks;
mod edges;
mod files;
mod folders;
mod generated;
mod glossary;
mod ignored;
mod language;
mod length;
mod lexer;
mod lifecycles;
mod links;
mod markers;
mod mover;
mod one_connection;
mod pauses;
mod printing;
mod reach;
mod registered;
mod registrations;
mod roles;
mod row_security;
mod schema_comments;
mod secrets;
mod source;
pub mod sql;
mod sql_in_stores;
mod test_names;
mod thresholds;
mod walk;
mod words;

use contract::compat::RELEASED;
pub use edges::crate_edges;
pub use files::{File, paths, tracked};
pub use ignored::{Ignored, root_only};
pub use registrations::{CONSUMERS, is_code};
pub use source::{Source, is_word};
use std::fmt;
use std::path::Path;

/// A rule's name in reports and in `docs/guards.md`, and what it looks at.
type Rule = (&'static str, fn(&[File]) -> Vec<Problem>);

const RULES: &[Rule] = &[
    ("dependency-edges", edges::check),
    ("folder-edges", folders::check),
    ("sql-in-stores", sql_in_stores::check),
    ("one-state-mover", mover::check),
    ("lifecycles", lifecycles::check),
    ("registered", registered::check),
    ("one-clock", clocks::check),
    ("bounded-channels", channels::check),
    ("role-changes", roles::check),
    ("one-connection", one_connection::check),
    ("thresholds", thresholds::check),
    ("printing", printing::check),
    ("markers", markers::check),
    ("ignored-tests", ignored::check),
    ("pauses", pauses::check),
    ("test-names", test_names::check),
    ("file-length", length::check),
    ("secrets", secrets::check),
    ("row-security", row_security::check),
    ("schema-comments", schema_comments::check),
    ("product-language", language::check),
    ("links", links::check),
    ("glossary", glossary::check),
    ("walk", walk::check),
    ("words", words::check),
];

/// A broken rule: where, and what to do instead.
#[derive(Debug, PartialEq)]
struct Problem {
    path: String,
    line: usize,
    advice: String,
}

impl Problem {
    fn new(file: &File, line: usize, advice: impl Into<String>) -> Self {
        Self { path: file.path.clone(), line, advice: advice.into() }
    }
}

/// A problem with the rule it breaks, as people and editors read it.
struct Report {
    rule: &'static str,
    problem: Problem,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { path, line, advice } = &self.problem;
        write!(f, "{path}:{line}: {}: {advice}", self.rule)
    }
}

/// Checks the working tree and fails with every broken rule.
pub fn run(root: &Path) -> Result<(), String> {
    let files = tracked(root)?;
    let mut reports = judge(&files);
    reports.extend(reach::check(&files).into_iter().map(|problem| Report { rule: "endpoint-reach", problem }));
    reports.extend(generated::check()?.into_iter().map(|problem| Report { rule: "generated-files", problem }));
    let broken =
        crate::compat::breaks(root)?.into_iter().map(|advice| Problem { path: RELEASED.into(), line: 1, advice });
    reports.extend(broken.map(|problem| Report { rule: "compatible-api", problem }));
    verdict(&reports)
}

/// Checks another tree, as far as its files alone say it.
pub fn judge_tree(root: &Path) -> Result<(), String> {
    verdict(&judge(&tracked(root)?))
}

fn verdict(reports: &[Report]) -> Result<(), String> {
    if reports.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = reports.iter().map(Report::to_string).collect();
    Err(format!("{}\n{} broken; docs/guards.md says why each rule exists", lines.join("\n"), lines.len()))
}

fn judge(files: &[File]) -> Vec<Report> {
    let mut reports = Vec::new();
    for (rule, check) in RULES {
        let problems = check(files).into_iter();
        reports.extend(problems.map(|problem| Report { rule, problem }));
    }
    reports
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_place_rule_and_remedy() {
        let planted = [File::new("crates/kernel/src/bell.rs", "fn f() {\n    unbounded_channel();\n}\n")];
        let reports = judge(&planted);
        assert_eq!(reports.len(), 1);
        let text = reports[0].to_string();
        let start = "crates/kernel/src/bell.rs:2: bounded-channels: ";
        assert!(text.starts_with(start), "{text}");
    }

    #[test]
    fn every_rule_is_explained_in_the_guards_page() {
        let page = include_str!("../../../docs/guards.md");
        let names = RULES.iter().map(|(name, _)| *name);
        for name in names.chain(["endpoint-reach", "generated-files", "compatible-api"]) {
            assert!(page.contains(&format!("`{name}`")), "{name} is missing");
        }
    }
}
