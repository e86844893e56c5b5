//! The way out of a mail: a link that names, sealed, whose mails of which kind
//! it stops. Mail programs send one request to it (RFC 8058); people get a page
//! that asks first, because programs open links too.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::RawPathParams,
    response::{IntoResponse, Response},
    routing::get,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use contract::{
    Word,
    id::UserId,
    notification_kinds::NotificationKind,
    notifications::{NotificationPreferenceSet, NotificationPreferenceSpec},
};
use http::{HeaderValue, StatusCode, header};
use kernel::{
    Access, Actor, Scope, Tx, audit,
    secrets::{Keyring, Sealed},
};
use uuid::Uuid;

use super::store;
use crate::{PeopleArea, mails::escape};
use platform::{
    events::emit,
    http::{AWAY_RETRY, Arrival},
    policies::settings,
};

const CONTEXT: &str = "unsubscribe";
const PATH: &str = "/unsubscribe/{token}";

/// Where mails of this kind to this person are stopped.
pub fn link(keyring: &Keyring, public_url: &str, user: UserId, kind: NotificationKind) -> String {
    let mut named = user.uuid().as_bytes().to_vec();
    named.extend(kind.as_str().as_bytes());
    let token = URL_SAFE_NO_PAD.encode(keyring.seal(CONTEXT, &named).to_bytes());
    format!("{}/unsubscribe/{token}", public_url.trim_end_matches('/'))
}

/// Whose mails of which kind a token stops, if we made it.
fn opened(keyring: &Keyring, token: &str) -> Option<(UserId, NotificationKind)> {
    let sealed = Sealed::from_bytes(&URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    let named = keyring.open(CONTEXT, &sealed).ok()?;
    let (user, kind) = named.expose().split_at_checked(16)?;
    let kind = NotificationKind::parse(std::str::from_utf8(kind).ok()?)?;
    Some((Uuid::from_slice(user).ok()?.into(), kind)).filter(|_| !kind.info().is_mandatory)
}

/// Pages, not part of the API: its documents do not describe them.
pub fn router(area: Arc<PeopleArea>) -> Router {
    let asks = area.clone();
    let route = get(move |token: RawPathParams, request: http::Request<Body>| ask(asks.clone(), token, request))
        .post(move |token: RawPathParams, request: http::Request<Body>| stop(area.clone(), token, request));
    Router::new().route(PATH, route)
}

async fn ask(area: Arc<PeopleArea>, token: RawPathParams, request: http::Request<Body>) -> Response {
    match admitted(&area, token, request).await {
        Err(refused) => refused,
        Ok((_, _, kind)) => page(
            StatusCode::OK,
            "Unsubscribe from these emails?",
            &format!("<p>{}</p><form method=\"post\"><button>Unsubscribe</button></form>", escape(kind.info().about)),
        ),
    }
}

async fn stop(area: Arc<PeopleArea>, token: RawPathParams, request: http::Request<Body>) -> Response {
    let (arrival, user, kind) = match admitted(&area, token, request).await {
        Ok(admitted) => admitted,
        Err(refused) => return refused,
    };
    match switch_off(&area, &arrival, user, kind).await {
        Ok(()) => page(
            StatusCode::OK,
            "You are unsubscribed",
            "<p>To receive them again, run <code>gpuaas notifications preferences</code>.</p>",
        ),
        Err(error) => {
            tracing::warn!(%error, "unsubscribing from mails failed");
            let refused =
                page(StatusCode::SERVICE_UNAVAILABLE, "Something went wrong", "<p>Try again in a minute.</p>");
            later(refused, AWAY_RETRY)
        }
    }
}

async fn switch_off(area: &PeopleArea, arrival: &Arrival, user: UserId, kind: NotificationKind) -> sqlx::Result<()> {
    let cause = arrival.correlation_id.clone();
    let mut tx = Tx::begin(&area.db, Scope::Person(user.uuid()), Access::Write, Actor::public(), cause).await?;
    let off = NotificationPreferenceSpec { in_app: None, email: Some(false) };
    store::prefer(&mut tx, user, kind, &off).await?;
    emit(&mut tx, None, user, &NotificationPreferenceSet { user_id: user, kind: kind.into() });
    let entry = audit::NewEntry {
        action: "notification_preference.unsubscribe".into(),
        organization: None,
        resource: Some(user.to_string()),
        outcome: "done",
        detail: serde_json::json!({ "kind": kind.as_str() }),
    };
    audit::record(&mut tx, entry);
    tx.commit().await
}

async fn admitted(
    area: &PeopleArea,
    token: RawPathParams,
    request: http::Request<Body>,
) -> Result<(Arrival, UserId, NotificationKind), Response> {
    let (parts, _) = request.into_parts();
    let arrival = Arrival::new(area, &parts);
    let most = area.policies.number(settings::RATE_ADDRESS);
    if let Err(wait) = area.limiter.admit("address", &arrival.network_text(), most).await {
        let refused = page(StatusCode::TOO_MANY_REQUESTS, "Too many requests", "<p>Try again in a minute.</p>");
        return Err(later(refused, wait));
    }
    let token = token.iter().next().map(|(_, value)| value).unwrap_or_default();
    let found = opened(&area.keyring, token).map(|(user, kind)| (arrival, user, kind));
    found.ok_or_else(|| {
        let advice = "<p>The link is incomplete or no longer valid. Copy the complete link, or sign in and run <code>gpuaas notifications preferences</code>.</p>";
        page(StatusCode::NOT_FOUND, "Invalid link", advice)
    })
}

/// Tells mail programs when to send it again.
fn later(mut refused: Response, wait: Duration) -> Response {
    refused.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs() + 1));
    refused
}

fn page(status: StatusCode, title: &str, inner: &str) -> Response {
    let html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><h1>{title}</h1>{inner}</html>\n"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; form-action 'self'; frame-ancestors 'none'"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (status, headers, html).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_stops_one_kind_for_one_person_and_cannot_be_made_up() {
        let keyring = || Keyring::parse(Keyring::generate_entry().expose_text().unwrap()).unwrap();
        let (ours, user) = (keyring(), UserId::generate());
        let link = link(&ours, "https://gpu.example.com/", user, NotificationKind::WalletLow);
        let token = link.strip_prefix("https://gpu.example.com/unsubscribe/").unwrap();
        assert_eq!(opened(&ours, token), Some((user, NotificationKind::WalletLow)));
        assert_eq!(opened(&keyring(), token), None);
        assert_eq!(opened(&ours, &token[1..]), None);
        assert_eq!(opened(&ours, ""), None);
    }

    #[test]
    fn mandatory_notification_cannot_be_unsubscribed() {
        let ours = Keyring::parse(Keyring::generate_entry().expose_text().unwrap()).unwrap();
        let link = link(&ours, "https://x", UserId::generate(), NotificationKind::WalletDepleted);
        assert_eq!(opened(&ours, link.rsplit('/').next().unwrap()), None);
    }
}
