//! Corrections by staff: promotional credit, adjustments, and journals that
//! take another one back.

use contract::{
    Code,
    id::OrganizationId,
    ledger::{AdjustBalance, GrantCredit, Journal, ReverseJournal},
    prices::CurrencyCode,
};
use kernel::money::{Currency, Money};

use super::{Account, AccountKind, Journal as NewJournal, LedgerError, Line, post, routes::existing, store};
use crate::{
    app::App,
    http::{Call, Failure, Handle, Request, Trouble},
};

// bound: what the contract's schema says; a thousand million of the currency
const MOST_MICROS: i64 = 1_000_000_000_000_000;

impl Handle<GrantCredit> for App {
    async fn handle(&self, call: &mut Call, request: Request<GrantCredit>) -> Result<Journal, Failure> {
        let (organization, spec) = (request.path.organization_id, request.body);
        let amount = amount(&spec.currency, spec.amount_micros, 1)?;
        let organization = existing(call, organization).await?;
        moved(call, organization, "credit", AccountKind::Promotional, amount, spec.reason.as_str()).await
    }
}

impl Handle<AdjustBalance> for App {
    async fn handle(&self, call: &mut Call, request: Request<AdjustBalance>) -> Result<Journal, Failure> {
        let (organization, spec) = (request.path.organization_id, request.body);
        let amount = amount(&spec.currency, spec.amount_micros, -MOST_MICROS)?;
        let organization = existing(call, organization).await?;
        moved(call, organization, "adjustment", AccountKind::WriteOffs, amount, spec.reason.as_str()).await
    }
}

impl Handle<ReverseJournal> for App {
    async fn handle(&self, call: &mut Call, request: Request<ReverseJournal>) -> Result<Journal, Failure> {
        let organization = existing(call, request.path.organization_id).await?;
        let number = store::number(&mut call.tx, organization, request.path.journal_id).await?;
        let number = number.ok_or_else(|| Failure::not_found("journal"))?;
        if store::is_final(&mut call.tx, organization, number).await? {
            let detail = "it belongs to an invoice or took usage back already; take back the usage itself, or adjust";
            return Err(Failure::new(Code::Conflict, detail));
        }
        let lines = store::lines(&mut call.tx, organization, number).await?;
        if lines.is_empty() {
            return Err(Failure::new(Code::Conflict, "it moved nothing, so that there is nothing to take back"));
        }
        let back = |it: store::LineRow| {
            let amount = it.amount.checked_neg().ok_or(LedgerError::Money(kernel::money::MoneyError::Overflow))?;
            let account = Account { kind: it.kind, subject: it.subject, currency: it.currency };
            Ok(Line { account, amount })
        };
        let journal = NewJournal {
            organization,
            kind: "reversal",
            actor: call.caller.actor().as_str().to_owned(),
            reason: request.body.reason.as_str().to_owned(),
            reference: None,
            reverses: Some(number),
            lines: lines.into_iter().map(back).collect::<Result<_, LedgerError>>().map_err(failure)?,
        };
        if let Some(by) = store::reversed_by(&mut call.tx, organization, number).await? {
            return Err(Failure::new(Code::Conflict, format!("journal {by} took it back already")));
        }
        written(call, journal).await
    }
}

fn amount(currency: &CurrencyCode, micros: i64, least: i64) -> Result<Money, Failure> {
    let currency: Currency = currency
        .as_str()
        .parse()
        .map_err(|error| Failure::from(Trouble::new(Code::InvalidValue, format!("{error}")).at("currency")))?;
    if micros == 0 || !(least..=MOST_MICROS).contains(&micros) {
        let detail = format!("an amount lies between {least} and {MOST_MICROS} millionths, and is not zero");
        return Err(Trouble::new(Code::InvalidValue, detail).at("amount_micros").into());
    }
    Ok(Money::from_micros(micros, currency))
}

async fn moved(
    call: &mut Call,
    organization: OrganizationId,
    kind: &'static str,
    from: AccountKind,
    amount: Money,
    reason: &str,
) -> Result<Journal, Failure> {
    let journal = NewJournal::between(organization, kind, from, "", amount).map_err(failure)?;
    let actor = call.caller.actor().as_str().to_owned();
    written(call, journal.by(actor, reason)).await
}

async fn written(call: &mut Call, journal: NewJournal) -> Result<Journal, Failure> {
    let organization = journal.organization;
    call.note("reason", journal.reason.as_str());
    let posted = post(&mut call.tx, journal).await.map_err(failure)?;
    call.about(posted.id);
    let written = store::get(&mut call.tx, organization, posted.number).await?;
    written.ok_or_else(|| Failure::not_found("journal"))
}

fn failure(error: LedgerError) -> Failure {
    match error {
        LedgerError::Database(error) => error.into(),
        LedgerError::NoBooks => Failure::not_found("organization"),
        other => Failure::new(Code::InvalidValue, other),
    }
}
