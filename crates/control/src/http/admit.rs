//! The gates before a request is read: limits, who it is, and whether they may.

use std::{net::IpAddr, sync::Arc};

use contract::{
    Auth, Code, EndpointInfo, Lane, Verb,
    id::{OrganizationId, ProjectId},
};
use http::{header, request::Parts};
use kernel::{Access, Scope, Tx, audit};

use super::{
    Failure, TraceParent, Trouble, correlation,
    parse::{self, ParseLimits, PathParams},
};
use crate::{
    app::App,
    identity::Caller,
    policies::keys::{self, NumberKey},
};

/// What is known of a request before anything of it is trusted.
pub struct Arrival {
    pub correlation_id: Arc<str>,
    /// The W3C trace that the caller is part of.
    pub trace: Option<TraceParent>,
    pub address: Option<IpAddr>,
}

/// The address that a connection came from, put there by the listener.
#[derive(Debug, Clone, Copy)]
pub struct PeerAddress(pub IpAddr);

/// A request that may go on.
pub struct Admitted {
    pub caller: Arc<Caller>,
    pub scope: Scope,
    pub organization: Option<OrganizationId>,
    pub params: PathParams,
    pub limits: ParseLimits,
}

impl Arrival {
    pub fn new(app: &App, parts: &Parts) -> Self {
        let peer = parts.extensions.get::<PeerAddress>().map(|it| it.0);
        let forwarded = || {
            let text = parts.headers.get("x-forwarded-for")?.to_str().ok()?;
            text.rsplit(',').next()?.trim().parse().ok()
        };
        // Only a proxy that the operator named may speak for others.
        let address = match peer {
            Some(peer) if app.config.http.trusted_proxies.contains(&peer) => forwarded().or(Some(peer)),
            other => other,
        };
        let trace = correlation::trace_parent(&parts.headers);
        Self { correlation_id: correlation::correlation_id(&parts.headers), trace, address }
    }

    /// The trace that what happens now is part of: our span, or the caller's where we keep none.
    pub fn traceparent(&self) -> Option<Arc<str>> {
        crate::telemetry::outgoing().or_else(|| self.trace.as_ref().map(ToString::to_string)).map(Into::into)
    }

    pub fn address_text(&self) -> String {
        self.address.map_or_else(|| "unknown".into(), |it| it.to_string())
    }
}

/// Passes the gates in their order; an audited refusal is recorded on the way out.
pub async fn admit(
    app: &App,
    info: &EndpointInfo,
    arrival: &Arrival,
    parts: &Parts,
    params: PathParams,
) -> Result<Admitted, Failure> {
    let limits = limits(app);
    parse::headers_within(&parts.headers, &parts.uri, &limits)?;
    let address = arrival.address_text();
    app.limiter
        .admit("address", &address, app.policies.number(keys::RATE_ADDRESS))
        .await
        .map_err(|wait| slow_down("requests from this address", wait))?;

    let caller = match authenticate(app, info, parts, &params).await {
        Ok(caller) => caller,
        Err(failure) => return Err(denied(app, info, arrival, None, failure).await),
    };
    let who = match info.policy.auth {
        Auth::Public { .. } => address,
        Auth::SignedIn | Auth::Person | Auth::Organization(_) | Auth::Project(_) | Auth::Platform(_) => {
            caller.actor().as_str().to_owned()
        }
    };
    let lane = info.policy.lane;
    app.limiter
        .admit(lane.as_str(), &who, app.policies.number(lane_key(lane)))
        .await
        .map_err(|wait| slow_down(&format!("requests in the {} lane", lane.as_str()), wait))?;

    match authorise_newest(app, info, parts, caller.clone(), &params).await {
        Ok((caller, (scope, organization))) => Ok(Admitted { caller, scope, organization, params, limits }),
        Err(failure) => Err(denied(app, info, arrival, Some(&caller), failure).await),
    }
}

/// A caller is remembered for a moment, in which another replica may have
/// granted more: before a refusal, the memory is checked.
async fn authorise_newest(
    app: &App,
    info: &EndpointInfo,
    parts: &Parts,
    caller: Arc<Caller>,
    params: &PathParams,
) -> Result<(Arc<Caller>, Granted), Failure> {
    let first = match authorise(app, info, &caller, params).await {
        Ok(granted) => return Ok((caller, granted)),
        Err(failure) => failure,
    };
    let may_change =
        matches!(&first, Failure::Problem(it) if matches!(it.code, Code::NotFound | Code::Forbidden | Code::Suspended));
    if !may_change {
        return Err(first);
    }
    let now = app.recogniser.caller_now(bearer(parts)?).await?;
    if now == caller {
        return Err(first);
    }
    let granted = authorise(app, info, &now, params).await?;
    Ok((now, granted))
}

async fn authenticate(
    app: &App,
    info: &EndpointInfo,
    parts: &Parts,
    params: &PathParams,
) -> Result<Arc<Caller>, Failure> {
    if let Auth::Public { .. } = info.policy.auth {
        return Ok(Arc::new(Caller::anyone()));
    }
    app.recogniser.caller(bearer(parts)?, param(params, "project_id")).await
}

fn bearer(parts: &Parts) -> Result<&str, Failure> {
    let Some(value) = parts.headers.get(header::AUTHORIZATION) else {
        return Err(Failure::new(Code::Unauthenticated, "no credentials were sent"));
    };
    let token = value
        .to_str()
        .ok()
        .and_then(|it| it.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let Some((_, token)) = token else {
        return Err(Failure::new(Code::Unauthenticated, "credentials must come as `Authorization: Bearer …`"));
    };
    Ok(token.trim())
}

/// What an admitted request may see, and the organization that it is about.
type Granted = (Scope, Option<OrganizationId>);

pub async fn authorise(
    app: &App,
    info: &EndpointInfo,
    caller: &Caller,
    params: &PathParams,
) -> Result<Granted, Failure> {
    let writes = info.verb != Verb::GET;
    match info.policy.auth {
        Auth::Public { .. } => Ok((Scope::Public, None)),
        Auth::SignedIn => Ok((caller.own_scope(), None)),
        Auth::Person => match caller.user() {
            // A key limited to scopes must not mint keys or sign people out.
            Some(_) if caller.scopes.is_some() && writes => {
                Err(Failure::new(Code::SignInNeeded, "what concerns the account itself is not for keys"))
            }
            Some(user) => Ok((Scope::Person(user.uuid()), None)),
            None => Err(Failure::new(Code::Forbidden, "only people can do this, not service accounts")),
        },
        Auth::Organization(permission) => {
            let organization = named(params, "organization_id")?;
            caller.check_organization(organization, permission, writes)?;
            Ok((Scope::Organization(organization.uuid()), Some(organization)))
        }
        Auth::Project(permission) => {
            let project: ProjectId = named(params, "project_id")?;
            let organization = app.recogniser.organization_of(project).await?;
            let organization =
                organization.ok_or_else(|| Failure::not_found("organization, project or part of one"))?;
            caller.check_organization(organization, permission, writes)?;
            Ok((Scope::Organization(organization.uuid()), Some(organization)))
        }
        Auth::Platform(permission) => {
            caller.check_platform(permission)?;
            Ok((Scope::Operator, None))
        }
    }
}

fn param<T: std::str::FromStr>(params: &PathParams, name: &str) -> Option<T> {
    params.iter().find(|(it, _)| it == name).and_then(|(_, value)| value.parse().ok())
}

fn named<T: std::str::FromStr<Err: std::fmt::Display>>(params: &PathParams, name: &str) -> Result<T, Failure> {
    let text = params.iter().find(|(it, _)| it == name).map_or("", |(_, value)| value.as_str());
    text.parse().map_err(|error| Trouble::new(Code::InvalidPath, error).at(name).into())
}

/// Records a refusal in a transaction of its own, then hands the failure on.
async fn denied(
    app: &App,
    info: &EndpointInfo,
    arrival: &Arrival,
    caller: Option<&Caller>,
    failure: Failure,
) -> Failure {
    let Failure::Problem(trouble) = &failure else { return failure };
    if !matches!(trouble.code, Code::Unauthenticated | Code::Forbidden | Code::SignInNeeded | Code::Suspended) {
        return failure;
    }
    let actor = caller.map_or_else(kernel::Actor::public, Caller::actor);
    let entry = audit::NewEntry {
        action: format!("denied.{}", info.operation),
        organization: None,
        resource: None,
        outcome: trouble.code.info().name,
        detail: serde_json::json!({}),
    };
    let written = async {
        let mut tx = Tx::begin(&app.db, Scope::Public, Access::Write, actor, arrival.correlation_id.clone()).await?;
        audit::record(&mut tx, entry);
        tx.commit().await
    };
    if let Err(error) = written.await {
        return Failure::Database(error);
    }
    failure
}

fn slow_down(what: &str, wait: std::time::Duration) -> Trouble {
    Trouble::new(Code::TooManyRequests, format!("too many {what}")).after(wait)
}

fn lane_key(lane: Lane) -> NumberKey {
    match lane {
        Lane::Default => keys::RATE_DEFAULT,
        Lane::Financial => keys::RATE_FINANCIAL,
        Lane::Admin => keys::RATE_ADMIN,
        Lane::Login => keys::RATE_LOGIN,
        Lane::Terminal => keys::RATE_TERMINAL,
        Lane::Launch => keys::RATE_LAUNCH,
        Lane::Node => keys::RATE_NODE,
    }
}

fn limits(app: &App) -> ParseLimits {
    let number = |key| usize::try_from(app.policies.number(key)).unwrap_or(usize::MAX);
    ParseLimits {
        body_bytes: number(keys::BODY_BYTES),
        depth: number(keys::BODY_DEPTH),
        query_bytes: number(keys::QUERY_BYTES),
        headers: number(keys::HEADERS_MAX),
        header_bytes: number(keys::HEADER_BYTES),
    }
}
