//! Invitations: how people join an organization.

pub mod lifecycle;
mod reconcile;
mod routes;
mod store;

pub use reconcile::InvitationReconciler;
pub use store::{erase, is_awaited};

use kernel::{Tx, secrets::TokenHash};

/// Whether the token is that of a pending invitation for the address.
pub async fn is_open(tx: &mut Tx, token: &TokenHash, email: &str) -> sqlx::Result<bool> {
    Ok(store::by_token(tx, token, email).await?.is_some())
}
