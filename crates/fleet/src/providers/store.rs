//! The rows of `providers`.

use contract::{
    Label, Word,
    id::{PoolId, ProviderId},
    providers::{AgentSource, Erase, MaasName, Provider, ProviderChange, ProviderFilter, ProviderSpec, ProviderState},
};
use kernel::{
    Tx,
    lifecycle::Versioned,
    sealed::SealedColumn,
    secrets::{Keyring, SecretsError},
};
use uuid::Uuid;

use platform::{ports::metal::MetalAccess, rows};

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    name: String,
    kind: String,
    pool_id: Uuid,
    url: String,
    maas_pool: Option<String>,
    tags: Vec<String>,
    series: String,
    erase: String,
    max_machines: i32,
    agent_url: Option<String>,
    agent_sha256: Option<String>,
    state: String,
    version: i64,
    created_at: jiff_sqlx::Timestamp,
    heard_at: Option<jiff_sqlx::Timestamp>,
    last_error: Option<String>,
}

const COLUMNS: &str = "id, name, kind, pool_id, url, maas_pool, tags, series, erase, max_machines, agent_url,
  agent_sha256, state, version, created_at, heard_at, last_error";

pub const API_KEYS: SealedColumn = SealedColumn { table: "providers", column: "api_key", prefix: "provider:" };

/// A provider with what opens it. The key is still sealed.
#[derive(Debug, Clone)]
pub struct Supply {
    pub provider: Provider,
    pub state: ProviderState,
    sealed: Option<Vec<u8>>,
}

impl Supply {
    pub fn access(&self, keyring: &Keyring) -> Result<MetalAccess, SecretsError> {
        let sealed = self.sealed.as_deref().unwrap_or_default();
        let api_key = API_KEYS.open(keyring, self.provider.id.uuid(), sealed)?;
        Ok(MetalAccess { url: self.provider.url.to_string(), api_key })
    }

    /// The name under which MAAS holds machines for it.
    pub fn holder(&self) -> String {
        format!("gpuaas-{}", self.provider.id)
    }

    pub fn erase(&self) -> Erase {
        match &self.provider.erase {
            contract::Open::Known(erase) => *erase,
            // What a later release meant is not weakened.
            contract::Open::Unknown(_) => Erase::Secure,
        }
    }

    pub fn versioned(&self) -> Versioned<ProviderState> {
        let (id, version) = (self.provider.id.uuid(), self.provider.version);
        Versioned { id, organization: None, state: self.state, version }
    }
}

pub fn seal(keyring: &Keyring, id: ProviderId, api_key: &str) -> Vec<u8> {
    API_KEYS.seal(keyring, id.uuid(), api_key.trim().as_bytes())
}

/// Inserts a provider unless one that is not removed has its name.
pub async fn insert(
    tx: &mut Tx,
    id: ProviderId,
    spec: &ProviderSpec,
    api_key: &[u8],
) -> sqlx::Result<Option<Provider>> {
    let statement = format!(
        "INSERT INTO providers (id, name, kind, pool_id, url, api_key, maas_pool, tags, series, erase, max_machines, agent_url, agent_sha256, state)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 'active')
         ON CONFLICT (name) WHERE state <> 'removed' DO NOTHING RETURNING {COLUMNS}"
    );
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(id.uuid())
        .bind(spec.name.as_str())
        .bind(spec.kind.as_str())
        .bind(spec.pool_id.uuid())
        .bind(spec.url.as_str())
        .bind(api_key)
        .bind(spec.maas_pool.as_ref().map(MaasName::as_str))
        .bind(spec.tags.iter().map(|it| it.as_str().to_owned()).collect::<Vec<_>>())
        .bind(spec.series.as_str())
        .bind(spec.erase.as_str())
        .bind(i32::try_from(spec.max_machines).unwrap_or(i32::MAX))
        .bind(spec.agent.as_ref().map(|it| it.url.as_str()))
        .bind(spec.agent.as_ref().map(|it| it.sha256.as_str()))
        .fetch_optional(tx.conn())
        .await?;
    row.map(provider).transpose()
}

/// Changes what is given; nothing when it is being removed.
pub async fn change(
    tx: &mut Tx,
    id: ProviderId,
    change: &ProviderChange,
    api_key: Option<Vec<u8>>,
) -> sqlx::Result<Option<Provider>> {
    let statement = format!(
        "UPDATE providers SET url = coalesce($2, url), api_key = coalesce($3, api_key), series = coalesce($4, series),
           erase = coalesce($5, erase), max_machines = coalesce($6, max_machines),
           agent_url = coalesce($7, agent_url), agent_sha256 = coalesce($8, agent_sha256)
         WHERE id = $1 AND state = 'active' RETURNING {COLUMNS}"
    );
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(id.uuid())
        .bind(change.url.as_ref().map(|it| it.as_str()))
        .bind(api_key)
        .bind(change.series.as_ref().map(MaasName::as_str))
        .bind(change.erase.map(|it| it.as_str()))
        .bind(change.max_machines.map(|it| i32::try_from(it).unwrap_or(i32::MAX)))
        .bind(change.agent.as_ref().map(|it| it.url.as_str()))
        .bind(change.agent.as_ref().map(|it| it.sha256.as_str()))
        .fetch_optional(tx.conn())
        .await?;
    row.map(provider).transpose()
}

pub async fn get(tx: &mut Tx, id: ProviderId) -> sqlx::Result<Option<Provider>> {
    let statement = format!("SELECT {COLUMNS} FROM providers WHERE id = $1");
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    row.map(provider).transpose()
}

pub async fn list(tx: &mut Tx, filter: &ProviderFilter) -> sqlx::Result<Vec<Provider>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM providers WHERE CASE WHEN $1::text IS NULL THEN state <> 'removed' ELSE state = $1 END
           AND ($2::text IS NULL OR name = $2) AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(filter.state.map(|it| it.as_str()))
        .bind(filter.name.as_ref().map(Label::as_str))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(provider).collect()
}

/// A provider with what opens it.
pub async fn supply(tx: &mut Tx, id: Uuid) -> sqlx::Result<Option<Supply>> {
    let Some(provider) = get(tx, id.into()).await? else { return Ok(None) };
    let sealed: Option<Vec<u8>> =
        sqlx::query_scalar("SELECT api_key FROM providers WHERE id = $1").bind(id).fetch_one(tx.conn()).await?;
    Ok(Some(Supply { state: rows::known(provider.state.as_str())?, provider, sealed }))
}

/// Writes what came of asking; an error leaves the time of the last answer.
pub async fn heard(tx: &mut Tx, id: ProviderId, last_error: Option<&str>) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE providers SET last_error = left($2, 500), heard_at = CASE WHEN $2 IS NULL THEN app_now() ELSE heard_at END
         WHERE id = $1",
    )
    .bind(id.uuid())
    .bind(last_error)
    .execute(tx.conn())
    .await?;
    Ok(())
}

pub async fn forget_key(tx: &mut Tx, id: ProviderId) -> sqlx::Result<()> {
    sqlx::query("UPDATE providers SET api_key = NULL WHERE id = $1").bind(id.uuid()).execute(tx.conn()).await?;
    Ok(())
}

/// Providers that the safety net should look at.
pub async fn driven(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar("SELECT id FROM providers WHERE state <> 'removed' LIMIT $1")
        .bind(limit)
        .fetch_all(tx.conn())
        .await
}

pub async fn is_maas_pool(tx: &mut Tx, id: PoolId) -> sqlx::Result<bool> {
    sqlx::query_scalar("SELECT EXISTS (SELECT FROM pools WHERE id = $1 AND provider = 'maas')")
        .bind(id.uuid())
        .fetch_one(tx.conn())
        .await
}

fn provider(row: Row) -> sqlx::Result<Provider> {
    let agent = match (row.agent_url, row.agent_sha256) {
        (Some(url), Some(sha256)) => Some(AgentSource { url: rows::text(&url)?, sha256: rows::text(&sha256)? }),
        _ => None,
    };
    Ok(Provider {
        id: row.id.into(),
        name: rows::text(&row.name)?,
        kind: rows::word(&row.kind)?,
        pool_id: row.pool_id.into(),
        url: rows::text(&row.url)?,
        maas_pool: row.maas_pool.as_deref().map(rows::text).transpose()?,
        tags: row.tags.iter().map(|it| rows::text(it)).collect::<sqlx::Result<_>>()?,
        series: rows::text(&row.series)?,
        erase: rows::word(&row.erase)?,
        max_machines: u32::try_from(row.max_machines).unwrap_or_default(),
        agent,
        state: rows::word(&row.state)?,
        version: row.version,
        created_at: row.created_at.to_jiff(),
        heard_at: row.heard_at.map(|it| it.to_jiff()),
        last_error: row.last_error,
    })
}
