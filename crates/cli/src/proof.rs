//! `gpuaas ledger prove`: asks for a proof part by part, and tells the first
//! thing that is not as it should be.

use client::Request;
use contract::{
    Nothing,
    id::OrganizationId,
    ledger::{Month, PlatformProofRange, Proof, ProofPlace, ProofRange, ProveBooks, ProveLedger},
    organizations::OrganizationPath,
};
use serde_json::json;

use crate::{
    context::Context,
    failure::{Class, Done, Failure},
    table::counted,
};

/// Whose books are proven.
pub enum Books {
    Own(OrganizationPath),
    /// One organization's or everybody's, for platform staff.
    Any(Option<OrganizationId>),
}

pub async fn run(context: &Context, books: Books, month: Option<Month>) -> Done {
    let mut whole: Option<Proof> = None;
    let mut after: Option<ProofPlace> = None;
    loop {
        let part = ask(context, &books, month.clone(), after.clone()).await?;
        let next = part.next_after.clone();
        if next.is_some() && next == after {
            return Err(Failure::new(Class::Server, "the server returned the same page twice", ""));
        }
        let is_over = part.difference.is_some() || next.is_none();
        whole = Some(added(whole, part));
        if is_over {
            break;
        }
        after = next;
    }
    let Some(proof) = whole else { return Ok(()) };
    if context.output.is_for_people() {
        context.output.line(for_people(&proof))?;
    } else {
        context.output.document(&json!(proof))?;
    }
    match proof.difference {
        None => Ok(()),
        Some(difference) => Err(Failure::new(
            Class::Negative,
            format!("the books of {} do not match usage and prices: {}", difference.organization_id, difference.what),
            "Preserve the database and its backups, and follow docs/runbooks/ledger-proof-failed.md.",
        )),
    }
}

async fn ask(
    context: &Context,
    books: &Books,
    month: Option<Month>,
    after: Option<ProofPlace>,
) -> Result<Proof, Failure> {
    match books {
        Books::Own(path) => {
            let range = ProofRange { month, after };
            context.send_request(&Request::<ProveBooks>::new(path.clone(), range, Nothing {})).await
        }
        Books::Any(organization_id) => {
            let range = PlatformProofRange { organization_id: *organization_id, month, after };
            context.send_request(&Request::<ProveLedger>::new(Nothing {}, range, Nothing {})).await
        }
    }
}

fn added(before: Option<Proof>, part: Proof) -> Proof {
    let Some(before) = before else { return part };
    Proof {
        organizations: before.organizations + part.organizations,
        journals: before.journals + part.journals,
        entries: before.entries + part.entries,
        intervals: before.intervals + part.intervals,
        ..part
    }
}

fn for_people(proof: &Proof) -> String {
    let mut lines = vec![format!(
        "Checked: {}, {}, {}, {}.",
        counted(proof.organizations, "organization", "organizations"),
        counted(proof.journals, "journal", "journals"),
        counted(proof.intervals, "interval", "intervals"),
        counted(proof.entries, "entry", "entries")
    )];
    if let Some(difference) = &proof.difference {
        let journal = difference.journal.map(|it| format!("journal {it}: ")).unwrap_or_default();
        let subject = difference.subject.as_ref().map(|it| format!("{it}: ")).unwrap_or_default();
        lines.push(format!("MISMATCH  {}: {journal}{subject}{}", difference.organization_id, difference.what));
    }
    let good = "Every journal matches usage and prices, to the millionth.";
    lines.push(if proof.difference.is_none() { good } else { "The books do not match." }.to_owned());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use contract::ledger::Difference;

    use super::*;

    fn part(journals: u64) -> Proof {
        Proof { organizations: 1, journals, entries: 4, intervals: 2, difference: None, next_after: None }
    }

    #[test]
    fn proof_pages_add_up_and_a_difference_is_named() {
        let whole = added(Some(part(3)), part(4));
        assert!(for_people(&whole).contains("2 organizations, 7 journals, 4 intervals, 8 entries"));
        let organization_id = OrganizationId::generate();
        let difference = Some(Difference { organization_id, journal: Some(9), subject: None, what: "edited".into() });
        let text = for_people(&Proof { difference, ..whole });
        assert!(text.contains(&format!("MISMATCH  {organization_id}: journal 9: edited")), "{text}");
    }
}
