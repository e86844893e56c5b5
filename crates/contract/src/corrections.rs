//! Corrections: what staff change in an organization's books by hand, and who
//! agreed to it. Where two have to agree, refunds, prices and the switch of four
//! eyes itself wait as corrections too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Open, Page, Reason, Timestamp, endpoint, event,
    id::{CorrectionId, JournalId, OrganizationId},
    ledger::Journal,
    list_query, moved_event,
    organizations::{Because, OrganizationPath},
    prices::CurrencyCode,
    words,
};

endpoint! {
    /// Give an organization promotional credit.
    ///
    /// If the policy `billing.four_eyes` requires it, a second person must approve it first.
    GrantCredit = POST "/v1/platform/organizations/{organization_id}/credits" {
        path: OrganizationPath,
        body: CorrectionSpec,
        returns: 201 Correction,
        auth: Platform(PlatformLedgerWrite),
        lane: Financial,
        idempotency: KeyRequired,
        audit: Action("credit.grant"),
        problems: [NotFound, InvalidValue],
    }
}

endpoint! {
    /// Adjust an organization's balance, up or down.
    ///
    /// If the policy `billing.four_eyes` requires it, a second person must approve it first.
    AdjustBalance = POST "/v1/platform/organizations/{organization_id}/adjustments" {
        path: OrganizationPath,
        body: CorrectionSpec,
        returns: 201 Correction,
        auth: Platform(PlatformLedgerWrite),
        lane: Financial,
        idempotency: KeyRequired,
        audit: Action("balance.adjust"),
        problems: [NotFound, InvalidValue],
    }
}

endpoint! {
    /// Reverse a journal. A journal can be reversed once.
    ///
    /// If the policy `billing.four_eyes` requires it, a second person must approve it first.
    ReverseJournal = POST "/v1/platform/organizations/{organization_id}/journals/{journal_id}/reverse" {
        path: JournalPath,
        body: Because,
        returns: 201 Correction,
        auth: Platform(PlatformLedgerWrite),
        lane: Financial,
        idempotency: KeyRequired,
        audit: Action("journal.reverse"),
        problems: [NotFound, Conflict, InvalidValue],
    }
}

endpoint! {
    /// List corrections, newest first.
    ListCorrections = GET "/v1/platform/corrections" {
        query: CorrectionFilter,
        returns: 200 Page<Correction>,
        auth: Platform(PlatformLedgerRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.corrections.list"),
        problems: [],
    }
}

endpoint! {
    /// Read a correction and its result.
    GetCorrection = GET "/v1/platform/corrections/{correction_id}" {
        path: CorrectionPath,
        returns: 200 Correction,
        auth: Platform(PlatformLedgerRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.correction.read"),
        problems: [NotFound],
    }
}

endpoint! {
    /// Approve a correction that somebody else proposed: it is posted or applied.
    ///
    /// Requires a person who also has the permission for what the correction does. Everything is checked
    /// again.
    ApproveCorrection = POST "/v1/platform/corrections/{correction_id}/approve" {
        path: CorrectionPath,
        returns: 200 Correction,
        auth: Platform(PlatformLedgerWrite),
        lane: Financial,
        idempotency: KeyRequired,
        audit: Action("correction.approve"),
        problems: [NotFound, Conflict, InvalidValue, PaymentsOff],
    }
}

endpoint! {
    /// Reject a correction, or withdraw your own.
    RejectCorrection = POST "/v1/platform/corrections/{correction_id}/reject" {
        path: CorrectionPath,
        body: Because,
        returns: 200 Correction,
        auth: Platform(PlatformLedgerWrite),
        lane: Financial,
        idempotency: KeyRequired,
        audit: Action("correction.reject"),
        problems: [NotFound, Conflict],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CorrectionPath {
    pub correction_id: CorrectionId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct JournalPath {
    pub organization_id: OrganizationId,
    pub journal_id: JournalId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CorrectionSpec {
    pub currency: CurrencyCode,
    /// Millionths of the currency; positive is money for the organization.
    #[schemars(range(min = -1_000_000_000_000_000_i64, max = 1_000_000_000_000_000_i64))]
    pub amount_micros: i64,
    pub reason: Reason,
}

list_query! {
    CorrectionFilter {
        /// Only corrections in this state.
        state: CorrectionState,
        /// Only corrections of this organization's books.
        organization_id: OrganizationId,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Correction {
    pub id: CorrectionId,
    /// Absent where it concerns the platform: prices and policies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<OrganizationId>,
    pub kind: Open<CorrectionKind>,
    pub state: Open<CorrectionState>,
    /// Of credit and adjustments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<CurrencyCode>,
    /// Millionths of the currency; positive is money for the organization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount_micros: Option<i64>,
    /// The number of the journal that it reverses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverses: Option<i64>,
    /// What approving it does, as a sentence; for refunds, prices and policies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Empty where no reason is required: prices and policies.
    pub reason: String,
    pub proposed_by: String,
    /// Who approved or rejected it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// Why it was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// The posted journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<Journal>,
    /// The id of the refund or price that was made, or the key of the policy that was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    pub version: i64,
    pub created_at: Timestamp,
    /// When it expires without a decision; absent once decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

words! {
    CorrectionKind {
        Credit = "credit",
        Adjustment = "adjustment",
        Reversal = "reversal",
        /// A refund of a payment.
        Refund = "refund",
        /// A new price of a SKU.
        Price = "price",
        /// A policy of the platform is set or unset.
        Policy = "policy",
    }
}
words! { CorrectionState { Proposed = "proposed", Posted = "posted", Rejected = "rejected", Expired = "expired" } }

event! {
    /// A correction was proposed and needs the approval of a second person.
    CorrectionProposed = "correction.proposed", staff: PlatformLedgerRead {
        id: CorrectionId,
        kind: Open<CorrectionKind>,
    }
}
moved_event! {
    /// A correction was approved: posted to the ledger or applied.
    CorrectionPosted = "correction.posted", staff: PlatformLedgerRead
}
moved_event! {
    /// A correction was rejected.
    CorrectionRejected = "correction.rejected", staff: PlatformLedgerRead
}
moved_event! {
    /// A correction expired without a decision.
    CorrectionExpired = "correction.expired", staff: PlatformLedgerRead
}
