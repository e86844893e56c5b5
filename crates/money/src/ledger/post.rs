//! Posting a journal: checked here so that a caller learns what is wrong, and
//! by the database so that nobody gets around it.

use std::collections::{BTreeMap, BTreeSet};

use contract::{
    id::{JournalId, OrganizationId},
    ledger::JournalPosted,
};
use kernel::{
    Tx, audit,
    money::{Currency, MoneyError},
    work,
};
use serde_json::json;

use super::{Account, AccountKind, Journal, Line, store};
use crate::{invoices, wallets};
use platform::events::emit;

/// The action of audit entries that keep a journal's hash.
pub const ATTEST: &str = "books.attest";

#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("the lines of a journal do not sum to zero in {0}")]
    Unbalanced(Currency),
    #[error("a journal needs at least two lines, each with a non-zero amount")]
    Empty,
    #[error("the organization to post for does not exist")]
    NoBooks,
    #[error("its reference belongs to journal {0}, which has another kind or other amounts")]
    ReferenceReused(i64),
    #[error("journal {0} already reversed it")]
    Reversed(i64),
    #[error("it belongs to an invoice or already reverses usage; reverse the usage itself, or post an adjustment")]
    Final,
    #[error("it has no amounts to reverse")]
    Nothing,
    #[error(transparent)]
    Money(#[from] MoneyError),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

/// A journal's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posted {
    pub id: JournalId,
    pub number: i64,
    /// Its reference was posted earlier; nothing was added.
    pub is_repeated: bool,
}

/// Posts a journal in the caller's transaction. Until the commit nothing else
/// is posted or marked for the organization: do it late.
pub async fn post(tx: &mut Tx, journal: Journal) -> Result<Posted, LedgerError> {
    check(&journal.lines)?;
    if !store::lock(tx, journal.organization).await? {
        return Err(LedgerError::NoBooks);
    }
    if let Some(reference) = &journal.reference
        && let Some((id, number, kind)) = store::by_reference(tx, journal.organization, reference).await?
    {
        let posted = store::lines(tx, journal.organization, number).await?;
        let posted = sums(posted.iter().map(|it| ((it.kind.as_str(), it.subject.as_str(), it.currency), it.amount)));
        let wanted = sums(journal.lines.iter().map(|it| {
            let Account { kind, subject, currency } = &it.account;
            ((kind.as_str(), subject.as_str(), *currency), it.amount)
        }));
        if kind != journal.kind || wanted != posted {
            return Err(LedgerError::ReferenceReused(number));
        }
        return Ok(Posted { id, number, is_repeated: true });
    }
    store::open_accounts(tx, journal.organization, &journal.lines).await?;
    let id = JournalId::generate();
    let (number, hash) = store::insert(tx, id, &journal).await?;
    store::checkpoint(tx, journal.organization, number).await?;
    attest(tx, journal.organization, number, &hash);
    let event = JournalPosted { id, number, kind: journal.kind.to_owned(), reverses: journal.reverses };
    emit(tx, Some(journal.organization), id, &event);
    for currency in moved(&journal.lines) {
        wallets::changed(tx, journal.organization, currency).await?;
    }
    if journal.reverses.is_some() {
        // Usage that was invoiced and is taken back asks for a credit note.
        work::wake(tx, invoices::KIND, journal.organization.uuid());
    }
    Ok(Posted { id, number, is_repeated: false })
}

/// What takes a journal back, unless that was done. Not posted yet.
pub async fn opposite(tx: &mut Tx, organization: OrganizationId, number: i64) -> Result<Journal, LedgerError> {
    if let Some(by) = store::reversed_by(tx, organization, number).await? {
        return Err(LedgerError::Reversed(by));
    }
    if store::is_final(tx, organization, number).await? {
        return Err(LedgerError::Final);
    }
    let lines = store::lines(tx, organization, number).await?;
    if lines.is_empty() {
        return Err(LedgerError::Nothing);
    }
    let back = |it: store::LineRow| {
        let amount = it.amount.checked_neg().ok_or(MoneyError::Overflow)?;
        let account = Account { kind: it.kind, subject: it.subject, currency: it.currency };
        Ok(Line { account, amount })
    };
    Ok(Journal {
        organization,
        kind: "reversal",
        actor: String::new(),
        reason: String::new(),
        reference: None,
        reverses: Some(number),
        lines: lines.into_iter().map(back).collect::<Result<_, LedgerError>>()?,
    })
}

/// Writes a journal's hash into the audit log, whose seals are signed: whoever
/// rewrites journals would have to rewrite those too.
pub fn attest(tx: &mut Tx, organization: OrganizationId, number: i64, hash: &str) {
    let entry = audit::NewEntry {
        action: ATTEST.to_owned(),
        organization: Some(organization.uuid()),
        resource: Some(organization.to_string()),
        outcome: "done",
        detail: json!({ "number": number, "hash": hash }),
    };
    audit::record(tx, entry);
}

/// What lines come to for each account.
fn sums<'a>(
    lines: impl Iterator<Item = ((&'static str, &'a str, Currency), i64)>,
) -> BTreeMap<(&'static str, &'a str, Currency), i128> {
    let mut sums = BTreeMap::new();
    for (account, amount) in lines {
        *sums.entry(account).or_default() += i128::from(amount);
    }
    sums.retain(|_, sum| *sum != 0);
    sums
}

/// The currencies in which the organization has more or less than before.
fn moved(lines: &[Line]) -> BTreeSet<Currency> {
    lines.iter().filter(|it| it.account.kind == AccountKind::Wallet).map(|it| it.account.currency).collect()
}

fn check(lines: &[Line]) -> Result<(), LedgerError> {
    if lines.len() < 2 || lines.iter().any(|it| it.amount == 0) {
        return Err(LedgerError::Empty);
    }
    let mut sums: BTreeMap<Currency, i128> = BTreeMap::new();
    for line in lines {
        *sums.entry(line.account.currency).or_default() += i128::from(line.amount);
    }
    match sums.into_iter().find(|(_, sum)| *sum != 0) {
        Some((currency, _)) => Err(LedgerError::Unbalanced(currency)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: AccountKind, currency: Currency, amount: i64) -> Line {
        Line { account: Account::of(kind, currency), amount }
    }

    #[test]
    fn each_currency_balances_by_itself() {
        let (usd, eur) = (Currency::USD, Currency::EUR);
        let even = [line(AccountKind::Wallet, usd, 5), line(AccountKind::Promotional, usd, -5)];
        assert!(check(&even).is_ok());
        let mixed = [line(AccountKind::Wallet, usd, 5), line(AccountKind::Promotional, eur, -5)];
        assert!(matches!(check(&mixed), Err(LedgerError::Unbalanced(_))));
        let wraps = [line(AccountKind::Wallet, usd, i64::MAX), line(AccountKind::Tax, usd, i64::MAX), even[1].clone()];
        assert!(matches!(check(&wraps), Err(LedgerError::Unbalanced(_))), "sums do not wrap");
        assert!(matches!(check(&even[..1]), Err(LedgerError::Empty)));
        assert!(matches!(check(&[line(AccountKind::Wallet, usd, 0), even[0].clone()]), Err(LedgerError::Empty)));
    }
}
