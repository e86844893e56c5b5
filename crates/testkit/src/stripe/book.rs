//! The objects of the scripted Stripe, in the shapes of its API.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// An error in Stripe's shape.
pub type Refusal = (u16, Value);

pub struct Book {
    pub sessions: BTreeMap<String, Value>,
    pub intents: BTreeMap<String, Value>,
    pub refunds: BTreeMap<String, Value>,
    pub disputes: BTreeMap<String, Value>,
    pub refunds_become: &'static str,
    made: u64,
}

impl Default for Book {
    fn default() -> Self {
        Self {
            sessions: BTreeMap::new(),
            intents: BTreeMap::new(),
            refunds: BTreeMap::new(),
            disputes: BTreeMap::new(),
            refunds_become: "succeeded",
            made: 0,
        }
    }
}

pub fn refuse(status: u16, kind: &str, code: Option<&str>, message: &str) -> Refusal {
    (status, json!({ "error": { "type": kind, "code": code, "message": message } }))
}

pub fn missing(id: &str) -> Refusal {
    refuse(404, "invalid_request_error", Some("resource_missing"), &format!("No such object: '{id}'"))
}

impl Book {
    fn id(&mut self, prefix: &str) -> String {
        self.made += 1;
        format!("{prefix}_test_{:08}", self.made)
    }

    fn now() -> i64 {
        jiff::Timestamp::now().as_second()
    }

    pub fn open(&mut self, payment: &str, currency: &str, units: i64, url: &str) -> Result<Value, Refusal> {
        if units < 50 && currency == "usd" {
            let message = "The Checkout Session's total amount must convert to at least 50 cents.";
            return Err(refuse(400, "invalid_request_error", Some("amount_too_small"), message));
        }
        let id = self.id("cs");
        let session = json!({
            "id": id, "object": "checkout.session", "mode": "payment", "status": "open", "payment_status": "unpaid",
            "amount_total": units, "currency": currency, "client_reference_id": payment, "created": Self::now(),
            "expires_at": Self::now() + 86_400, "livemode": false, "metadata": { "gpuaas_payment": payment },
            "payment_intent": null, "success_url": url, "cancel_url": url,
            "url": format!("https://checkout.stripe.test/c/pay/{id}"),
        });
        self.sessions.insert(id, session.clone());
        Ok(session)
    }

    fn session_of(&mut self, payment: &str) -> &mut Value {
        let found = self.sessions.values_mut().find(|it| it["client_reference_id"] == payment);
        found.expect("the payment has a page")
    }

    pub fn pay(&mut self, payment: &str, status: &str) -> String {
        let session = self.session_of(payment).clone();
        assert_eq!(session["status"], "open", "a page is paid while it is open");
        let (currency, units) = (session["currency"].as_str().unwrap(), session["amount_total"].as_i64().unwrap());
        let intent = self.intent(currency, units, status, json!({ "gpuaas_payment": payment }));
        let session = self.session_of(payment);
        session["status"] = "complete".into();
        session["url"] = Value::Null;
        session["payment_intent"] = intent.clone().into();
        session["payment_status"] = if status == "succeeded" { "paid" } else { "unpaid" }.into();
        intent
    }

    pub fn expire(&mut self, payment: &str) {
        let session = self.session_of(payment);
        session["status"] = "expired".into();
        session["url"] = Value::Null;
    }

    pub fn intent(&mut self, currency: &str, units: i64, status: &str, metadata: Value) -> String {
        let id = self.id("pi");
        let intent = json!({
            "id": id, "object": "payment_intent", "amount": units, "currency": currency, "status": status,
            "amount_received": if status == "succeeded" { units } else { 0 }, "created": Self::now(),
            "livemode": false, "metadata": metadata, "latest_charge": format!("ch_of_{id}"),
            "client_secret": format!("{id}_secret_x"), "capture_method": "automatic",
        });
        self.intents.insert(id.clone(), intent);
        id
    }

    pub fn set_intent(&mut self, id: &str, status: &str) {
        let intent = self.intents.get_mut(id).unwrap();
        intent["status"] = status.into();
        intent["amount_received"] = if status == "succeeded" { intent["amount"].clone() } else { 0.into() };
    }

    pub fn refund(&mut self, intent: &str, units: i64, metadata: Value) -> Result<Value, Refusal> {
        let Some(of) = self.intents.get(intent) else { return Err(missing(intent)) };
        let paid = of["amount_received"].as_i64().unwrap();
        let currency = of["currency"].clone();
        let is_counted =
            |it: &&Value| it["payment_intent"] == intent && it["status"] != "failed" && it["status"] != "canceled";
        let back: i64 = self.refunds.values().filter(is_counted).map(|it| it["amount"].as_i64().unwrap()).sum();
        if paid == 0 {
            return Err(refuse(
                400,
                "invalid_request_error",
                None,
                "This PaymentIntent does not have a successful charge to refund.",
            ));
        }
        if back + units > paid {
            let message =
                format!("Refund amount ({units}) is greater than unrefunded amount on charge ({})", paid - back);
            return Err(refuse(400, "invalid_request_error", Some("charge_already_refunded"), &message));
        }
        let id = self.id("re");
        let refund = json!({
            "id": id, "object": "refund", "amount": units, "currency": currency, "payment_intent": intent,
            "charge": format!("ch_of_{intent}"), "created": Self::now(), "metadata": metadata, "reason": null,
            "status": self.refunds_become,
        });
        self.refunds.insert(id, refund.clone());
        Ok(refund)
    }

    pub fn dispute(&mut self, intent: &str, units: i64, status: &str) -> String {
        let currency = self.intents[intent]["currency"].clone();
        let id = self.id("dp");
        let dispute = json!({
            "id": id, "object": "dispute", "amount": units, "currency": currency, "payment_intent": intent,
            "charge": format!("ch_of_{intent}"), "created": Self::now(), "metadata": {}, "reason": "fraudulent",
            "status": status, "is_charge_refundable": false,
        });
        self.disputes.insert(id.clone(), dispute);
        id
    }

    /// Any object by its id.
    pub fn find(&self, id: &str) -> Value {
        let all = [&self.sessions, &self.intents, &self.refunds, &self.disputes];
        all.into_iter().find_map(|it| it.get(id)).cloned().unwrap_or_else(|| json!({ "id": id, "object": "unknown" }))
    }
}
