//! The one time authority: the database's clock behind `app_now()`. Leases,
//! due times, expiry and billing use it and nothing else.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;

use crate::tx::Tx;

/// What this process knows of the database's clock.
#[derive(Clone, Default)]
pub struct Clock {
    /// What tests move time by; zero in production.
    offset_us: Arc<AtomicI64>,
    /// How far the database's clock is ahead of this host's.
    skew_us: Arc<AtomicI64>,
}

impl Clock {
    /// Moves time forward for every later transaction of this process.
    pub fn advance(&self, by: Duration) {
        let by = i64::try_from(by.as_micros()).expect("tests move by less than 292,000 years");
        self.offset_us.fetch_add(by, Ordering::SeqCst);
    }

    /// The database's time as far as this process knows, for checks that
    /// cannot ask, such as a token's expiry.
    pub fn estimate(&self) -> Timestamp {
        let ahead = self.skew_us.load(Ordering::Relaxed) + self.offset_us.load(Ordering::SeqCst);
        let now = Timestamp::now();
        now.checked_add(jiff::SignedDuration::from_micros(ahead)).unwrap_or(now)
    }

    pub(crate) fn learn(&self, database: Timestamp) {
        let skew = database.duration_since(Timestamp::now()).as_micros();
        self.skew_us.store(i64::try_from(skew).unwrap_or(0), Ordering::Relaxed);
    }

    pub(crate) fn settings(&self) -> String {
        match self.offset_us.load(Ordering::SeqCst) {
            0 => String::new(),
            offset => format!("; SET LOCAL app.clock_offset = '{offset} microseconds'"),
        }
    }
}

/// The time of the transaction.
pub async fn now(tx: &mut Tx) -> sqlx::Result<Timestamp> {
    let now: jiff_sqlx::Timestamp = sqlx::query_scalar("SELECT app_now()").fetch_one(tx.conn()).await?;
    Ok(now.to_jiff())
}

/// A time as a store binds it.
pub fn bind(at: Timestamp) -> jiff_sqlx::Timestamp {
    at.to_sqlx()
}
