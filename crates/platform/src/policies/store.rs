//! The rows of `policies`.

use std::collections::HashMap;

use contract::Timestamp;
use kernel::{Db, Scope, Tx};
use sqlx::Row;
use uuid::Uuid;

use super::Levels;

/// One value as set, with its level given by which ids are present.
pub struct Setting {
    pub key: String,
    pub organization: Option<Uuid>,
    pub project: Option<Uuid>,
    pub value: String,
    pub set_at: Timestamp,
}

type Columns = (String, Option<Uuid>, Option<Uuid>, String, jiff_sqlx::Timestamp);

pub async fn platform(db: &Db) -> sqlx::Result<HashMap<String, String>> {
    let rows = db.read_once(Scope::Identity, "SELECT key, value FROM policies WHERE organization_id IS NULL").await?;
    rows.iter().map(|row| Ok((row.try_get("key")?, row.try_get("value")?))).collect()
}

/// Every value that could apply to the place given; one key, or all.
pub async fn settings(
    tx: &mut Tx,
    key: Option<&str>,
    organization: Option<Uuid>,
    project: Option<Uuid>,
) -> sqlx::Result<Vec<Setting>> {
    let rows: Vec<Columns> = sqlx::query_as(
        "SELECT key, organization_id, project_id, value, set_at FROM policies
         WHERE ($1::text IS NULL OR key = $1)
           AND (organization_id IS NULL OR (organization_id = $2 AND (project_id IS NULL OR project_id = $3)))",
    )
    .bind(key)
    .bind(organization)
    .bind(project)
    .fetch_all(tx.conn())
    .await?;
    Ok(rows
        .into_iter()
        .map(|(key, organization, project, value, set_at)| Setting {
            key,
            organization,
            project,
            value,
            set_at: set_at.to_jiff(),
        })
        .collect())
}

/// What is set for one key at each level of the place given.
pub async fn levels(tx: &mut Tx, key: &str, organization: Option<Uuid>, project: Option<Uuid>) -> sqlx::Result<Levels> {
    // Not the statement above: one plan cannot serve both one key and all.
    let rows: Vec<(Option<Uuid>, Option<Uuid>, String)> = sqlx::query_as(
        "SELECT organization_id, project_id, value FROM policies
         WHERE key = $1 AND (organization_id IS NULL OR (organization_id = $2 AND (project_id IS NULL OR project_id = $3)))",
    )
    .bind(key)
    .bind(organization)
    .bind(project)
    .fetch_all(tx.conn())
    .await?;
    let mut levels = Levels::default();
    for (organization, project, value) in rows {
        match (organization, project) {
            (None, _) => levels.platform = Some(value),
            (Some(_), None) => levels.organization = Some(value),
            (Some(_), Some(_)) => levels.project = Some(value),
        }
    }
    Ok(levels)
}

pub fn by_level(settings: &[Setting], key: &str) -> Levels {
    let find = |organization: bool, project: bool| {
        settings
            .iter()
            .find(|it| it.key == key && it.organization.is_some() == organization && it.project.is_some() == project)
            .map(|it| it.value.clone())
    };
    Levels { platform: find(false, false), organization: find(true, false), project: find(true, true) }
}

pub async fn set(
    tx: &mut Tx,
    key: &str,
    organization: Option<Uuid>,
    project: Option<Uuid>,
    value: &str,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO policies (key, organization_id, project_id, value) VALUES ($1, $2, $3, $4)
         ON CONFLICT (key, organization_id, project_id) DO UPDATE SET value = excluded.value, set_at = app_now()",
    )
    .bind(key)
    .bind(organization)
    .bind(project)
    .bind(value)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Sets a value of the platform unless one is set; whether none was.
pub async fn set_if_unset(tx: &mut Tx, key: &str, value: &str) -> sqlx::Result<bool> {
    let added = sqlx::query(
        "INSERT INTO policies (key, value) VALUES ($1, $2) ON CONFLICT (key, organization_id, project_id) DO NOTHING",
    )
    .bind(key)
    .bind(value)
    .execute(tx.conn())
    .await?;
    Ok(added.rows_affected() == 1)
}

/// Says whether a value was set there.
pub async fn unset(tx: &mut Tx, key: &str, organization: Option<Uuid>, project: Option<Uuid>) -> sqlx::Result<bool> {
    let gone = sqlx::query(
        "DELETE FROM policies WHERE key = $1 AND organization_id IS NOT DISTINCT FROM $2 AND project_id IS NOT DISTINCT FROM $3",
    )
    .bind(key)
    .bind(organization)
    .bind(project)
    .execute(tx.conn())
    .await?;
    Ok(gone.rows_affected() > 0)
}
