//! The statements that prepare a private cluster.

use sqlx::{AssertSqlSafe, Connection, PgConnection};

/// Makes the platform's own role and database if they are missing. `url` gives
/// the superuser's address of a database.
pub async fn make_role_and_database(url: impl Fn(&str) -> String, user: &str, database: &str) -> sqlx::Result<()> {
    let mut connection = PgConnection::connect(&url("postgres")).await?;
    let has_role: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)")
        .bind(user)
        .fetch_one(&mut connection)
        .await?;
    if !has_role {
        // Not a superuser, and without the sight of the roles it may take:
        // row-level security must hold for it too.
        let statement = format!("CREATE ROLE {user} LOGIN CREATEROLE NOINHERIT");
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
    }
    let has_database: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
        .bind(database)
        .fetch_one(&mut connection)
        .await?;
    if !has_database {
        let statement = format!("CREATE DATABASE {database} OWNER {user}");
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
    }
    connection.close().await?;
    let mut connection = PgConnection::connect(&url(database)).await?;
    let statement = format!("ALTER SCHEMA public OWNER TO {user}");
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
    connection.close().await
}

/// Drops the database, if it exists. The role stays: other databases may be its.
pub async fn drop_database(url: impl Fn(&str) -> String, database: &str) -> sqlx::Result<()> {
    let mut connection = PgConnection::connect(&url("postgres")).await?;
    let statement = format!("DROP DATABASE IF EXISTS {database} WITH (FORCE)");
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
    connection.close().await
}
