//! Promotional credit, adjustments and journals taken back, at once or after
//! somebody else agreed.

use contract::{
    Code, Page,
    corrections::{
        AdjustBalance, ApproveCorrection, Correction, CorrectionKind, CorrectionProposed, CorrectionState,
        GetCorrection, GrantCredit, ListCorrections, RejectCorrection, ReverseJournal,
    },
    id::{CorrectionId, OrganizationId},
    prices::CurrencyCode,
};
use kernel::{
    clock,
    lifecycle::{Lifecycle, transition},
    money::{Currency, Money},
    work,
};

use super::carry_out::carry_out;
use crate::{
    MoneyArea,
    ledger::{self, AccountKind, Journal, LedgerError},
};
use people::organizations;
use platform::{
    events::emit,
    four_eyes::{
        has_expired,
        lifecycle::{CorrectionLifecycle, Event},
        store::{self, Change, New, Outcome},
    },
    http::{Call, Failure, Handle, ProblemBuilder, Request},
    policies::{self, settings},
};

// bound: what the contract's schema says; a thousand million of the currency
const MOST_MICROS: i64 = 1_000_000_000_000_000;

impl Handle<GrantCredit> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<GrantCredit>) -> Result<Correction, Failure> {
        let spec = request.body;
        let amount = amount(&spec.currency, spec.amount_micros, 1)?;
        let change = Change::Amount(CorrectionKind::Credit, amount);
        propose(self, call, request.path.organization_id, change, spec.reason.as_str()).await
    }
}

impl Handle<AdjustBalance> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<AdjustBalance>) -> Result<Correction, Failure> {
        let spec = request.body;
        let amount = amount(&spec.currency, spec.amount_micros, -MOST_MICROS)?;
        let change = Change::Amount(CorrectionKind::Adjustment, amount);
        propose(self, call, request.path.organization_id, change, spec.reason.as_str()).await
    }
}

impl Handle<ReverseJournal> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<ReverseJournal>) -> Result<Correction, Failure> {
        let organization = request.path.organization_id;
        let number = ledger::number(&mut call.tx, organization, request.path.journal_id).await?;
        let number = number.ok_or_else(|| Failure::not_found("journal"))?;
        // Said now rather than to the one who approves it.
        ledger::opposite(&mut call.tx, organization, number).await.map_err(failure)?;
        propose(self, call, organization, Change::Reverse(number), request.body.reason.as_str()).await
    }
}

impl Handle<ListCorrections> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<ListCorrections>) -> Result<Page<Correction>, Failure> {
        let mut rows = store::list(&mut call.tx, &request.query).await?;
        attach_journals(call, &mut rows).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<GetCorrection> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<GetCorrection>) -> Result<Correction, Failure> {
        found(call, request.path.correction_id).await
    }
}

impl Handle<ApproveCorrection> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<ApproveCorrection>) -> Result<Correction, Failure> {
        let correction = proposed(call, request.path.correction_id).await?;
        if has_expired(&correction, clock::now(&mut call.tx).await?) {
            return Err(Failure::new(Code::Conflict, "it was not approved in time; request it again"));
        }
        // Sessions and keys of one person act as that person.
        if call.caller.user().is_none() {
            return Err(Failure::new(Code::Conflict, "only a person can approve it, not an API key"));
        }
        if correction.proposed_by == call.caller.actor().as_str() {
            return Err(Failure::new(Code::Conflict, "you proposed it yourself; a second person must approve it"));
        }
        let Some(proposal) = store::proposal(&mut call.tx, correction.id).await? else {
            return write(call, correction).await;
        };
        let result = carry_out(self, call, &correction, proposal).await?;
        call.about(correction.id);
        close(call, &correction, Outcome { result: Some(&result), ..Outcome::default() }, Event::Posted).await
    }
}

impl Handle<RejectCorrection> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<RejectCorrection>) -> Result<Correction, Failure> {
        let correction = proposed(call, request.path.correction_id).await?;
        let reason = request.body.reason;
        call.note("reason", reason.as_str());
        let outcome = Outcome { decision: Some(reason.as_str()), ..Outcome::default() };
        close(call, &correction, outcome, Event::Rejected).await
    }
}

async fn found(call: &mut Call, id: CorrectionId) -> Result<Correction, Failure> {
    let mut correction = store::get(&mut call.tx, id).await?.ok_or_else(|| Failure::not_found("correction"))?;
    attach_journals(call, std::slice::from_mut(&mut correction)).await?;
    if let Some(organization) = correction.organization_id {
        call.about_organization(organization);
    }
    Ok(correction)
}

/// Adds the journals that corrections were posted as.
async fn attach_journals(call: &mut Call, corrections: &mut [Correction]) -> Result<(), Failure> {
    let ids: Vec<CorrectionId> = corrections.iter().map(|it| it.id).collect();
    for (id, number) in store::posted(&mut call.tx, &ids).await? {
        let Some(correction) = corrections.iter_mut().find(|it| it.id == id) else { continue };
        if let Some(organization) = correction.organization_id {
            correction.journal = ledger::journal(&mut call.tx, organization, number).await?;
        }
    }
    Ok(())
}

/// A correction that can still be decided; of several who do, one does.
async fn proposed(call: &mut Call, id: CorrectionId) -> Result<Correction, Failure> {
    store::lock(&mut call.tx, id).await?;
    let correction = found(call, id).await?;
    if correction.state != CorrectionState::Proposed {
        return Err(Failure::new(Code::Conflict, format!("it is already {}", correction.state)));
    }
    Ok(correction)
}

/// Proposes a change, and posts it at once where nobody else has to agree.
async fn propose(
    area: &MoneyArea,
    call: &mut Call,
    organization: OrganizationId,
    change: Change,
    reason: &str,
) -> Result<Correction, Failure> {
    organizations::get(&mut call.tx, organization).await?.ok_or_else(|| Failure::not_found("organization"))?;
    call.about_organization(organization);
    call.note("reason", reason);
    let expires_at =
        clock::now(&mut call.tx).await? + settings::hours(area.policies.number(settings::BILLING_CORRECTION_HOURS));
    let proposed_by = call.caller.actor().as_str().to_owned();
    let new = New { organization, change, reason, proposed_by: &proposed_by, expires_at };
    let correction = store::insert(&mut call.tx, new).await?;
    let id = correction.id;
    call.about(id);
    if !policies::flag_in(&mut call.tx, settings::BILLING_FOUR_EYES).await? {
        return write(call, correction).await;
    }
    work::wake_at(&mut call.tx, CorrectionLifecycle::NAME, id.uuid(), expires_at);
    emit(&mut call.tx, None, id, &CorrectionProposed { id, kind: correction.kind.clone() });
    Ok(correction)
}

/// Posts what was proposed. The reference makes it once, whatever happens.
async fn write(call: &mut Call, correction: Correction) -> Result<Correction, Failure> {
    let id = correction.id;
    let organization = correction.organization_id.ok_or_else(|| Failure::not_found("organization"))?;
    let journal = match store::change(&correction)? {
        Change::Amount(kind, amount) => {
            let (kind, from) = match kind {
                CorrectionKind::Credit => ("credit", AccountKind::Promotional),
                CorrectionKind::Adjustment
                | CorrectionKind::Reversal
                | CorrectionKind::Refund
                | CorrectionKind::Price
                | CorrectionKind::Policy => ("adjustment", AccountKind::WriteOffs),
            };
            Journal::between(organization, kind, from, "", amount).map_err(failure)?
        }
        Change::Reverse(number) => ledger::opposite(&mut call.tx, organization, number).await.map_err(failure)?,
    };
    let journal = journal.by(correction.proposed_by.as_str(), correction.reason.as_str()).once(id.to_string());
    let posted = ledger::post(&mut call.tx, journal).await.map_err(failure)?;
    close(call, &correction, Outcome { number: Some(posted.number), ..Outcome::default() }, Event::Posted).await
}

/// Writes down who decided and what came of it, and moves the correction.
async fn close(
    call: &mut Call,
    correction: &Correction,
    outcome: Outcome<'_>,
    event: Event,
) -> Result<Correction, Failure> {
    let by = call.caller.actor().as_str().to_owned();
    store::decide(&mut call.tx, correction.id, &by, outcome).await?;
    let reason = outcome.decision.unwrap_or_default();
    transition::<CorrectionLifecycle>(&mut call.tx, store::versioned(correction)?, event, reason).await?;
    found(call, correction.id).await
}

fn amount(currency: &CurrencyCode, micros: i64, least: i64) -> Result<Money, Failure> {
    let currency: Currency = currency
        .as_str()
        .parse()
        .map_err(|error| Failure::from(ProblemBuilder::new(Code::InvalidValue, format!("{error}")).at("currency")))?;
    if micros == 0 || !(least..=MOST_MICROS).contains(&micros) {
        let detail = format!("an amount must be between {least} and {MOST_MICROS} millionths and not zero");
        return Err(ProblemBuilder::new(Code::InvalidValue, detail).at("amount_micros").into());
    }
    Ok(Money::from_micros(micros, currency))
}

fn failure(error: LedgerError) -> Failure {
    match error {
        LedgerError::Database(error) => error.into(),
        LedgerError::NoBooks => Failure::not_found("organization"),
        error @ (LedgerError::Reversed(_)
        | LedgerError::Final
        | LedgerError::Nothing
        | LedgerError::ReferenceReused(_)) => Failure::new(Code::Conflict, error),
        error @ (LedgerError::Unbalanced(_) | LedgerError::Empty | LedgerError::Money(_)) => {
            Failure::new(Code::InvalidValue, error)
        }
    }
}
