//! A scripted Stripe: checkout sessions, payment intents, refunds, disputes,
//! idempotency keys, lists, errors and signed events, as its API documents
//! them. What payers and banks do, the test does.

mod api;
mod book;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use aws_lc_rs::hmac;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle};

use book::Book;

/// The secret key of the only account.
pub const KEY: &str = "sk_test_scripted"; // secret-scan: allow
/// What its events are signed with.
pub const WEBHOOK_SECRET: &str = "whsec_scripted"; // secret-scan: allow

/// Stripe's own library, which signs.
pub const TOOL: &[(&str, &str)] = &[
    ("requirements.txt", include_str!("../../tools/stripe/requirements.txt")),
    ("sign.py", include_str!("../../tools/stripe/sign.py")),
];

/// What a call is answered with instead, or how late.
#[derive(Debug, Clone)]
pub enum InjectedFault {
    /// Nothing happens, and this is the answer.
    Refuse { status: u16, kind: &'static str, message: &'static str, retry_after: Option<u64> },
    /// It happens, and the answer is lost.
    LoseAnswer,
    /// It happens, and the answer is kept back until [`Stripe::go_on`].
    Hold,
    /// It happens after so long.
    Slow(Duration),
}

pub struct Stripe {
    pub url: String,
    shared: Arc<Shared>,
    running: JoinHandle<()>,
}

pub(crate) struct Shared {
    state: Mutex<State>,
    go_on: Notify,
}

#[derive(Default)]
pub(crate) struct State {
    pub book: Book,
    /// How often each operation was called, as in `POST refunds`.
    pub calls: BTreeMap<String, usize>,
    pub injected: BTreeMap<String, Vec<InjectedFault>>,
    /// What was answered under a name: a hash of what was asked for, and the answer.
    pub answered: BTreeMap<String, (String, u16, Value)>,
    pub events: u64,
}

impl Stripe {
    pub async fn start() -> Stripe {
        let shared = Arc::new(Shared { state: Mutex::default(), go_on: Notify::new() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = api::router(shared.clone());
        let running = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Stripe { url, shared, running }
    }

    /// The settings of a server that uses it.
    pub fn configure(&self, config: &mut platform::config::Config) {
        config.stripe.url = Some(self.url.clone());
        config.stripe.secret_key = Some(KEY.into());
        config.stripe.webhook_secrets = vec![WEBHOOK_SECRET.into()];
    }

    /// The same for a process.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("GPUAAS_STRIPE_URL", self.url.clone()),
            ("GPUAAS_STRIPE_SECRET_KEY", KEY.into()),
            ("GPUAAS_STRIPE_WEBHOOK_SECRETS", WEBHOOK_SECRET.into()),
        ]
    }

    /// How often an operation was called, as in `POST refunds`.
    pub fn calls(&self, operation: &str) -> usize {
        self.shared.lock().calls.get(operation).copied().unwrap_or_default()
    }

    /// The next call of this operation meets this.
    pub fn inject(&self, operation: &str, fault: InjectedFault) {
        self.shared.lock().injected.entry(operation.to_owned()).or_default().push(fault);
    }

    /// Lets held answers go.
    pub fn go_on(&self) {
        self.shared.go_on.notify_waiters();
    }

    /// Every session that was ever opened, oldest first.
    pub fn sessions(&self) -> Vec<Value> {
        self.shared.lock().book.sessions.values().cloned().collect()
    }

    /// Every refund that was ever made, oldest first.
    pub fn refunds(&self) -> Vec<Value> {
        self.shared.lock().book.refunds.values().cloned().collect()
    }

    /// The payer pays the page of a payment; answers the intent's id.
    pub fn pay(&self, payment: &str) -> String {
        self.shared.lock().book.pay(payment, "succeeded")
    }

    /// The payer is done, and the bank takes its time.
    pub fn pay_slowly(&self, payment: &str) -> String {
        self.shared.lock().book.pay(payment, "processing")
    }

    pub fn set_intent(&self, intent: &str, status: &str) {
        self.shared.lock().book.set_intent(intent, status);
    }

    /// Nobody pays in time.
    pub fn expire(&self, payment: &str) {
        self.shared.lock().book.expire(payment);
    }

    /// Money that was paid for something else, by the same account.
    pub fn other_sale(&self, units: i64) -> String {
        self.shared.lock().book.intent("usd", units, "succeeded", json!({}))
    }

    /// Money that says that it is a payment of ours.
    pub fn stray(&self, payment: &str, units: i64) -> String {
        self.shared.lock().book.intent("usd", units, "succeeded", json!({ "gpuaas_payment": payment }))
    }

    /// Somebody gives money back at the dashboard.
    pub fn give_back(&self, intent: &str, units: i64) -> String {
        let made = self.shared.lock().book.refund(intent, units, json!({})).unwrap();
        made["id"].as_str().unwrap().to_owned()
    }

    /// What refunds become when they are made: `succeeded` unless told otherwise.
    pub fn refunds_become(&self, status: &'static str) {
        self.shared.lock().book.refunds_become = status;
    }

    pub fn set_refund(&self, refund: &str, status: &str) {
        self.shared.lock().book.refunds.get_mut(refund).unwrap()["status"] = status.into();
    }

    /// The payer's bank takes money back.
    pub fn dispute(&self, intent: &str, units: i64, status: &str) -> String {
        self.shared.lock().book.dispute(intent, units, status)
    }

    pub fn set_dispute(&self, dispute: &str, status: &str) {
        self.shared.lock().book.disputes.get_mut(dispute).unwrap()["status"] = status.into();
    }

    pub fn change_dispute(&self, dispute: &str, units: i64, status: &str) {
        let mut state = self.shared.lock();
        let dispute = state.book.disputes.get_mut(dispute).unwrap();
        dispute["amount"] = units.into();
        dispute["status"] = status.into();
    }

    /// A day passes: what was answered under a name is forgotten.
    pub fn forget_names(&self) {
        self.shared.lock().answered.clear();
    }

    pub fn forget_intent(&self, intent: &str) {
        self.shared.lock().book.intents.remove(intent);
    }

    /// An event about an object as it is now, as Stripe would send it.
    pub fn event(&self, kind: &str, object: &str) -> Event {
        let mut state = self.shared.lock();
        state.events += 1;
        let (number, whole) = (state.events, state.book.find(object));
        let body = json!({
            "id": format!("evt_{number:06}"), "object": "event", "api_version": "2025-03-31.basil", "type": kind,
            "created": jiff::Timestamp::now().as_second(), "livemode": false, "pending_webhooks": 1,
            "request": { "id": null, "idempotency_key": null }, "data": { "object": whole },
        });
        Event { body: body.to_string() }
    }
}

impl Drop for Stripe {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

/// What Stripe tells, before it is signed.
#[derive(Debug, Clone)]
pub struct Event {
    pub body: String,
}

impl Event {
    /// An event of our own making.
    pub fn of(body: Value) -> Event {
        Event { body: body.to_string() }
    }

    pub fn signed_with(&self, secret: &str, at: i64) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let tag = hmac::sign(&key, format!("{at}.{}", self.body).as_bytes());
        let hex: String = tag.as_ref().iter().map(|it| format!("{it:02x}")).collect();
        format!("t={at},v1={hex}")
    }

    /// Sends it as Stripe does, and answers the status.
    pub async fn send(&self, base: &str) -> u16 {
        self.send_with(base, &self.signed_with(WEBHOOK_SECRET, jiff::Timestamp::now().as_second())).await
    }

    pub async fn send_with(&self, base: &str, signature: &str) -> u16 {
        let request = reqwest::Client::new()
            .post(format!("{base}/v1/payments/stripe/events"))
            .header("content-type", "application/json; charset=utf-8")
            .header("user-agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)")
            .header("stripe-signature", signature)
            .body(self.body.clone());
        request.send().await.unwrap().status().as_u16()
    }
}
