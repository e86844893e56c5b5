//! The ledger: what an organization has, owes and was charged, to the millionth.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Label, Open, Page, Timestamp, endpoint, event,
    id::{JournalId, OrganizationId},
    list_query,
    organizations::OrganizationPath,
    prices::CurrencyCode,
    wallets::WalletState,
};

endpoint! {
    /// Show the organization's balance in each of its currencies.
    GetBalance = GET "/v1/organizations/{organization_id}/balance" {
        path: OrganizationPath,
        returns: 200 Balances,
        auth: Organization(LedgerRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Show the balance of any organization in each of its currencies.
    GetAnyBalance = GET "/v1/platform/organizations/{organization_id}/balance" {
        path: OrganizationPath,
        returns: 200 Balances,
        auth: Platform(PlatformLedgerRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.balance.read"),
        problems: [NotFound],
    }
}

endpoint! {
    /// List the organization's journals and their effect on its wallets: its statement.
    ListJournals = GET "/v1/organizations/{organization_id}/journals" {
        path: OrganizationPath,
        query: JournalFilter,
        returns: 200 Page<Journal>,
        auth: Organization(LedgerRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// List the journals of any organization.
    ListAnyJournals = GET "/v1/platform/organizations/{organization_id}/journals" {
        path: OrganizationPath,
        query: JournalFilter,
        returns: 200 Page<Journal>,
        auth: Platform(PlatformLedgerRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.journals.list"),
        problems: [NotFound],
    }
}

endpoint! {
    /// Prove a part of the organization's ledger from its usage and the prices.
    ///
    /// Repeat with `next_after` until there is none, or a difference was found.
    ProveBooks = GET "/v1/organizations/{organization_id}/proof" {
        path: OrganizationPath,
        query: ProofRange,
        returns: 200 Proof,
        auth: Organization(LedgerRead),
        lane: Default,
        idempotency: Natural,
        audit: AuditedRead("books.prove"),
        problems: [InvalidValue],
    }
}

endpoint! {
    /// Prove a part of all ledgers, one organization after the other.
    ///
    /// Repeat with `next_after` until there is none, or a difference was found.
    ProveLedger = GET "/v1/platform/proof" {
        query: PlatformProofRange,
        returns: 200 Proof,
        auth: Platform(PlatformLedgerRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.ledger.prove"),
        problems: [InvalidValue],
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Balances {
    pub organization_id: OrganizationId,
    /// The time of the balance.
    pub at: Timestamp,
    pub items: Vec<Balance>,
}

/// An organization's balance in one currency, in millionths of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Balance {
    pub currency: CurrencyCode,
    /// The state of the wallet.
    pub state: Open<WalletState>,
    /// The sum of the wallet's entries.
    pub posted_micros: i64,
    /// Usage since the last posting.
    pub accrued_micros: i64,
    /// Held for requested and running allocations, beyond their accrued usage.
    pub held_micros: i64,
    /// Posted less accrued and held.
    pub available_micros: i64,
    /// The current cost per hour.
    pub burn_micros_per_hour: i64,
    /// When it runs out if nothing changes; absent when nothing runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasts_until: Option<Timestamp>,
    /// When allocations end without more money; absent if none is about to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ends_at: Option<Timestamp>,
}

list_query! {
    JournalFilter {
        /// Only journals of this kind, as in `usage` or `credit`.
        kind: Label,
        /// Only journals at or after this time.
        since: Timestamp,
        /// Only journals before this time.
        until: Timestamp,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Journal {
    pub id: JournalId,
    /// Counts up in the organization, without gaps.
    pub number: i64,
    /// Its kind, as in `usage` or `credit`.
    pub kind: String,
    pub at: Timestamp,
    /// The window of usage that it closes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_at: Option<Timestamp>,
    /// The end of that window, which is not part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_at: Option<Timestamp>,
    pub actor: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The number of the journal that it reverses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverses: Option<i64>,
    /// Its effect on each wallet.
    pub wallets: Vec<WalletChange>,
    /// Covers this journal and all before it, hexadecimal.
    pub hash: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WalletChange {
    pub currency: CurrencyCode,
    /// Positive is money for the organization.
    pub amount_micros: i64,
    /// The wallet's balance afterwards.
    pub balance_micros: i64,
}

text! {
    /// A month, such as `2026-11`; months are those of UTC.
    Month {
        schema: { "type": "string", "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])$" },
        rule: |text| text.len() == 7 && text.is_ascii() && text.as_bytes()[4] == b'-'
            && text[..4].bytes().all(|it| it.is_ascii_digit())
            && text[5..].parse::<u8>().is_ok_and(|it| (1..=12).contains(&it)),
        otherwise: "a month is written like `2026-11`",
    }
}

text! {
    /// The position of a proof. Opaque: only send back a value from an earlier response.
    ProofPlace {
        schema: { "type": "string", "pattern": "^[a-z0-9.-]{1,120}$" },
        rule: |text| (1..=120).contains(&text.len())
            && text.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'.' || it == b'-'),
        otherwise: "not a place in a proof; send `next_after` of an earlier part",
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProofRange {
    /// Only journals of this month.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub month: Option<Month>,
    /// Continues after this position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ProofPlace>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlatformProofRange {
    /// Only this organization's ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<OrganizationId>,
    /// Only journals of this month.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub month: Option<Month>,
    /// Continues after this position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ProofPlace>,
}

/// The result of a part of a proof.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// Organizations whose ledgers were checked completely.
    pub organizations: u64,
    pub journals: u64,
    pub entries: u64,
    pub intervals: u64,
    /// The first difference; the proof ends there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// Send it as `after` to continue; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<ProofPlace>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    pub organization_id: OrganizationId,
    /// The journal's number, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<i64>,
    /// What was metered, if known: the kind and the ID of the subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    pub what: String,
}

event! {
    /// A journal other than usage was posted to an organization's ledger.
    JournalPosted = "journal.posted", staff: PlatformLedgerRead {
        id: JournalId,
        /// Counts up in the organization, without gaps.
        number: i64,
        /// Its kind, as in `credit`.
        kind: String,
        /// The number of the journal that it reverses.
        reverses: Option<i64>,
    }
}
