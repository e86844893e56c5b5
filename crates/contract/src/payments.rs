//! Payments: money that an organization pays into its wallet through a
//! provider, and what became of it there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Open, Page, Timestamp, endpoint, event,
    id::{OrganizationId, PaymentDriftId, PaymentEventId, PaymentId},
    list_query, moved_event,
    organizations::OrganizationPath,
    prices::CurrencyCode,
    words,
};

endpoint! {
    /// Start a payment into the organization's wallet.
    ///
    /// Once the payment is `pending`, `checkout_url` is the provider's payment page. The money is in the
    /// wallet once it is `succeeded`.
    CreatePayment = POST "/v1/organizations/{organization_id}/payments" {
        path: OrganizationPath,
        body: PaymentSpec,
        returns: 201 Payment,
        auth: Organization(PaymentsWrite),
        lane: Financial,
        idempotency: KeyRequired,
        audit: Action("payment.create"),
        problems: [InvalidValue, LimitReached, PaymentsOff, Suspended],
    }
}

endpoint! {
    /// List the organization's payments, newest first.
    ListPayments = GET "/v1/organizations/{organization_id}/payments" {
        path: OrganizationPath,
        query: PaymentFilter,
        returns: 200 Page<Payment>,
        auth: Organization(PaymentsRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Read one payment.
    GetPayment = GET "/v1/organizations/{organization_id}/payments/{payment_id}" {
        path: PaymentPath,
        returns: 200 Payment,
        auth: Organization(PaymentsRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// List all payments, newest first.
    ListAllPayments = GET "/v1/platform/payments" {
        query: AnyPaymentFilter,
        returns: 200 Page<Payment>,
        auth: Platform(PlatformLedgerRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.payments.list"),
        problems: [],
    }
}

endpoint! {
    /// List the provider's events, newest first.
    ListPaymentEvents = GET "/v1/platform/payment-events" {
        query: PaymentEventFilter,
        returns: 200 Page<PaymentEvent>,
        auth: Platform(PlatformLedgerRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.payment_events.list"),
        problems: [],
    }
}

endpoint! {
    /// List differences between the provider and the ledger, newest first.
    ListPaymentDrift = GET "/v1/platform/payment-drift" {
        query: PaymentDriftFilter,
        returns: 200 Page<PaymentDrift>,
        auth: Platform(PlatformLedgerRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.payment_drift.list"),
        problems: [],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PaymentPath {
    pub organization_id: OrganizationId,
    pub payment_id: PaymentId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PaymentSpec {
    pub currency: CurrencyCode,
    /// Millionths of the currency; a whole number of its smallest units.
    #[schemars(range(min = 1, max = 1_000_000_000_000_000_i64))]
    pub amount_micros: i64,
}

list_query! {
    PaymentFilter {
        /// Only payments in this state.
        state: PaymentState,
    }
}

list_query! {
    AnyPaymentFilter {
        /// Only payments in this state.
        state: PaymentState,
        /// Only payments of this organization.
        organization_id: OrganizationId,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Payment {
    pub id: PaymentId,
    pub organization_id: OrganizationId,
    pub currency: CurrencyCode,
    /// The requested amount, in millionths.
    pub amount_micros: i64,
    /// The confirmed amount, in millionths.
    pub received_micros: i64,
    /// The refunded amount, in millionths.
    pub refunded_micros: i64,
    /// The amount of pending refunds, in millionths.
    pub refunding_micros: i64,
    /// The amount reversed by the payer's bank, in millionths.
    pub disputed_micros: i64,
    pub provider: String,
    /// The provider's id of the payment, as in `pi_…`; absent until it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    pub state: Open<PaymentState>,
    /// Where to pay; only while it is `pending`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout_url: Option<String>,
    /// The last error, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    pub version: i64,
    pub created_by: String,
    pub created_at: Timestamp,
}

words! {
    PaymentState {
        /// Stored, and about to be sent to the provider.
        Created = "created",
        /// The provider is waiting for the payer, or for the payer's bank.
        Pending = "pending",
        /// Confirmed by the provider; the money is in the wallet.
        Succeeded = "succeeded",
        /// The provider declined it; nothing was paid.
        Failed = "failed",
        /// Nobody paid in time; nothing was paid.
        Canceled = "canceled",
        /// Disputed: the payer's bank reversed it until a decision.
        Disputed = "disputed",
        /// A dispute was lost; the money is gone.
        ChargedBack = "charged_back",
    }
}

list_query! {
    PaymentEventFilter {
        /// Only events with this outcome.
        outcome: PaymentEventOutcome,
    }
}

/// An event from the provider. Its content is not stored; the current state is read from the provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PaymentEvent {
    pub id: PaymentEventId,
    pub provider: String,
    /// The provider's id of the event, as in `evt_…`.
    pub event_id: String,
    /// What happened, in the provider's words.
    pub kind: String,
    /// What it happened to, in the provider's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment_id: Option<PaymentId>,
    pub outcome: Open<PaymentEventOutcome>,
    /// How often it arrived.
    pub deliveries: i32,
    pub received_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processed_at: Option<Timestamp>,
}

words! {
    PaymentEventOutcome {
        /// Stored, and not processed yet.
        Received = "received",
        /// It concerns a known payment, which was updated.
        Matched = "matched",
        /// It concerns something unknown; nothing was done.
        Unknown = "unknown",
    }
}

list_query! {
    PaymentDriftFilter {
        /// Include resolved differences.
        resolved: bool,
    }
}

/// A difference between the provider and the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PaymentDrift {
    pub id: PaymentDriftId,
    pub provider: String,
    /// The provider's id of the object, as in `pi_…`, `re_…` or `dp_…`.
    pub object_id: String,
    pub kind: Open<PaymentDriftKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment_id: Option<PaymentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<CurrencyCode>,
    /// The provider's amount, in millionths.
    pub provider_micros: i64,
    /// The ledger's amount, in millionths.
    pub ledger_micros: i64,
    pub found_at: Timestamp,
    /// When it was seen last.
    pub seen_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<Timestamp>,
}

words! {
    PaymentDriftKind {
        /// The provider has it and the ledger does not; it is being checked again.
        NotPosted = "not_posted",
        /// Both have it, with different amounts.
        AmountDiffers = "amount_differs",
        /// The provider attributes it to this installation, but it does not exist here.
        UnknownHere = "unknown_here",
        /// The ledger has it and the provider does not.
        MissingThere = "missing_there",
    }
}

event! {
    /// Somebody started a payment.
    PaymentCreated = "payment.created", staff: PlatformLedgerRead {
        id: PaymentId,
        currency: CurrencyCode,
        amount_micros: i64,
    }
}
moved_event! {
    /// The provider is waiting for the payer.
    PaymentOpened = "payment.opened", staff: PlatformLedgerRead
}
moved_event! {
    /// The provider confirmed a payment; the money is in the wallet.
    PaymentSucceeded = "payment.succeeded", staff: PlatformLedgerRead
}
moved_event! {
    /// The provider declined a payment.
    PaymentFailed = "payment.failed", staff: PlatformLedgerRead
}
moved_event! {
    /// A payment was not completed in time.
    PaymentCanceled = "payment.canceled", staff: PlatformLedgerRead
}
moved_event! {
    /// A payment is disputed: the payer's bank reversed it until a decision.
    PaymentDisputeOpened = "payment.dispute_opened", staff: PlatformLedgerRead
}
moved_event! {
    /// A dispute was won; the money was returned.
    PaymentDisputeWon = "payment.dispute_won", staff: PlatformLedgerRead
}
moved_event! {
    /// A dispute was lost; the money is gone.
    PaymentDisputeLost = "payment.dispute_lost", staff: PlatformLedgerRead
}
