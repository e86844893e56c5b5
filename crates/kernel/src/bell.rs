//! Wakes idle workers here and in the other replicas. A lost ring costs at most
//! one poll interval, so rings are sent after commit, coalesced, and never
//! inside a business transaction: NOTIFY serializes every commit that holds one.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::tx::Db;

/// What a ring is about: a kind of work, [`EVENTS`], or a topic of an area. Rows
/// of a topic are written by transactions that ring for it.
pub type Topic = Cow<'static, str>;

/// Rings for events in the outbox.
pub const EVENTS: &str = "events";

const CHANNEL: &str = "gpuaas_bell";
const COALESCE: Duration = Duration::from_millis(20);
const RECONNECT: Duration = Duration::from_secs(1);
// bound: a notification carries 8,000 bytes; with more topics it says nothing, which is all of them
const PAYLOAD: usize = 4000;

#[derive(Clone)]
pub struct Bell {
    /// Of this process, which does not listen to itself.
    id: Uuid,
    here: Arc<watch::Sender<Rings>>,
    /// What is to be told to the other replicas.
    elsewhere: Arc<watch::Sender<BTreeSet<Topic>>>,
}

/// How often the bell rang, for all and for each topic.
#[derive(Debug, Default)]
struct Rings {
    all: u64,
    topics: BTreeMap<Topic, u64>,
}

/// One listener's ear; each hears every ring about its topics.
pub struct BellListener {
    rung: watch::Receiver<Rings>,
    /// All where none is named.
    topics: Vec<&'static str>,
    heard: u64,
    pause: Duration,
    last: Option<Instant>,
}

impl Default for Bell {
    fn default() -> Self {
        let (here, _) = watch::channel(Rings::default());
        let (elsewhere, _) = watch::channel(BTreeSet::new());
        Self { id: Uuid::now_v7(), here: Arc::new(here), elsewhere: Arc::new(elsewhere) }
    }
}

impl Rings {
    fn add(&mut self, topics: impl IntoIterator<Item = Topic>) {
        for topic in topics {
            *self.topics.entry(topic).or_default() += 1;
        }
    }

    /// How often it rang about one of these.
    fn about(&self, topics: &[&str]) -> u64 {
        if topics.is_empty() {
            return self.all.wrapping_add(self.topics.values().sum());
        }
        let counts = topics.iter().map(|it| self.topics.get(*it).copied().unwrap_or_default());
        self.all.wrapping_add(counts.sum())
    }
}

impl Bell {
    /// Rings about these topics, here and in the other replicas.
    pub fn ring(&self, topics: impl IntoIterator<Item = impl Into<Topic>>) {
        let topics: Vec<Topic> = topics.into_iter().map(Into::into).collect();
        self.here.send_modify(|it| it.add(topics.iter().cloned()));
        self.elsewhere.send_modify(|it| it.extend(topics));
    }

    /// Hears of these topics, or of all where none is named.
    pub fn ear(&self, topics: &[&'static str]) -> BellListener {
        let rung = self.here.subscribe();
        let heard = rung.borrow().about(topics);
        BellListener { rung, topics: topics.to_vec(), heard, pause: COALESCE, last: None }
    }

    /// Tells the other replicas and listens to them, until stopped.
    pub async fn connect(self, db: Db, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let both = async { tokio::try_join!(self.tell_others(&db), self.hear_others(&db)).map(|_| ()) };
            tokio::select! {
                () = stop.cancelled() => return,
                outcome = both => if let Err(error) = outcome {
                    tracing::warn!(%error, "the bell lost its connection; polling until it reconnects");
                },
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(RECONNECT) => (),
            }
        }
    }

    async fn tell_others(&self, db: &Db) -> sqlx::Result<()> {
        let mut rung = self.elsewhere.subscribe();
        let mut connection = db.pool().connect().await?;
        while rung.wait_for(|it| !it.is_empty()).await.is_ok() {
            let mut topics = BTreeSet::new();
            self.elsewhere.send_if_modified(|it| {
                topics = std::mem::take(it);
                false
            });
            let payload = topics.into_iter().collect::<Vec<_>>().join(",");
            let payload = if payload.len() > PAYLOAD { "" } else { &payload };
            let payload = format!("{} {payload}", self.id);
            sqlx::query("SELECT pg_notify($1, $2)").bind(CHANNEL).bind(payload).execute(&mut connection).await?;
            tokio::time::sleep(COALESCE).await;
        }
        Ok(())
    }

    async fn hear_others(&self, db: &Db) -> sqlx::Result<()> {
        // The library's listener wants a pool of the library's own.
        let pool = PgPoolOptions::new().max_connections(1).connect_with(db.pool().options().clone()).await?;
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.listen(CHANNEL).await?;
        // What was rung while nobody listened is not known.
        self.here.send_modify(|it| it.all += 1);
        loop {
            let notification = listener.recv().await?;
            match notification.payload().split_once(' ') {
                Some((id, _)) if id == self.id.to_string() => (),
                None | Some((_, "")) => self.here.send_modify(|it| it.all += 1),
                Some((_, topics)) => {
                    self.here.send_modify(|it| it.add(topics.split(',').map(|it| Cow::Owned(it.to_owned()))));
                }
            }
        }
    }
}

impl BellListener {
    /// Under load a ring follows every commit. Whoever looked less than this ago
    /// looks once for all that came in that time, not once for each.
    #[must_use]
    pub fn with_pause(self, pause: Duration) -> Self {
        Self { pause, ..self }
    }

    /// Returns after a ring, at once if one came since the last call, or after `poll`.
    pub async fn wait(&mut self, poll: Duration) {
        let (topics, heard) = (&self.topics, self.heard);
        let rings = self.rung.wait_for(|it| it.about(topics) != heard);
        let _ = tokio::time::timeout(poll, rings).await;
        if let Some(last) = self.last {
            tokio::time::sleep_until(last + self.pause).await;
        }
        self.heard = self.rung.borrow().about(&self.topics);
        self.last = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLL: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn rings_without_end_are_received_together() {
        let bell = Bell::default();
        let mut ear = bell.ear(&[]);
        let started = Instant::now();
        for _ in 0..5 {
            bell.ring(["work"]);
            ear.wait(POLL).await;
        }
        assert!(started.elapsed() >= COALESCE * 4, "{:?}", started.elapsed());
        assert!(started.elapsed() < POLL);
    }

    #[tokio::test]
    async fn ring_between_two_waits_is_not_lost() {
        let bell = Bell::default();
        let mut ear = bell.ear(&["work"]);
        ear.wait(Duration::ZERO).await;
        bell.ring(["work"]);
        let started = Instant::now();
        ear.wait(POLL).await;
        assert!(started.elapsed() < POLL);
    }

    #[tokio::test(start_paused = true)]
    async fn rings_about_other_topics_are_not_heard() {
        let bell = Bell::default();
        let mut ear = bell.ear(&["work", "events"]);
        bell.ring(["mail"]);
        let started = Instant::now();
        ear.wait(POLL).await;
        assert_eq!(started.elapsed(), POLL, "nobody rang about its topics");
        bell.ring(["mail", "events"]);
        ear.wait(POLL).await;
        assert!(started.elapsed() < POLL * 2);
    }
}
