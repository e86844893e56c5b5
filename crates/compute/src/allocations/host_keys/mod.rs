//! Whom the hosts of an allocation let in by themselves. An allocation keeps whose
//! keys were chosen; the lines for its hosts are derived here, whenever hosts
//! are asked, from who may be inside at that moment. What makes them be written again is `consume`.

mod consume;
mod store;

pub use consume::RefreshHostKeys;
pub use store::choose;

use std::collections::HashMap;

use contract::id::AllocationId;
use kernel::Tx;
use uuid::Uuid;

use contract::Permission;
use platform::{
    identity,
    policies::{PolicyScope, ProjectPolicies, RecordingMode, settings},
};

/// The lines of `authorized_keys` that the hosts of each allocation have now. None where only
/// recorded ways in are allowed: the hosts' own sshd records nothing.
pub async fn lines(
    tx: &mut Tx,
    allocations: &[(AllocationId, PolicyScope)],
) -> sqlx::Result<HashMap<AllocationId, Vec<String>>> {
    let mut modes: HashMap<Uuid, RecordingMode> = HashMap::new();
    let mut open = Vec::with_capacity(allocations.len());
    for (allocation, place) in allocations {
        let mode = match modes.get(&place.project) {
            Some(mode) => *mode,
            None => {
                let policies = ProjectPolicies { tx, place: *place }.choice(settings::ACCESS_RECORDING).await?;
                let mode = RecordingMode::parse(policies);
                modes.insert(place.project, mode);
                mode
            }
        };
        if mode != RecordingMode::Required {
            open.push(*allocation);
        }
    }
    if open.is_empty() {
        return Ok(HashMap::new());
    }
    store::lines(tx, &open, &identity::roles_with(Permission::AccessWrite)).await
}
