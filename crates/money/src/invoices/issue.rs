//! Issuing: one transaction closes the month's books, sums what they charged,
//! takes the next number, posts rounding and tax, and writes the invoice. A
//! crash leaves all of it or nothing, so that no number is lost or used twice.

use contract::{
    Label,
    billing_profiles::{BillingProfile, Party, Tax},
    id::{InvoiceId, OrganizationId},
    invoices::{Invoice, InvoiceIssued, InvoiceKind, InvoiceLine},
};
use kernel::{
    Tx, audit, clock,
    money::{Currency, Money, MoneyError},
};
use serde_json::json;

use super::{
    Period, month, pdf,
    store::{self, New},
};
use crate::{
    billing_profiles, books,
    ledger::{self, Account, AccountKind, Journal, LedgerError, Line},
};
use platform::{
    events::emit,
    policies::{self, settings},
};

#[derive(Debug, thiserror::Error)]
pub enum InvoiceError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Money(#[from] MoneyError),
    #[error("the ledger and the metered usage of {month} differ in {currency}: run `gpuaas ledger prove`")]
    Differs { month: String, currency: Currency },
    #[error("the invoice cannot be rendered: {0}")]
    Print(#[from] pdf::PrintError),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

/// What an invoice is about, before it has a number.
struct Draft {
    kind: InvoiceKind,
    /// The invoice that it corrects, and the journal that took usage back.
    corrects: Option<(InvoiceId, String, i64)>,
    period: Period,
    currency: Currency,
    /// The tag by whose values the lines are cut.
    tag_key: Option<Label>,
    lines: Vec<InvoiceLine>,
    tax: Option<Tax>,
}

/// Who sells to whom.
struct Parties {
    seller: Party,
    buyer: Party,
}

/// Issues the invoices of the next month that is over, or else the credit notes
/// for what was taken back since. Says whether there may be more to do.
/// Nothing is issued before the platform says who sells.
pub async fn issue_due(tx: &mut Tx, organization: OrganizationId) -> Result<bool, InvoiceError> {
    let Some(seller) = billing_profiles::seller(tx).await? else { return Ok(false) };
    let Some(progress) = store::progress(tx, organization).await? else { return Ok(false) };
    let buyer = billing_profiles::of(tx, organization).await?;
    let name = store::name(tx, organization).await?;
    let parties = Parties { seller: seller.party.clone(), buyer: party(buyer.as_ref(), name) };
    // From here on nothing is marked or posted for the organization.
    if books::close(tx, organization).await?.is_none() {
        return Ok(false);
    }
    for taken in store::taken_back(tx, organization, progress.journal).await? {
        let lines = store::reversed_lines(tx, &taken).await?;
        let draft = Draft {
            kind: InvoiceKind::CreditNote,
            corrects: Some((taken.invoice, taken.number, taken.reversal)),
            period: taken.period,
            currency: taken.currency,
            // Cut as the invoice was that it corrects.
            tag_key: taken.tag_key,
            lines,
            tax: taken.tax,
        };
        issue(tx, organization, &parties, draft).await?;
    }
    let is_over = progress.period.end <= clock::now(tx).await?;
    if is_over {
        let tax = buyer.and_then(|it| it.tax).or(seller.tax);
        issue_month(tx, organization, &parties, progress.period, tax).await?;
    }
    store::went(tx, organization, is_over).await?;
    Ok(is_over)
}

async fn issue_month(
    tx: &mut Tx,
    organization: OrganizationId,
    parties: &Parties,
    period: Period,
    tax: Option<Tax>,
) -> Result<(), InvoiceError> {
    let mut charged = store::charged(tx, organization, period).await?;
    let tag_key = policies::tag_in(tx, settings::BILLING_INVOICE_TAG, organization).await?;
    for (currency, lines) in store::lines(tx, organization, period, tag_key.as_ref()).await? {
        let sum: i128 = lines.iter().map(|it| i128::from(it.amount_micros)).sum();
        // Lines come from marks, this from what was posted: two ways to the same sum.
        if charged.remove(&currency).map(i128::from) != Some(sum) {
            return Err(InvoiceError::Differs { month: month(period.start), currency });
        }
        let (tag_key, tax) = (tag_key.clone(), tax.clone());
        let draft = Draft { kind: InvoiceKind::Invoice, corrects: None, period, currency, tag_key, lines, tax };
        issue(tx, organization, parties, draft).await?;
    }
    match charged.into_iter().find(|(_, sum)| *sum != 0) {
        Some((currency, _)) => Err(InvoiceError::Differs { month: month(period.start), currency }),
        None => Ok(()),
    }
}

/// What the lines come to: rounded to minor units once, then taxed.
struct Sums {
    subtotal: Money,
    /// What rounding took away: given back to the wallet, or taken from it.
    remainder: Money,
    net: Money,
    tax: Money,
    total: Money,
}

fn sums(draft: &Draft) -> Result<Sums, InvoiceError> {
    let sum: i128 = draft.lines.iter().map(|it| i128::from(it.amount_micros)).sum();
    let micros = i64::try_from(sum).map_err(|_| MoneyError::Overflow)?;
    let subtotal = Money::from_micros(micros, draft.currency);
    let rounded = subtotal.round_to_minor_units()?;
    let tax = tax_on(rounded.amount, draft.tax.as_ref())?;
    let total = rounded.amount.checked_add(tax)?;
    Ok(Sums { subtotal, remainder: rounded.remainder, net: rounded.amount, tax, total })
}

fn tax_on(net: Money, tax: Option<&Tax>) -> Result<Money, MoneyError> {
    let basis_points = tax.map_or(0, |it| i128::from(it.basis_points));
    // To the millionth first, toward zero: what is lost there is never half a minor unit.
    let micros = i128::from(net.micros()) * basis_points / 10_000;
    let exact = Money::from_micros(i64::try_from(micros).map_err(|_| MoneyError::Overflow)?, net.currency());
    Ok(exact.round_to_minor_units()?.amount)
}

async fn issue(tx: &mut Tx, organization: OrganizationId, parties: &Parties, draft: Draft) -> Result<(), InvoiceError> {
    let sums = sums(&draft)?;
    // The row is locked until the commit: whoever issues next waits here.
    let taken = store::take_number(tx).await?;
    let journal = post(tx, organization, draft.kind, &taken.number, &sums).await?;
    let due = match draft.kind {
        InvoiceKind::Invoice => {
            let balance = store::balance_at(tx, organization, draft.currency, draft.period.end).await?;
            balance.saturating_neg().clamp(0, sums.total.micros().max(0))
        }
        InvoiceKind::CreditNote => 0,
    };
    let (corrects, reversal) = match draft.corrects {
        Some((id, number, reversal)) => (Some((id, number)), Some(reversal)),
        None => (None, None),
    };
    let mut invoice = Invoice {
        id: InvoiceId::generate(),
        organization_id: organization,
        number: taken.number.clone(),
        kind: draft.kind.into(),
        corrects: corrects.as_ref().map(|it| it.1.clone()),
        month: platform::rows::text(&month(draft.period.start))?,
        period_start: draft.period.start,
        period_end: draft.period.end,
        issued_at: taken.issued_at,
        currency: platform::rows::text(draft.currency.as_str())?,
        seller: parties.seller.clone(),
        buyer: parties.buyer.clone(),
        tag_key: draft.tag_key,
        lines: draft.lines,
        subtotal_micros: sums.subtotal.micros(),
        rounding_micros: -sums.remainder.micros(),
        net_micros: sums.net.micros(),
        tax: draft.tax,
        tax_micros: sums.tax.micros(),
        total_micros: sums.total.micros(),
        paid_micros: sums.total.micros() - due,
        due_micros: due,
        journal,
        pdf_sha256: String::new(),
    };
    let pdf = pdf::render(&invoice)?;
    let new =
        New { invoice: &invoice, year: taken.year, serial: taken.serial, corrects: corrects.map(|it| it.0), reversal };
    invoice.pdf_sha256 = store::insert(tx, new, &pdf).await?;
    tell(tx, &invoice, draft.kind);
    Ok(())
}

/// Posts what the invoice says beside usage: the remainder of rounding, and tax.
async fn post(
    tx: &mut Tx,
    organization: OrganizationId,
    kind: InvoiceKind,
    number: &str,
    sums: &Sums,
) -> Result<Option<i64>, InvoiceError> {
    let currency = sums.total.currency();
    let line = |account: AccountKind, amount: i64| Line { account: Account::of(account, currency), amount };
    let (remainder, tax) = (sums.remainder.micros(), sums.tax.micros());
    let wallet = sums.remainder.checked_sub(sums.tax)?;
    let all = [
        line(AccountKind::Rounding, -remainder),
        line(AccountKind::Tax, tax),
        line(AccountKind::Wallet, wallet.micros()),
    ];
    let lines: Vec<Line> = all.into_iter().filter(|it| it.amount != 0).collect();
    if lines.is_empty() {
        return Ok(None);
    }
    let (kind, reason) = match kind {
        InvoiceKind::Invoice => ("invoice", format!("rounding and tax of invoice {number}")),
        InvoiceKind::CreditNote => ("credit_note", format!("rounding and tax of credit note {number}")),
    };
    let journal = Journal {
        organization,
        kind,
        actor: tx.actor.as_str().to_owned(),
        reason,
        reference: Some(format!("invoice:{number}")),
        reverses: None,
        lines,
    };
    Ok(Some(ledger::post(tx, journal).await?.number))
}

fn tell(tx: &mut Tx, invoice: &Invoice, kind: InvoiceKind) {
    let entry = audit::NewEntry {
        action: "invoice.issue".to_owned(),
        organization: Some(invoice.organization_id.uuid()),
        resource: Some(invoice.id.to_string()),
        outcome: "done",
        // The audit log is sealed, and so what was issued can be proven.
        detail: json!({ "number": invoice.number, "total_micros": invoice.total_micros, "sha256": invoice.pdf_sha256 }),
    };
    audit::record(tx, entry);
    let event = InvoiceIssued {
        id: invoice.id,
        number: invoice.number.clone(),
        kind: kind.into(),
        month: invoice.month.clone(),
        currency: invoice.currency.clone(),
        total_micros: invoice.total_micros,
        due_micros: invoice.due_micros,
    };
    emit(tx, Some(invoice.organization_id), invoice.id, &event);
}

/// Who buys; an organization that says nothing is called by its name.
fn party(profile: Option<&BillingProfile>, name: String) -> Party {
    let unnamed = Party { legal_name: name, address: Vec::new(), tax_id: None, email: None };
    profile.map_or(unnamed, |it| it.party.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tax(basis_points: u16) -> Tax {
        Tax { name: "VAT".into(), basis_points, note: None }
    }

    #[test]
    fn tax_is_rounded_once_to_minor_units() {
        let of = |cents, points| {
            let net = Money::from_minor_units(cents, Currency::USD).unwrap();
            tax_on(net, Some(&tax(points))).unwrap().minor_units().unwrap()
        };
        assert_eq!(of(100, 1900), 19);
        assert_eq!(of(101, 1900), 19, "19.19 cents");
        assert_eq!(of(50, 1900), 10, "9.5 cents to even");
        assert_eq!(of(-101, 1900), -19, "a credit note takes back what was taxed");
        assert_eq!(of(12_345, 0), 0);
        let net = Money::from_minor_units(100, Currency::USD).unwrap();
        assert_eq!(tax_on(net, None), Ok(Money::zero(Currency::USD)));
    }
}
