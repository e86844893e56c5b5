//! The scripted MAAS's HTTP face: OAuth, parameters, statuses and texts as the
//! API documents them.

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::State as Extract,
    http::{HeaderMap, Method, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    InjectedFault, KEY, Shared,
    machines::{self, Refusal},
};

pub fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(answer).with_state(shared)
}

/// Parameters of a query or a body; names may be repeated.
pub struct Form(Vec<(String, String)>);

impl Form {
    fn parse(text: &str) -> Form {
        let address = reqwest::Url::parse(&format!("http://x/?{text}")).unwrap();
        Form(address.query_pairs().into_owned().collect())
    }

    pub fn get(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(it, _)| it == name).map(|(_, value)| value.clone())
    }

    fn all(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(it, _)| it == name).map(|(_, value)| value.as_str()).collect()
    }
}

async fn answer(
    Extract(shared): Extract<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Err(text) = authenticate(&shared, &headers) {
        return (StatusCode::UNAUTHORIZED, text).into_response();
    }
    let query = Form::parse(uri.query().unwrap_or_default());
    let form = Form::parse(std::str::from_utf8(&body).unwrap_or_default());
    let Some(path) = uri.path().strip_prefix("/MAAS/api/2.0/machines/") else {
        return (StatusCode::NOT_FOUND, "Not Found").into_response();
    };
    let system_id = path.trim_end_matches('/');
    let operation = match (&method, system_id, query.get("op")) {
        (_, _, Some(operation)) => operation,
        (&Method::GET, "", None) => "list".into(),
        (_, _, None) => "get".into(),
    };
    let fault = {
        let mut state = shared.lock();
        *state.calls.entry(operation.clone()).or_default() += 1;
        state.injected.get_mut(&operation).filter(|it| !it.is_empty()).map(|it| it.remove(0))
    };
    match fault {
        Some(InjectedFault::Refuse { status, text, retry_after }) => {
            let mut response = (StatusCode::from_u16(status).unwrap(), text).into_response();
            if let Some(seconds) = retry_after {
                response.headers_mut().insert("retry-after", seconds.into());
            }
            return response;
        }
        // pause: what the test asked for
        Some(InjectedFault::Slow(by)) => tokio::time::sleep(by).await,
        Some(InjectedFault::LoseAnswer) | None => (),
    }
    let done = perform(&shared, (&method, system_id, &operation), &query, &form);
    if matches!(fault, Some(InjectedFault::LoseAnswer)) {
        return (StatusCode::BAD_GATEWAY, "the answer was lost").into_response();
    }
    match done {
        Ok(value) => ([("content-type", "application/json")], value.to_string()).into_response(),
        Err((status, text)) => (StatusCode::from_u16(status).unwrap(), text).into_response(),
    }
}

fn perform(
    shared: &Arc<Shared>,
    (method, system_id, operation): (&Method, &str, &str),
    query: &Form,
    form: &Form,
) -> Result<Value, Refusal> {
    match (method.as_str(), operation) {
        ("GET", "list") => Ok(list(shared, query)),
        ("GET", "get") => {
            let state = shared.lock();
            state.machines.get(system_id).map(|it| it.json()).ok_or((404, "Not Found".into()))
        }
        ("GET", "query_power_state") => {
            let state = shared.lock();
            let machine = state.machines.get(system_id).ok_or((404, "Not Found".to_owned()))?;
            Ok(json!({ "state": if machine.is_on { "on" } else { "off" } }))
        }
        ("POST", "allocate") => {
            let (wanted, pool, tags) = (form.get("system_id"), form.get("pool"), form.all("tags"));
            let fits = |it: &machines::Machine| {
                wanted.as_ref().is_none_or(|id| *id == it.system_id)
                    && pool.as_ref().is_none_or(|pool| *pool == it.pool)
                    && tags.iter().all(|tag| it.tags.iter().any(|it| it == tag))
            };
            shared.lock().allocate(fits, &form.get("agent_name").unwrap_or_default())
        }
        ("POST", "deploy") => machines::deploy(shared, system_id, form),
        ("POST", "release") => machines::release(shared, system_id, form),
        ("POST", "power_on") => shared.lock().power(system_id, true),
        ("POST", "power_off") => shared.lock().power(system_id, false),
        _ => Err((400, "Unrecognized signature".into())),
    }
}

fn list(shared: &Shared, query: &Form) -> Value {
    let (ids, holder, pool) = (query.all("id"), query.get("agent_name"), query.get("pool"));
    let state = shared.lock();
    let found = state.machines.values().filter(|it| {
        (ids.is_empty() || ids.contains(&it.system_id.as_str()))
            && holder.as_ref().is_none_or(|name| *name == it.agent_name)
            && pool.as_ref().is_none_or(|name| *name == it.pool)
    });
    found.map(|it| it.json()).collect()
}

/// OAuth 1.0a PLAINTEXT: every part must be there and right, and a nonce is used once.
fn authenticate(shared: &Shared, headers: &HeaderMap) -> Result<(), &'static str> {
    const WRONG: &str = "Authorization Error: 'Invalid access token'";
    let header = headers.get("authorization").and_then(|it| it.to_str().ok());
    let text = header.and_then(|it| it.strip_prefix("OAuth ")).ok_or(WRONG)?;
    let parts: Vec<String> = text.split(", ").map(|it| it.replace('"', "")).collect();
    let said = Form::parse(&parts.join("&"));
    let [consumer, token, secret] = KEY.split(':').collect::<Vec<_>>()[..] else { unreachable!("it has three parts") };
    let expected = [
        ("oauth_version", "1.0"),
        ("oauth_signature_method", "PLAINTEXT"),
        ("oauth_consumer_key", consumer),
        ("oauth_token", token),
        ("oauth_signature", &format!("&{secret}")),
    ];
    let is_right = expected.iter().all(|(name, value)| said.get(name).as_deref() == Some(*value));
    let is_dated = said.get("oauth_timestamp").is_some_and(|it| it.parse::<i64>().is_ok());
    let nonce = said.get("oauth_nonce").filter(|it| !it.is_empty()).ok_or(WRONG)?;
    if is_right && is_dated && shared.lock().nonces.insert(nonce) { Ok(()) } else { Err(WRONG) }
}
