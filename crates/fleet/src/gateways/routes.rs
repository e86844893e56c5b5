//! Adding gateways, reading them, taking them away.

use std::time::Duration;

use contract::{
    Code, Nothing, Page, ShownSecret,
    gateways::{
        CreateGateway, Gateway, GatewayCreated, GatewayRemoved, GatewaySpec, GetGateway, ListGateways, NewGateway,
        RemoveGateway,
    },
};
use kernel::clock;

use super::{NotAdded, names, store};
use crate::FleetArea;
use platform::{
    events::emit,
    http::{Call, Failure, Handle, ProblemBuilder, Request},
    policies::settings,
};

impl FleetArea {
    fn gateway_silence(&self) -> Duration {
        settings::seconds(self.policies.number(settings::ACCESS_GATEWAY_SECONDS))
    }
}

impl Handle<CreateGateway> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<CreateGateway>) -> Result<NewGateway, Failure> {
        let spec = &request.body;
        fits(self, spec)?;
        let minutes = self.policies.number(settings::NODE_ENROLLMENT_MINUTES);
        let expires_at = clock::now(&mut call.tx).await? + settings::minutes(minutes);
        let added = super::add(&mut call.tx, spec, expires_at).await?.map_err(|why| match why {
            NotAdded::NameTaken => Failure::new(Code::NameTaken, "another gateway has this name"),
            NotAdded::NoSuchRegion => Failure::new(Code::InvalidValue, "the region of `region_id` does not exist"),
        })?;
        call.about(added.id);
        let event = GatewayCreated { id: added.id, name: spec.name.clone(), region_id: spec.region_id };
        emit(&mut call.tx, None, added.id, &event);
        let gateway = store::get(&mut call.tx, added.id, self.gateway_silence()).await?;
        Ok(NewGateway {
            gateway: gateway.ok_or_else(|| Failure::not_found("gateway"))?,
            secret: ShownSecret::new(added.token),
            control_url: self.config.node.url.clone(),
            ca_fingerprint: self.ca.authority().root_fingerprint().to_owned(),
        })
    }
}

/// Names that would let a gateway, or a web service behind it, pass for another part of the platform.
fn fits(area: &FleetArea, spec: &GatewaySpec) -> Result<(), Failure> {
    let wrong = |field: &str, detail: String| Failure::from(ProblemBuilder::new(Code::InvalidValue, detail).at(field));
    let host = |url: &str| url::Url::parse(url).ok().and_then(|it| it.host_str().map(str::to_owned));
    let console = host(&area.config.identity.issuer).unwrap_or_default();
    if names::is_same_site(spec.web_domain.as_str(), &console) {
        let detail = format!(
            "web services of tenants could set cookies for the console at `{console}`; use a separate registrable domain, such as `example-web.net`"
        );
        return Err(wrong("web_domain", detail));
    }
    let agents = host(spec.agent_url.as_str()).unwrap_or_default();
    if names::is_listeners(&agents, &area.config.node.names) {
        let detail =
            format!("`{agents}` is a name of the node listener (`node.names`); use another name for the gateway");
        return Err(wrong("agent_url", detail));
    }
    Ok(())
}

impl Handle<ListGateways> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<ListGateways>) -> Result<Page<Gateway>, Failure> {
        let rows = store::list(&mut call.tx, &request.query, self.gateway_silence()).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<GetGateway> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<GetGateway>) -> Result<Gateway, Failure> {
        let found = store::get(&mut call.tx, request.path.gateway_id, self.gateway_silence()).await?;
        found.ok_or_else(|| Failure::not_found("gateway"))
    }
}

impl Handle<RemoveGateway> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<RemoveGateway>) -> Result<Nothing, Failure> {
        let id = request.path.gateway_id;
        let is_news = store::remove(&mut call.tx, id).await?.ok_or_else(|| Failure::not_found("gateway"))?;
        // Removing again changes nothing and tells nobody.
        if is_news {
            emit(&mut call.tx, None, id, &GatewayRemoved { id });
        }
        Ok(Nothing {})
    }
}
