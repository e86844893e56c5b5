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
use platform::policies::keys;
use platform::registry::Registry;

pub fn register(registry: &mut Registry<PeopleArea>) {
    registry.expiry(|area, most| {
        Box::pin(async move {
            let retention = keys::days(area.policies.number(keys::SESSION_KEEP_DAYS));
            forget_old(&area.db, retention, most).await
        })
    });
}
