//! What these tests stand on.

use std::{path::Path, sync::Arc};

use client::{Client, ClientError};
use contract::{
    Nothing, Page,
    access_sessions::{AccessSession, AccessSessionFilter, AccessSessionState, ListAccessSessions},
    access_tickets::{AccessTicketSpec, CreateAccessTicket, NewAccessTicket, TicketKind},
    allocations::{AllocationPath, AllocationSpec, AllocationState},
    id::{AllocationId, OrganizationId, RegionId},
    organizations::OrganizationPath,
    regions::{ListRegions, RegionFilter},
};
use gpuaasd::roles::Role;
use platform::config::Config;
use tempfile::TempDir;
use testkit::{Cloud, Database, Server, Tenant, cloud::ask, gateway::Gateway, world::set_policy};

pub struct Stand {
    pub cloud: Cloud,
    pub gateway: Gateway,
    pub tenant: Tenant,
    pub allocation: AllocationId,
    recordings: TempDir,
}

pub fn terminal() -> AccessTicketSpec {
    AccessTicketSpec {
        kind: TicketKind::Terminal,
        port: None,
        node_id: None,
        resume: None,
        watch: false,
        command: None,
        plain: false,
        share: false,
    }
}

/// The region of the fleet.
pub async fn region(operator: &Client) -> RegionId {
    let page: Page<_> = operator.call::<ListRegions>(Nothing {}, RegionFilter::default(), Nothing {}).await.unwrap();
    page.items[0].id
}

impl Stand {
    pub async fn new() -> Stand {
        Stand::with(|_| (), 4 << 30).await
    }

    /// With other settings, and so much that may wait on the gateway's disk.
    pub async fn with(adjust: impl FnOnce(&mut Config), spool_bytes: u64) -> Stand {
        Stand::across(1, adjust, spool_bytes).await
    }

    /// Whose allocation is a gang of so many hosts.
    pub async fn gang(nodes: u16) -> Stand {
        Stand::across(nodes, |_| (), 4 << 30).await
    }

    async fn across(nodes: u16, adjust: impl FnOnce(&mut Config), spool_bytes: u64) -> Stand {
        let recordings = tempfile::tempdir().unwrap();
        let folder = recordings.path().to_owned();
        let database = Arc::new(Database::new().await);
        let server = Server::with(database, &Role::ALL, |config| {
            config.recordings.folder = Some(folder);
            adjust(config);
        })
        .await;
        let cloud = Cloud::on(server, usize::from(nodes), 8).await;
        let operator = &cloud.fleet.operator;
        set_policy(operator, "rate_limit.terminal_ticket_per_minute", "1000").await;
        let region = region(operator).await;
        let server = &cloud.world().server;
        let gateway = Gateway::start_with(server, operator, region, "gw-1", |it| it.spool_bytes = spool_bytes).await;
        let tenant = cloud.tenant().await;
        let spec = AllocationSpec { nodes: contract::Within::new(u64::from(nodes)).unwrap(), ..ask(1) };
        let allocation = tenant.ask(spec).await;
        tenant.reaches(allocation, AllocationState::Active).await;
        gateway.has_hosts(operator, u32::from(nodes)).await;
        Stand { cloud, gateway, tenant, allocation, recordings }
    }

    pub fn operator(&self) -> &Client {
        &self.cloud.fleet.operator
    }

    pub fn at(&self) -> AllocationPath {
        AllocationPath { project_id: self.tenant.project, allocation_id: self.allocation }
    }

    pub async fn ticket(&self, spec: AccessTicketSpec) -> NewAccessTicket {
        self.try_ticket(&self.tenant.client, spec).await.unwrap()
    }

    pub async fn try_ticket(&self, client: &Client, spec: AccessTicketSpec) -> Result<NewAccessTicket, ClientError> {
        client.call::<CreateAccessTicket>(self.at(), Nothing {}, spec).await
    }

    pub fn organization(&self) -> OrganizationPath {
        OrganizationPath { organization_id: self.id() }
    }

    pub fn id(&self) -> OrganizationId {
        self.tenant.organization
    }

    pub fn recordings_folder(&self) -> &Path {
        self.recordings.path()
    }

    /// What waits on the gateway's disk.
    pub fn waiting_bytes(&self) -> u64 {
        size_of(&self.gateway.folder.path().join("spool"))
    }

    /// Somebody else of the organization who may come in.
    pub async fn colleague(&self) -> Tenant {
        let owner = self.cloud.world().member_of(self.id(), contract::Role::Member).await;
        Tenant { client: self.cloud.world().as_(&owner), owner, ..self.tenant.clone() }
    }

    pub async fn sessions(&self, state: Option<AccessSessionState>) -> Vec<AccessSession> {
        let filter = AccessSessionFilter { state, ..AccessSessionFilter::default() };
        let page = self.tenant.client.call::<ListAccessSessions>(self.organization(), filter, Nothing {}).await;
        page.unwrap().items
    }
}

fn size_of(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else { return 0 };
    let sizes = entries.flatten().map(|it| match it.file_type() {
        Ok(kind) if kind.is_dir() => size_of(&it.path()),
        _ => it.metadata().map_or(0, |it| it.len()),
    });
    sizes.sum()
}

/// The code of a refusal.
pub fn code(refused: ClientError) -> String {
    match refused {
        ClientError::Problem(problem) => problem.code.clone(),
        other => panic!("no problem: {other}"),
    }
}

/// How often something was refused for a reason, in this process.
pub fn refused(reason: &str) -> u64 {
    counted("gpuaas_access_refused_total", &[("reason", reason)])
}

/// What a counter of this process, which the gateway is in too, has come to.
pub fn counted(name: &str, labels: &[(&str, &str)]) -> u64 {
    let page = platform::telemetry::metrics_page();
    let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
    let wanted = format!("{name}{{{}}} ", labels.join(","));
    page.lines().find_map(|it| it.strip_prefix(&wanted)?.trim().parse().ok()).unwrap_or(0)
}
