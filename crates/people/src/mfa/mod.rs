//! Multi-factor authentication: people's second factors, the challenges that
//! ask for one, and whom policy requires one of. Opening sessions is the
//! business of `sessions`; refusing requests that lack one, that of the gates.

mod challenge;
mod enroll;
mod passkey;
mod recovery;
mod routes;
mod store;
mod totp;

pub use challenge::{FactorUse, Purpose, answer, ask};
pub use store::{erase, forget_challenges, forget_old, has_factor};

use contract::{id::UserId, mfa::MfaReset};
use kernel::{Tx, sealed::SealedColumn};

use platform::events::emit;

use crate::PeopleArea;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<PeopleArea>) {
    registry.expiry(&["mfa_challenges"], |area, most| Box::pin(async move { forget_old(&area.db, most).await }));
    registry.secret(&SECRETS);
    registry.retention(
        &["mfa_factors", "mfa_recovery_codes", "mfa_throttles"],
        Retention::Removed("by whom they belong to, or at a reset"),
    );
}

/// The secrets of TOTP devices.
pub const SECRETS: SealedColumn = SealedColumn { table: "mfa_factors", column: "secret", prefix: "mfa_factor:" };

/// Removes every second factor of an account, for who lost theirs; the person
/// is notified. Returns how many there were.
pub async fn reset(tx: &mut Tx, user: UserId) -> sqlx::Result<u64> {
    let gone = erase(tx, user).await?;
    emit(tx, None, user, &MfaReset { user_id: user });
    Ok(gone)
}
