//! The live feed: one reader of the outbox per process, many listeners. It
//! keeps no position, so a listener that connects hears what comes from then on.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use kernel::{
    Access, Db, Tx, bell,
    outbox::{self, Message, Position},
};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

#[derive(Clone)]
pub struct Feed {
    told: broadcast::Sender<Arc<Message>>,
    listeners: Arc<Mutex<HashMap<String, usize>>>,
}

/// A listener's place; given up when dropped.
pub struct Listening {
    feed: Feed,
    who: String,
    pub told: broadcast::Receiver<Arc<Message>>,
}

// bound: how far a slow listener may fall behind before it is told of a gap
const BEHIND: usize = 1024;
const BATCH: i64 = 256;
// bound: what is sent of the past to who comes back, as much as a slow listener may fall behind
const PAST: usize = BEHIND;
// bound: the longest time without looking when no bell rings
const POLL: Duration = Duration::from_millis(500);

impl Default for Feed {
    fn default() -> Self {
        Self { told: broadcast::Sender::new(BEHIND), listeners: Arc::default() }
    }
}

impl Feed {
    /// A place for a listener, unless they hold `most` already.
    pub fn listen(&self, who: &str, most: u64) -> Option<Listening> {
        let mut listeners = self.listeners.lock().expect("no code panics while it holds this lock");
        let held = listeners.entry(who.to_owned()).or_default();
        if *held as u64 >= most {
            return None;
        }
        *held += 1;
        Some(Listening { feed: self.clone(), who: who.to_owned(), told: self.told.subscribe() })
    }

    /// What was committed after an event, in order; `None` when it is no longer
    /// kept or too much came since.
    pub async fn since(db: &Db, event: Uuid) -> sqlx::Result<Option<Vec<Arc<Message>>>> {
        let mut tx = Tx::system(db, "feed", Access::Read).await?;
        let Some(mut position) = outbox::position_of(&mut tx, event).await? else { return Ok(None) };
        let mut past = Vec::new();
        while past.len() <= PAST {
            let batch = outbox::read(&mut tx, position, BATCH).await?;
            let is_last = (batch.len() as i64) < BATCH;
            for (place, message) in batch {
                past.push(Arc::new(message));
                position = place;
            }
            if is_last {
                return Ok(Some(past));
            }
        }
        Ok(None)
    }

    /// Reads until stopped. `heard` sees every event before listeners do;
    /// `started` is told once, when what comes from then on will be heard: what
    /// was read before may have changed unheard.
    pub async fn run(
        self,
        db: Db,
        heard: impl Fn(&Message) + Send,
        started: impl Fn() + Send,
        stop: CancellationToken,
    ) {
        let mut ear = db.bell.ear(&[bell::EVENTS]);
        let mut position: Option<Position> = None;
        while !stop.is_cancelled() {
            match self.pass(&db, position, &heard).await {
                Ok((next, more)) => {
                    if position.replace(next).is_none() {
                        started();
                    }
                    if more {
                        continue;
                    }
                }
                Err(error) => tracing::warn!(%error, "reading events for listeners failed; trying again"),
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = ear.wait(POLL) => (),
            }
        }
    }

    async fn pass(
        &self,
        db: &Db,
        position: Option<Position>,
        heard: &impl Fn(&Message),
    ) -> sqlx::Result<(Position, bool)> {
        let mut tx = Tx::system(db, "feed", Access::Read).await?;
        let Some(mut position) = position else {
            let start = outbox::newest(&mut tx).await?;
            tx.commit().await?;
            return Ok((start, true));
        };
        let batch = outbox::read(&mut tx, position, BATCH).await?;
        tx.commit().await?;
        let more = batch.len() as i64 == BATCH;
        for (place, message) in batch {
            heard(&message);
            // Nobody listening is no error.
            let _ = self.told.send(Arc::new(message));
            position = place;
        }
        Ok((position, more))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut listeners = self.feed.listeners.lock().expect("no code panics while it holds this lock");
        if let Some(held) = listeners.get_mut(&self.who) {
            *held -= 1;
            if *held == 0 {
                listeners.remove(&self.who);
            }
        }
    }
}
