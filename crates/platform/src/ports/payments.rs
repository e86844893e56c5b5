//! A provider that takes people's money for us: a page to pay at, the money
//! itself, giving it back, and what payers' banks dispute. Whoever asks for
//! something names it, so that asking twice does it once; what became of it is
//! read, never remembered.

use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use kernel::money::Money;
use uuid::Uuid;

pub trait PaymentProvider: Send + Sync {
    /// The provider's name, as in `stripe`.
    fn name(&self) -> &'static str;
    /// Whether the provider can take just this amount.
    fn accepts(&self, amount: Money) -> Result<(), AmountError>;
    /// Opens a page to pay at. The same order again answers with the same page.
    fn open<'a>(&'a self, order: &'a CheckoutOrder) -> BoxFuture<'a, Result<Checkout, PaymentError>>;
    fn checkout<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Checkout>, PaymentError>>;
    fn intent<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Intent>, PaymentError>>;
    /// Gives money back. The same order again answers with the same refund.
    fn refund<'a>(&'a self, order: &'a RefundOrder) -> BoxFuture<'a, Result<ProviderRefund, PaymentError>>;
    /// What was given back of one intent.
    fn refunds<'a>(&'a self, intent: &'a str) -> BoxFuture<'a, Result<Vec<ProviderRefund>, PaymentError>>;
    /// What is disputed of one intent.
    fn disputes<'a>(&'a self, intent: &'a str) -> BoxFuture<'a, Result<Vec<ProviderDispute>, PaymentError>>;
    /// Everything of ours since a moment, for comparing.
    fn since<'a>(&'a self, moment: Timestamp) -> BoxFuture<'a, Result<Statement, PaymentError>>;
    /// What a message says that was signed by the provider within `tolerance` of now.
    fn event(
        &self,
        signature: &str,
        body: &[u8],
        now: Timestamp,
        tolerance: Duration,
    ) -> Result<ProviderEvent, EventError>;
}

/// A page to pay at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutOrder {
    /// Our name for the payment, which makes a repetition find the first.
    pub payment: String,
    pub amount: Money,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundOrder {
    /// Our name for the refund, which makes a repetition find the first.
    pub refund: String,
    pub intent: String,
    pub amount: Money,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    pub id: String,
    pub status: CheckoutStatus,
    /// Where to pay, while it is open.
    pub url: Option<String>,
    /// The money, once somebody began to pay.
    pub intent: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckoutStatus {
    Open,
    /// The payer is done; the money may still be on its way.
    Complete,
    Expired,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    pub id: String,
    pub status: IntentStatus,
    /// What arrived; zero until it succeeded.
    pub received: Money,
    /// Our name for the payment, if the provider has it.
    pub payment: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntentStatus {
    /// The payer must do something, for the first time or again.
    NeedsPayer,
    Processing,
    Succeeded,
    Canceled,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRefund {
    pub id: String,
    pub intent: Option<String>,
    pub amount: Money,
    pub status: RefundStatus,
    /// Our name for the refund; absent when somebody made it elsewhere.
    pub refund: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefundStatus {
    Pending,
    Succeeded,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderDispute {
    pub id: String,
    pub intent: Option<String>,
    pub amount: Money,
    pub standing: DisputeStanding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisputeStanding {
    /// The bank asks; no money moved.
    Warned,
    Open,
    Won,
    Lost,
}

/// What the provider has of ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statement {
    pub intents: Vec<Intent>,
    pub refunds: Vec<ProviderRefund>,
    pub disputes: Vec<ProviderDispute>,
    /// More than is read at once: what is not here may be there all the same.
    pub is_cut: bool,
}

/// That something happened there. It says what to look at, and nothing more is
/// believed of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderEvent {
    pub id: String,
    pub kind: String,
    pub object: Option<String>,
    pub intent: Option<String>,
    /// Our payment, if the provider says so.
    pub payment: Option<Uuid>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    #[error("the provider does not support this currency")]
    Currency,
    #[error("the amount is not a whole number of the currency's smallest units")]
    Fraction,
    #[error("the amount exceeds the limit of the payment provider")]
    TooLarge,
}

/// Why a message is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    #[error("there is no secret to verify it with: set `stripe.webhook_secrets`")]
    NoSecret,
    #[error("the signature header is missing or malformed")]
    Header,
    #[error("no signature in it matches")]
    Signature,
    #[error("its timestamp is too old, or in the future: check the clocks")]
    Time,
    #[error("the body is not an event")]
    Body,
}

/// Why a provider did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    #[error("the provider cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    #[error("the provider did not respond in time")]
    TimedOut,
    #[error("the provider rejects the secret key: check `stripe.secret_key`")]
    WrongKey,
    #[error("the provider is busy")]
    Busy { after: Option<Duration> },
    #[error("the provider rejected the request: {detail}")]
    Refused { detail: String },
    #[error("the provider has another request with the same idempotency key")]
    NameReused,
    #[error("the response of the provider exceeds {most} bytes")]
    TooLarge { most: usize },
    #[error("the response of the provider is malformed: {0}")]
    Malformed(&'static str),
    #[error("the amount cannot be sent to the payment provider")]
    Amount(#[from] AmountError),
    #[error("the provider returned status {status}")]
    Unexpected { status: u16 },
}

impl PaymentError {
    /// Whether asking again changes nothing.
    pub fn is_final(&self) -> bool {
        matches!(self, PaymentError::Refused { .. } | PaymentError::Amount(_))
    }
}
