//! Events: emitted with the change they tell of, read back, and watched live. Members hear of
//! their organization, staff of everything that they may read.

mod feed;
mod routes;
mod store;
mod watch;

pub use feed::Feed;

use contract::{Event, id::OrganizationId};
use kernel::{Tx, outbox};

use crate::Platform;
use crate::registry::Registry;
use kernel::machine::ParentEnd;

pub fn register(registry: &mut Registry<Platform>) {
    registry.table("outbox", ParentEnd::Stays("events, for as long as `events.keep_days` says"));
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
