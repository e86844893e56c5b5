//! Gateways: the platform's own processes through which people reach what they
//! rent. Each is known by a certificate; which of them live is told to hosts.

mod doors;
mod live;
mod names;
mod routes;
mod store;

pub use doors::{Door, Doors};
pub use live::{Live, watch};
pub use store::{
    Beaten, Spent, add_certificate, beaten, by_name, door_for, forget_old_certificates, get, moved, remove,
    revoke_every_certificate, revoked_since, spend, ssh_address_for, ssh_addresses, standing, working,
};

use contract::{Timestamp, gateways::GatewaySpec, id::GatewayId};
use kernel::{
    Tx,
    secrets::{hash_token, random_token},
};

/// What tokens begin with that make a process a gateway.
const PREFIX: &str = "gpg";

/// Adds a gateway; its token is given away once, here.
pub async fn add(tx: &mut Tx, spec: &GatewaySpec, expires_at: Timestamp) -> sqlx::Result<Result<Added, NotAdded>> {
    let secret = random_token(PREFIX);
    let token = secret.expose_text().expect("tokens are text").to_owned();
    let id = store::insert(tx, spec, &hash_token(&token), expires_at).await?;
    Ok(id.map(|id| Added { id, token }))
}

pub struct Added {
    pub id: GatewayId,
    pub token: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAdded {
    NameTaken,
    NoSuchRegion,
}
