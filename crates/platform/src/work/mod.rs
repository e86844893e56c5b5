//! The work queue as operators see it: what is stuck, and trying it again.

use contract::{
    Page,
    work::{ListWork, RetryWork, WorkItem},
};
use kernel::work::{self, Item};

use crate::{
    Platform,
    http::{Call, Failure, Handle, Request},
    registry::{Registry, Retention},
};

pub fn register(registry: &mut Registry<Platform>) {
    registry.retention(&["work"], Retention::Removed("`work::finish`, when no work is left"));
}

impl Handle<ListWork> for Platform {
    async fn handle(&self, call: &mut Call, request: Request<ListWork>) -> Result<Page<WorkItem>, Failure> {
        let query = request.query;
        let after = query.cursor.map(|it| it.0);
        let rows =
            work::list(&mut call.tx, query.kind.as_deref(), query.needs_attention, after, query.limit.probe()).await?;
        Ok(Page::cut(rows.into_iter().map(item).collect(), query.limit, |it| it.id))
    }
}

impl Handle<RetryWork> for Platform {
    async fn handle(&self, call: &mut Call, request: Request<RetryWork>) -> Result<WorkItem, Failure> {
        let retried = work::retry(&mut call.tx, &request.path.kind, request.path.id).await?;
        retried.map(item).ok_or_else(|| Failure::not_found("work"))
    }
}

fn item(item: Item) -> WorkItem {
    WorkItem {
        kind: item.kind,
        id: item.id,
        due_at: item.due_at,
        attempts: item.attempts,
        needs_attention: item.needs_attention,
        last_error: item.last_error,
    }
}
