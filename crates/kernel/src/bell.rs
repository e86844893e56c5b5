//! Wakes idle workers here and in the other replicas. A lost ring costs at most
//! one poll interval, so rings are sent after commit, coalesced, and never
//! inside a business transaction: NOTIFY serializes every commit that holds one.

use std::{sync::Arc, time::Duration};

use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::tx::Db;

const CHANNEL: &str = "gpuaas_bell";
const COALESCE: Duration = Duration::from_millis(20);
const RECONNECT: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub struct Bell {
    here: Arc<watch::Sender<u64>>,
    elsewhere: Arc<watch::Sender<u64>>,
}

/// One listener's ear; each hears every ring.
pub struct BellListener {
    rung: watch::Receiver<u64>,
    last: Option<Instant>,
}

impl Default for Bell {
    fn default() -> Self {
        Self { here: Arc::new(watch::Sender::new(0)), elsewhere: Arc::new(watch::Sender::new(0)) }
    }
}

impl Bell {
    pub fn ring(&self) {
        self.here.send_modify(|it| *it = it.wrapping_add(1));
        self.elsewhere.send_modify(|it| *it = it.wrapping_add(1));
    }

    pub fn ear(&self) -> BellListener {
        BellListener { rung: self.here.subscribe(), last: None }
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
        while rung.changed().await.is_ok() {
            sqlx::query("SELECT pg_notify($1, '')").bind(CHANNEL).execute(&mut connection).await?;
            tokio::time::sleep(COALESCE).await;
        }
        Ok(())
    }

    async fn hear_others(&self, db: &Db) -> sqlx::Result<()> {
        // The library's listener wants a pool of the library's own.
        let pool = PgPoolOptions::new().max_connections(1).connect_with(db.pool().options().clone()).await?;
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.listen(CHANNEL).await?;
        loop {
            listener.recv().await?;
            self.here.send_modify(|it| *it = it.wrapping_add(1));
        }
    }
}

impl BellListener {
    /// Returns after a ring, at once if one came since the last call, or after `poll`.
    pub async fn wait(&mut self, poll: Duration) {
        let _ = tokio::time::timeout(poll, self.rung.changed()).await;
        // Under load a ring follows every commit. Whoever looked a moment ago
        // looks once for all that came in that moment, not once for each.
        if let Some(last) = self.last {
            tokio::time::sleep_until(last + COALESCE).await;
            self.rung.mark_unchanged();
        }
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
        let mut ear = bell.ear();
        let started = Instant::now();
        for _ in 0..5 {
            bell.ring();
            ear.wait(POLL).await;
        }
        assert!(started.elapsed() >= COALESCE * 4, "{:?}", started.elapsed());
        assert!(started.elapsed() < POLL);
    }

    #[tokio::test]
    async fn ring_between_two_waits_is_not_lost() {
        let bell = Bell::default();
        let mut ear = bell.ear();
        ear.wait(Duration::ZERO).await;
        bell.ring();
        let started = Instant::now();
        ear.wait(POLL).await;
        assert!(started.elapsed() < POLL);
    }
}
