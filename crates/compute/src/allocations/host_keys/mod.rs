//! Whom the hosts of an allocation let in by themselves. An allocation keeps whose
//! keys were chosen; the lines for its hosts are derived here, whenever hosts
//! are asked, from who may be inside at that moment. What makes them be written again is `consume`.

mod consume;
mod store;

pub use consume::RefreshHostKeys;
pub use store::choose;

use contract::id::AllocationId;
use kernel::Tx;

use contract::Permission;
use platform::{
    identity,
    policies::{PolicyScope, ProjectPolicies, RecordingMode, keys},
};

/// The lines of `authorized_keys` that its hosts have now. None where only recorded
/// ways in are allowed: the hosts' own sshd records nothing.
pub async fn lines(tx: &mut Tx, allocation: AllocationId, place: PolicyScope) -> sqlx::Result<Vec<String>> {
    if RecordingMode::parse(ProjectPolicies { tx, place }.choice(keys::ACCESS_RECORDING).await?)
        == RecordingMode::Required
    {
        return Ok(Vec::new());
    }
    store::lines(tx, allocation, &identity::roles_with(Permission::AccessWrite)).await
}
