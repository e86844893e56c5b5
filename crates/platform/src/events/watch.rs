//! Watching events: one conversation for members and staff alike, which differ
//! in what they may hear of.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use contract::{
    Channel, Event as _, Permission,
    events::{RecordedEvent, WatchEvents, WatchFilter, WatchFrame, WatchPlatformEvents, WatchRequest},
    id::{EventId, UserId},
    notifications::{NotificationCreated, NotificationRead},
};
use kernel::outbox::Message;
use tokio::sync::broadcast::error::RecvError;
use uuid::Uuid;

use super::Feed;
use crate::{
    Platform,
    http::channel::{Converse, OpenChannel, UNAVAILABLE},
    identity::Caller,
    policies::settings,
};

// bound: how often an open watch looks whether it is still allowed
const LOOK_AGAIN: Duration = Duration::from_millis(500);

impl Converse<WatchEvents> for Platform {
    async fn converse(&self, talk: OpenChannel<WatchEvents>) {
        let organization = talk.path.organization_id.uuid();
        let query = talk.query.clone();
        let may = |caller: &Caller, message: &Message| {
            let is_theirs = || caller.user().is_some_and(|user| is_of(message, user));
            message.organization == Some(organization) || is_theirs()
        };
        watch(self, talk, query, may).await;
    }
}

impl Converse<WatchPlatformEvents> for Platform {
    async fn converse(&self, talk: OpenChannel<WatchPlatformEvents>) {
        let query = talk.query.clone();
        let staff: HashMap<&str, Permission> =
            contract::every_event().iter().map(|it| (it.subject, it.staff)).collect();
        // An event that this build does not know yet is shown to nobody.
        let may = |caller: &Caller, message: &Message| {
            staff.get(message.subject.as_str()).is_some_and(|needed| caller.check_platform(*needed).is_ok())
        };
        watch(self, talk, query, may).await;
    }
}

async fn watch<C>(
    platform: &Platform,
    mut talk: OpenChannel<C>,
    query: WatchFilter,
    may: impl Fn(&Caller, &Message) -> bool,
) where
    C: Channel<FromClient = WatchRequest, ToClient = WatchFrame>,
{
    let mut caller = talk.caller.clone();
    let subject = query.subject.unwrap_or_default();
    let wanted = |caller: &Caller, it: &Message| it.subject.starts_with(&subject) && may(caller, it);
    let closing = |reason: String| WatchFrame::Closing { reason };
    let most = platform.policies.number(settings::WATCHES_MAX);
    let Some(mut feed) = platform.feed.listen(caller.actor().as_str(), most) else {
        let reason = format!("the limit of {most} open watches is reached; close one first");
        let _ = talk.socket.send(&closing(reason)).await;
        return;
    };
    if !talk.socket.send(&WatchFrame::Ready).await {
        return;
    }
    // Who listens before the past is read misses nothing; what is in both is sent once.
    let mut sent: HashSet<Uuid> = HashSet::new();
    if let Some(after) = query.after {
        let Ok(past) = Feed::since(&platform.db, after.uuid()).await else {
            let _ = talk.socket.send(&closing(UNAVAILABLE.into())).await;
            return;
        };
        if past.is_none() && !talk.socket.send(&WatchFrame::Gap {}).await {
            return;
        }
        for message in past.unwrap_or_default() {
            sent.insert(message.id);
            let is_wanted = wanted(&caller, &message);
            if is_wanted && !talk.socket.send(&WatchFrame::Event { event: recorded(&message) }).await {
                return;
            }
        }
    }
    let mut look_again = tokio::time::interval(LOOK_AGAIN);
    loop {
        let frame = tokio::select! {
            () = platform.stopping.cancelled() => {
                let _ = talk.socket.send(&closing("the server is shutting down".into())).await;
                return;
            }
            _ = look_again.tick() => {
                match talk.authorization.caller(platform).await {
                    Ok(now) => {
                        caller = now;
                        continue;
                    }
                    Err(why) => {
                        let _ = talk.socket.send(&closing(why.into())).await;
                        return;
                    }
                }
            }
            heard = feed.told.recv() => match heard {
                Ok(message) if sent.remove(&message.id) || !wanted(&caller, &message) => continue,
                Ok(message) => WatchFrame::Event { event: recorded(&message) },
                // How many is not told: they were everybody's, not only the caller's.
                Err(RecvError::Lagged(_)) => WatchFrame::Gap {},
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

/// Whether an event is about somebody's own notifications.
fn is_of(message: &Message, user: UserId) -> bool {
    [NotificationCreated::INFO.subject, NotificationRead::INFO.subject].contains(&message.subject.as_str())
        && message.data["user_id"] == user.to_string()
}

fn recorded(message: &Arc<Message>) -> RecordedEvent {
    let id = EventId::from(message.id);
    RecordedEvent {
        message_id: id.to_string(),
        id,
        subject: message.subject.clone(),
        organization_id: message.organization.map(Into::into),
        resource: message.resource.clone(),
        at: message.at,
        correlation_id: message.correlation_id.clone(),
        data: message.data.clone(),
    }
}
