//! Listing events.

use contract::{
    Event, Page,
    events::{ListEvents, ListPlatformEvents, RecordedEvent, platform_permission},
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
            nouns: None,
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
        let nouns = nouns(|subject| call.caller.check_platform(platform_permission(subject)).is_ok());
        let wanted = store::EventSelection {
            organization: query.organization_id,
            subject: query.subject.as_deref(),
            resource: query.resource.as_deref(),
            nouns: Some(&nouns),
        };
        let rows = store::list(&mut call.tx, wanted, query.cursor, query.limit).await?;
        Ok(Page::cut(rows, query.limit, |it| it.id.uuid()))
    }
}

fn subject_of<E: Event>() -> &'static str {
    E::INFO.subject
}

/// The nouns of all events that `may` says yes to.
fn nouns(may: impl Fn(&str) -> bool) -> Vec<String> {
    let mut nouns = Vec::new();
    let mut add = |subject: &str| {
        if may(subject)
            && let Some((noun, _)) = subject.split_once('.')
        {
            nouns.push(noun.to_owned());
        }
    };
    macro_rules! collect {
        ($($event:path),* $(,)?) => { $(add(subject_of::<$event>());)* };
    }
    contract::for_each_event!(collect);
    nouns.sort_unstable();
    nouns.dedup();
    nouns
}
