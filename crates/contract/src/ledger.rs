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
    /// Show what the organization has, in each of its currencies.
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
    /// Show what any organization has, in each of its currencies.
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
    /// List the organization's journals with what each did to its wallets: its statement.
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
    /// Prove a part of the organization's books from its usage and the prices.
    ///
    /// Ask again with `next_after` until there is none, or a difference was found.
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
    /// Prove a part of everybody's books, one organization after the other.
    ///
    /// Ask again with `next_after` until there is none, or a difference was found.
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
    /// At which moment it was so.
    pub at: Timestamp,
    pub items: Vec<Balance>,
}

/// What an organization has in one currency, in millionths of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Balance {
    pub currency: CurrencyCode,
    /// Whether the money lasts.
    pub state: Open<WalletState>,
    /// What its wallet's entries sum to.
    pub posted_micros: i64,
    /// What usage has come to since the last posting.
    pub accrued_micros: i64,
    /// What is held for what was asked for, beside what it has come to already.
    pub held_micros: i64,
    /// Posted less accrued and held.
    pub available_micros: i64,
    /// What runs now costs so much in an hour.
    pub burn_micros_per_hour: i64,
    /// Until when it lasts if nothing changes; absent when nothing runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasts_until: Option<Timestamp>,
    /// When allocations end unless there is more money; absent when none is about to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ends_at: Option<Timestamp>,
}

list_query! {
    JournalFilter {
        /// Only journals of this kind, as in `usage` or `credit`.
        kind: Label,
        /// Only journals from this moment on.
        since: Timestamp,
        /// Only journals before this moment.
        until: Timestamp,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Journal {
    pub id: JournalId,
    /// Counts up in the organization, without gaps.
    pub number: i64,
    /// What it is, as in `usage` or `credit`.
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
    /// What it was posted for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The number of the journal that it takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverses: Option<i64>,
    /// What it did to each wallet.
    pub wallets: Vec<WalletChange>,
    /// Covers this journal and all before it, hexadecimal.
    pub hash: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WalletChange {
    pub currency: CurrencyCode,
    /// Positive is money for the organization.
    pub amount_micros: i64,
    /// What the wallet held afterwards.
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
    /// How far a proof got. Opaque: only send back what a part of it gave.
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
    /// Goes on after this place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ProofPlace>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlatformProofRange {
    /// Only this organization's books.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<OrganizationId>,
    /// Only journals of this month.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub month: Option<Month>,
    /// Goes on after this place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ProofPlace>,
}

/// What a part of a proof checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// Organizations whose books were gone through to the end.
    pub organizations: u64,
    pub journals: u64,
    pub entries: u64,
    pub intervals: u64,
    /// The first thing that is not as it should be; the proof ends there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// Send it as `after` to go on; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<ProofPlace>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    pub organization_id: OrganizationId,
    /// The journal's number, when one can be named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<i64>,
    /// The allocation, when one can be named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation_id: Option<crate::id::AllocationId>,
    pub what: String,
}

event! {
    /// Something other than usage was posted to an organization's books.
    JournalPosted = "journal.posted" {
        id: JournalId,
        /// Counts up in the organization, without gaps.
        number: i64,
        /// What it is, as in `credit`.
        kind: String,
        /// The number of the journal that it takes back.
        reverses: Option<i64>,
    }
}
