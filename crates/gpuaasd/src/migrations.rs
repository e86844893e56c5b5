//! Numbered steps of the schema, up and down, built into the binary, and
//! whether the schema of a database is one that this binary can serve.

use sqlx::{
    Connection, PgConnection,
    migrate::{Migration, Migrator},
};

pub static STEPS: Migrator = sqlx::migrate!("../../migrations");

#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    #[error("the database cannot be reached: check `database.url`")]
    Unreachable(#[from] sqlx::Error),
    #[error("a migration failed and was rolled back")]
    Failed(#[source] sqlx::migrate::MigrateError),
    #[error("there is no migration {0}; `gpuaasd migrate status` lists them")]
    Unknown(i64),
    #[error("the schema has step {0}, which this gpuaasd does not know: use the release that added it")]
    FromLater(i64),
    #[error(transparent)]
    PreRelease(#[from] PreRelease),
}

/// The database was migrated by a build before the first release, or by one that
/// never became a release. Released migrations are not edited, so a step that
/// differs from ours cannot come from a release.
#[derive(Debug, thiserror::Error)]
#[error(
    "this database was created by a pre-release build, and its schema cannot be upgraded (step {step} differs): \
     export what you need with `pg_dump`, create an empty database, and set `database.url` to it"
)]
pub struct PreRelease {
    pub step: i64,
}

/// Why a database cannot be served as it is.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    #[error("the database cannot be reached: check `database.url`")]
    Unreachable(#[from] sqlx::Error),
    #[error("the schema is at step {found} of {wanted}: run `gpuaasd migrate up`, then start again")]
    Older { found: i64, wanted: i64 },
    #[error(
        "the schema requires a gpuaasd that knows step {needed}, this one knows {known}: install the release that migrated it"
    )]
    Newer { needed: i64, known: i64 },
    #[error(transparent)]
    PreRelease(#[from] PreRelease),
}

/// The major versions of PostgreSQL that the tests run on: all of it on the
/// oldest, the core on the newest.
pub const KNOWN_POSTGRES: std::ops::RangeInclusive<u32> = 15..=18;

/// What a database server and the platform's role on it are like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseServer {
    /// As the server says it, such as `18.4`.
    pub version: String,
    pub major: u32,
    pub role: String,
    pub is_superuser: bool,
    pub may_create_roles: bool,
}

impl DatabaseServer {
    /// What an operator should change, if anything. The roles of the platform
    /// are made by the first migration; later on the right is not needed.
    pub fn concerns(&self, is_migrated: bool) -> Vec<String> {
        let mut concerns = Vec::new();
        let (oldest, newest) = (KNOWN_POSTGRES.start(), KNOWN_POSTGRES.end());
        if self.major < *oldest {
            concerns.push(format!("PostgreSQL {} is older than {oldest}: upgrade it to {newest}", self.version));
        } else if self.major > *newest {
            concerns.push(format!(
                "PostgreSQL {} is newer than {newest}, the newest that this gpuaasd was tested with",
                self.version
            ));
        }
        if self.is_superuser {
            concerns.push(format!(
                "`{}` is a superuser, which is not needed: connect as a role created with LOGIN CREATEROLE NOINHERIT",
                self.role
            ));
        } else if !self.may_create_roles && !is_migrated {
            concerns.push(format!(
                "`{0}` may not create the platform's roles: as an administrator, run ALTER ROLE \"{0}\" CREATEROLE",
                self.role
            ));
        }
        concerns
    }
}

pub async fn database_server(url: &str) -> sqlx::Result<DatabaseServer> {
    let mut connection = PgConnection::connect(url).await?;
    let (version, number, role, is_superuser, may_create_roles): (String, i32, String, bool, bool) = sqlx::query_as(
        "SELECT split_part(current_setting('server_version'), ' ', 1), current_setting('server_version_num')::integer,
           rolname::text, rolsuper, rolcreaterole
         FROM pg_roles WHERE rolname = current_user",
    )
    .fetch_one(&mut connection)
    .await?;
    connection.close().await?;
    let major = u32::try_from(number / 10_000).unwrap_or_default();
    Ok(DatabaseServer { version, major, role, is_superuser, may_create_roles })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Applied,
    Missing,
    /// Taken by a later release; this one knows nothing of it.
    FromLater,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub version: i64,
    pub name: String,
    pub state: State,
}

/// The newest step that this binary knows.
pub fn newest() -> i64 {
    known().map(|(version, _)| version).max().unwrap_or_default()
}

fn known() -> impl Iterator<Item = (i64, String)> {
    ups().map(|it| (it.version, it.description.to_string()))
}

fn ups() -> impl Iterator<Item = &'static Migration> {
    STEPS.iter().filter(|it| it.migration_type.is_up_migration())
}

/// A step that this database has.
#[derive(sqlx::FromRow)]
struct Applied {
    version: i64,
    description: String,
    checksum: Vec<u8>,
}

fn refuse_pre_release(applied: &[Applied]) -> Result<(), PreRelease> {
    let differs = |it: &&Applied| ups().any(|up| up.version == it.version && *up.checksum != *it.checksum);
    match applied.iter().find(differs) {
        Some(it) => Err(PreRelease { step: it.version }),
        None => Ok(()),
    }
}

pub async fn status(url: &str) -> Result<Vec<Step>, MigrateError> {
    let mut connection = PgConnection::connect(url).await?;
    let applied = applied(&mut connection).await?;
    refuse_pre_release(&applied)?;
    let mut steps: Vec<Step> = known()
        .map(|(version, name)| {
            let is_applied = applied.iter().any(|it| it.version == version);
            Step { version, name, state: if is_applied { State::Applied } else { State::Missing } }
        })
        .collect();
    let later = applied.into_iter().filter(|later| known().all(|(it, _)| it != later.version));
    steps.extend(later.map(|it| Step { version: it.version, name: it.description, state: State::FromLater }));
    Ok(steps)
}

/// Whether this binary can serve the schema. A later one will do while it only
/// added to what we know, so that releases can be replaced one server at a time;
/// the step that takes something away raises `installation.needs_step`.
pub async fn check(url: &str) -> Result<(), SchemaError> {
    let mut connection = PgConnection::connect(url).await?;
    let applied = applied(&mut connection).await?;
    refuse_pre_release(&applied)?;
    let missing = known().any(|(version, _)| applied.iter().all(|it| it.version != version));
    if missing {
        let found = applied.iter().map(|it| it.version).max().unwrap_or_default();
        return Err(SchemaError::Older { found, wanted: newest() });
    }
    let needed: i64 = sqlx::query_scalar("SELECT needs_step FROM installation").fetch_one(&mut connection).await?;
    if needed > newest() {
        return Err(SchemaError::Newer { needed, known: newest() });
    }
    connection.close().await?;
    Ok(())
}

async fn applied(connection: &mut PgConnection) -> sqlx::Result<Vec<Applied>> {
    let table: Option<String> =
        sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations')::text").fetch_one(&mut *connection).await?;
    if table.is_none() {
        return Ok(Vec::new());
    }
    sqlx::query_as("SELECT version, description, checksum FROM _sqlx_migrations WHERE success ORDER BY version")
        .fetch_all(connection)
        .await
}

/// Takes every missing step. Several processes may do so at once: a lock lets
/// one of them work, and the others find nothing left to do.
pub async fn up(url: &str) -> Result<(), MigrateError> {
    let mut connection = PgConnection::connect(url).await?;
    refuse_pre_release(&applied(&mut connection).await?)?;
    STEPS.run(&mut connection).await.map_err(explain)
}

/// Takes steps back until `target` is the newest one applied; 0 empties the schema.
pub async fn down(url: &str, target: i64) -> Result<(), MigrateError> {
    if target != 0 && known().all(|(version, _)| version != target) {
        return Err(MigrateError::Unknown(target));
    }
    let mut connection = PgConnection::connect(url).await?;
    refuse_pre_release(&applied(&mut connection).await?)?;
    STEPS.undo(&mut connection, target).await.map_err(explain)
}

fn explain(error: sqlx::migrate::MigrateError) -> MigrateError {
    match error {
        sqlx::migrate::MigrateError::VersionMissing(step) => MigrateError::FromLater(step),
        sqlx::migrate::MigrateError::VersionMismatch(step) => MigrateError::PreRelease(PreRelease { step }),
        other => MigrateError::Failed(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_server_concerns_name_version_and_rights() {
        let good = DatabaseServer {
            version: "18.4".into(),
            major: 18,
            role: "gpuaas".into(),
            is_superuser: false,
            may_create_roles: true,
        };
        assert_eq!(good.concerns(false), Vec::<String>::new());
        let says = |server: DatabaseServer, is_migrated, what: &str| {
            let concerns = server.concerns(is_migrated);
            assert!(concerns.len() == 1 && concerns[0].contains(what), "{concerns:?}");
        };
        says(DatabaseServer { major: 14, version: "14.2".into(), ..good.clone() }, true, "14.2 is older than 15");
        says(DatabaseServer { major: 19, version: "19.0".into(), ..good.clone() }, true, "newer than 18");
        says(DatabaseServer { is_superuser: true, ..good.clone() }, true, "is a superuser");
        let poor = DatabaseServer { may_create_roles: false, ..good };
        says(poor.clone(), false, "ALTER ROLE \"gpuaas\" CREATEROLE");
        assert_eq!(poor.concerns(true), Vec::<String>::new(), "its roles are there already");
    }
}
