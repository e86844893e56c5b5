//! `gpuaas notifications watch`: a live feed that survives lost connections.
//! What came meanwhile is read back from the list, and nothing is printed twice.

use std::{collections::HashSet, time::Duration};

use client::Conversation;
use contract::{
    Limit, Nothing,
    events::WatchRequest,
    id::NotificationId,
    notifications::{ListNotifications, Notification, NotificationFilter, NotificationFrame, WatchNotifications},
};
use serde_json::json;
use tokio::time::{Instant, interval_at, sleep, timeout_at};

use crate::{
    context::Context,
    failure::{Class, Done, Failure},
    output::Format,
    table::harmless,
};

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
const PING_EVERY: Duration = Duration::from_secs(20);
/// A server that does not even answer pings for this long is gone.
const SILENCE: Duration = Duration::from_secs(60);

const MOST_SEEN: usize = 4 * Limit::MAX as usize;

struct Watch<'a> {
    context: &'a Context,
    left: Option<u64>,
    /// What was printed, or was there before, as far as it could come again.
    seen: HashSet<NotificationId>,
}

enum End {
    Enough,
    Again,
}

pub async fn run(context: &Context, count: Option<u64>) -> Done {
    let mut watch = Watch { context, left: count, seen: HashSet::new() };
    for old in watch.newest().await? {
        watch.seen.insert(old.id);
    }
    let mut pause = FIRST_PAUSE;
    let mut was_connected = false;
    loop {
        match context.open::<WatchNotifications>(Nothing {}, Nothing {}).await {
            Ok(conversation) => {
                pause = FIRST_PAUSE;
                if let End::Enough = watch.converse(conversation, was_connected).await? {
                    return Ok(());
                }
                was_connected = true;
            }
            Err(failure) if was_connected && passes(failure.class) => (),
            Err(failure) => return Err(failure),
        }
        context.output.hint("Connection lost. Reconnecting …");
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn passes(class: Class) -> bool {
    matches!(class, Class::Unavailable | Class::Limited | Class::Server)
}

impl Watch<'_> {
    async fn converse(&mut self, mut said: Conversation<WatchNotifications>, again: bool) -> Result<End, Failure> {
        let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        let mut deadline = Instant::now() + SILENCE;
        loop {
            let heard = tokio::select! {
                heard = timeout_at(deadline, said.next()) => heard,
                _ = ping.tick() => {
                    if said.say(&WatchRequest::Ping).await.is_err() {
                        return Ok(End::Again);
                    }
                    continue;
                }
            };
            deadline = Instant::now() + SILENCE;
            let Ok(Ok(Some(frame))) = heard else { return Ok(End::Again) };
            match frame {
                NotificationFrame::Ready { .. } if again => self.read_back().await?,
                NotificationFrame::Ready { unread } => {
                    self.context
                        .output
                        .hint(format!("Watching notifications ({unread} unread). Press Ctrl-C to stop."));
                }
                NotificationFrame::Notification { notification, .. } => self.show(&notification)?,
                NotificationFrame::Gap { .. } => self.read_back().await?,
                NotificationFrame::Read { .. } | NotificationFrame::Pong => (),
                NotificationFrame::Closing { .. } => return Ok(End::Again),
            }
            if self.left == Some(0) {
                return Ok(End::Enough);
            }
        }
    }

    async fn newest(&self) -> Result<Vec<Notification>, Failure> {
        let query =
            NotificationFilter { limit: Limit::new(Limit::MAX).unwrap_or_default(), ..NotificationFilter::default() };
        self.context.newest::<ListNotifications>(Nothing {}, query, usize::from(Limit::MAX), |_| true).await
    }

    async fn read_back(&mut self) -> Done {
        let listed = self.newest().await?;
        listed.iter().rev().try_for_each(|it| self.show(it))
    }

    fn show(&mut self, it: &Notification) -> Done {
        if self.left == Some(0) || !self.seen.insert(it.id) {
            return Ok(());
        }
        if self.seen.len() > MOST_SEEN {
            // Ids grow with time; what is read back is the newest page.
            let mut ids: Vec<_> = self.seen.drain().collect();
            ids.sort_unstable_by_key(|it| it.uuid());
            self.seen.extend(ids.split_off(ids.len() / 2));
        }
        if let Some(left) = &mut self.left {
            *left -= 1;
        }
        let output = self.context.output;
        match output.format {
            Format::Json => output.line(json!(it).to_string()),
            Format::Yaml => {
                output.line("---")?;
                output.document(&json!(it))
            }
            Format::Table if output.quiet => output.line(it.id.to_string()),
            Format::Table => output.line(harmless(&format!(
                "{}  {}  {}",
                it.created_at.strftime("%Y-%m-%d %H:%M:%S"),
                it.kind,
                it.title
            ))),
        }
    }
}
