//! Recordings: what was shown on terminals, in pieces that gateways hand in as
//! they are written. The hash of each is registered with it; at the end a hash
//! over them all goes into the audit log. Only retention deletes them.

mod assemble;
mod at_rest;
mod download;
pub mod lifecycle;
mod reconcile;
mod routes;
mod seal;
mod store;
mod turns;

pub use at_rest::{NAME as KEY_NAME, sealed};
pub use reconcile::RecordingReconciler;
pub use store::{NewChunk, Segment, add_chunk, of_session, ordered, segment};
pub use turns::Downloads;

use contract::{
    Timestamp,
    id::{GatewayId, RecordingId},
    recordings::RecordingCreated,
};
use kernel::Tx;
use protocol::gateway::RecordingOrder;
use store::Part;

use crate::access_sessions::Session;
use platform::events::emit;
use platform::policies::RecordingMode;

use crate::AccessArea;
use kernel::lifecycle::ParentEnd;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<AccessArea>) {
    registry.lifecycle::<lifecycle::RecordingLifecycle>();
    registry.reconciler(|area: &AccessArea| RecordingReconciler {
        store: area.recordings.clone(),
        policies: area.policies.clone(),
    });
    registry.table("recording_chunks", ParentEnd::EndsToo("with its recording"));
    registry.table("recording_segments", ParentEnd::EndsToo("with its recording"));
    registry.retention(&["recordings"], Retention::Forever("the record of what was recorded and when it was deleted"));
    registry.retention(&["recording_segments"], Retention::Forever("which gateway wrote which segment"));
    registry.retention(&["recording_chunks"], Retention::Removed("with their data, when the recording is deleted"));
}

/// What the bytes of a piece are kept under: ids and numbers of ours, nothing else.
pub fn key(recording: RecordingId, segment: u32, number: u32) -> String {
    format!("{recording}/{segment}/{number}")
}

/// How a session is recorded that begins or goes on through a gateway.
#[derive(Debug, Clone, Copy)]
pub struct RecordingRequest {
    pub mode: RecordingMode,
    pub has_input: bool,
}

/// What a gateway is told to write, and up to where a recording that has begun
/// reaches.
pub struct Order {
    pub order: RecordingOrder,
    pub recorded: Option<u64>,
}

/// A part of the session's recording. Nothing begins by it: that is for the first
/// piece, so that a stream which was never opened leaves nothing behind.
pub async fn order(tx: &mut Tx, session: &Session, wanted: RecordingRequest) -> sqlx::Result<Option<Order>> {
    let is_required = match wanted.mode {
        RecordingMode::Off => return Ok(None),
        RecordingMode::On => false,
        RecordingMode::Required => true,
    };
    let open = store::open_of(tx, session.id).await?;
    let (id, has_input, segments) = match &open {
        Some(open) => (open.id, open.has_input, open.segments),
        None => (RecordingId::generate(), wanted.has_input, 0),
    };
    let Part { recording, segment, has_input } = store::add_part(tx, session.id, id, has_input, segments).await?;
    let recorded = open.map(|it| it.to);
    let from = recorded.unwrap_or(0);
    let order = RecordingOrder { recording: recording.uuid(), segment, from, input: has_input, is_required };
    Ok(Some(Order { order, recorded }))
}

/// Begins a segment with its first piece, and the recording with its first segment;
/// false where the gateway was not told to, or carries the session no more.
pub async fn begin(tx: &mut Tx, id: RecordingId, gateway: GatewayId, first: &NewChunk<'_>) -> sqlx::Result<bool> {
    let Some(ordered) = ordered(tx, id, first.segment, gateway).await? else { return Ok(false) };
    if store::insert(tx, id, &ordered).await? {
        let created = RecordingCreated { id, session_id: ordered.session };
        emit(tx, Some(ordered.organization), id, &created);
    }
    store::add_segment(tx, ordered.organization, id, gateway, first).await?;
    Ok(true)
}

/// When a recording that is sealed now may be deleted.
fn delete_at(now: Timestamp, days: u64) -> Timestamp {
    now + platform::policies::settings::days(days)
}
