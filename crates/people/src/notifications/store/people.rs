//! Whom an event concerns, as other tables say.

use contract::{Role, Word, id::UserId};
use kernel::Tx;
use uuid::Uuid;

// bound: how many people one event tells
const MOST: i64 = 1_000;

/// Members with one of the roles.
pub async fn members(tx: &mut Tx, organization: Uuid, roles: &[Role]) -> sqlx::Result<Vec<UserId>> {
    let roles: Vec<String> = roles.iter().map(|it| it.as_str().to_owned()).collect();
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "SELECT m.user_id FROM memberships m JOIN users u ON u.id = m.user_id
         WHERE m.organization_id = $1 AND m.role = ANY($2) AND u.erased_at IS NULL ORDER BY m.user_id LIMIT $3",
    )
    .bind(organization)
    .bind(roles)
    .bind(MOST)
    .fetch_all(tx.conn())
    .await?;
    Ok(ids.into_iter().map(UserId::from).collect())
}

/// Those of the people who are members.
pub async fn still_members(tx: &mut Tx, organization: Uuid, people: &[UserId]) -> sqlx::Result<Vec<UserId>> {
    let people: Vec<Uuid> = people.iter().map(|it| it.uuid()).collect();
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "SELECT m.user_id FROM memberships m JOIN users u ON u.id = m.user_id
         WHERE m.organization_id = $1 AND m.user_id = ANY($2) AND u.erased_at IS NULL ORDER BY m.user_id LIMIT $3",
    )
    .bind(organization)
    .bind(people)
    .bind(MOST)
    .fetch_all(tx.conn())
    .await?;
    Ok(ids.into_iter().map(UserId::from).collect())
}

pub async fn operators(tx: &mut Tx) -> sqlx::Result<Vec<UserId>> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "SELECT id FROM users WHERE platform_role = 'operator' AND erased_at IS NULL ORDER BY id LIMIT $1",
    )
    .bind(MOST)
    .fetch_all(tx.conn())
    .await?;
    Ok(ids.into_iter().map(UserId::from).collect())
}

/// The account of an address that was proven: others may be anybody's.
pub async fn account(tx: &mut Tx, address: &str) -> sqlx::Result<Option<UserId>> {
    let id: Option<Uuid> = sqlx::query_scalar(
        "SELECT id FROM users WHERE email = $1 AND address_proven_at IS NOT NULL AND erased_at IS NULL",
    )
    .bind(address)
    .fetch_optional(tx.conn())
    .await?;
    Ok(id.map(UserId::from))
}
