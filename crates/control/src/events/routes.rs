//! Listing and watching the events of an organization.

use std::{sync::Arc, time::Duration};

use contract::{
    Page,
    events::{ListEvents, RecordedEvent, WatchEvents, WatchFrame, WatchRequest},
    id::EventId,
};
use kernel::outbox::Message;
use tokio::sync::broadcast::error::RecvError;

use super::store;
use crate::{
    app::App,
    http::{
        Call, Failure, Handle, Request,
        channel::{Converse, Talk},
    },
    policies::keys,
};

impl Handle<ListEvents> for App {
    async fn handle(&self, call: &mut Call, request: Request<ListEvents>) -> Result<Page<RecordedEvent>, Failure> {
        let query = request.query;
        let organization = call.organization().uuid();
        let (subject, resource) = (query.subject.as_deref(), query.resource.as_deref());
        let rows = store::list(&mut call.tx, organization, subject, resource, query.cursor, query.limit).await?;
        Ok(Page::cut(rows, query.limit, |it| it.id.uuid()))
    }
}

// bound: how often an open watch looks whether it is still allowed
const LOOK_AGAIN: Duration = Duration::from_millis(500);

impl Converse<WatchEvents> for App {
    async fn converse(&self, mut talk: Talk<WatchEvents>) {
        let organization = talk.path.organization_id.uuid();
        let subject = talk.query.subject.clone().unwrap_or_default();
        let wanted = |it: &Message| it.organization == Some(organization) && it.subject.starts_with(&subject);
        let most = self.policies.number(keys::WATCHES_MAX);
        let Some(mut feed) = self.feed.listen(talk.caller.actor().as_str(), most) else {
            let reason = format!("you hold {most} watches open, the limit; close one first");
            let _ = talk.socket.send(&WatchFrame::Closing { reason }).await;
            return;
        };
        let mut look_again = tokio::time::interval(LOOK_AGAIN);
        if !talk.socket.send(&WatchFrame::Ready).await {
            return;
        }
        loop {
            let frame = tokio::select! {
                () = self.stopping.cancelled() => {
                    let _ = talk.socket.send(&WatchFrame::Closing { reason: "the server stops".into() }).await;
                    return;
                }
                _ = look_again.tick() => {
                    if talk.standing.holds(self).await {
                        continue;
                    }
                    let _ = talk.socket.send(&WatchFrame::Closing { reason: "the access ended".into() }).await;
                    return;
                }
                heard = feed.told.recv() => match heard {
                    Ok(message) if wanted(&message) => WatchFrame::Event { event: recorded(&message) },
                    Ok(_) => continue,
                    Err(RecvError::Lagged(missed)) => WatchFrame::Gap { missed },
                    Err(RecvError::Closed) => return,
                },
                said = talk.socket.next() => match said {
                    Some(WatchRequest::Ping) => WatchFrame::Pong,
                    None => return,
                },
            };
            if !talk.socket.send(&frame).await {
                return;
            }
        }
    }
}

fn recorded(message: &Arc<Message>) -> RecordedEvent {
    let id = EventId::from(message.id);
    RecordedEvent {
        message_id: id.to_string(),
        id,
        subject: message.subject.clone(),
        resource: message.resource.clone(),
        at: message.at,
        correlation_id: message.correlation_id.clone(),
        data: message.data.clone(),
    }
}
