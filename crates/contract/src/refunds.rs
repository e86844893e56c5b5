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
    /// Refund a payment, in full or in part.
    ///
    /// The amount leaves the wallet when the provider confirms the refund.
    ///
    /// With the policy `billing.four_eyes`, this only creates a proposal and answers `approval_required`: a
    /// second person must approve the named correction.
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
    /// Millionths of the payment's currency. Default: the full remaining amount.
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
    /// The provider's id of it, as in `re_…`; absent until it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    pub state: Open<RefundState>,
    pub reason: String,
    /// The last error, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    pub version: i64,
    pub created_by: String,
    pub created_at: Timestamp,
}

words! {
    RefundState {
        /// Stored, and about to be sent to the provider.
        Requested = "requested",
        /// The provider is processing it.
        Pending = "pending",
        /// Confirmed by the provider; the money left the wallet.
        Succeeded = "succeeded",
        /// The provider could not refund it; the money stays in the wallet.
        Failed = "failed",
    }
}

event! {
    /// A refund was requested.
    RefundCreated = "refund.created", staff: PlatformLedgerRead {
        id: RefundId,
        payment_id: PaymentId,
        currency: CurrencyCode,
        amount_micros: i64,
    }
}
moved_event! {
    /// The provider is processing a refund.
    RefundAccepted = "refund.accepted", staff: PlatformLedgerRead
}
moved_event! {
    /// The provider confirmed a refund.
    RefundSucceeded = "refund.succeeded", staff: PlatformLedgerRead
}
moved_event! {
    /// A refund failed at the provider.
    RefundFailed = "refund.failed", staff: PlatformLedgerRead
}
