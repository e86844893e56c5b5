//! What is true of the installation as a whole: its epoch, which starts anew
//! when a backup is restored into another cluster.

use sqlx::PgConnection;

use crate::tx::{Access, Db, Tx};

/// Starts a new epoch if the database was restored into another cluster, where
/// transaction numbers start anew. Returns the epoch. Call before serving.
pub async fn settle_epoch(db: &Db) -> sqlx::Result<i32> {
    let mut tx = Tx::system(db, "installation", Access::Write).await?;
    let epoch = sqlx::query_scalar(
        "UPDATE installation SET epoch = CASE WHEN cluster_id = system_identifier THEN epoch ELSE epoch + 1 END,
                cluster_id = system_identifier
         FROM pg_control_system() RETURNING epoch",
    )
    .fetch_one(tx.conn())
    .await?;
    tx.commit().await?;
    Ok(epoch)
}

/// Starts a new epoch in a database that was just restored, also where the
/// cluster is the one that was backed up. Returns the epoch.
pub async fn start_epoch(connection: &mut PgConnection) -> sqlx::Result<i32> {
    sqlx::query_scalar(
        "UPDATE installation SET epoch = epoch + 1, cluster_id = system_identifier FROM pg_control_system() RETURNING epoch",
    )
    .fetch_one(connection)
    .await
}
