//! Enrollment tokens: what a new host shows once to become a node of a pool.
//! Only their hashes are kept.

mod routes;
mod store;

pub use store::{TokenRedemption, made, revoke, revoke_unused, spend, spent_on};

use contract::{Timestamp, enrollment_tokens::EnrollmentToken, id::PoolId};
use kernel::{
    Tx,
    secrets::{hash_token, random_token},
};

use crate::FleetArea;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<FleetArea>) {
    registry.retention(&["enrollment_tokens"], Retention::Forever("how each node came in"));
}

/// What enrollment tokens begin with.
pub const PREFIX: &str = "gpn";

/// Makes a token for a pool; none when there is no such pool. Its secret is
/// given away once, here.
pub async fn mint(tx: &mut Tx, pool: PoolId, expires_at: Timestamp) -> sqlx::Result<Option<(EnrollmentToken, String)>> {
    let secret = random_token(PREFIX);
    let text = secret.expose_text().expect("tokens are text").to_owned();
    let token = store::insert(tx, pool, &hash_token(&text), expires_at).await?;
    Ok(token.map(|it| (it, text)))
}
