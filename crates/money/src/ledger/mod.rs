//! The ledger: who owes what to whom, in double entry. Journals are only ever
//! added, each sums to zero in every currency, and a correction is a journal
//! that reverses another. Usage is posted by `books`; all else by [`post`].

mod balance;
mod lost;
mod post;
pub mod prove;
mod routes;
mod store;

pub use balance::{Balance, balance};
pub use lost::{LOST_HOST, refund_beyond, refunded};
pub use post::{ATTEST, LedgerError, Posted, attest, opposite, post};
pub use routes::existing;
pub use store::{checkpoint, get as journal, lock, number};

use contract::id::OrganizationId;
use kernel::money::{Currency, Money};

use crate::MoneyArea;
use kernel::lifecycle::ParentEnd;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<MoneyArea>) {
    registry.table("accounts", ParentEnd::Stays("the record of money"));
    registry.table("checkpoints", ParentEnd::Stays("the record of money"));
    registry.table("entries", ParentEnd::Stays("the record of money"));
    registry.table("journals", ParentEnd::Stays("the record of money"));
    registry.retention(&["accounts", "checkpoints", "entries", "journals"], Retention::Forever("the record of money"));
}

/// What an entry is counted for, in one currency of one organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub kind: AccountKind,
    /// The SKU of revenue, the provider of clearing; else empty.
    pub subject: String,
    pub currency: Currency,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountKind {
    /// The organization's own money: positive is what it has.
    Wallet,
    Revenue,
    Promotional,
    Clearing,
    Refunds,
    WriteOffs,
    Tax,
    Rounding,
    Disputes,
}

/// One side of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub account: Account,
    /// Micro-units; a credit to a wallet is positive.
    pub amount: i64,
}

/// What is to be posted, all of it or nothing.
#[derive(Debug, Clone)]
pub struct Journal {
    pub organization: OrganizationId,
    /// What it is, as in `top_up`; never `usage`.
    pub kind: &'static str,
    pub actor: String,
    pub reason: String,
    /// What it is posted for: the same reference is posted once.
    pub reference: Option<String>,
    /// The journal that it takes back.
    pub reverses: Option<i64>,
    pub lines: Vec<Line>,
}

impl Account {
    pub fn wallet(currency: Currency) -> Self {
        Self::of(AccountKind::Wallet, currency)
    }

    pub fn of(kind: AccountKind, currency: Currency) -> Self {
        Self { kind, subject: String::new(), currency }
    }

    /// Clearing with a provider, revenue of a SKU.
    pub fn about(self, subject: impl Into<String>) -> Self {
        Self { subject: subject.into(), ..self }
    }
}

impl AccountKind {
    const ALL: [AccountKind; 9] = [
        AccountKind::Wallet,
        AccountKind::Revenue,
        AccountKind::Promotional,
        AccountKind::Clearing,
        AccountKind::Refunds,
        AccountKind::WriteOffs,
        AccountKind::Tax,
        AccountKind::Rounding,
        AccountKind::Disputes,
    ];

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == text)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            AccountKind::Wallet => "wallet",
            AccountKind::Revenue => "revenue",
            AccountKind::Promotional => "promotional",
            AccountKind::Clearing => "clearing",
            AccountKind::Refunds => "refunds",
            AccountKind::WriteOffs => "write_offs",
            AccountKind::Tax => "tax",
            AccountKind::Rounding => "rounding",
            AccountKind::Disputes => "disputes",
        }
    }
}

impl Journal {
    /// Moves money into the wallet from another account, or out of it when negative.
    pub fn between(
        organization: OrganizationId,
        kind: &'static str,
        other: AccountKind,
        subject: &str,
        amount: Money,
    ) -> Result<Self, LedgerError> {
        let back = amount.checked_neg()?;
        let account = Account::of(other, amount.currency()).about(subject);
        let lines = vec![
            Line { account, amount: back.micros() },
            Line { account: Account::wallet(amount.currency()), amount: amount.micros() },
        ];
        Ok(Self {
            organization,
            kind,
            actor: String::new(),
            reason: String::new(),
            reference: None,
            reverses: None,
            lines,
        })
    }

    pub fn by(self, actor: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { actor: actor.into(), reason: reason.into(), ..self }
    }

    /// Makes a repetition find the journal instead of posting it again.
    pub fn once(self, reference: impl Into<String>) -> Self {
        Self { reference: Some(reference.into()), ..self }
    }
}
