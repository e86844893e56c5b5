//! Where Stripe tells that something happened. The body is taken as it came,
//! because its signature covers its bytes; it is checked, written down that it
//! came, and answered. What it means is found out later, by asking Stripe.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    response::{IntoResponse, Response},
    routing::post,
};
use contract::Code;
use http::{HeaderMap, StatusCode};
use kernel::{Access, Tx, work};

use super::{
    events::KIND,
    provider,
    store::{self, NewEvent},
};
use crate::MoneyArea;
use platform::{
    http::{Arrival, Failure, ProblemBuilder, Unread, collect, render},
    policies::settings,
    ports::payments::{EventError, ProviderEvent},
};

const PATH: &str = "/v1/payments/stripe/events";
const SIGNATURE: &str = "stripe-signature";
// bound: an event has some kilobytes; Stripe sends no more than this
const MAX_BODY_BYTES: usize = 512 * 1024;

/// Stripe's side of a conversation with Stripe, not part of the API: its
/// documents do not describe it.
pub fn router(area: Arc<MoneyArea>) -> Router {
    Router::new().route(PATH, post(move |request: http::Request<Body>| receive(area.clone(), request)))
}

async fn receive(area: Arc<MoneyArea>, request: http::Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let arrival = Arrival::new(&area, &parts);
    let outcome = match take(&area, &arrival, &parts.headers, body).await {
        Ok(event) => keep(&area, &event).await,
        Err(failure) => Err(failure),
    };
    let word = if outcome.is_ok() { "stored" } else { "refused" };
    metrics::counter!("gpuaas_payment_events_total", "outcome" => word).increment(1);
    match outcome {
        Ok(()) => StatusCode::OK.into_response(),
        Err(failure) => {
            let builder = failure.into_builder();
            tracing::warn!(code = builder.code.info().name, detail = builder.detail, "a provider's event was rejected");
            render(builder, &arrival.correlation_id)
        }
    }
}

async fn take(area: &MoneyArea, arrival: &Arrival, headers: &HeaderMap, body: Body) -> Result<ProviderEvent, Failure> {
    let most = area.policies.number(settings::RATE_ADDRESS);
    if let Err(wait) = area.limiter.admit("address", &arrival.network_text(), most).await {
        return Err(ProblemBuilder::new(Code::TooManyRequests, "too many requests from this address")
            .after(wait)
            .into());
    }
    let patience = settings::seconds(area.policies.number(settings::REQUEST_SECONDS));
    let body = match tokio::time::timeout(patience, collect(body, MAX_BODY_BYTES)).await {
        Ok(Ok(whole)) => whole,
        Ok(Err(Unread::TooLarge)) => {
            let detail = format!("an event may have at most {MAX_BODY_BYTES} bytes");
            return Err(Failure::new(Code::PayloadTooLarge, detail));
        }
        Ok(Err(Unread::Cut)) => return Err(Failure::new(Code::InvalidBody, "the body ended before it was complete")),
        Err(_) => {
            let detail = format!("the body was not received within {} s", patience.as_secs());
            return Err(Failure::new(Code::RequestTimeout, detail));
        }
    };
    let provider = provider(&area.payments)?;
    let signature = headers.get(SIGNATURE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let tolerance = settings::seconds(area.policies.number(settings::PAYMENTS_TOLERANCE_SECONDS));
    provider.event(signature, &body, area.db.clock.estimate(), tolerance).map_err(|error| {
        let code = match error {
            EventError::NoSecret => Code::PaymentsOff,
            EventError::Header => Code::InvalidHeader,
            EventError::Signature | EventError::Time => Code::Unauthenticated,
            EventError::Body => Code::InvalidBody,
        };
        Failure::new(code, error)
    })
}

async fn keep(area: &MoneyArea, event: &ProviderEvent) -> Result<(), Failure> {
    let provider = provider(&area.payments)?.name();
    let mut tx = Tx::system(&area.db, "payments", Access::Write).await?;
    if let Some(id) = store::keep(&mut tx, NewEvent { provider, event }).await? {
        work::wake(&mut tx, KIND, id);
    }
    tx.commit().await?;
    Ok(())
}
