//! Gateways: the platform's own processes through which people reach what they
//! rent. Each is known by a certificate; which of them live is told to hosts.

mod carried;
mod doors;
mod live;
mod names;
mod routes;
mod store;

pub use carried::CarriedSessions;
pub use doors::{Door, Doors};
pub use live::{Live, watch};
pub use store::{
    BeatOutcome, TokenRedemption, add_certificate, beaten, by_name, door_for, forget_old_certificates, get,
    is_certificate_revoked, moved, remove, revoke_every_certificate, revoked_since, spend, ssh_address_for,
    ssh_addresses, working,
};

use contract::{Timestamp, gateways::GatewaySpec, id::GatewayId};
use kernel::{
    Tx,
    secrets::{hash_token, random_token},
};

use crate::FleetArea;
use kernel::Access;
use platform::policies::settings;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<FleetArea>) {
    registry.expiry(&["gateway_certificates"], |area, most| {
        Box::pin(async move {
            let retention = settings::hours(area.policies.number(settings::NODE_RENEW_WINDOW_HOURS));
            let mut tx = Tx::system(&area.db, "keeper", Access::Write).await?;
            let gone = forget_old_certificates(&mut tx, retention, most).await?;
            tx.commit().await?;
            Ok(gone)
        })
    });
    registry.retention(&["gateways"], Retention::Forever("sessions name it after it was removed"));
    registry.retention(&["gateway_beats"], Retention::Forever("one row for each gateway"));
}

/// What tokens begin with that make a process a gateway.
const PREFIX: &str = "gpg";

/// Adds a gateway; its token is given away once, here.
pub async fn add(
    tx: &mut Tx,
    spec: &GatewaySpec,
    expires_at: Timestamp,
) -> sqlx::Result<Result<GatewayWithToken, NotAdded>> {
    let secret = random_token(PREFIX);
    let token = secret.expose_text().expect("tokens are text").to_owned();
    let id = store::insert(tx, spec, &hash_token(&token), expires_at).await?;
    Ok(id.map(|id| GatewayWithToken { id, token }))
}

pub struct GatewayWithToken {
    pub id: GatewayId,
    pub token: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAdded {
    NameTaken,
    NoSuchRegion,
}
