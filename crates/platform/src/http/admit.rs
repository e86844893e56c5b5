//! The gates before a request is read: limits, who it is, and whether they may.

use std::{net::IpAddr, sync::Arc};

use contract::{
    Auth, Code, EndpointInfo, Lane, OrganizationStates, Verb,
    id::{OrganizationId, ProjectId},
};
use http::{header, request::Parts};
use kernel::{Access, Scope, Tx, audit};
use listen::{client_address, network};

use super::{
    Failure, ProblemBuilder, Refused, correlation,
    parse::{self, ParseLimits, PathParams},
    second_factor,
};
use crate::{
    Platform,
    identity::Caller,
    policies::settings::{self, NumberKey},
    telemetry::TraceParent,
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
pub struct AdmittedRequest {
    pub caller: Arc<Caller>,
    pub scope: Scope,
    pub organization: Option<OrganizationId>,
    pub params: PathParams,
    pub limits: ParseLimits,
}

impl Arrival {
    pub fn new(platform: &Platform, parts: &Parts) -> Self {
        let peer = parts.extensions.get::<PeerAddress>().map(|it| it.0);
        let address = peer.map(|it| client_address(&platform.config.http.trusted_proxies, it, &parts.headers));
        let trace = correlation::trace_parent(&parts.headers);
        Self { correlation_id: correlation::correlation_id(&parts.headers), trace, address }
    }

    /// The trace that what happens now is part of: our span, or the caller's where we keep none.
    pub fn traceparent(&self) -> Option<Arc<str>> {
        crate::telemetry::outgoing().or_else(|| self.trace.as_ref().map(ToString::to_string)).map(Into::into)
    }

    /// What limits per address count: the address, or its /64 of IPv6.
    pub fn network(&self) -> Option<IpAddr> {
        self.address.map(network)
    }

    pub fn network_text(&self) -> String {
        self.network().map_or_else(|| "unknown".into(), |it| it.to_string())
    }
}

/// Passes the gates in their order; an audited refusal is recorded on the way out.
pub async fn admit(
    platform: &Platform,
    info: &EndpointInfo,
    arrival: &Arrival,
    parts: &Parts,
    params: PathParams,
) -> Result<AdmittedRequest, Failure> {
    let limits = limits(platform);
    parse::headers_within(&parts.headers, &parts.uri, &limits)?;
    let address = arrival.network_text();
    platform
        .limiter
        .admit("address", &address, platform.policies.number(settings::RATE_ADDRESS))
        .await
        .map_err(|wait| slow_down("requests from this address", wait))?;

    let caller = match authenticate(platform, info, parts, &params).await {
        Ok(caller) => caller,
        Err(failure) => return Err(denied(platform, info, arrival, (None, &params), failure).await),
    };
    let who = match info.policy.auth {
        Auth::Public { .. } => address,
        Auth::SignedIn | Auth::Person | Auth::Organization(_) | Auth::Project(_) | Auth::Platform(_) => {
            caller.actor().as_str().to_owned()
        }
    };
    let lane = info.policy.lane;
    platform
        .limiter
        .admit(lane.as_str(), &who, platform.policies.number(lane_key(lane)))
        .await
        .map_err(|wait| slow_down(&format!("requests in the {} lane", lane.as_str()), wait))?;

    match authorize_newest(platform, info, parts, caller.clone(), &params).await {
        Ok((caller, (scope, organization))) => Ok(AdmittedRequest { caller, scope, organization, params, limits }),
        Err(failure) => Err(denied(platform, info, arrival, (Some(&caller), &params), failure).await),
    }
}

/// A caller is remembered for a moment, in which another replica may have
/// granted more: before a refusal, the memory is checked.
async fn authorize_newest(
    platform: &Platform,
    info: &EndpointInfo,
    parts: &Parts,
    caller: Arc<Caller>,
    params: &PathParams,
) -> Result<(Arc<Caller>, Granted), Failure> {
    let first = match authorize(platform, info, &caller, params).await {
        Ok(granted) => return Ok((caller, granted)),
        Err(failure) => failure,
    };
    let may_change = matches!(&first, Failure::Problem(it) if matches!(
        it.code,
        Code::NotFound | Code::Forbidden | Code::Suspended | Code::MfaEnrollmentRequired | Code::StepUpRequired
    ));
    if !may_change {
        return Err(first);
    }
    let now = platform.recognizer.caller_now(bearer(parts)?).await?;
    if now == caller {
        return Err(first);
    }
    let granted = authorize(platform, info, &now, params).await?;
    Ok((now, granted))
}

async fn authenticate(
    platform: &Platform,
    info: &EndpointInfo,
    parts: &Parts,
    params: &PathParams,
) -> Result<Arc<Caller>, Failure> {
    if let Auth::Public { .. } = info.policy.auth {
        return Ok(Arc::new(Caller::anyone()));
    }
    platform.recognizer.caller(bearer(parts)?, param(params, "project_id")).await
}

fn bearer(parts: &Parts) -> Result<&str, Failure> {
    let mut values = parts.headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Err(Failure::new(Code::Unauthenticated, "no credentials were sent"));
    };
    // Others on the way may have judged another one than we would.
    if values.next().is_some() {
        let detail = "`Authorization` was sent more than once; send one";
        return Err(ProblemBuilder::new(Code::InvalidHeader, detail).at("Authorization").into());
    }
    let token = value
        .to_str()
        .ok()
        .and_then(|it| it.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let Some((_, token)) = token else {
        return Err(Failure::new(Code::Unauthenticated, "send credentials as `Authorization: Bearer …`"));
    };
    Ok(token.trim())
}

/// What an admitted request may see, and the organization that it is about.
type Granted = (Scope, Option<OrganizationId>);

pub async fn authorize(
    platform: &Platform,
    info: &EndpointInfo,
    caller: &Caller,
    params: &PathParams,
) -> Result<Granted, Failure> {
    let granted = authorize_role(platform, info, caller, params).await?;
    second_factor::check(platform, info, caller, granted.1)?;
    Ok(granted)
}

async fn authorize_role(
    platform: &Platform,
    info: &EndpointInfo,
    caller: &Caller,
    params: &PathParams,
) -> Result<Granted, Failure> {
    let writes = info.verb != Verb::GET;
    let needs_active = writes && info.policy.organization_states == OrganizationStates::Active;
    match info.policy.auth {
        Auth::Public { .. } => Ok((Scope::Public, None)),
        Auth::SignedIn => Ok((caller.own_scope(), None)),
        Auth::Person => match caller.user() {
            // A key limited to scopes must not mint keys or sign people out.
            Some(_) if caller.scopes.is_some() && writes => {
                Err(Failure::new(Code::SignInNeeded, "API keys cannot access the account itself"))
            }
            Some(user) => Ok((Scope::Person(user.uuid()), None)),
            None => Err(Failure::new(Code::Forbidden, "only user accounts can do this, not service accounts")),
        },
        Auth::Organization(permission) => {
            let organization = named(params, "organization_id")?;
            caller.check_organization(organization, permission, needs_active)?;
            Ok((Scope::Organization(organization.uuid()), Some(organization)))
        }
        Auth::Project(permission) => {
            let project: ProjectId = named(params, "project_id")?;
            let organization = platform.recognizer.organization_of(project).await?;
            let organization =
                organization.ok_or_else(|| Failure::not_found("organization, project or part of one"))?;
            caller.check_organization(organization, permission, needs_active)?;
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
    text.parse().map_err(|error| ProblemBuilder::new(Code::InvalidPath, error).at(name).into())
}

/// Records a refusal in a transaction of its own, unless there were many, then
/// hands the failure on.
async fn denied(
    platform: &Platform,
    info: &EndpointInfo,
    arrival: &Arrival,
    (caller, params): (Option<&Caller>, &PathParams),
    failure: Failure,
) -> Failure {
    let Failure::Problem(builder) = &failure else { return failure };
    // Who is known is named to the organization that they addressed, so that its
    // owners see who tried, strangers too; to them it is as if it did not exist.
    let addressed = match caller {
        Some(_) => match addressed(platform, params).await {
            Ok(addressed) => addressed,
            Err(error) => return error,
        },
        None => None,
    };
    let is_refusal = match builder.code {
        Code::Unauthenticated
        | Code::Forbidden
        | Code::SignInNeeded
        | Code::Suspended
        | Code::MfaEnrollmentRequired
        | Code::StepUpRequired => true,
        Code::NotFound => addressed.is_some(),
        _ => false,
    };
    if !is_refusal {
        return failure;
    }
    let actor = caller.map_or_else(kernel::Actor::public, Caller::actor);
    let who = match caller {
        Some(_) => Refused::Actor(actor.as_str().to_owned()),
        None => Refused::Network(arrival.network()),
    };
    if !platform.refusals.is_recorded(&platform.policies, platform.db.clock.estimate(), who) {
        return failure;
    }
    let entry = audit::NewEntry {
        action: format!("denied.{}", info.operation),
        organization: addressed.map(|it| it.uuid()),
        resource: None,
        outcome: builder.code.info().name,
        detail: serde_json::json!({}),
    };
    let written = async {
        let scope = addressed.map_or(Scope::Public, |it| Scope::Organization(it.uuid()));
        let mut tx = Tx::begin(&platform.db, scope, Access::Write, actor, arrival.correlation_id.clone()).await?;
        audit::record(&mut tx, entry);
        tx.commit().await
    };
    if let Err(error) = written.await {
        return Failure::Database(error);
    }
    failure
}

/// The organization that the path names, if there is such a one.
async fn addressed(platform: &Platform, params: &PathParams) -> Result<Option<OrganizationId>, Failure> {
    if let Some(project) = param(params, "project_id") {
        return platform.recognizer.organization_of(project).await;
    }
    match param(params, "organization_id") {
        Some(organization) => platform.recognizer.existing(organization).await,
        None => Ok(None),
    }
}

fn slow_down(what: &str, wait: std::time::Duration) -> ProblemBuilder {
    ProblemBuilder::new(Code::TooManyRequests, format!("too many {what}")).after(wait)
}

fn lane_key(lane: Lane) -> NumberKey {
    match lane {
        Lane::Default => settings::RATE_DEFAULT,
        Lane::Financial => settings::RATE_FINANCIAL,
        Lane::Admin => settings::RATE_ADMIN,
        Lane::Login => settings::RATE_LOGIN,
        Lane::Terminal => settings::RATE_TERMINAL,
        Lane::Launch => settings::RATE_LAUNCH,
        Lane::Node => settings::RATE_NODE,
    }
}

fn limits(platform: &Platform) -> ParseLimits {
    let number = |key| usize::try_from(platform.policies.number(key)).unwrap_or(usize::MAX);
    ParseLimits {
        body_bytes: number(settings::BODY_BYTES),
        depth: number(settings::BODY_DEPTH),
        query_bytes: number(settings::QUERY_BYTES),
        headers: number(settings::HEADERS_MAX),
        header_bytes: number(settings::HEADER_BYTES),
    }
}
