//! The rows of `allocation_keys`, and the allocations that they concern.

use std::collections::HashMap;

use contract::id::{AllocationId, OrganizationId, ProjectId, SshKeyId, UserId};
use kernel::Tx;
use uuid::Uuid;

/// Lets in these keys of a person, and no others.
pub async fn choose(
    tx: &mut Tx,
    (organization, allocation): (OrganizationId, AllocationId),
    user: Option<UserId>,
    keys: &[SshKeyId],
) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM allocation_keys WHERE allocation_id = $1")
        .bind(allocation.uuid())
        .execute(tx.conn())
        .await?;
    let (Some(user), false) = (user, keys.is_empty()) else { return Ok(()) };
    let keys: Vec<Uuid> = keys.iter().map(|it| it.uuid()).collect();
    sqlx::query(
        "INSERT INTO allocation_keys (organization_id, allocation_id, user_id, ssh_key_id, place)
         SELECT $1, $2, $3, id, place FROM unnest($4::uuid[]) WITH ORDINALITY AS chosen (id, place)
         ON CONFLICT DO NOTHING",
    )
    .bind(organization.uuid())
    .bind(allocation.uuid())
    .bind(user.uuid())
    .bind(keys)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// The lines of each allocation that has some, without comments, which may name a person. Of
/// keys that still exist, whose holders are members with one of these roles, of an
/// organization that is active.
pub async fn lines(
    tx: &mut Tx,
    allocations: &[AllocationId],
    roles: &[&str],
) -> sqlx::Result<HashMap<AllocationId, Vec<String>>> {
    let rows: Vec<(Uuid, String)> = sqlx::query_as(
        "SELECT chosen.allocation_id, split_part(k.public_key, ' ', 1) || ' ' || split_part(k.public_key, ' ', 2)
         FROM allocation_keys chosen JOIN ssh_keys k ON k.id = chosen.ssh_key_id AND k.user_id = chosen.user_id
         JOIN memberships m ON m.organization_id = chosen.organization_id AND m.user_id = chosen.user_id AND m.role = ANY($2)
         JOIN organizations o ON o.id = chosen.organization_id AND o.state = 'active'
         WHERE chosen.allocation_id = ANY($1) ORDER BY chosen.allocation_id, chosen.place",
    )
    .bind(allocations.iter().map(|it| it.uuid()).collect::<Vec<_>>())
    .bind(roles)
    .fetch_all(tx.conn())
    .await?;
    let mut lines: HashMap<AllocationId, Vec<String>> = HashMap::new();
    for (allocation, line) in rows {
        lines.entry(allocation.into()).or_default().push(line);
    }
    Ok(lines)
}

/// Whose hosts must be told again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Concerned {
    pub organization: Option<OrganizationId>,
    pub project: Option<ProjectId>,
    /// Only those that let in a key of this person.
    pub user: Option<UserId>,
    /// Only those that let in this key.
    pub key: Option<SshKeyId>,
}

/// Gives allocations whose hosts hold keys a new version, so that the hosts are
/// asked again, and forgives what failed before. Also one that waits: it may be
/// placed at this moment, with keys that were read before.
pub async fn touch(tx: &mut Tx, concerned: Concerned) -> sqlx::Result<Vec<Uuid>> {
    let Concerned { organization, project, user, key } = concerned;
    // In one order, as everybody locks several.
    sqlx::query_scalar(
        "WITH due AS (SELECT id FROM allocations a WHERE state IN ('requested', 'provisioning', 'starting', 'active')
           AND ($1::uuid IS NULL OR organization_id = $1) AND ($2::uuid IS NULL OR project_id = $2)
           AND (($3::uuid IS NULL AND $4::uuid IS NULL) OR EXISTS (
             SELECT FROM allocation_keys k WHERE k.allocation_id = a.id
               AND ($3::uuid IS NULL OR k.user_id = $3) AND ($4::uuid IS NULL OR k.ssh_key_id = $4)))
           ORDER BY id FOR NO KEY UPDATE)
         UPDATE allocations SET version = version + 1, attempts = 0 FROM due WHERE allocations.id = due.id
         RETURNING allocations.id",
    )
    .bind(organization.map(|it| it.uuid()))
    .bind(project.map(|it| it.uuid()))
    .bind(user.map(|it| it.uuid()))
    .bind(key.map(|it| it.uuid()))
    .fetch_all(tx.conn())
    .await
}

/// Forgets references to a key that is gone.
pub async fn forget_key(tx: &mut Tx, key: SshKeyId) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM allocation_keys WHERE ssh_key_id = $1").bind(key.uuid()).execute(tx.conn()).await?;
    Ok(())
}

/// Forgets references to a person who left an organization, or all of them.
pub async fn forget_user(tx: &mut Tx, user: UserId, organization: Option<OrganizationId>) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM allocation_keys WHERE user_id = $1 AND ($2::uuid IS NULL OR organization_id = $2)")
        .bind(user.uuid())
        .bind(organization.map(|it| it.uuid()))
        .execute(tx.conn())
        .await?;
    Ok(())
}
