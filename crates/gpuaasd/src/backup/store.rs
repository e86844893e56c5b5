//! What a backup has to know of a database, and what a restore prepares in one.

use sqlx::{AssertSqlSafe, PgConnection};

/// The role whose policies see every row.
pub const SYSTEM_ROLE: &str = "gpuaas_system";

/// The server's major version.
pub async fn server_version(connection: &mut PgConnection) -> sqlx::Result<u32> {
    let number: i32 =
        sqlx::query_scalar("SELECT current_setting('server_version_num')::int").fetch_one(connection).await?;
    Ok(u32::try_from(number / 10_000).unwrap_or_default())
}

/// A table of which the system role might not see every row. Without this check
/// those rows would be missing from a backup without a word.
pub async fn unseen_table(connection: &mut PgConnection) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar(
        "SELECT c.oid::regclass::text FROM pg_class c
         WHERE c.relrowsecurity AND (
           NOT EXISTS (
             SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polpermissive AND p.polcmd IN ('*', 'r')
               AND (SELECT oid FROM pg_roles WHERE rolname = $1) = ANY (p.polroles)
               AND pg_get_expr(p.polqual, p.polrelid) = 'true')
           OR EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND NOT p.polpermissive))
         ORDER BY 1 LIMIT 1",
    )
    .bind(SYSTEM_ROLE)
    .fetch_optional(connection)
    .await
}

/// A table or the like that is neither PostgreSQL's own nor an extension's.
pub async fn first_relation(connection: &mut PgConnection) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar(
        "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema' AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
           AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
         ORDER BY 1 LIMIT 1",
    )
    .fetch_optional(connection)
    .await
}

/// Makes the roles that transactions run as, where they are missing, and makes
/// the present role a member of them.
pub async fn make_roles(connection: &mut PgConnection) -> sqlx::Result<()> {
    for role in kernel::tx::ROLES {
        let (exists, is_member): (bool, bool) = sqlx::query_as(
            "SELECT r.oid IS NOT NULL, coalesce(pg_has_role(current_user, r.oid, 'MEMBER'), false)
             FROM (SELECT) one LEFT JOIN pg_roles r ON r.rolname = $1",
        )
        .bind(role)
        .fetch_one(&mut *connection)
        .await?;
        let create =
            if exists { String::new() } else { format!("CREATE ROLE {role} NOLOGIN NOSUPERUSER NOBYPASSRLS;") };
        let join = if is_member { String::new() } else { format!("GRANT {role} TO CURRENT_USER;") };
        sqlx::raw_sql(AssertSqlSafe(create + &join)).execute(&mut *connection).await?;
    }
    Ok(())
}
