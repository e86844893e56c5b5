//! The audit log as people read and prove it.

mod routes;
mod store;

use crate::Platform;
use crate::policies::settings;
use crate::registry::{Registry, Retention};
use kernel::{lifecycle::ParentEnd, seals};

// bound: a seal has thousands of entries, which one transaction deletes
const SEALS: i64 = 100;

pub fn register(registry: &mut Registry<Platform>) {
    registry.table("audit", ParentEnd::Stays("evidence, retained for `audit.keep_days`"));
    registry.expiry(&["audit"], |platform, most| {
        Box::pin(async move {
            let retention = settings::days(platform.policies.number(settings::AUDIT_DAYS));
            let expired = seals::expire(&platform.db, retention, SEALS).await?;
            // As many as that: there may be more.
            Ok(if expired < SEALS as u64 { expired } else { most as u64 })
        })
    });
    registry.retention(&["seals"], Retention::Forever("the chain of roots that verifies entries and exports"));
}
