//! `gpuaas audit verify`: walks the whole chain of seals, tells what is wrong
//! with it, and whether roots that were kept elsewhere are still in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use client::Request;
use contract::{
    Limit, Nothing,
    audit::{SealFinding, SealRange, SealReport, VerifySeals},
};
use serde::Serialize;
use serde_json::json;

use crate::{
    context::Context,
    failure::{Class, Done, Failure},
    table::counted,
};

/// Roots that must be in the log, with where they were read.
#[derive(Debug, Default)]
pub struct ExpectedRoots(BTreeMap<String, String>);

impl ExpectedRoots {
    pub fn new(roots: Vec<String>) -> Self {
        Self(roots.into_iter().map(|it| (it.trim().to_ascii_lowercase(), "--root".to_owned())).collect())
    }

    /// Lines as `audit seals --export` writes them: number, root, time.
    pub fn add_file(&mut self, path: &Path) -> Done {
        let text = fs::read_to_string(path)
            .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display()), ""))?;
        for (at, line) in text.lines().enumerate().filter(|(_, it)| !it.trim().is_empty()) {
            let mut words = line.split_whitespace();
            let (Some(number), Some(root)) = (words.next(), words.next()) else {
                return Err(Failure::usage(
                    format!("line {} of {}: expected `number root time`", at + 1, path.display()),
                    "Use a file written by `gpuaas audit seals --export`.",
                ));
            };
            self.0.insert(root.to_ascii_lowercase(), format!("seal {number} in {}", path.display()));
        }
        Ok(())
    }
}

/// All pages of the server's report as one.
#[derive(Debug, Default, Serialize)]
struct Verdict {
    seals_checked: i64,
    entries_checked: i64,
    unsealed: Option<i64>,
    newest_root: Option<String>,
    findings: Vec<SealFinding>,
    roots_looked_for: usize,
    roots_missing: BTreeSet<String>,
}

impl Verdict {
    fn new(wanted: &ExpectedRoots) -> Self {
        let roots_missing: BTreeSet<String> = wanted.0.keys().cloned().collect();
        Self { roots_looked_for: roots_missing.len(), roots_missing, ..Self::default() }
    }

    fn add(&mut self, page: SealReport) {
        self.seals_checked += page.seals_checked;
        self.entries_checked += page.entries_checked;
        self.findings.extend(page.findings);
        for root in &page.roots {
            self.roots_missing.remove(&root.to_ascii_lowercase());
        }
        self.newest_root = page.roots.into_iter().next_back().or(self.newest_root.take());
        self.unsealed = page.unsealed.or(self.unsealed);
    }

    fn is_good(&self) -> bool {
        self.findings.is_empty() && self.roots_missing.is_empty()
    }

    fn for_people(&self, wanted: &ExpectedRoots) -> String {
        let mut lines = vec![format!(
            "Checked {} over {}.",
            counted(self.seals_checked, "seal", "seals"),
            counted(self.entries_checked, "entry", "entries")
        )];
        if let Some(unsealed) = self.unsealed.filter(|it| *it > 0) {
            let is = if unsealed == 1 { "is" } else { "are" };
            lines.push(format!("{} {is} not sealed yet.", counted(unsealed, "newer entry", "newer entries")));
        }
        if let Some(root) = &self.newest_root {
            lines.push(format!("Newest root: {root}"));
        }
        for finding in &self.findings {
            let seal = finding.seal.map(|it| format!("seal {it}: ")).unwrap_or_default();
            let entry = finding.entry.map(|it| format!("{it}: ")).unwrap_or_default();
            lines.push(format!("MISMATCH  {seal}{entry}{}", finding.what));
        }
        for root in &self.roots_missing {
            let from = wanted.0.get(root).map(String::as_str).unwrap_or_default();
            lines.push(format!("MISMATCH  the root {root} ({from}) is not in the log: it was truncated or rewritten"));
        }
        let found = self.roots_looked_for - self.roots_missing.len();
        if found > 0 {
            lines.push(format!("Found {found} of {} independent roots in the log.", self.roots_looked_for));
        }
        lines.push(
            if self.is_good() { "The audit log is intact." } else { "The audit log failed verification." }.to_owned(),
        );
        lines.join("\n")
    }
}

pub async fn run(context: &Context, wanted: ExpectedRoots) -> Done {
    let mut verdict = Verdict::new(&wanted);
    let mut after = 0;
    loop {
        let range = SealRange { after, limit: Limit::new(Limit::MAX).unwrap_or_default() };
        let request = Request::<VerifySeals>::new(Nothing {}, range, Nothing {});
        let page = context.send_request(&request).await?;
        let next = page.next_after;
        verdict.add(page);
        match next {
            Some(next) if next > after => after = next,
            Some(_) => return Err(Failure::new(Class::Server, "the server returned the same page twice", "")),
            None => break,
        }
    }
    if context.output.is_for_people() {
        context.output.line(verdict.for_people(&wanted))?;
    } else {
        context.output.document(&json!(verdict))?;
    }
    if verdict.is_good() {
        return Ok(());
    }
    let wrong = match verdict.findings.len() + verdict.roots_missing.len() {
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    };
    Err(Failure::new(
        Class::Negative,
        format!("the audit log failed verification: {wrong}"),
        "Stop all writers, preserve the database and its backups, and compare the entries listed above.",
    ))
}

#[cfg(test)]
mod tests {
    use contract::id::AuditEntryId;

    use super::*;

    fn page(roots: &[&str], findings: Vec<SealFinding>) -> SealReport {
        SealReport {
            seals_checked: roots.len() as i64,
            entries_checked: 10,
            findings,
            roots: roots.iter().map(|it| (*it).to_owned()).collect(),
            next_after: None,
            unsealed: Some(2),
        }
    }

    #[test]
    fn seal_pages_add_up_and_independent_roots_are_found() {
        let wanted = ExpectedRoots::new(vec!["AB".into()]);
        let mut verdict = Verdict::new(&wanted);
        verdict.add(page(&["aa", "ab"], vec![]));
        verdict.add(page(&["ac"], vec![]));
        verdict.add(page(&[], vec![]));
        assert!(verdict.is_good());
        let text = verdict.for_people(&wanted);
        assert!(text.contains("Checked 3 seals over 30 entries."), "{text}");
        assert!(text.contains("Newest root: ac") && text.contains("1 of 1 independent roots"), "{text}");
    }

    #[test]
    fn a_finding_names_its_entry_and_a_missing_root_reports_truncation() {
        let entry = AuditEntryId::generate();
        let wanted = ExpectedRoots::new(vec!["ff".into()]);
        let mut verdict = Verdict::new(&wanted);
        verdict.add(page(&["aa"], vec![SealFinding { seal: Some(3), entry: Some(entry), what: "edited".into() }]));
        assert!(!verdict.is_good());
        let text = verdict.for_people(&wanted);
        assert!(text.contains(&format!("MISMATCH  seal 3: {entry}: edited")), "{text}");
        assert!(text.contains("the root ff (--root) is not in the log: it was truncated"), "{text}");
    }

    #[test]
    fn an_exported_file_is_read_back_and_another_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("roots.txt");
        fs::write(&path, "1 aa 2026-01-01T00:00:00Z\n2 bb 2026-01-01T00:00:05Z\n").unwrap();
        let mut wanted = ExpectedRoots::default();
        wanted.add_file(&path).unwrap();
        assert_eq!(wanted.0.keys().collect::<Vec<_>>(), ["aa", "bb"]);
        fs::write(&path, "aa\n").unwrap();
        let error = wanted.add_file(&path).unwrap_err().for_people();
        assert!(error.contains("line 1") && error.contains("seals --export"), "{error}");
    }
}
