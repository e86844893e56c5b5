//! Stripe as a payment provider: Checkout Sessions, Payment Intents, Refunds
//! and Disputes. One request per call; what comes next is decided elsewhere.

mod amounts;
mod calls;
mod signature;
mod wire;

use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use kernel::{money::Money, secrets::Secret};
use reqwest::{Client, redirect};
use serde::de::DeserializeOwned;
use url::Url;

use calls::{Calls, Form};
use platform::ports::payments::{
    AmountError, Checkout, CheckoutOrder, EventError, Intent, PaymentError, PaymentProvider, ProviderDispute,
    ProviderEvent, ProviderRefund, RefundOrder, Statement,
};

pub struct Stripe {
    calls: Calls,
    webhook_secrets: Vec<Secret>,
    return_url: String,
}

/// How Stripe is reached, and how it is recognized.
pub struct StripeAccess {
    /// Ends with a slash.
    pub url: Url,
    pub secret_key: Secret,
    pub webhook_secrets: Vec<Secret>,
    /// Where payers are sent back to.
    pub return_url: String,
}

// bound: what Stripe gives at once
const PAGE: usize = 100;
// bound: a comparison reads so many pages of each kind, and says when there are more
const MAX_PAGES: usize = 20;

impl Stripe {
    pub fn new(access: StripeAccess) -> Self {
        // A redirect could lead the key to another host.
        let builder = Client::builder().redirect(redirect::Policy::none()).timeout(calls::PATIENCE);
        let http = builder.connect_timeout(calls::CONNECT_PATIENCE).build().expect("the TLS library starts");
        let calls = Calls { http, base: access.url, key: access.secret_key };
        Self { calls, webhook_secrets: access.webhook_secrets, return_url: access.return_url }
    }

    /// Every object of a list, as far as the bound goes; says whether there are more.
    async fn all<T: DeserializeOwned>(
        &self,
        path: &str,
        query: Form<'_>,
        id: impl Fn(&T) -> &str,
    ) -> Result<(Vec<T>, bool), PaymentError> {
        let mut found: Vec<T> = Vec::new();
        for _ in 0..MAX_PAGES {
            let mut query = query.clone();
            query.push(("limit", PAGE.to_string().into()));
            if let Some(last) = found.last() {
                query.push(("starting_after", id(last).to_owned().into()));
            }
            let page = self.calls.read::<wire::Page<T>>(path, &query).await?;
            let Some(wire::Page { data, has_more }) = page else { return Ok((found, false)) };
            let is_last = !has_more || data.is_empty();
            found.extend(data);
            if is_last {
                return Ok((found, false));
            }
        }
        Ok((found, true))
    }

    async fn statement(&self, moment: Timestamp) -> Result<Statement, PaymentError> {
        let since = || -> Form<'static> { vec![("created[gte]", moment.as_second().to_string().into())] };
        let (intents, more_intents) =
            self.all("v1/payment_intents", since(), |it: &wire::PaymentIntent| it.id.as_str()).await?;
        let (refunds, more_refunds) = self.all("v1/refunds", since(), |it: &wire::Refund| it.id.as_str()).await?;
        let (disputes, more_disputes) = self.all("v1/disputes", since(), |it: &wire::Dispute| it.id.as_str()).await?;
        Ok(Statement {
            intents: fitting(intents),
            refunds: fitting(refunds),
            disputes: fitting(disputes),
            is_cut: more_intents || more_refunds || more_disputes,
        })
    }
}

/// An account may be used for other things too: what is in a currency that we
/// could not have asked for is not ours.
fn fitting<W, T: TryFrom<W>>(all: Vec<W>) -> Vec<T> {
    all.into_iter().filter_map(|it| T::try_from(it).ok()).collect()
}

impl PaymentProvider for Stripe {
    fn name(&self) -> &'static str {
        "stripe"
    }

    fn accepts(&self, amount: Money) -> Result<(), AmountError> {
        amounts::to_units(amount).map(|_| ())
    }

    fn open<'a>(&'a self, order: &'a CheckoutOrder) -> BoxFuture<'a, Result<Checkout, PaymentError>> {
        Box::pin(async move {
            // The same for the same order, whenever it is sent: Stripe compares.
            let form = vec![
                ("mode", "payment".into()),
                ("client_reference_id", (&order.payment).into()),
                ("metadata[gpuaas_payment]", (&order.payment).into()),
                ("payment_intent_data[metadata][gpuaas_payment]", (&order.payment).into()),
                ("line_items[0][quantity]", "1".into()),
                ("line_items[0][price_data][currency]", order.amount.currency().as_str().to_ascii_lowercase().into()),
                ("line_items[0][price_data][unit_amount]", amounts::to_units(order.amount)?.to_string().into()),
                ("line_items[0][price_data][product_data][name]", "Credit".into()),
                ("success_url", (&self.return_url).into()),
                ("cancel_url", (&self.return_url).into()),
            ];
            self.calls.post::<wire::Session>("v1/checkout/sessions", &order.payment, form).await.map(Checkout::from)
        })
    }

    fn checkout<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Checkout>, PaymentError>> {
        Box::pin(async move {
            let found = self.calls.read::<wire::Session>(&path("v1/checkout/sessions", id)?, &Form::new()).await?;
            Ok(found.map(Checkout::from))
        })
    }

    fn intent<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Intent>, PaymentError>> {
        Box::pin(async move {
            let found = self.calls.read::<wire::PaymentIntent>(&path("v1/payment_intents", id)?, &Form::new()).await?;
            found.map(Intent::try_from).transpose()
        })
    }

    fn refund<'a>(&'a self, order: &'a RefundOrder) -> BoxFuture<'a, Result<ProviderRefund, PaymentError>> {
        Box::pin(async move {
            let form = vec![
                ("payment_intent", (&order.intent).into()),
                ("amount", amounts::to_units(order.amount)?.to_string().into()),
                ("metadata[gpuaas_refund]", (&order.refund).into()),
            ];
            self.calls.post::<wire::Refund>("v1/refunds", &order.refund, form).await?.try_into()
        })
    }

    fn refunds<'a>(&'a self, intent: &'a str) -> BoxFuture<'a, Result<Vec<ProviderRefund>, PaymentError>> {
        Box::pin(async move {
            let query: Form<'_> = vec![("payment_intent", intent.into())];
            let (found, _) = self.all("v1/refunds", query, |it: &wire::Refund| it.id.as_str()).await?;
            found.into_iter().map(ProviderRefund::try_from).collect()
        })
    }

    fn disputes<'a>(&'a self, intent: &'a str) -> BoxFuture<'a, Result<Vec<ProviderDispute>, PaymentError>> {
        Box::pin(async move {
            let query: Form<'_> = vec![("payment_intent", intent.into())];
            let (found, _) = self.all("v1/disputes", query, |it: &wire::Dispute| it.id.as_str()).await?;
            found.into_iter().map(ProviderDispute::try_from).collect()
        })
    }

    fn since<'a>(&'a self, moment: Timestamp) -> BoxFuture<'a, Result<Statement, PaymentError>> {
        Box::pin(self.statement(moment))
    }

    fn event(
        &self,
        header: &str,
        body: &[u8],
        now: Timestamp,
        tolerance: Duration,
    ) -> Result<ProviderEvent, EventError> {
        signature::verify(&self.webhook_secrets, header, body, now, tolerance)?;
        wire::event(body)
    }
}

/// The address of one object; Stripe's ids are plain, so nothing else passes.
fn path(folder: &str, id: &str) -> Result<String, PaymentError> {
    let is_plain = !id.is_empty() && id.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    if is_plain { Ok(format!("{folder}/{id}")) } else { Err(PaymentError::Malformed("an id")) }
}
