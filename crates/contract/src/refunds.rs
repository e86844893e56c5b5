//! Refunds: money of a payment that goes back to the payer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Open, Page, Reason, Timestamp, endpoint, event,
    id::{OrganizationId, PaymentId, RefundId},
    list_query, moved_event,
    prices::CurrencyCode,
    words,
};

endpoint! {
    /// Give a payment back, wholly or in part.
    ///
    /// The wallet loses the money when the provider confirms the refund.
    ///
    /// Where the policy `billing.four_eyes` is on, it is proposed and answered with `approval_required`: another person
    /// has to approve the correction that is named.
    CreateRefund = POST "/v1/platform/payments/{payment_id}/refunds" {
        path: AnyPaymentPath,
        body: RefundSpec,
        returns: 202 Refund,
        auth: Platform(PlatformLedgerWrite),
        lane: Financial,
        idempotency: KeyRequired,
        audit: Action("refund.create"),
        problems: [NotFound, Conflict, InvalidValue, PaymentsOff, ApprovalRequired],
    }
}

endpoint! {
    /// List the refunds of a payment, newest first.
    ListRefunds = GET "/v1/platform/payments/{payment_id}/refunds" {
        path: AnyPaymentPath,
        query: RefundFilter,
        returns: 200 Page<Refund>,
        auth: Platform(PlatformLedgerRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.refunds.list"),
        problems: [NotFound],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AnyPaymentPath {
    pub payment_id: PaymentId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefundSpec {
    /// Millionths of the payment's currency; all that is left when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_000_i64))]
    pub amount_micros: Option<i64>,
    pub reason: Reason,
}

list_query! {
    RefundFilter {
        /// Only refunds in this state.
        state: RefundState,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Refund {
    pub id: RefundId,
    pub payment_id: PaymentId,
    pub organization_id: OrganizationId,
    pub currency: CurrencyCode,
    pub amount_micros: i64,
    /// The provider's name for it, as in `re_…`; absent until it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    pub state: Open<RefundState>,
    pub reason: String,
    /// What stands in its way, if something does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    pub version: i64,
    pub created_by: String,
    pub created_at: Timestamp,
}

words! {
    RefundState {
        /// Written down here; the provider is about to be told.
        Requested = "requested",
        /// The provider works on it.
        Pending = "pending",
        /// Confirmed by the provider; the wallet no longer has it.
        Succeeded = "succeeded",
        /// The provider could not do it; the wallet keeps the money.
        Failed = "failed",
    }
}

event! {
    /// Somebody asked for a payment to be given back.
    RefundCreated = "refund.created" { id: RefundId, payment_id: PaymentId, currency: CurrencyCode, amount_micros: i64 }
}
moved_event! {
    /// The provider works on a refund.
    RefundAccepted = "refund.accepted"
}
moved_event! {
    /// The provider confirmed a refund.
    RefundSucceeded = "refund.succeeded"
}
moved_event! {
    /// The provider could not give the money back.
    RefundFailed = "refund.failed"
}
