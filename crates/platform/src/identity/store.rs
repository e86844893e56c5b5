//! What recognizing a caller reads, each in one round trip.

use contract::id::{KeyId, OrganizationId, ProjectId, ServiceAccountId, SessionId, UserId};
use kernel::{Db, Scope, tx::Literal};
use serde::Deserialize;
use sqlx::Row;
use uuid::Uuid;

/// A credential as stored, with everything that authorizing needs.
#[derive(Debug, Clone, Deserialize)]
pub struct Credential {
    pub user_id: Option<Uuid>,
    pub platform_role: Option<String>,
    pub service_account_id: Option<Uuid>,
    pub key_id: Option<Uuid>,
    pub scopes: Option<Vec<String>>,
    pub expires_us: i64,
    pub memberships: Vec<MembershipRow>,
    /// The organization of the project asked about, if it exists.
    pub project_organization: Option<Uuid>,
    /// Whether the person has a second factor.
    #[serde(default)]
    pub has_factor: bool,
    /// When it was used: in the session, or by who made the key.
    #[serde(default)]
    pub mfa_us: Option<i64>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct MembershipRow {
    pub organization_id: Uuid,
    pub role: String,
    pub state: String,
    /// What the organization set for `identity.mfa_required`.
    #[serde(default)]
    pub mfa_required: Option<String>,
}

const MEMBERSHIPS: &str = "(SELECT coalesce(json_agg(json_build_object('organization_id', m.organization_id, 'role', m.role, 'state', o.state,
     'mfa_required', (SELECT value FROM policies p WHERE p.key = 'identity.mfa_required' AND p.organization_id = o.id AND p.project_id IS NULL))), '[]')
   FROM memberships m JOIN organizations o ON o.id = m.organization_id WHERE m.user_id = u.id)";
const HAS_FACTOR: &str = "EXISTS (SELECT FROM mfa_factors f WHERE f.user_id = u.id)";

pub async fn session(
    db: &Db,
    session: SessionId,
    user: UserId,
    project: Option<ProjectId>,
) -> sqlx::Result<Option<Credential>> {
    let statement = format!(
        "SELECT json_build_object('user_id', u.id, 'platform_role', u.platform_role, 'memberships', {MEMBERSHIPS},
            'has_factor', {HAS_FACTOR}, 'mfa_us', (extract(epoch FROM s.mfa_at) * 1000000)::bigint,
            'expires_us', (extract(epoch FROM s.expires_at) * 1000000)::bigint, 'project_organization', {})::text AS credential
         FROM sessions s JOIN users u ON u.id = s.user_id
         WHERE s.id = {} AND u.id = {} AND s.revoked_at IS NULL AND s.expires_at > app_now() AND u.erased_at IS NULL",
        project_organization(project),
        Literal::Uuid(session.uuid()),
        Literal::Uuid(user.uuid()),
    );
    one(db, &statement).await
}

pub async fn key(db: &Db, hash: &[u8; 32], project: Option<ProjectId>) -> sqlx::Result<Option<Credential>> {
    let statement = format!(
        "SELECT json_build_object('user_id', u.id, 'platform_role', u.platform_role, 'key_id', k.id, 'scopes', k.scopes,
            'has_factor', {HAS_FACTOR}, 'mfa_us', (extract(epoch FROM k.mfa_at) * 1000000)::bigint,
            'service_account_id', a.id, 'expires_us', (extract(epoch FROM k.expires_at) * 1000000)::bigint,
            'memberships', CASE WHEN a.id IS NULL THEN {MEMBERSHIPS} ELSE
               (SELECT json_agg(json_build_object('organization_id', o.id, 'role', a.role, 'state', o.state)) FROM organizations o WHERE o.id = a.organization_id) END,
            'project_organization', {})::text AS credential
         FROM keys k LEFT JOIN users u ON u.id = k.user_id LEFT JOIN service_accounts a ON a.id = k.service_account_id
         WHERE k.hash = {} AND k.revoked_at IS NULL AND k.expires_at > app_now()
           AND ((u.id IS NOT NULL AND u.erased_at IS NULL) OR (a.id IS NOT NULL AND a.deleted_at IS NULL))",
        project_organization(project),
        Literal::Bytes(hash),
    );
    one(db, &statement).await
}

/// Which organization a project belongs to; this never changes.
pub async fn project(db: &Db, project: ProjectId) -> sqlx::Result<Option<OrganizationId>> {
    let statement = format!("SELECT {} AS organization", project_organization(Some(project)));
    let rows = db.read_once(Scope::Identity, &statement).await?;
    let organization: Option<Uuid> = rows.first().map(|row| row.try_get("organization")).transpose()?.flatten();
    Ok(organization.map(OrganizationId::from))
}

pub async fn organization(db: &Db, organization: OrganizationId) -> sqlx::Result<bool> {
    let id = Literal::Uuid(organization.uuid());
    let statement = format!("SELECT EXISTS (SELECT FROM organizations WHERE id = {id}) AS is_there");
    let rows = db.read_once(Scope::Identity, &statement).await?;
    Ok(rows.first().map(|row| row.try_get("is_there")).transpose()?.unwrap_or(false))
}

fn project_organization(project: Option<ProjectId>) -> String {
    match project {
        None => Literal::Null.to_string(),
        Some(id) => format!("(SELECT organization_id FROM projects WHERE id = {})", Literal::Uuid(id.uuid())),
    }
}

async fn one(db: &Db, statement: &str) -> sqlx::Result<Option<Credential>> {
    let rows = db.read_once(Scope::Identity, statement).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let text: String = row.try_get("credential")?;
    serde_json::from_str(&text).map(Some).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

impl Credential {
    pub fn service_account(&self) -> Option<ServiceAccountId> {
        self.service_account_id.map(ServiceAccountId::from)
    }
    pub fn key(&self) -> Option<KeyId> {
        self.key_id.map(KeyId::from)
    }
}

/// Stamps what was used since the last time.
pub async fn stamp(tx: &mut kernel::Tx, keys: Vec<Uuid>, sessions: Vec<Uuid>) -> sqlx::Result<()> {
    sqlx::query("WITH k AS (UPDATE keys SET last_used_at = app_now() WHERE id = ANY($1)) UPDATE sessions SET last_used_at = app_now() WHERE id = ANY($2)")
        .bind(keys)
        .bind(sessions)
        .execute(tx.conn())
        .await?;
    Ok(())
}
