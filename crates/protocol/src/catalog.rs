//! The tasks as people read them, written from the types themselves.

use crate::{Field, PROTOCOL, Refusal, SUPPORTED, Verb, VerbEntry, WorkloadEntry, WorkloadKind};
use std::fmt::Write;

/// The catalog of tasks as Markdown, for `docs/generated/tasks.md`.
pub fn catalog() -> String {
    let mut page =
        String::from("# Tasks\n\nWritten from `crates/protocol/src/verb.rs` and `workload.rs`; do not edit.\n\n");
    let _ = writeln!(
        page,
        "The tasks that the control plane can order from a host. The list is closed: an agent refuses everything else. Each task describes a state to ensure, so repeating it is harmless. Protocol {PROTOCOL}; versions {} to {} are supported.\n",
        SUPPORTED.start(),
        SUPPORTED.end()
    );
    for entry in Verb::CATALOG {
        verb(&mut page, entry);
    }
    page.push_str("## Workloads\n\nThe workloads that a host can run for an allocation. An agent refuses a kind or shape that is not registered on its host.\n\n");
    for entry in WorkloadKind::CATALOG {
        workload(&mut page, entry);
    }
    page.push_str("## Refusals\n\nA host can refuse every task before it starts. Each reason is counted.\n\n");
    page.push_str("| Reason | Meaning |\n|---|---|\n");
    for reason in Refusal::ALL {
        let _ = writeln!(page, "| `{}` | {} |", reason.name(), reason.doc().trim());
    }
    page
}

fn verb(page: &mut String, entry: &VerbEntry) {
    let _ = writeln!(page, "## {}\n\n{}\n", entry.name, joined(entry.doc));
    fields(page, entry.fields);
    let _ = writeln!(page, "Result: `{}`. Time limit: {} s.\n", entry.result, entry.limit.as_secs());
    page.push_str("| Failure | Meaning |\n|---|---|\n");
    for (code, meaning) in entry.failures {
        let _ = writeln!(page, "| `{code}` | {meaning} |");
    }
    page.push('\n');
}

fn workload(page: &mut String, entry: &WorkloadEntry) {
    let _ = writeln!(page, "### {}\n\n{}\n\nSpecification:\n", entry.name, joined(entry.doc));
    fields(page, entry.specification);
    page.push_str("Reference:\n\n");
    fields(page, entry.reference);
}

fn fields(page: &mut String, fields: &[Field]) {
    if fields.is_empty() {
        return;
    }
    page.push_str("| Field | Type | Meaning |\n|---|---|---|\n");
    for field in fields {
        let kind = field.kind.replace(' ', "");
        let _ = writeln!(page, "| `{}` | `{kind}` | {} |", field.name, joined(field.doc));
    }
    page.push('\n');
}

fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_and_every_refusal_is_explained() {
        let page = catalog();
        for entry in Verb::CATALOG {
            assert!(page.contains(&format!("## {}\n", entry.name)));
            assert!(!entry.doc.is_empty() && !entry.failures.is_empty(), "{}", entry.name);
            for field in entry.fields {
                assert!(!field.doc.is_empty(), "{}.{}", entry.name, field.name);
            }
        }
        for reason in Refusal::ALL {
            assert!(page.contains(&format!("`{}`", reason.name())));
        }
    }
}
