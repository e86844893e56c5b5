//! The rows of `machines`.

use contract::{
    Timestamp, Word,
    id::{EnrollmentTokenId, MachineId, NodeId, ProviderId},
    machines::{Machine, MachineDesired, MachineFilter, MachinePower, MachinePowerAction, MachineState},
};
use kernel::{
    Tx,
    lifecycle::Versioned,
    sealed::SealedColumn,
    secrets::{Keyring, Secret, SecretsError},
};
use uuid::Uuid;

use super::power::{PowerCommand, Powered};
use platform::{ports::metal::Power, rows};

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    provider_id: Uuid,
    pool_id: Uuid,
    system_id: String,
    hostname: String,
    desired: String,
    observed: Option<String>,
    observed_at: Option<jiff_sqlx::Timestamp>,
    state: String,
    version: i64,
    state_since: jiff_sqlx::Timestamp,
    attempts: i32,
    release_attempts: i32,
    erasing_seen: bool,
    is_dirty: bool,
    reason: Option<String>,
    token_id: Option<Uuid>,
    token: Option<Vec<u8>>,
    node_id: Option<Uuid>,
    power: Option<String>,
    power_at: Option<jiff_sqlx::Timestamp>,
    power_wanted: Option<String>,
    power_forced: bool,
    power_error: Option<String>,
    created_at: jiff_sqlx::Timestamp,
}

const COLUMNS: &str = "id, provider_id, pool_id, system_id, hostname, desired, observed, observed_at, state, version,
  state_since, attempts, release_attempts, erasing_seen, is_dirty, reason, token_id, token, node_id,
  power, power_at, power_wanted, power_forced, power_error, created_at";

pub const TOKENS: SealedColumn = SealedColumn { table: "machines", column: "token", prefix: "machine:" };

/// A machine with what only its reconciler needs. The token is still sealed.
#[derive(Debug, Clone)]
pub struct StoredMachine {
    pub machine: Machine,
    pub state: MachineState,
    pub desired: MachineDesired,
    pub release_attempts: i32,
    pub erasing_seen: bool,
    pub is_dirty: bool,
    pub token_id: Option<EnrollmentTokenId>,
    /// What an operator wants done with its power.
    pub wish: Option<PowerCommand>,
    token: Option<Vec<u8>>,
}

impl StoredMachine {
    pub fn versioned(&self) -> Versioned<MachineState> {
        let (id, version) = (self.machine.id.uuid(), self.machine.version);
        Versioned { id, organization: None, state: self.state, version }
    }

    /// The token of its install, if one was made and not spent.
    pub fn open_token(&self, keyring: &Keyring) -> Result<Option<Secret>, SecretsError> {
        let Some(bytes) = &self.token else { return Ok(None) };
        TOKENS.open(keyring, self.machine.id.uuid(), bytes).map(Some)
    }
}

pub async fn get(tx: &mut Tx, id: MachineId) -> sqlx::Result<Option<StoredMachine>> {
    read(tx, &format!("SELECT {COLUMNS} FROM machines WHERE id = $1"), id).await
}

/// A machine; nobody else changes it until the commit.
pub async fn lock(tx: &mut Tx, id: MachineId) -> sqlx::Result<Option<StoredMachine>> {
    read(tx, &format!("SELECT {COLUMNS} FROM machines WHERE id = $1 FOR NO KEY UPDATE"), id).await
}

async fn read(tx: &mut Tx, statement: &str, id: MachineId) -> sqlx::Result<Option<StoredMachine>> {
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement.to_owned())).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    row.map(held).transpose()
}

pub async fn list(tx: &mut Tx, filter: &MachineFilter) -> sqlx::Result<Vec<Machine>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM machines WHERE CASE WHEN $1::text IS NULL THEN state <> 'retired' ELSE state = $1 END
           AND ($2::uuid IS NULL OR provider_id = $2) AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(filter.state.map(|it| it.as_str()))
        .bind(filter.provider_id.map(|it| it.uuid()))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(|row| held(row).map(|it| it.machine)).collect()
}

/// Every machine of a provider, locked in one order.
pub async fn lock_all(tx: &mut Tx, provider: ProviderId) -> sqlx::Result<Vec<StoredMachine>> {
    let statement = format!("SELECT {COLUMNS} FROM machines WHERE provider_id = $1 ORDER BY id FOR NO KEY UPDATE");
    let rows: Vec<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(provider.uuid()).fetch_all(tx.conn()).await?;
    rows.into_iter().map(held).collect()
}

/// The machine that the node runs on, if it is one of a provider's.
pub async fn serving(tx: &mut Tx, node: NodeId) -> sqlx::Result<Option<MachineId>> {
    let id: Option<Uuid> = sqlx::query_scalar(
        "SELECT id FROM machines WHERE node_id = $1 AND state <> 'retired' ORDER BY id DESC LIMIT 1",
    )
    .bind(node.uuid())
    .fetch_optional(tx.conn())
    .await?;
    Ok(id.map(Into::into))
}

/// The machine whose install carried this token.
pub async fn enrolled_with(tx: &mut Tx, token: EnrollmentTokenId) -> sqlx::Result<Option<Uuid>> {
    sqlx::query_scalar("SELECT id FROM machines WHERE token_id = $1").bind(token.uuid()).fetch_optional(tx.conn()).await
}

pub struct New<'a> {
    pub provider: ProviderId,
    pub pool: contract::id::PoolId,
    pub system_id: &'a str,
    pub hostname: &'a str,
    pub observed: &'a str,
}

/// Adds a machine that MAAS listed, unless it is known.
pub async fn insert(tx: &mut Tx, new: &New<'_>) -> sqlx::Result<Option<StoredMachine>> {
    let statement = format!(
        "INSERT INTO machines (id, provider_id, pool_id, system_id, hostname, observed, observed_at, state)
         VALUES ($1, $2, $3, $4, $5, $6, app_now(), 'discovered')
         ON CONFLICT (provider_id, system_id) DO NOTHING RETURNING {COLUMNS}"
    );
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(MachineId::generate().uuid())
        .bind(new.provider.uuid())
        .bind(new.pool.uuid())
        .bind(new.system_id)
        .bind(new.hostname)
        .bind(new.observed)
        .fetch_optional(tx.conn())
        .await?;
    row.map(held).transpose()
}

/// Writes what MAAS said of it.
pub async fn observe(tx: &mut Tx, id: MachineId, observed: &str, power: Option<Power>) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE machines SET observed = $2, observed_at = app_now(), power = coalesce($3, power),
                power_at = CASE WHEN $3 IS NULL THEN power_at ELSE app_now() END WHERE id = $1",
    )
    .bind(id.uuid())
    .bind(observed)
    .bind(power.map(|it| power_word(it).as_str()))
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Writes what an operator wants done with its power.
pub async fn wish_power(tx: &mut Tx, id: MachineId, wish: PowerCommand) -> sqlx::Result<()> {
    sqlx::query("UPDATE machines SET power_wanted = $2, power_forced = $3, power_error = NULL WHERE id = $1")
        .bind(id.uuid())
        .bind(wish.action.as_str())
        .bind(wish.is_forced)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Writes what came of a wish; one that was replaced meanwhile stays.
pub async fn powered(tx: &mut Tx, id: MachineId, wish: PowerCommand, powered: &Powered) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE machines SET power = coalesce($3, power), power_error = left($4, 500),
                power_at = CASE WHEN $3 IS NULL THEN power_at ELSE app_now() END,
                power_wanted = CASE WHEN $5 THEN NULL ELSE power_wanted END WHERE id = $1 AND power_wanted = $2",
    )
    .bind(id.uuid())
    .bind(wish.action.as_str())
    .bind(powered.power.map(|it| power_word(it).as_str()))
    .bind(&powered.error)
    .bind(powered.is_over)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Writes what people want of it.
pub async fn desire(tx: &mut Tx, id: MachineId, desired: MachineDesired) -> sqlx::Result<()> {
    sqlx::query("UPDATE machines SET desired = $2 WHERE id = $1")
        .bind(id.uuid())
        .bind(desired.as_str())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Counts a hand-over that begins.
pub async fn begin(tx: &mut Tx, id: MachineId) -> sqlx::Result<()> {
    sqlx::query("UPDATE machines SET attempts = attempts + 1 WHERE id = $1").bind(id.uuid()).execute(tx.conn()).await?;
    Ok(())
}

/// Keeps the token that the install will carry. From here on the machine
/// holds somebody's data, for all we know.
pub async fn set_token(
    tx: &mut Tx,
    keyring: &Keyring,
    id: MachineId,
    token: (EnrollmentTokenId, &Secret),
) -> sqlx::Result<()> {
    let sealed = TOKENS.seal(keyring, id.uuid(), token.1.expose());
    sqlx::query("UPDATE machines SET token_id = $2, token = $3, is_dirty = true WHERE id = $1")
        .bind(id.uuid())
        .bind(token.0.uuid())
        .bind(sealed)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Begins a release: nothing was asked and nothing was seen of it yet.
pub async fn begin_release(tx: &mut Tx, id: MachineId, reason: Option<&str>, is_dirty: bool) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE machines SET release_attempts = 0, erasing_seen = false, is_dirty = is_dirty OR $3,
                reason = coalesce(left($2, 500), reason), token = NULL WHERE id = $1",
    )
    .bind(id.uuid())
    .bind(reason)
    .bind(is_dirty)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Notes how a release goes.
pub async fn note_release(tx: &mut Tx, id: MachineId, has_asked: bool, erasing_seen: bool) -> sqlx::Result<()> {
    sqlx::query("UPDATE machines SET release_attempts = release_attempts + $2, erasing_seen = $3 WHERE id = $1")
        .bind(id.uuid())
        .bind(i32::from(has_asked))
        .bind(erasing_seen)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// It is erased and free.
pub async fn clean(tx: &mut Tx, id: MachineId) -> sqlx::Result<()> {
    sqlx::query("UPDATE machines SET is_dirty = false, erasing_seen = false, token_id = NULL WHERE id = $1")
        .bind(id.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// It is this node, and nothing of its way here is left to do.
pub async fn serve_as(tx: &mut Tx, id: MachineId, node: NodeId) -> sqlx::Result<()> {
    sqlx::query("UPDATE machines SET node_id = $2, token = NULL, attempts = 0, reason = NULL WHERE id = $1")
        .bind(id.uuid())
        .bind(node.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Notes the node that it became while its hand-over was broken off.
pub async fn set_node(tx: &mut Tx, id: MachineId, node: NodeId) -> sqlx::Result<()> {
    sqlx::query("UPDATE machines SET node_id = $2 WHERE id = $1")
        .bind(id.uuid())
        .bind(node.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn set_reason(tx: &mut Tx, id: MachineId, reason: &str) -> sqlx::Result<()> {
    sqlx::query("UPDATE machines SET reason = left($2, 500) WHERE id = $1")
        .bind(id.uuid())
        .bind(reason)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Starts the count of hand-overs anew.
pub async fn forgive(tx: &mut Tx, id: MachineId) -> sqlx::Result<()> {
    sqlx::query("UPDATE machines SET attempts = 0, reason = NULL WHERE id = $1")
        .bind(id.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Machines that the safety net should look at.
pub async fn driven(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "SELECT id FROM machines WHERE state IN ('acquiring', 'deploying', 'enrolling', 'in_service', 'releasing')
           OR (desired = 'retire' AND state IN ('discovered', 'erased')) OR power_wanted IS NOT NULL LIMIT $1",
    )
    .bind(limit)
    .fetch_all(tx.conn())
    .await
}

/// How many machines need a person.
pub async fn count_failed(tx: &mut Tx) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT count(*) FROM machines WHERE state = 'failed'").fetch_one(tx.conn()).await
}

fn power_word(power: Power) -> MachinePower {
    match power {
        Power::On => MachinePower::On,
        Power::Off => MachinePower::Off,
        Power::Unknown => MachinePower::Unknown,
    }
}

fn held(row: Row) -> sqlx::Result<StoredMachine> {
    let moment = |it: jiff_sqlx::Timestamp| -> Timestamp { it.to_jiff() };
    let (state, desired) = (rows::known(&row.state)?, rows::known(&row.desired)?);
    let wanted: Option<MachinePowerAction> = row.power_wanted.as_deref().map(rows::known).transpose()?;
    let machine = Machine {
        id: row.id.into(),
        provider_id: row.provider_id.into(),
        pool_id: row.pool_id.into(),
        system_id: row.system_id,
        hostname: row.hostname,
        state: contract::Open::Known(state),
        version: row.version,
        state_since: moment(row.state_since),
        desired: contract::Open::Known(desired),
        observed: row.observed,
        observed_at: row.observed_at.map(moment),
        attempts: row.attempts,
        reason: row.reason,
        power: row.power.as_deref().map(rows::word).transpose()?,
        power_at: row.power_at.map(moment),
        power_wanted: wanted.map(contract::Open::Known),
        power_error: row.power_error,
        node_id: row.node_id.map(Into::into),
        created_at: moment(row.created_at),
    };
    Ok(StoredMachine {
        machine,
        state,
        desired,
        release_attempts: row.release_attempts,
        erasing_seen: row.erasing_seen,
        is_dirty: row.is_dirty,
        token_id: row.token_id.map(Into::into),
        wish: wanted.map(|action| PowerCommand { action, is_forced: row.power_forced }),
        token: row.token,
    })
}
