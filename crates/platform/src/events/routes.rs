//! Listing events.

use contract::{
    Page,
    events::{ListEvents, ListPlatformEvents, RecordedEvent},
};

use super::store;
use crate::{
    Platform,
    http::{Call, Failure, Handle, Request},
};

impl Handle<ListEvents> for Platform {
    async fn handle(&self, call: &mut Call, request: Request<ListEvents>) -> Result<Page<RecordedEvent>, Failure> {
        let query = request.query;
        let wanted = store::EventSelection {
            organization: Some(call.organization()),
            subject: query.subject.as_deref(),
            resource: query.resource.as_deref(),
            only: None,
        };
        let rows = store::list(&mut call.tx, wanted, query.cursor, query.limit).await?;
        Ok(Page::cut(rows, query.limit, |it| it.id.uuid()))
    }
}

impl Handle<ListPlatformEvents> for Platform {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<ListPlatformEvents>,
    ) -> Result<Page<RecordedEvent>, Failure> {
        let query = request.query;
        let readable = contract::every_event().into_iter().filter(|it| call.caller.check_platform(it.staff).is_ok());
        let readable: Vec<&str> = readable.map(|it| it.subject).collect();
        let wanted = store::EventSelection {
            organization: query.organization_id,
            subject: query.subject.as_deref(),
            resource: query.resource.as_deref(),
            only: Some(&readable),
        };
        let rows = store::list(&mut call.tx, wanted, query.cursor, query.limit).await?;
        Ok(Page::cut(rows, query.limit, |it| it.id.uuid()))
    }
}
