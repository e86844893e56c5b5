//! The rows of `webhooks`.

use contract::{
    Timestamp, Word,
    id::{OrganizationId, WebhookId},
    webhooks::{EventPattern, Webhook, WebhookChange, WebhookFilter, WebhookSpec, WebhookState},
};
use kernel::{Access, Db, Tx, lifecycle::Versioned};
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    url: String,
    events: Vec<String>,
    description: Option<String>,
    state: String,
    version: i64,
    failures: i32,
    disabled_reason: Option<String>,
    previous_secret_until: Option<jiff_sqlx::Timestamp>,
    created_at: jiff_sqlx::Timestamp,
}

const COLUMNS: &str = "id, organization_id, url, events, description, state, version, failures, disabled_reason,
    CASE WHEN previous_secret_until > app_now() THEN previous_secret_until END AS previous_secret_until, created_at";

/// Inserts a webhook unless the organization has `most` already. The caller
/// holds the organization's lock, or two at once could pass the limit.
pub async fn insert(
    tx: &mut Tx,
    (id, organization): (WebhookId, OrganizationId),
    spec: &WebhookSpec,
    secret: &[u8],
    most: u64,
) -> sqlx::Result<Option<Webhook>> {
    let statement = format!(
        "INSERT INTO webhooks (id, organization_id, url, events, description, secret, state)
         SELECT $1, $2, $3, $4, nullif($5, ''), $6, 'active'
         WHERE (SELECT count(*) FROM webhooks WHERE organization_id = $2 AND state <> 'deleted') < $7
         RETURNING {COLUMNS}"
    );
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(id.uuid())
        .bind(organization.uuid())
        .bind(spec.url.as_str())
        .bind(texts(&spec.events))
        .bind(spec.description.as_ref().map(|it| it.as_str()))
        .bind(secret)
        .bind(i64::try_from(most).unwrap_or(i64::MAX))
        .fetch_optional(tx.conn())
        .await?;
    row.map(webhook).transpose()
}

pub async fn get(tx: &mut Tx, id: WebhookId) -> sqlx::Result<Option<Webhook>> {
    let statement = format!("SELECT {COLUMNS} FROM webhooks WHERE id = $1");
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    row.map(webhook).transpose()
}

pub async fn list(tx: &mut Tx, organization: OrganizationId, filter: &WebhookFilter) -> sqlx::Result<Vec<Webhook>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM webhooks WHERE organization_id = $1
           AND CASE WHEN $2::text IS NULL THEN state <> 'deleted' ELSE state = $2 END AND ($3::uuid IS NULL OR id < $3)
         ORDER BY id DESC LIMIT $4"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(organization.uuid())
        .bind(filter.state.map(|it| it.as_str()))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(webhook).collect()
}

/// Changes what is given, unless the webhook is gone.
pub async fn change(tx: &mut Tx, id: WebhookId, change: &WebhookChange) -> sqlx::Result<Option<Webhook>> {
    let statement = format!(
        "UPDATE webhooks SET url = coalesce($2, url), events = coalesce($3, events),
                description = CASE WHEN $4::text IS NULL THEN description ELSE nullif($4, '') END, version = version + 1
         WHERE id = $1 AND state <> 'deleted' RETURNING {COLUMNS}"
    );
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(id.uuid())
        .bind(change.url.as_ref().map(|it| it.as_str()))
        .bind(change.events.as_deref().map(texts))
        .bind(change.description.as_ref().map(|it| it.as_str()))
        .fetch_optional(tx.conn())
        .await?;
    row.map(webhook).transpose()
}

/// Puts a new secret in place; the one before it signs too until then.
pub async fn rotate(tx: &mut Tx, id: WebhookId, secret: &[u8], until: Timestamp) -> sqlx::Result<Option<Webhook>> {
    let statement = format!(
        "UPDATE webhooks SET previous_secret = secret, previous_secret_until = $3, secret = $2, version = version + 1
         WHERE id = $1 AND state <> 'deleted' RETURNING {COLUMNS}"
    );
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(id.uuid())
        .bind(secret)
        .bind(kernel::clock::bind(until))
        .fetch_optional(tx.conn())
        .await?;
    row.map(webhook).transpose()
}

/// Forgets the secrets of a webhook that is deleted.
pub async fn forget_secrets(tx: &mut Tx, id: Uuid) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE webhooks SET secret = NULL, previous_secret = NULL, previous_secret_until = NULL WHERE id = $1",
    )
    .bind(id)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Starts the count of failures anew.
pub async fn forgive(tx: &mut Tx, id: WebhookId) -> sqlx::Result<()> {
    sqlx::query("UPDATE webhooks SET failures = 0, disabled_reason = NULL WHERE id = $1")
        .bind(id.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// A webhook that hears events, and those it wants.
pub struct Listening {
    pub id: Uuid,
    pub organization: Uuid,
    events: Vec<EventPattern>,
    created_at: Timestamp,
}

impl Listening {
    /// What happened before a webhook was made is not sent to it.
    pub fn wants(&self, subject: &str, at: Timestamp) -> bool {
        at >= self.created_at && self.events.iter().any(|it| it.matches(subject))
    }
}

/// The webhooks of these organizations that hear events.
pub async fn listening(tx: &mut Tx, organizations: &[Uuid]) -> sqlx::Result<Vec<Listening>> {
    let rows: Vec<(Uuid, Uuid, Vec<String>, jiff_sqlx::Timestamp)> = sqlx::query_as(
        "SELECT id, organization_id, events, created_at FROM webhooks
         WHERE organization_id = ANY($1) AND state = 'active'",
    )
    .bind(organizations)
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter()
        .map(|(id, organization, events, created_at)| {
            let events = events.iter().map(|it| platform::rows::text(it)).collect::<sqlx::Result<_>>()?;
            Ok(Listening { id, organization, events, created_at: created_at.to_jiff() })
        })
        .collect()
}

/// Where a delivery goes, and the sealed secrets that sign it now.
pub struct Target {
    pub url: String,
    pub state: WebhookState,
    pub secrets: Vec<Vec<u8>>,
}

type TargetColumns = (String, String, Option<Vec<u8>>, Option<Vec<u8>>);

pub async fn target(tx: &mut Tx, id: Uuid) -> sqlx::Result<Option<Target>> {
    let row: Option<TargetColumns> = sqlx::query_as(
        "SELECT url, state, secret, CASE WHEN previous_secret_until > app_now() THEN previous_secret END
         FROM webhooks WHERE id = $1",
    )
    .bind(id)
    .fetch_optional(tx.conn())
    .await?;
    row.map(|(url, state, secret, previous)| {
        let secrets = secret.into_iter().chain(previous).collect();
        Ok(Target { url, state: platform::rows::known(&state)?, secrets })
    })
    .transpose()
}

/// A delivery arrived: the row of failures is over.
pub async fn arrived(tx: &mut Tx, id: Uuid) -> sqlx::Result<()> {
    sqlx::query("UPDATE webhooks SET failures = 0 WHERE id = $1 AND failures <> 0 AND state = 'active'")
        .bind(id)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Counts a failure of a webhook that is active; the row stays locked.
pub async fn count_failure(tx: &mut Tx, id: Uuid) -> sqlx::Result<Option<(Versioned<WebhookState>, i32)>> {
    let row: Option<(Uuid, i64, i32)> = sqlx::query_as(
        "UPDATE webhooks SET failures = failures + 1 WHERE id = $1 AND state = 'active'
         RETURNING organization_id, version, failures",
    )
    .bind(id)
    .fetch_optional(tx.conn())
    .await?;
    Ok(row.map(|(organization, version, failures)| {
        (Versioned { id, organization: Some(organization), state: WebhookState::Active, version }, failures)
    }))
}

pub async fn note_disabled(tx: &mut Tx, id: Uuid, reason: &str) -> sqlx::Result<()> {
    sqlx::query("UPDATE webhooks SET disabled_reason = left($2, 500) WHERE id = $1")
        .bind(id)
        .bind(reason)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Webhooks of an organization that are not deleted, locked.
pub async fn present_in(tx: &mut Tx, organization: Uuid) -> sqlx::Result<Vec<Webhook>> {
    let statement =
        format!("SELECT {COLUMNS} FROM webhooks WHERE organization_id = $1 AND state <> 'deleted' FOR UPDATE");
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(organization).fetch_all(tx.conn()).await?;
    rows.into_iter().map(webhook).collect()
}

/// Deletes webhooks that were deleted long ago and have no deliveries left.
pub async fn forget_old(db: &Db, keep: std::time::Duration, bite: i64) -> sqlx::Result<u64> {
    let mut tx = Tx::system(db, "housekeeping", Access::Write).await?;
    let gone = sqlx::query(
        "DELETE FROM webhooks WHERE id = ANY(ARRAY(SELECT id FROM webhooks
           WHERE state = 'deleted' AND state_since <= app_now() - make_interval(secs => $1)
             AND NOT EXISTS (SELECT FROM webhook_deliveries WHERE webhook_id = webhooks.id) LIMIT $2))",
    )
    .bind(keep.as_secs_f64())
    .bind(bite)
    .execute(tx.conn())
    .await?
    .rows_affected();
    tx.commit().await?;
    Ok(gone)
}

pub fn versioned(webhook: &Webhook) -> sqlx::Result<Versioned<WebhookState>> {
    Ok(Versioned {
        id: webhook.id.uuid(),
        organization: Some(webhook.organization_id.uuid()),
        state: platform::rows::known(webhook.state.as_str())?,
        version: webhook.version,
    })
}

fn texts(events: &[EventPattern]) -> Vec<String> {
    events.iter().map(|it| it.as_str().to_owned()).collect()
}

fn webhook(row: Row) -> sqlx::Result<Webhook> {
    Ok(Webhook {
        id: row.id.into(),
        organization_id: row.organization_id.into(),
        url: platform::rows::text(&row.url)?,
        events: row.events.iter().map(|it| platform::rows::text(it)).collect::<sqlx::Result<_>>()?,
        description: row.description.as_deref().map(platform::rows::text).transpose()?,
        state: platform::rows::word(&row.state)?,
        version: row.version,
        failures: row.failures,
        disabled_reason: row.disabled_reason,
        previous_secret_until: row.previous_secret_until.map(|it| it.to_jiff()),
        created_at: row.created_at.to_jiff(),
    })
}
