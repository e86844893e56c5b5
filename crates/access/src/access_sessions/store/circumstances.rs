//! What decides whether somebody may come in, as it is at this moment.

use contract::{
    allocations::AllocationState,
    id::{OrganizationId, ServiceAccountId, UserId},
    nodes::NodeState,
    organizations::OrganizationState,
};
use kernel::Tx;
use protocol::WorkloadRef;
use uuid::Uuid;

use crate::access_sessions::authorize::{EntryRequest, roles, staff_roles};
use platform::rows;

pub struct Circumstances {
    pub allocation_state: AllocationState,
    pub organization_state: OrganizationState,
    pub node_state: NodeState,
    /// Whether the gateway and the node are in one region.
    pub is_same_region: bool,
    /// What streams open into.
    pub workload: WorkloadRef,
    pub title: String,
}

type Columns = (String, String, String, bool, String, String, Option<String>, String);

/// Nothing when the allocation is not on the node. Nobody moves it until the commit.
pub async fn circumstances(tx: &mut Tx, wish: &EntryRequest<'_>) -> sqlx::Result<Option<Circumstances>> {
    let row: Option<Columns> = sqlx::query_as(
        "SELECT a.state, o.state, n.state, g.region_id = n.region_id, a.login, k.shape, a.name, p.name
         FROM allocations a JOIN skus k ON k.id = a.sku_id JOIN organizations o ON o.id = a.organization_id JOIN projects p ON p.id = a.project_id
         JOIN allocation_parts part ON part.allocation_id = a.id AND part.node_id = $3
         JOIN nodes n ON n.id = part.node_id JOIN gateways g ON g.id = $4
         WHERE a.id = $1 AND a.organization_id = $2 FOR NO KEY UPDATE OF a",
    )
    .bind(wish.allocation.uuid())
    .bind(wish.organization.uuid())
    .bind(wish.node.uuid())
    .bind(wish.gateway.uuid())
    .fetch_optional(tx.conn())
    .await?;
    let Some((allocation, organization, node, is_same_region, login, shape, name, project)) = row else {
        return Ok(None);
    };
    let name = name.unwrap_or_else(|| wish.allocation.to_string());
    Ok(Some(Circumstances {
        allocation_state: rows::known(&allocation)?,
        organization_state: rows::known(&organization)?,
        node_state: rows::known(&node)?,
        is_same_region,
        workload: WorkloadRef::login(rows::known(&shape)?, login),
        title: format!("{name} ({project})"),
    }))
}

/// Whether the principal may come in now: a member whose role says so, a program
/// likewise, or staff of the platform who gave a reason.
pub async fn is_permitted(
    tx: &mut Tx,
    organization: OrganizationId,
    actor: &str,
    is_break_glass: bool,
) -> sqlx::Result<bool> {
    let Some((id, is_person)) = principal(actor) else { return Ok(false) };
    if is_break_glass {
        return sqlx::query_scalar("SELECT EXISTS (SELECT FROM users WHERE id = $1 AND platform_role = ANY($2))")
            .bind(id)
            .bind(staff_roles())
            .fetch_one(tx.conn())
            .await;
    }
    let statement = match is_person {
        true => {
            "SELECT EXISTS (SELECT FROM memberships WHERE user_id = $1 AND organization_id = $2 AND role = ANY($3))"
        }
        false => {
            "SELECT EXISTS (SELECT FROM service_accounts
               WHERE id = $1 AND organization_id = $2 AND role = ANY($3) AND deleted_at IS NULL)"
        }
    };
    sqlx::query_scalar(statement).bind(id).bind(organization.uuid()).bind(roles()).fetch_one(tx.conn()).await
}

/// Whom an actor names, and whether that is a person.
pub fn principal(actor: &str) -> Option<(Uuid, bool)> {
    if let Some(user) = actor.strip_prefix("user:") {
        return Some((user.parse::<UserId>().ok()?.uuid(), true));
    }
    let account = actor.strip_prefix("service_account:")?;
    Some((account.parse::<ServiceAccountId>().ok()?.uuid(), false))
}
