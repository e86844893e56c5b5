//! Events: emitted with the change they tell of, read back, and watched live. Members hear of
//! their organization, staff of everything that they may read.

mod feed;
mod routes;
mod store;
mod watch;

pub use feed::Feed;

use contract::{Event, id::OrganizationId};
use kernel::{Tx, housekeeping, outbox};

use crate::Platform;
use crate::policies::settings;
use crate::registry::{Registry, Retention};
use kernel::lifecycle::ParentEnd;

pub fn register(registry: &mut Registry<Platform>) {
    registry.table("outbox", ParentEnd::Stays("events, retained for `events.keep_days`"));
    registry.expiry(&["outbox", "consumed", "dead_letters", "idempotency"], |platform, most| {
        Box::pin(async move {
            let retention = settings::days(platform.policies.number(settings::EVENTS_DAYS));
            housekeeping::sweep(&platform.db, retention, most).await
        })
    });
    registry.retention(&["consumers"], Retention::Forever("the position of each consumer: one row each"));
}

/// Emits a typed event with the transaction. The only caller of the outbox
/// besides `transition`.
pub fn emit<E: Event>(tx: &mut Tx, organization: Option<OrganizationId>, resource: impl ToString, event: &E) {
    let data = serde_json::to_value(event).expect("events serialize");
    let new = outbox::NewEvent {
        subject: E::INFO.subject.to_owned(),
        organization: organization.map(|it| it.uuid()),
        resource: Some(resource.to_string()),
        version: None,
        data,
    };
    outbox::emit(tx, new);
}
