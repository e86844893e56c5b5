//! `gpuaas payments`: money into the wallet, and back.

use std::time::Duration;

use clap::{Args, Subcommand};
use contract::{
    Nothing, Open, Reason,
    id::PaymentId,
    payments::{
        AnyPaymentFilter, CreatePayment, GetPayment, ListAllPayments, ListPaymentDrift, ListPaymentEvents,
        ListPayments, Payment, PaymentDrift, PaymentDriftFilter, PaymentEvent, PaymentEventFilter, PaymentEventOutcome,
        PaymentFilter, PaymentPath, PaymentSpec, PaymentState,
    },
    prices::CurrencyCode,
    refunds::{AnyPaymentPath, CreateRefund, ListRefunds, Refund, RefundFilter, RefundSpec},
};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::{
    arguments::{self, Once, Paging},
    context::Context,
    exact,
    failure::{Class, Done, Failure},
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas payments create --amount 50 --currency USD
  gpuaas payments create --amount 50 --currency USD --wait
  gpuaas payments list --state pending
  gpuaas payments get payment-01k9z8y7x6w5v4t3s2r1q0p9n8

For platform staff:
  gpuaas payments list --all --for-organization acme
  gpuaas payments refund payment-01k9z8y7x6w5v4t3s2r1q0p9n8 --amount 12.50 --reason \"service ended early\"
  gpuaas payments refunds payment-01k9z8y7x6w5v4t3s2r1q0p9n8
  gpuaas payments events --outcome unknown
  gpuaas payments drift

A wallet is credited when the provider confirms the payment, and debited when
the provider confirms a refund.";

/// Make payments and refunds through the payment provider
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Payments {
    /// Start a payment and print its checkout URL
    Create(Create),
    /// List payments, newest first
    List {
        /// Filter by state
        #[arg(long, value_parser = arguments::word::<PaymentState>())]
        state: Option<PaymentState>,
        /// Include every organization (platform staff)
        #[arg(long)]
        all: bool,
        /// Filter by organization, by ID or name (platform staff)
        #[arg(long, value_name = "ORGANIZATION", requires = "all")]
        for_organization: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a payment
    Get {
        /// ID of the payment
        #[arg(value_name = "ID")]
        payment: PaymentId,
    },
    /// Refund a payment, fully or partially (platform staff)
    Refund {
        /// ID of the payment
        #[arg(value_name = "ID")]
        payment: PaymentId,
        /// Amount, with at most six decimals [default: everything not yet refunded]
        #[arg(long, value_parser = arguments::micros)]
        amount: Option<i64>,
        /// Reason, stored in the journal
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Reason,
        #[command(flatten)]
        once: Once,
    },
    /// List the refunds of a payment, newest first (platform staff)
    Refunds {
        /// ID of the payment
        #[arg(value_name = "ID")]
        payment: PaymentId,
        #[command(flatten)]
        paging: Paging,
    },
    /// List events received from the provider, newest first (platform staff)
    Events {
        /// Filter by outcome
        #[arg(long, value_parser = arguments::word::<PaymentEventOutcome>())]
        outcome: Option<PaymentEventOutcome>,
        #[command(flatten)]
        paging: Paging,
    },
    /// List discrepancies between the provider and the ledger, newest first (platform staff)
    Drift {
        /// Include resolved discrepancies
        #[arg(long)]
        resolved: bool,
        #[command(flatten)]
        paging: Paging,
    },
}

#[derive(Debug, Args)]
pub struct Create {
    /// Amount, in whole minor units of the currency (such as cents)
    #[arg(long, value_parser = arguments::micros)]
    amount: i64,
    /// ISO 4217 currency code, such as USD
    #[arg(long, value_parser = arguments::text::<CurrencyCode>)]
    currency: CurrencyCode,
    /// Wait until the payment is completed, declined or expired
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    once: Once,
}

const COLUMNS: Columns =
    columns!(Payment: id, state, currency, amount_micros, received_micros, refunded_micros, created_at, last_error);
const ALL_COLUMNS: Columns = columns!(Payment: id, organization_id, state, currency, amount_micros, received_micros, refunded_micros, disputed_micros, provider_id, created_at, last_error);
const REFUNDS: Columns =
    columns!(Refund: id, state, currency, amount_micros, provider_id, reason, created_by, created_at, last_error);
const EVENTS: Columns =
    columns!(PaymentEvent: id, event_id, kind, object_id, outcome, payment_id, deliveries, received_at);
const DRIFT: Columns = columns!(PaymentDrift: object_id, kind, payment_id, currency, provider_micros, ledger_micros, found_at, resolved_at);

// bound: how often the server is asked
const EVERY: Duration = Duration::from_millis(300);
// bound: how long the provider may take to open its page, before the payment is shown as it is
const OPENS_WITHIN: Duration = Duration::from_secs(20);
// bound: a page to pay at is closed by the provider after a day
const LONGEST: Duration = Duration::from_secs(25 * 3600);

impl Payments {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Payments::Create(it) => it.run(context).await,
            Payments::List { state, all: false, paging, .. } => {
                let query = PaymentFilter { state, cursor: None, limit: paging.page() };
                context.list::<ListPayments>(context.organization().await?, query, paging, COLUMNS).await
            }
            Payments::List { state, for_organization, paging, .. } => {
                let organization_id = match for_organization {
                    None => None,
                    Some(name) => Some(context.any_organization_named(&name).await?.organization_id),
                };
                let query = AnyPaymentFilter { state, organization_id, cursor: None, limit: paging.page() };
                context.list::<ListAllPayments>(Nothing {}, query, paging, ALL_COLUMNS).await
            }
            Payments::Get { payment } => {
                let organization_id = context.organization().await?.organization_id;
                let path = PaymentPath { organization_id, payment_id: payment };
                context.output.item(&context.ask::<GetPayment>(path).await?)
            }
            Payments::Refund { payment, amount, reason, once } => {
                let (path, spec) =
                    (AnyPaymentPath { payment_id: payment }, RefundSpec { amount_micros: amount, reason });
                context.output.item(&context.create::<CreateRefund>(&once, path, spec).await?)
            }
            Payments::Refunds { payment, paging } => {
                let query = RefundFilter { limit: paging.page(), ..RefundFilter::default() };
                context.list::<ListRefunds>(AnyPaymentPath { payment_id: payment }, query, paging, REFUNDS).await
            }
            Payments::Events { outcome, paging } => {
                let query = PaymentEventFilter { outcome, cursor: None, limit: paging.page() };
                context.list::<ListPaymentEvents>(Nothing {}, query, paging, EVENTS).await
            }
            Payments::Drift { resolved, paging } => {
                let query = PaymentDriftFilter { resolved: Some(resolved), cursor: None, limit: paging.page() };
                context.list::<ListPaymentDrift>(Nothing {}, query, paging, DRIFT).await
            }
        }
    }
}

impl Create {
    async fn run(self, context: &Context) -> Done {
        let organization = context.organization().await?;
        let spec = PaymentSpec { currency: self.currency, amount_micros: self.amount };
        let answer = context.create::<CreatePayment>(&self.once, organization.clone(), spec).await?;
        let made: Payment = exact::read(&answer)?;
        let path = PaymentPath { organization_id: organization.organization_id, payment_id: made.id };
        let (_, opened) = until(context, &path, OPENS_WITHIN, |it| it != PaymentState::Created).await?;
        if !self.wait {
            return context.output.item_known_by(&opened, "/checkout_url");
        }
        if let Some(url) = opened["checkout_url"].as_str() {
            context.output.warn(format!("Pay at {url}"));
        }
        let is_over = |it| !matches!(it, PaymentState::Created | PaymentState::Pending);
        let (state, answer) = until(context, &path, LONGEST, is_over).await?;
        context.output.item(&answer)?;
        match state {
            Some(PaymentState::Succeeded) => Ok(()),
            _ => Err(Failure::new(
                Class::Conflict,
                "the payment did not succeed",
                format!("See `gpuaas payments get {}` for details.", path.payment_id),
            )),
        }
    }
}

/// Asks until the state is as wanted, or for so long.
async fn until(
    context: &Context,
    path: &PaymentPath,
    longest: Duration,
    is_there: impl Fn(PaymentState) -> bool,
) -> Result<(Option<PaymentState>, Value), Failure> {
    let started = Instant::now();
    loop {
        let answer = context.ask::<GetPayment>(path.clone()).await?;
        let payment: Payment = exact::read(&answer)?;
        let state = match payment.state {
            Open::Known(state) => Some(state),
            Open::Unknown(_) => None,
        };
        if state.is_none_or(&is_there) || started.elapsed() > longest {
            return Ok((state, answer));
        }
        sleep(EVERY).await;
    }
}
