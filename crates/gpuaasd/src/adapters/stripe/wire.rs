//! What Stripe sends, as far as it matters here. Fields that are not named are
//! skipped; a status that is new is taken for the least that it can mean.

use contract::id::PaymentId;
use serde::Deserialize;
use uuid::Uuid;

use super::amounts::from_units;
use platform::ports::payments::{
    Checkout, CheckoutStatus, DisputeStanding, EventError, Intent, IntentStatus, PaymentError, ProviderDispute,
    ProviderEvent, ProviderRefund, RefundStatus,
};

#[derive(Deserialize)]
pub struct Page<T> {
    pub data: Vec<T>,
    #[serde(default)]
    pub has_more: bool,
}

/// Where our own names are kept.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Metadata {
    gpuaas_payment: Option<String>,
    gpuaas_refund: Option<String>,
}

/// Another object: its id, or the whole of it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Reference {
    Id(String),
    Whole { id: String },
}

impl Reference {
    fn id(self) -> String {
        match self {
            Reference::Id(id) | Reference::Whole { id } => id,
        }
    }
}

#[derive(Deserialize)]
pub struct Session {
    id: String,
    status: Option<String>,
    url: Option<String>,
    payment_intent: Option<Reference>,
}

impl From<Session> for Checkout {
    fn from(it: Session) -> Self {
        let status = match it.status.as_deref() {
            Some("complete") => CheckoutStatus::Complete,
            Some("expired") => CheckoutStatus::Expired,
            _ => CheckoutStatus::Open,
        };
        Checkout { id: it.id, status, url: it.url, intent: it.payment_intent.map(Reference::id) }
    }
}

#[derive(Deserialize)]
pub struct PaymentIntent {
    pub id: String,
    status: String,
    #[serde(default)]
    amount_received: i64,
    currency: String,
    #[serde(default)]
    metadata: Metadata,
}

impl TryFrom<PaymentIntent> for Intent {
    type Error = PaymentError;

    fn try_from(it: PaymentIntent) -> Result<Self, PaymentError> {
        let status = match it.status.as_str() {
            "succeeded" => IntentStatus::Succeeded,
            "canceled" => IntentStatus::Canceled,
            "processing" | "requires_capture" => IntentStatus::Processing,
            _ => IntentStatus::NeedsPayer,
        };
        let received = from_units(it.amount_received, &it.currency)?;
        Ok(Intent { id: it.id, status, received, payment: it.metadata.gpuaas_payment })
    }
}

#[derive(Deserialize)]
pub struct Refund {
    pub id: String,
    payment_intent: Option<Reference>,
    amount: i64,
    currency: String,
    status: Option<String>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

impl TryFrom<Refund> for ProviderRefund {
    type Error = PaymentError;

    fn try_from(it: Refund) -> Result<Self, PaymentError> {
        let status = match it.status.as_deref() {
            Some("succeeded") => RefundStatus::Succeeded,
            Some("failed" | "canceled") => RefundStatus::Failed,
            _ => RefundStatus::Pending,
        };
        Ok(ProviderRefund {
            id: it.id,
            intent: it.payment_intent.map(Reference::id),
            amount: from_units(it.amount, &it.currency)?,
            status,
            refund: it.metadata.unwrap_or_default().gpuaas_refund,
        })
    }
}

#[derive(Deserialize)]
pub struct Dispute {
    pub id: String,
    payment_intent: Option<Reference>,
    amount: i64,
    currency: String,
    status: String,
}

impl TryFrom<Dispute> for ProviderDispute {
    type Error = PaymentError;

    fn try_from(it: Dispute) -> Result<Self, PaymentError> {
        let standing = match it.status.as_str() {
            "won" => DisputeStanding::Won,
            "lost" => DisputeStanding::Lost,
            "needs_response" | "under_review" => DisputeStanding::Open,
            // Inquiries, and what is prevented: no money moved.
            _ => DisputeStanding::Warned,
        };
        let intent = it.payment_intent.map(Reference::id);
        Ok(ProviderDispute { id: it.id, intent, amount: from_units(it.amount, &it.currency)?, standing })
    }
}

#[derive(Deserialize)]
struct Event {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    data: EventData,
}

#[derive(Deserialize)]
struct EventData {
    object: EventObject,
}

#[derive(Deserialize)]
struct EventObject {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    payment_intent: Option<Reference>,
    #[serde(default)]
    client_reference_id: Option<String>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

// bound: Stripe's ids and kinds have some 30 to 70 characters
const MAX_NAME: usize = 255;

/// Reads an event whose signature was checked.
pub fn event(body: &[u8]) -> Result<ProviderEvent, EventError> {
    let Event { id, kind, data: EventData { object } } = serde_json::from_slice(body).map_err(|_| EventError::Body)?;
    let intent = object.payment_intent.map(Reference::id);
    let intent = intent.or_else(|| object.id.clone().filter(|it| it.starts_with("pi_")));
    let named = object.client_reference_id.or_else(|| object.metadata.and_then(|it| it.gpuaas_payment));
    let is_name = |it: &str| !it.is_empty() && it.len() <= MAX_NAME && it.bytes().all(|it| it.is_ascii_graphic());
    let all = [Some(&id), Some(&kind), object.id.as_ref(), intent.as_ref()];
    if !all.into_iter().flatten().all(|it| is_name(it)) {
        return Err(EventError::Body);
    }
    Ok(ProviderEvent { id, kind, object: object.id, intent, payment: named.as_deref().and_then(payment_id) })
}

fn payment_id(text: &str) -> Option<Uuid> {
    text.parse::<PaymentId>().ok().map(PaymentId::uuid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_names_what_to_look_at() {
        let payment = PaymentId::generate();
        let session = format!(
            r#"{{"id":"evt_1","object":"event","type":"checkout.session.completed","data":{{"object":{{"id":"cs_1",
               "object":"checkout.session","payment_intent":"pi_1","client_reference_id":"{payment}"}}}}}}"#
        );
        let found = event(session.as_bytes()).unwrap();
        assert_eq!((found.intent.as_deref(), found.payment), (Some("pi_1"), Some(payment.uuid())));
        let intent =
            br#"{"id":"evt_2","type":"payment_intent.succeeded","data":{"object":{"id":"pi_2","metadata":{}}}}"#;
        assert_eq!(event(intent).unwrap().intent.as_deref(), Some("pi_2"));
        let whole =
            br#"{"id":"evt_3","type":"refund.updated","data":{"object":{"id":"re_1","payment_intent":{"id":"pi_3"}}}}"#;
        assert_eq!(event(whole).unwrap().intent.as_deref(), Some("pi_3"));
        let other = br#"{"id":"evt_4","type":"balance.available","data":{"object":{"object":"balance"}}}"#;
        assert_eq!(event(other).unwrap().object, None);
    }

    #[test]
    fn body_that_is_no_event_is_refused() {
        let long = format!(r#"{{"id":"{}","type":"x","data":{{"object":{{}}}}}}"#, "e".repeat(300));
        for body in ["", "{}", "[]", r#"{"id":"","type":"x","data":{"object":{}}}"#, long.as_str()] {
            assert_eq!(event(body.as_bytes()), Err(EventError::Body), "{body}");
        }
    }
}
