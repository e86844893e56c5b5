//! When keys and sessions were last used: noted in memory, written in batches.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use kernel::{Access, Db, Scope, Tx};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Principal, store};

#[derive(Clone, Default)]
pub struct LastUsed(Arc<Mutex<RecentUses>>);

#[derive(Default)]
struct RecentUses {
    keys: HashSet<Uuid>,
    sessions: HashSet<Uuid>,
}

// bound: how late a last-used stamp may be; it is information, not a guard
const EVERY: Duration = Duration::from_secs(5);
const MOST: usize = 20_000;

impl LastUsed {
    pub fn note(&self, who: &Principal) {
        let mut noted = self.0.lock().expect("no code panics while it holds this lock");
        if noted.keys.len() + noted.sessions.len() >= MOST {
            return;
        }
        match who {
            Principal::Anyone => (),
            Principal::Person { key: Some(key), .. } | Principal::ServiceAccount { key, .. } => {
                noted.keys.insert(key.uuid());
            }
            Principal::Person { session: Some(session), .. } => {
                noted.sessions.insert(session.uuid());
            }
            Principal::Person { .. } => (),
        }
    }

    pub async fn run(self, db: Db, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => (),
                () = tokio::time::sleep(EVERY) => (),
            }
            if let Err(error) = self.write(&db).await {
                tracing::warn!(%error, "last-used stamps were not written");
            }
            if stop.is_cancelled() {
                return;
            }
        }
    }

    pub async fn write(&self, db: &Db) -> sqlx::Result<()> {
        let noted = std::mem::take(&mut *self.0.lock().expect("no code panics while it holds this lock"));
        if noted.keys.is_empty() && noted.sessions.is_empty() {
            return Ok(());
        }
        let mut tx = Tx::system(db, "last_used", Access::Write).await?;
        debug_assert_eq!(tx.scope(), Scope::System);
        store::stamp(&mut tx, noted.keys.into_iter().collect(), noted.sessions.into_iter().collect()).await?;
        tx.commit().await
    }
}
