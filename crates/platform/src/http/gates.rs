//! The gates around a handler: transaction, idempotency, audit, commit.
//! Effects, audit, events and the kept answer commit together or not at all.

use std::{
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{
    body::Body,
    extract::{FromRequestParts, RawPathParams},
    response::{IntoResponse, Response},
};
use contract::{Audit, Auth, Code, Endpoint, EndpointInfo, Idempotency, Raw, Verb, id::OrganizationId};
use http::{HeaderValue, StatusCode, header, request::Parts};
use kernel::{
    Access, Tx, audit, idempotency,
    idempotency::{Claim, Claimed, Stored},
    secrets::{Sealed, hash_token},
};
use serde_json::{Map, Value};
use tracing::Instrument;

use super::{
    Failure, ProblemBuilder, Refused,
    admit::{AdmittedRequest, Arrival, admit},
    correlation, failure,
    parse::{self, PathParams},
};
use crate::{Area, Platform, identity::Caller, policies::settings};

/// Implemented once per endpoint, in the resource's own `routes.rs`.
pub trait Handle<E: Endpoint>: Send + Sync + 'static {
    fn handle(&self, call: &mut Call, request: Request<E>)
    -> impl Future<Output = Result<E::Response, Failure>> + Send;
}

pub struct Request<E: Endpoint> {
    pub path: E::Path,
    pub query: E::Query,
    pub body: E::Body,
}

/// What a handler works with: its transaction and who asks.
pub struct Call {
    pub tx: Tx,
    pub caller: Arc<Caller>,
    /// Where the request came from, as far as proxies are believed.
    pub address: Option<IpAddr>,
    organization: Option<OrganizationId>,
    about: Option<String>,
    detail: Map<String, Value>,
    /// Behind a lock only because a body cannot be shared; nobody waits for it.
    stream: Mutex<Option<Body>>,
}

impl Call {
    /// The organization that the request is about, when its path names one.
    pub fn organization(&self) -> OrganizationId {
        self.organization.expect("organization and project endpoints resolve it before the handler runs")
    }

    /// The same, where a path may name none.
    pub fn organization_if_any(&self) -> Option<OrganizationId> {
        self.organization
    }

    /// Names what the audit entry is about, when the path does not.
    pub fn about(&mut self, id: impl ToString) {
        self.about = Some(id.to_string());
    }

    /// Files the audit entry under an organization that the path does not name.
    pub fn about_organization(&mut self, organization: OrganizationId) {
        self.organization = Some(organization);
    }

    /// Adds to the audit entry. Ids and settings only, never personal data.
    pub fn note(&mut self, name: &str, value: impl Into<Value>) {
        self.detail.insert(name.to_owned(), value.into());
    }

    /// Answers with a document that is made while it is sent, after the
    /// transaction ended: the bytes of the [`Raw`] that is returned are not used.
    pub fn stream(&mut self, body: Body) {
        self.stream = Mutex::new(Some(body));
    }
}

pub async fn serve<E: Endpoint, A: Area + Handle<E>>(area: Arc<A>, request: http::Request<Body>) -> Response {
    let platform = area.platform();
    let started = std::time::Instant::now();
    let (mut parts, body) = request.into_parts();
    let arrival = Arrival::new(platform, &parts);
    let span = tracing::info_span!("request", operation = E::INFO.operation, correlation_id = %arrival.correlation_id);
    crate::telemetry::follow(&span, arrival.trace.clone());
    let limit = settings::seconds(platform.policies.number(settings::REQUEST_SECONDS));
    let is_reading = AtomicBool::new(false);
    let work = tokio::time::timeout(limit, pass::<E, A>(&area, &arrival, &mut parts, body, &is_reading));
    let outcome = work.instrument(span.clone()).await;
    let outcome = outcome.unwrap_or_else(|_| {
        Err(Failure::Problem(match is_reading.load(Ordering::Relaxed) {
            true => ProblemBuilder::new(
                Code::RequestTimeout,
                format!("the body was not received within {} s", limit.as_secs()),
            ),
            false => failure::unavailable("the request timed out"),
        }))
    });
    finish(&E::INFO, &arrival, started, span, outcome)
}

/// Renders the outcome, counts and logs it.
pub fn finish(
    info: &EndpointInfo,
    arrival: &Arrival,
    started: std::time::Instant,
    span: tracing::Span,
    outcome: Result<Response, Failure>,
) -> Response {
    let _entered = span.enter();
    let mut response = match outcome {
        Ok(response) => response,
        Err(failed) => {
            let builder = failed.into_builder();
            tracing::info!(code = builder.code.info().name, detail = builder.detail, "refused");
            failure::render(builder, &arrival.correlation_id)
        }
    };
    let elapsed = started.elapsed();
    let status = response.status();
    metrics::counter!("gpuaas_http_requests_total", "operation" => info.operation, "status" => status.as_str().to_owned()).increment(1);
    metrics::histogram!("gpuaas_http_request_seconds", "operation" => info.operation).record(elapsed.as_secs_f64());
    tracing::info!(status = status.as_u16(), elapsed_us = elapsed.as_micros() as u64, "answered");
    let correlation_id = HeaderValue::from_str(&arrival.correlation_id).expect("correlation ids are plain text");
    response.headers_mut().insert(correlation::HEADER, correlation_id);
    response
}

pub async fn path_params(parts: &mut Parts) -> Result<PathParams, Failure> {
    let raw =
        RawPathParams::from_request_parts(parts, &()).await.map_err(|error| Failure::new(Code::InvalidPath, error))?;
    Ok(raw.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

async fn pass<E: Endpoint, A: Area + Handle<E>>(
    area: &A,
    arrival: &Arrival,
    parts: &mut Parts,
    body: Body,
    is_reading: &AtomicBool,
) -> Result<Response, Failure> {
    let platform = area.platform();
    let info = E::INFO;
    let params = path_params(parts).await?;
    let admitted = admit(platform, &info, arrival, parts, params).await?;
    let path = parse::path::<E::Path>(&admitted.params)?;
    let query = parse::query::<E::Query>(&parts.uri)?;
    // Methods that define no body have none, whatever the caller appends.
    let body = if matches!(info.verb, Verb::GET | Verb::DELETE) { Body::empty() } else { body };
    is_reading.store(true, Ordering::Relaxed);
    let parsed = parse::body::<E::Body>(&parts.headers, body, &admitted.limits).await?;
    is_reading.store(false, Ordering::Relaxed);
    let request = Request { path, query, body: parsed.body };

    let claim = claim(&info, parts, &parsed.canonical)?;
    let _turn = match &claim {
        None => None,
        Some(claim) => {
            let key = (admitted.caller.actor().as_str().to_owned(), claim.operation, claim.key.clone());
            let most = usize::try_from(platform.policies.number(settings::IDEMPOTENCY_WAITERS)).unwrap_or(usize::MAX);
            Some(platform.turns.wait(key, most).await?)
        }
    };
    let (scope, actor) = (admitted.scope, admitted.caller.actor());
    let mut call = begin(platform, &info, arrival, admitted).await?;
    if let Some(claim) = &claim
        && let Some(answer) = replay(
            platform,
            &mut call.tx,
            claim,
            settings::hours(platform.policies.number(settings::IDEMPOTENCY_HOURS)),
        )
        .await?
    {
        call.tx.rollback().await?;
        return Ok(answer);
    }
    match area.handle(&mut call, request).await {
        Ok(response) => {
            if let Some(raw) = Raw::of(&response) {
                return complete_raw(&info, call, raw).await;
            }
            let body = serde_json::to_vec(&response).map_err(|error| Failure::Internal(Box::new(error)))?;
            complete(platform, &info, call, claim, body).await
        }
        Err(Failure::Refused(builder)) => {
            check_declared(&info, builder.code);
            if is_recorded(platform, &info, arrival) {
                record(&info, &mut call, builder.code.info().name);
            }
            if let Some(claim) = claim {
                let stored = refusal(&builder, &call.tx)?;
                idempotency::answer(&mut call.tx, claim, stored);
            }
            call.tx.commit().await?;
            Err(Failure::Problem(builder))
        }
        Err(failure) => {
            if let Failure::Problem(builder) = &failure {
                check_declared(&info, builder.code);
            }
            // A rollback that fails closes the connection, which does the same.
            let _ = call.tx.rollback().await;
            match (claim, failure) {
                (Some(claim), Failure::Problem(builder)) if is_final(&builder) => {
                    let tx =
                        Tx::begin(&platform.db, scope, Access::Write, actor, arrival.correlation_id.clone()).await?;
                    refuse_copies(platform, tx, claim, builder).await
                }
                (_, failure) => Err(failure),
            }
        }
    }
}

/// Whether repeating the very same request could not help.
fn is_final(builder: &ProblemBuilder) -> bool {
    let status = builder.code.info().status;
    let may_change = status == 408 || status == 429 || builder.retry_after.is_some() || builder.challenge.is_some();
    (400..500).contains(&status) && !may_change
}

/// Keeps a refusal for copies of the request. The handler's transaction is over
/// and with it the claim, so that a copy on another replica may have been served
/// since: then its answer is the answer to all of them.
async fn refuse_copies(
    platform: &Platform,
    mut tx: Tx,
    claim: Claim,
    builder: ProblemBuilder,
) -> Result<Response, Failure> {
    let keep = settings::seconds(platform.policies.number(settings::IDEMPOTENCY_REFUSAL_SECONDS));
    if let Some(answer) = replay(platform, &mut tx, &claim, keep).await? {
        tx.rollback().await?;
        return Ok(answer);
    }
    let stored = refusal(&builder, &tx)?;
    idempotency::answer(&mut tx, claim, stored);
    tx.commit().await?;
    Err(Failure::Problem(builder))
}

/// A refusal as copies of the request get it.
fn refusal(builder: &ProblemBuilder, tx: &Tx) -> Result<Stored, Failure> {
    let problem = failure::problem(builder, &tx.cause);
    let body = serde_json::to_vec(&problem).map_err(|error| Failure::Internal(Box::new(error)))?;
    Ok(Stored { status: problem.status, body, sealed: false })
}

/// Whether a refusal gets an audit entry of its own: where anybody may call, the
/// log must not be theirs to fill.
fn is_recorded(platform: &Platform, info: &EndpointInfo, arrival: &Arrival) -> bool {
    match info.policy.auth {
        Auth::Public { .. } => platform.refusals.is_recorded(
            &platform.policies,
            platform.db.clock.estimate(),
            Refused::Network(arrival.network()),
        ),
        Auth::SignedIn | Auth::Person | Auth::Organization(_) | Auth::Project(_) | Auth::Platform(_) => true,
    }
}

async fn begin(
    platform: &Platform,
    info: &EndpointInfo,
    arrival: &Arrival,
    admitted: AdmittedRequest,
) -> Result<Call, Failure> {
    let access = match info.policy.audit {
        Audit::ReadOnly => Access::Read,
        Audit::Action(_) | Audit::AuditedRead(_) => Access::Write,
    };
    let AdmittedRequest { caller, scope, organization, params, .. } = admitted;
    let mut tx = Tx::begin(&platform.db, scope, access, caller.actor(), arrival.correlation_id.clone()).await?;
    tx.trace = arrival.traceparent();
    let about = params.last().map(|(_, value)| value.clone());
    Ok(Call { tx, caller, address: arrival.address, organization, about, detail: Map::new(), stream: Mutex::default() })
}

async fn complete(
    platform: &Platform,
    info: &EndpointInfo,
    mut call: Call,
    claim: Option<Claim>,
    body: Vec<u8>,
) -> Result<Response, Failure> {
    record(info, &mut call, "done");
    if let Some(claim) = claim {
        let sealed = info.policy.idempotency == Idempotency::KeyRequiredSealed;
        let kept = if sealed {
            platform.keyring.seal(&answer_context(&call.tx, &claim), &body).to_bytes()
        } else {
            body.clone()
        };
        idempotency::answer(&mut call.tx, claim, Stored { status: info.success, body: kept, sealed });
    }
    // Whoever is told that something changed finds it changed here; other replicas
    // hear of it within a moment.
    let stale = platform.caches.after(call.tx.subjects());
    call.tx.commit().await?;
    stale.forget_now(&platform.policies, &platform.db).await;
    Ok(reply(info.success, body))
}

/// A document is only read, so that there is no key to keep it under.
async fn complete_raw(info: &EndpointInfo, mut call: Call, raw: &Raw) -> Result<Response, Failure> {
    record(info, &mut call, "done");
    call.tx.commit().await?;
    let mut response = reply(info.success, raw.bytes.clone());
    if let Some(body) = call.stream.into_inner().expect("no code panics while it holds this lock") {
        *response.body_mut() = body;
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(info.media));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{}\"", raw.file_name)) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

fn record(info: &EndpointInfo, call: &mut Call, outcome: &'static str) {
    let (Audit::Action(action) | Audit::AuditedRead(action)) = info.policy.audit else { return };
    let entry = audit::NewEntry {
        action: action.to_owned(),
        organization: call.organization.map(|it| it.uuid()),
        resource: call.about.take(),
        outcome,
        detail: Value::Object(std::mem::take(&mut call.detail)),
    };
    audit::record(&mut call.tx, entry);
}

/// The idempotency key of the request, with the hash of what it asks for.
fn claim(info: &EndpointInfo, parts: &Parts, canonical_body: &str) -> Result<Option<Claim>, Failure> {
    if !info.policy.idempotency.needs_key() {
        return Ok(None);
    }
    let refused = || {
        ProblemBuilder::new(
            Code::InvalidHeader,
            "`Idempotency-Key` is required: 1 to 128 visible characters, new for each new request",
        )
        .at("Idempotency-Key")
    };
    let key = parts.headers.get("idempotency-key").ok_or_else(refused)?;
    let key = key.to_str().map_err(|_| refused())?;
    if !(1..=128).contains(&key.len()) || !key.bytes().all(|it| it.is_ascii_graphic()) {
        return Err(refused().into());
    }
    // Not the whole address: its form differs between HTTP/1.1 and HTTP/2.
    let address = parts.uri.path_and_query().map_or("", |it| it.as_str());
    let whole = format!("{}\n{address}\n{canonical_body}", info.operation);
    Ok(Some(Claim { operation: info.operation, key: key.to_owned(), request_hash: *hash_token(&whole).as_bytes() }))
}

async fn replay(
    platform: &Platform,
    tx: &mut Tx,
    claim: &Claim,
    keep: std::time::Duration,
) -> Result<Option<Response>, Failure> {
    let claimed = match idempotency::claim(tx, claim, keep).await {
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("55P03") => {
            // bound: the other replica's request ends within its own limit
            let wait = std::time::Duration::from_secs(1);
            return Err(ProblemBuilder::new(Code::InProgress, "another server is still processing this request")
                .after(wait)
                .into());
        }
        other => other?,
    };
    match claimed {
        Claimed::New => Ok(None),
        Claimed::Other => Err(Failure::new(Code::KeyReused, "this key was used with a different body or URL")),
        Claimed::Answered(stored) => {
            let body = if stored.sealed {
                let sealed = Sealed::from_bytes(&stored.body).map_err(|it| Failure::Internal(Box::new(it)))?;
                let opened = platform
                    .keyring
                    .open(&answer_context(tx, claim), &sealed)
                    .map_err(|it| Failure::Internal(Box::new(it)))?;
                opened.expose().to_vec()
            } else {
                stored.body
            };
            let mut response = reply(stored.status, body);
            let headers = response.headers_mut();
            headers.insert(contract::IDEMPOTENT_REPLAY, HeaderValue::from_static("true"));
            if stored.status >= 400 {
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(contract::PROBLEM_JSON));
            }
            Ok(Some(response))
        }
    }
}

fn answer_context(tx: &Tx, claim: &Claim) -> String {
    format!("idempotency:{}:{}:{}", tx.actor.as_str(), claim.operation, claim.key)
}

fn reply(status: u16, body: Vec<u8>) -> Response {
    let status = StatusCode::from_u16(status).expect("contract statuses are valid");
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(contract::JSON));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A handler may answer only what its endpoint declares, so that the API
/// document is true.
fn check_declared(info: &EndpointInfo, code: Code) {
    let documented = contract::openapi::statuses(info);
    if !documented.values().any(|codes| codes.contains(&code)) {
        tracing::error!(
            operation = info.operation,
            code = code.info().name,
            "a handler returned a problem that its endpoint does not declare"
        );
        debug_assert!(false, "{} returned {}, which it does not declare", info.operation, code.info().name);
    }
}
