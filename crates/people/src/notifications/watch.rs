//! Notifications as they come, over a WebSocket.

use std::time::Duration;

use contract::{
    Event,
    events::WatchRequest,
    id::{NotificationId, UserId},
    notifications::{NotificationCreated, NotificationFrame, NotificationRead, WatchNotifications},
};
use kernel::{Access, Actor, Scope, Tx, outbox::Message};
use tokio::sync::broadcast::error::RecvError;

use super::{routes::with_mails, store};
use crate::PeopleArea;
use platform::{
    http::channel::{Converse, OpenChannel, UNAVAILABLE},
    policies::settings,
};

// bound: how often an open watch looks whether it is still allowed
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Whose rows a watch may see.
struct Reader {
    scope: Scope,
    actor: Actor,
}

/// What an event means to one person.
enum News {
    Told(NotificationId),
    Read,
    Missed,
    Pinged,
}

impl Converse<WatchNotifications> for PeopleArea {
    async fn converse(&self, mut talk: OpenChannel<WatchNotifications>) {
        let Some(user) = talk.caller.user() else { return };
        let reader = Reader { scope: talk.scope, actor: talk.caller.actor() };
        let closing = |reason: String| NotificationFrame::Closing { reason };
        let most = self.policies.number(settings::WATCHES_MAX);
        let Some(mut feed) = self.feed.listen(talk.caller.actor().as_str(), most) else {
            let reason = format!("the limit of {most} open watches is reached; close one first");
            let _ = talk.socket.send(&closing(reason)).await;
            return;
        };
        let mut look_again = tokio::time::interval(LOOK_AGAIN);
        let Ok(unread) = unread(self, &reader, user).await else {
            let _ = talk.socket.send(&closing(UNAVAILABLE.into())).await;
            return;
        };
        if !talk.socket.send(&NotificationFrame::Ready { unread }).await {
            return;
        }
        loop {
            let news = tokio::select! {
                () = self.stopping.cancelled() => {
                    let _ = talk.socket.send(&closing("the server is shutting down".into())).await;
                    return;
                }
                _ = look_again.tick() => {
                    let Err(why) = talk.authorization.caller(self).await else { continue };
                    let _ = talk.socket.send(&closing(why.into())).await;
                    return;
                }
                heard = feed.told.recv() => match heard {
                    Ok(message) => match concerns(&message, user) {
                        Some(news) => news,
                        None => continue,
                    },
                    Err(RecvError::Lagged(_)) => News::Missed,
                    Err(RecvError::Closed) => return,
                },
                said = talk.socket.next() => match said {
                    Some(WatchRequest::Ping) => News::Pinged,
                    None => return,
                },
            };
            // What cannot be read now is not lost: whoever connects again lists it.
            let Ok(frame) = frame(self, &reader, user, news).await else {
                let _ = talk.socket.send(&closing(UNAVAILABLE.into())).await;
                return;
            };
            if let Some(frame) = frame
                && !talk.socket.send(&frame).await
            {
                return;
            }
        }
    }
}

fn concerns(message: &Message, user: UserId) -> Option<News> {
    if message.subject == NotificationCreated::INFO.subject {
        let told: NotificationCreated = serde_json::from_value(message.data.clone()).ok()?;
        return (told.user_id == user).then_some(News::Told(told.id));
    }
    if message.subject == NotificationRead::INFO.subject {
        let read: NotificationRead = serde_json::from_value(message.data.clone()).ok()?;
        return (read.user_id == user).then_some(News::Read);
    }
    None
}

async fn frame(
    area: &PeopleArea,
    reader: &Reader,
    user: UserId,
    news: News,
) -> sqlx::Result<Option<NotificationFrame>> {
    let id = match news {
        News::Told(id) => id,
        News::Read => return Ok(Some(NotificationFrame::Read { unread: unread(area, reader, user).await? })),
        News::Missed => return Ok(Some(NotificationFrame::Gap { unread: unread(area, reader, user).await? })),
        // Asks the database nothing: clients send it as often as they like.
        News::Pinged => return Ok(Some(NotificationFrame::Pong)),
    };
    let unread = unread(area, reader, user).await?;
    let mut tx = begin(area, reader).await?;
    let found = store::get(&mut tx, user, id).await?;
    let mut found = with_mails(&mut tx, user, found.into_iter().collect()).await?;
    tx.commit().await?;
    Ok(found.pop().map(|notification| NotificationFrame::Notification { notification: Box::new(notification), unread }))
}

async fn unread(area: &PeopleArea, reader: &Reader, user: UserId) -> sqlx::Result<i64> {
    let mut tx = begin(area, reader).await?;
    let unread = store::unread(&mut tx, user).await?;
    tx.commit().await?;
    Ok(unread)
}

async fn begin(area: &PeopleArea, reader: &Reader) -> sqlx::Result<Tx> {
    Tx::begin(&area.db, reader.scope, Access::Read, reader.actor.clone(), "watch".into()).await
}
