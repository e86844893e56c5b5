//! The rows that say whether a credential was revoked.

use kernel::Tx;

use super::Credential;

/// Whether what somebody showed was revoked since.
pub async fn is_revoked(tx: &mut Tx, credential: Credential) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM sessions WHERE id = $1 AND revoked_at IS NOT NULL)
           OR EXISTS (SELECT FROM keys WHERE id = $2 AND revoked_at IS NOT NULL)",
    )
    .bind(credential.login_session)
    .bind(credential.key)
    .fetch_one(tx.conn())
    .await
}
