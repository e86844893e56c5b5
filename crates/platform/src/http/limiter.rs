//! Rate lanes: how many requests a caller may make per minute. Counted in this
//! process, or in Redis when several processes share the count.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crate::ports::limits::{SharedLimits, SharedLimitsError};

/// Counts requests by the generic cell rate algorithm: a bucket of one
/// minute's allowance that refills evenly.
#[derive(Clone)]
pub struct Limiter {
    local: Arc<Local>,
    shared: Option<Arc<dyn SharedLimits>>,
    /// Until when the shared count is not asked, because it did not answer.
    away_until: Arc<Mutex<Option<Instant>>>,
}

// bound: how long requests do without the shared count after it failed one,
// so that a server that hangs does not slow every request
const PAUSE: Duration = Duration::from_millis(500);

impl Limiter {
    pub fn new(shared: Option<Arc<dyn SharedLimits>>) -> Self {
        Self { local: Arc::new(Local::default()), shared, away_until: Arc::default() }
    }

    /// Lets one request pass, or says how long to wait.
    pub async fn admit(&self, lane: &str, who: &str, per_minute: u64) -> Result<(), Duration> {
        self.judge(lane, who, per_minute, true).await
    }

    /// As [`Limiter::admit`], without counting.
    pub async fn look(&self, lane: &str, who: &str, per_minute: u64) -> Result<(), Duration> {
        self.judge(lane, who, per_minute, false).await
    }

    async fn judge(&self, lane: &str, who: &str, per_minute: u64, counts: bool) -> Result<(), Duration> {
        if let Some(shared) = &self.shared
            && self.is_asked(Instant::now())
        {
            let answer = shared.judge(lane, who, per_minute, counts).await;
            self.note(answer.as_ref().err());
            if let Ok(verdict) = answer {
                return verdict;
            }
        }
        self.local.judge((lane, who), per_minute, Instant::now(), counts)
    }

    fn is_asked(&self, now: Instant) -> bool {
        self.away_until.lock().expect("no code panics while it holds this lock").is_none_or(|until| until <= now)
    }

    /// Counts failures, and tells once when the shared count goes and comes.
    fn note(&self, error: Option<&SharedLimitsError>) {
        let until = error.map(|_| Instant::now() + PAUSE);
        let before = {
            let mut away_until = self.away_until.lock().expect("no code panics while it holds this lock");
            std::mem::replace(&mut *away_until, until)
        };
        match (before, error) {
            (None, Some(error)) => {
                tracing::warn!(%error, "Redis is unavailable; limits are counted per process until it is available");
            }
            (Some(_), None) => tracing::info!("Redis is available again; limits are shared again"),
            (None, None) | (Some(_), Some(_)) => (),
        }
        if error.is_some() {
            metrics::counter!("gpuaas_shared_limits_unavailable_total").increment(1);
        }
    }
}

const SHARDS: usize = 16;
const SHARD_ENTRIES: usize = 16_384;

struct Local {
    started: Instant,
    shards: [Mutex<HashMap<u64, u64>>; SHARDS],
}

impl Default for Local {
    fn default() -> Self {
        Self { started: Instant::now(), shards: Default::default() }
    }
}

impl Local {
    fn judge(&self, who: impl Hash, per_minute: u64, now: Instant, counts: bool) -> Result<(), Duration> {
        let mut hasher = DefaultHasher::new();
        who.hash(&mut hasher);
        let key = hasher.finish();
        let now = now.duration_since(self.started).as_micros() as u64;
        let mut shard = self.shards[key as usize % SHARDS].lock().expect("no code panics while it holds this lock");
        if shard.len() >= SHARD_ENTRIES {
            // Those whose bucket is full again need no memory. If an attack
            // fills it all the same, forgetting everybody is the bounded choice.
            shard.retain(|_, arrival| *arrival > now);
            if shard.len() >= SHARD_ENTRIES {
                shard.clear();
            }
        }
        let (next, verdict) = cell(shard.get(&key).copied(), now, per_minute);
        if counts {
            shard.insert(key, next);
        }
        verdict
    }
}

const MINUTE_US: u64 = 60_000_000;

/// The next theoretical arrival time, and the verdict. Times in microseconds.
fn cell(arrival: Option<u64>, now: u64, per_minute: u64) -> (u64, Result<(), Duration>) {
    let interval = (MINUTE_US / per_minute.max(1)).max(1);
    let arrival = arrival.unwrap_or(now).max(now);
    let earliest = (arrival + interval).saturating_sub(MINUTE_US.max(interval));
    if earliest > now {
        return (arrival, Err(Duration::from_micros(earliest - now)));
    }
    (arrival + interval, Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minutes_allowance_passes_at_once_and_then_evenly() {
        let mut arrival = None;
        let mut passed = 0;
        for _ in 0..100 {
            let (next, verdict) = cell(arrival, 0, 60);
            arrival = Some(next);
            passed += u32::from(verdict.is_ok());
        }
        assert_eq!(passed, 60);
        let (_, verdict) = cell(arrival, 0, 60);
        assert_eq!(verdict, Err(Duration::from_secs(1)));
        assert!(cell(arrival, 1_000_000, 60).1.is_ok(), "one more after a second");
    }

    #[test]
    fn callers_do_not_share_a_bucket_and_memory_is_bounded() {
        let local = Local::default();
        let now = Instant::now();
        assert!(local.judge(("default", "a"), 1, now, false).is_ok(), "looking does not count");
        assert!(local.judge(("default", "a"), 1, now, true).is_ok());
        assert!(local.judge(("default", "a"), 1, now, true).is_err());
        assert!(local.judge(("default", "a"), 1, now, false).is_err());
        assert!(local.judge(("default", "b"), 1, now, true).is_ok());
        for who in 0..(SHARDS * SHARD_ENTRIES * 2) {
            let _ = local.judge(who, 1, now, true);
        }
        let held: usize = local.shards.iter().map(|it| it.lock().unwrap().len()).sum();
        assert!(held <= SHARDS * SHARD_ENTRIES, "{held}");
    }
}
