//! Sessions: how people sign in, stay signed in and sign out.

mod mfa;
mod oidc;
mod places;
mod routes;
mod store;
mod tokens;

pub use store::{forget_old, forget_places, is_younger, note_second_factor, revoke_all, rewrap_successors};
pub use tokens::open;

use crate::PeopleArea;
use platform::policies::settings;
use platform::registry::Registry;

pub fn register(registry: &mut Registry<PeopleArea>) {
    registry.expiry(&["sessions", "refresh_tokens", "oidc_starts", "used_id_tokens", "known_places"], |area, most| {
        Box::pin(async move {
            let retention = settings::days(area.policies.number(settings::SESSION_KEEP_DAYS));
            forget_old(&area.db, retention, most).await
        })
    });
}
