//! Whether somebody may be inside an allocation at this moment, and within what
//! limits: asked when a ticket is exchanged, when a stream is opened, and while
//! a session goes on.

use std::time::Duration;

use contract::{
    Permission, Timestamp, Word,
    access_sessions::AccessKind,
    allocations::AllocationState,
    id::{AllocationId, GatewayId, NodeId, OrganizationId, ProjectId},
    nodes::NodeState,
    organizations::OrganizationState,
    permission::PlatformRole,
};
use kernel::{Tx, clock};
use protocol::{WorkloadRef, stream::Limits};

use super::store;
use people::credentials::{self, Credential};
use platform::{
    identity,
    policies::{PolicyScope, Ports, ProjectPolicies, RecordingMode, settings},
};

/// Who wants to be where.
#[derive(Debug, Clone, Copy)]
pub struct EntryRequest<'a> {
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub allocation: AllocationId,
    pub node: NodeId,
    pub gateway: GatewayId,
    pub kind: AccessKind,
    /// As audit entries name them.
    pub actor: &'a str,
    pub is_break_glass: bool,
    pub credential: Credential,
}

/// What was found out about a wish that may come true.
#[derive(Debug, Clone)]
pub struct EntryContext {
    /// What streams open into.
    pub workload: WorkloadRef,
    /// The names of allocation and project, for people.
    pub title: String,
    pub now: Timestamp,
    pub limits: Limits,
    pub grace: Duration,
    pub most_sessions: u64,
    pub ports: Ports,
    pub recording: RecordingMode,
    pub records_input: bool,
}

/// Why not, under the name that it is counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    NotPermitted,
    /// What they showed when they asked was revoked since.
    CredentialEnded,
    Suspended,
    AllocationGone,
    NodeAway,
    OtherRegion,
    NotRecordable,
}

impl Denied {
    pub fn reason(self) -> &'static str {
        match self {
            Denied::NotPermitted => "not_permitted",
            Denied::CredentialEnded => "credential_ended",
            Denied::Suspended => "organization_suspended",
            Denied::AllocationGone => "allocation_not_active",
            Denied::NodeAway => "node_not_ready",
            Denied::OtherRegion => "other_region",
            Denied::NotRecordable => "not_recordable",
        }
    }
}

/// Reads everything anew; nobody moves the allocation until the commit.
pub async fn authorize(
    tx: &mut Tx,
    wish: EntryRequest<'_>,
    can_record: bool,
) -> sqlx::Result<Result<EntryContext, Denied>> {
    let Some(found) = store::circumstances(tx, &wish).await? else { return Ok(Err(Denied::AllocationGone)) };
    if found.organization_state != OrganizationState::Active {
        return Ok(Err(Denied::Suspended));
    }
    if found.allocation_state != AllocationState::Active {
        return Ok(Err(Denied::AllocationGone));
    }
    if !is_reachable(found.node_state) {
        return Ok(Err(Denied::NodeAway));
    }
    if !found.is_same_region {
        return Ok(Err(Denied::OtherRegion));
    }
    let who = (wish.actor, wish.is_break_glass);
    if let Err(denied) = stands(tx, wish.organization, who, wish.credential).await? {
        return Ok(Err(denied));
    }
    let now = clock::now(tx).await?;
    let place = PolicyScope { organization: wish.organization.uuid(), project: wish.project.uuid() };
    let mut here = ProjectPolicies { tx, place };
    let mut recording = RecordingMode::parse(here.choice(settings::ACCESS_RECORDING).await?);
    // Who comes in for a reason is recorded wherever that is possible.
    if wish.is_break_glass && recording == RecordingMode::Off {
        recording = RecordingMode::On;
    }
    let is_recorded_kind = matches!(wish.kind, AccessKind::Terminal | AccessKind::Ssh);
    if recording == RecordingMode::Required && !(can_record && is_recorded_kind) {
        return Ok(Err(Denied::NotRecordable));
    }
    if !can_record {
        recording = RecordingMode::Off;
    }
    let most_sessions = here.number(settings::ACCESS_SESSIONS).await?;
    let grace = settings::seconds(here.number(settings::ACCESS_GRACE_SECONDS).await?);
    let idle = settings::minutes(here.number(settings::ACCESS_IDLE_MINUTES).await?);
    let limits = Limits {
        until: now + settings::hours(here.number(settings::ACCESS_SESSION_HOURS).await?),
        grace_seconds: u32::try_from(grace.as_secs()).unwrap_or(u32::MAX),
        idle_seconds: u32::try_from(idle.as_secs()).unwrap_or(u32::MAX),
        sessions: u16::try_from(most_sessions).unwrap_or(u16::MAX),
    };
    Ok(Ok(EntryContext {
        workload: found.workload,
        title: found.title,
        now,
        limits,
        grace,
        most_sessions,
        ports: here.ports(settings::ACCESS_TCP_PORTS).await?,
        recording,
        records_input: here.flag(settings::ACCESS_RECORD_INPUT).await?,
    }))
}

/// Whether somebody, with glass broken or not, may come in, and what they showed is good.
pub async fn stands(
    tx: &mut Tx,
    organization: OrganizationId,
    (actor, is_break_glass): (&str, bool),
    credential: Credential,
) -> sqlx::Result<Result<(), Denied>> {
    if !store::is_permitted(tx, organization, actor, is_break_glass).await? {
        return Ok(Err(Denied::NotPermitted));
    }
    if credentials::is_revoked(tx, credential).await? {
        return Ok(Err(Denied::CredentialEnded));
    }
    Ok(Ok(()))
}

/// Whether the host may be expected to open anything.
fn is_reachable(state: NodeState) -> bool {
    match state {
        NodeState::Ready | NodeState::Cordoned | NodeState::Draining | NodeState::Maintenance => true,
        NodeState::Enrolling | NodeState::Sanitizing | NodeState::Failed | NodeState::Retired => false,
    }
}

/// The roles of an organization whose holders may come in.
pub fn roles() -> Vec<&'static str> {
    identity::roles_with(Permission::AccessWrite)
}

/// The roles of the platform's staff whose holders may break glass.
pub fn staff_roles() -> Vec<&'static str> {
    PlatformRole::ALL.iter().filter(|it| it.grants(Permission::PlatformAccessWrite)).map(|it| it.as_str()).collect()
}
