//! The scripted Stripe's HTTP face: keys, versions, forms, names of requests,
//! lists and errors.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
    body::Bytes,
    extract::State as Extract,
    http::{HeaderMap, Method, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    InjectedFault, KEY, Shared, State,
    book::{Refusal, missing, refuse},
};

pub fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(answer).with_state(shared)
}

type Form = BTreeMap<String, String>;

fn parse(text: &str) -> Form {
    let address = reqwest::Url::parse(&format!("http://x/?{text}")).unwrap();
    address.query_pairs().into_owned().collect()
}

async fn answer(
    Extract(shared): Extract<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let header = |name: &str| headers.get(name).and_then(|it| it.to_str().ok()).map(str::to_owned);
    if header("authorization") != Some(format!("Bearer {KEY}")) {
        return reply(refuse(401, "invalid_request_error", None, "Invalid API Key provided"), false);
    }
    if header("stripe-version").is_none_or(|it| it.len() < 10) {
        return reply(refuse(400, "invalid_request_error", None, "the test wants a pinned version"), false);
    }
    let text =
        if method == Method::GET { uri.query().unwrap_or_default() } else { std::str::from_utf8(&body).unwrap() };
    let (form, path) = (parse(text), uri.path().trim_start_matches("/v1/").to_owned());
    let folder = path.strip_prefix("checkout/").unwrap_or(&path).split('/').next().unwrap().to_owned();
    let operation = format!("{method} {folder}");
    let fault = {
        let mut state = shared.lock();
        *state.calls.entry(operation.clone()).or_default() += 1;
        state.injected.get_mut(&operation).filter(|it| !it.is_empty()).map(|it| it.remove(0))
    };
    match &fault {
        Some(InjectedFault::Refuse { status, kind, message, retry_after }) => {
            let mut response = reply(refuse(*status, kind, None, message), false);
            if let Some(seconds) = retry_after {
                response.headers_mut().insert("retry-after", (*seconds).into());
            }
            return response;
        }
        // pause: what the test asked for
        Some(InjectedFault::Slow(by)) => tokio::time::sleep(*by).await,
        Some(InjectedFault::LoseAnswer | InjectedFault::Hold) | None => (),
    }
    let held = shared.go_on.notified();
    let (done, is_replayed) = {
        let mut state = shared.lock();
        match (method == Method::POST, header("idempotency-key")) {
            (true, Some(name)) => once(&mut state, &name, text, |state| change(state, &path, &form)),
            (true, None) => {
                (refuse(400, "invalid_request_error", None, "the test wants a name for each change"), false)
            }
            (false, _) => (read(&state, &path, &form).map_or_else(|it| it, |it| (200, it)), false),
        }
    };
    match fault {
        Some(InjectedFault::LoseAnswer) => reply(refuse(500, "api_error", None, "the answer was lost"), false),
        Some(InjectedFault::Hold) => {
            held.await;
            reply(done, is_replayed)
        }
        _ => reply(done, is_replayed),
    }
}

fn reply((status, body): (u16, Value), is_replayed: bool) -> Response {
    let mut response = (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response();
    response.headers_mut().insert("content-type", "application/json".parse().unwrap());
    if is_replayed {
        response.headers_mut().insert("idempotent-replayed", "true".parse().unwrap());
    }
    response
}

/// As Stripe: the first answer under a name is given again, and another
/// request under it is refused.
fn once(
    state: &mut State,
    name: &str,
    text: &str,
    change: impl FnOnce(&mut State) -> Result<Value, Refusal>,
) -> ((u16, Value), bool) {
    if let Some((asked, status, body)) = state.answered.get(name) {
        if asked != text {
            let message =
                "Keys for idempotent requests can only be used with the same parameters they were first used with.";
            return (refuse(400, "idempotency_error", None, message), false);
        }
        return ((*status, body.clone()), true);
    }
    let (status, body) = change(state).map_or_else(|it| it, |it| (200, it));
    state.answered.insert(name.to_owned(), (text.to_owned(), status, body.clone()));
    ((status, body), false)
}

fn change(state: &mut State, path: &str, form: &Form) -> Result<Value, Refusal> {
    let get = |name: &str| {
        let lacking = || {
            refuse(400, "invalid_request_error", Some("parameter_missing"), &format!("Missing required param: {name}."))
        };
        form.get(name).cloned().ok_or_else(lacking)
    };
    let number = |name: &str| -> Result<i64, Refusal> {
        let bad = |_| {
            refuse(400, "invalid_request_error", Some("parameter_invalid_integer"), &format!("Invalid integer: {name}"))
        };
        get(name)?.parse().map_err(bad)
    };
    match path {
        "checkout/sessions" => {
            assert_eq!((get("mode")?.as_str(), get("line_items[0][quantity]")?.as_str()), ("payment", "1"));
            let payment = get("client_reference_id")?;
            assert_eq!(get("payment_intent_data[metadata][gpuaas_payment]")?, payment);
            get("line_items[0][price_data][product_data][name]")?;
            let (currency, units) =
                (get("line_items[0][price_data][currency]")?, number("line_items[0][price_data][unit_amount]")?);
            state.book.open(&payment, &currency, units, &get("success_url")?)
        }
        "refunds" => {
            let metadata = json!({ "gpuaas_refund": get("metadata[gpuaas_refund]")? });
            state.book.refund(&get("payment_intent")?, number("amount")?, metadata)
        }
        _ => Err(missing(path)),
    }
}

fn read(state: &State, path: &str, query: &Form) -> Result<Value, Refusal> {
    let path = path.strip_prefix("checkout/").unwrap_or(path);
    let (folder, id) = path.split_once('/').map_or((path, None), |(folder, id)| (folder, Some(id)));
    let objects = match folder {
        "sessions" => &state.book.sessions,
        "payment_intents" => &state.book.intents,
        "refunds" => &state.book.refunds,
        "disputes" => &state.book.disputes,
        _ => return Err(missing(path)),
    };
    if let Some(id) = id {
        return objects.get(id).cloned().ok_or_else(|| missing(id));
    }
    let since: i64 = query.get("created[gte]").and_then(|it| it.parse().ok()).unwrap_or(0);
    let intent = query.get("payment_intent");
    let limit: usize = query.get("limit").and_then(|it| it.parse().ok()).unwrap_or(10).min(100);
    let fits = |it: &&Value| {
        it["created"].as_i64().unwrap() >= since && intent.is_none_or(|intent| it["payment_intent"] == intent.as_str())
    };
    // Newest first, and ids count up.
    let all = objects.values().rev().filter(fits);
    let rest: Vec<Value> = match query.get("starting_after") {
        None => all.cloned().collect(),
        Some(after) => all.skip_while(|it| it["id"] != after.as_str()).skip(1).cloned().collect(),
    };
    let has_more = rest.len() > limit;
    let data: Vec<Value> = rest.into_iter().take(limit).collect();
    Ok(json!({ "object": "list", "url": format!("/v1/{folder}"), "has_more": has_more, "data": data }))
}
