//! `gpuaas events watch`: a live feed of an organization or of the platform,
//! that survives lost connections. What was missed meanwhile is read back from
//! the list, and nothing is printed twice.

use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};

use client::Conversation;
use contract::{
    Channel, Limit, Nothing, Timestamp,
    events::{
        EventFilter, ListEvents, ListPlatformEvents, PlatformEventFilter, RecordedEvent, WatchEvents, WatchFilter,
        WatchFrame, WatchPlatformEvents, WatchRequest,
    },
    organizations::OrganizationPath,
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
/// A conversation that lasted this long did not fail at its start.
const STEADY: Duration = Duration::from_secs(10);
const PING_EVERY: Duration = Duration::from_secs(20);
/// A server that does not even answer pings for this long is gone.
const SILENCE: Duration = Duration::from_secs(60);
/// Events are not listed in the order they were committed in; this covers the difference.
const OVERLAP: Duration = Duration::from_secs(60);
const MOST_READ_BACK: usize = 1000;

/// What is watched, and where it is read back.
pub trait Source {
    type Channel: Channel<FromClient = WatchRequest, ToClient = WatchFrame>;

    async fn open(&self, context: &Context, filter: WatchFilter) -> Result<Conversation<Self::Channel>, Failure>;

    /// Newest first, up to `most` or to the first that is not wanted.
    async fn newest(
        &self,
        context: &Context,
        subject: Option<String>,
        most: usize,
        wanted: impl Fn(&RecordedEvent) -> bool,
    ) -> Result<Vec<RecordedEvent>, Failure>;
}

impl Source for OrganizationPath {
    type Channel = WatchEvents;

    async fn open(&self, context: &Context, filter: WatchFilter) -> Result<Conversation<WatchEvents>, Failure> {
        context.open::<WatchEvents>(self.clone(), filter).await
    }

    async fn newest(
        &self,
        context: &Context,
        subject: Option<String>,
        most: usize,
        wanted: impl Fn(&RecordedEvent) -> bool,
    ) -> Result<Vec<RecordedEvent>, Failure> {
        let query = EventFilter { subject, limit: largest(), ..EventFilter::default() };
        context.newest::<ListEvents>(self.clone(), query, most, wanted).await
    }
}

/// Everything that happens on the platform.
pub struct Platform;

impl Source for Platform {
    type Channel = WatchPlatformEvents;

    async fn open(&self, context: &Context, filter: WatchFilter) -> Result<Conversation<WatchPlatformEvents>, Failure> {
        context.open::<WatchPlatformEvents>(Nothing {}, filter).await
    }

    async fn newest(
        &self,
        context: &Context,
        subject: Option<String>,
        most: usize,
        wanted: impl Fn(&RecordedEvent) -> bool,
    ) -> Result<Vec<RecordedEvent>, Failure> {
        let query = PlatformEventFilter { subject, limit: largest(), ..PlatformEventFilter::default() };
        context.newest::<ListPlatformEvents>(Nothing {}, query, most, wanted).await
    }
}

fn largest() -> Limit {
    Limit::new(Limit::MAX).unwrap_or_default()
}

struct Watch<'a, S> {
    context: &'a Context,
    source: S,
    filter: WatchFilter,
    left: Option<u64>,
    recent: Recent,
}

/// Whether to go on after a conversation.
enum End {
    Enough,
    /// The server asked to connect again, as when a token ran out.
    Asked,
    Lost(&'static str),
}

pub async fn run(context: &Context, source: impl Source, filter: WatchFilter, count: Option<u64>) -> Done {
    let mut watch = Watch { context, source, filter, left: count, recent: Recent::default() };
    watch.begin().await?;
    let mut pause = FIRST_PAUSE;
    let mut connected_before = false;
    loop {
        let start = Instant::now();
        let lost = match watch.connect().await {
            Ok(conversation) => {
                let again = std::mem::replace(&mut connected_before, true);
                match watch.converse(conversation, again).await? {
                    End::Enough => return Ok(()),
                    End::Asked => None,
                    End::Lost(why) => Some(why),
                }
            }
            Err(failure) if connected_before && passes(failure.class) => Some("the server is unreachable"),
            Err(failure) => return Err(failure),
        };
        if start.elapsed() > STEADY {
            pause = FIRST_PAUSE;
        }
        if let Some(why) = lost {
            context.output.hint(format!("Disconnected: {why}. Reconnecting …"));
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn passes(class: Class) -> bool {
    matches!(class, Class::Unavailable | Class::Limited | Class::Server)
}

impl<S: Source> Watch<'_, S> {
    async fn connect(&self) -> Result<Conversation<S::Channel>, Failure> {
        self.source.open(self.context, self.filter.clone()).await
    }

    async fn converse(&mut self, mut conversation: Conversation<S::Channel>, again: bool) -> Result<End, Failure> {
        let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        let mut deadline = Instant::now() + SILENCE;
        loop {
            let heard = tokio::select! {
                heard = timeout_at(deadline, conversation.next()) => heard,
                _ = ping.tick() => {
                    if conversation.say(&WatchRequest::Ping).await.is_err() {
                        return Ok(End::Lost("the connection was lost"));
                    }
                    continue;
                }
            };
            deadline = Instant::now() + SILENCE;
            let frame = match heard {
                Err(_) => return Ok(End::Lost("the server stopped responding")),
                Ok(Err(_)) => return Ok(End::Lost("the connection was lost")),
                Ok(Ok(None)) => return Ok(End::Lost("the server closed the connection")),
                Ok(Ok(Some(frame))) => frame,
            };
            match frame {
                WatchFrame::Ready if again => self.read_back().await?,
                WatchFrame::Ready => self.context.output.hint("Watching events. Press Ctrl-C to stop."),
                WatchFrame::Event { event } => self.show(&event)?,
                WatchFrame::Gap { .. } => self.read_back().await?,
                WatchFrame::Pong => (),
                WatchFrame::Closing { .. } => return Ok(End::Asked),
            }
            if self.left == Some(0) {
                return Ok(End::Enough);
            }
        }
    }

    /// Remembers what is there already, so that reading back never reaches before the start.
    async fn begin(&mut self) -> Done {
        let page = usize::from(Limit::MAX);
        let listed = self.source.newest(self.context, self.filter.subject.clone(), page, |_| true).await?;
        if listed.len() == page {
            self.recent.floor = listed.iter().map(|it| it.at).min().unwrap_or(Timestamp::MIN);
        }
        for event in listed.iter().rev() {
            self.recent.is_new(event);
        }
        Ok(())
    }

    /// Prints what happened since the last event that was seen.
    async fn read_back(&mut self) -> Done {
        let since = self.recent.since();
        let wanted = |it: &RecordedEvent| it.at >= since;
        let subject = self.filter.subject.clone();
        let listed = self.source.newest(self.context, subject, MOST_READ_BACK, wanted).await?;
        if listed.len() == MOST_READ_BACK {
            self.context.output.warn("Too many events were missed to print. See `gpuaas events list` for all of them.");
        }
        listed.iter().rev().try_for_each(|it| self.show(it))
    }

    fn show(&mut self, event: &RecordedEvent) -> Done {
        if self.left == Some(0) || !self.recent.is_new(event) {
            return Ok(());
        }
        if let Some(left) = &mut self.left {
            *left -= 1;
        }
        let output = self.context.output;
        match output.format {
            Format::Json => output.line(json!(event).to_string()),
            Format::Yaml => {
                output.line("---")?;
                output.document(&json!(event))
            }
            Format::Table if output.quiet => output.line(event.id.to_string()),
            Format::Table => output.line(harmless(&format!(
                "{}  {}  {}  {}",
                event.at.strftime("%Y-%m-%d %H:%M:%S"),
                event.subject,
                event.resource.as_deref().unwrap_or("-"),
                event.data
            ))),
        }
    }
}

/// What was seen lately, as far as it could come again.
struct Recent {
    seen: HashSet<String>,
    order: VecDeque<String>,
    newest: Timestamp,
    /// Nothing before this can be news.
    floor: Timestamp,
}

impl Default for Recent {
    fn default() -> Self {
        Self { seen: HashSet::new(), order: VecDeque::new(), newest: Timestamp::MIN, floor: Timestamp::MIN }
    }
}

impl Recent {
    const MOST: usize = 4 * MOST_READ_BACK;

    fn is_new(&mut self, event: &RecordedEvent) -> bool {
        if !self.seen.insert(event.message_id.clone()) {
            return false;
        }
        self.order.push_back(event.message_id.clone());
        if self.order.len() > Self::MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        self.newest = self.newest.max(event.at);
        true
    }

    /// How far back something unseen may lie.
    fn since(&self) -> Timestamp {
        let overlapping = self.newest.checked_sub(OVERLAP).unwrap_or(Timestamp::MIN);
        overlapping.max(self.floor)
    }
}

#[cfg(test)]
mod tests {
    use contract::id::EventId;

    use super::*;

    fn event(second: i64) -> RecordedEvent {
        let id = EventId::generate();
        RecordedEvent {
            id,
            message_id: id.to_string(),
            subject: "project.created".into(),
            organization_id: None,
            resource: None,
            at: Timestamp::from_second(second).unwrap(),
            correlation_id: String::new(),
            data: json!({}),
        }
    }

    #[test]
    fn events_are_deduplicated() {
        let mut recent = Recent::default();
        let first = event(100);
        assert!(recent.is_new(&first) && !recent.is_new(&first) && recent.is_new(&event(90)));
    }

    #[test]
    fn event_deduplication_memory_is_bounded() {
        let mut recent = Recent::default();
        for second in 0..Recent::MOST as i64 + 10 {
            recent.is_new(&event(second));
        }
        assert_eq!((recent.seen.len(), recent.order.len()), (Recent::MOST, Recent::MOST));
    }

    #[test]
    fn missed_events_are_read_with_overlap_but_never_from_before_the_start() {
        let mut recent = Recent::default();
        assert_eq!(recent.since(), Timestamp::MIN);
        recent.is_new(&event(1_000));
        assert_eq!(recent.since().as_second(), 940);
        recent.floor = Timestamp::from_second(990).unwrap();
        assert_eq!(recent.since().as_second(), 990);
    }
}
