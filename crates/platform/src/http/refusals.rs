//! Refusals in the audit log: the first of each caller in a minute are written
//! down as they are, the rest are counted and summed up in one entry. Nobody
//! fills the log without being let in.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use contract::Timestamp;
use kernel::{Access, Db, Tx, audit};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::policies::{Policies, settings};

/// Whose refusals are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Refused {
    /// Nobody that is known, from an address or a /64 of IPv6.
    Network(Option<IpAddr>),
    Actor(String),
}

#[derive(Clone, Default)]
pub struct Refusals(Arc<Mutex<Window>>);

#[derive(Default)]
struct Window {
    began: Option<Timestamp>,
    /// How many of each were written down.
    recorded: HashMap<Refused, u64>,
    all_recorded: u64,
    /// How many were not, and of how many.
    left_out: HashMap<Refused, u64>,
    /// Left out, of those whom there was no room to count one by one.
    others: u64,
}

/// What was left out of a window.
#[derive(Debug, PartialEq, Eq)]
struct Summary {
    began: Timestamp,
    count: u64,
    callers: usize,
}

// bound: how long refusals are counted together
const WINDOW: Duration = Duration::from_secs(60);
// bound: callers that are counted one by one in a window; the others are counted together
const MOST_CALLERS: usize = 10_000;
// bound: how often it is looked whether a window is over
const LOOK: Duration = Duration::from_secs(1);

impl Refusals {
    /// Counts a refusal; whether it is written down as it is.
    pub fn is_recorded(&self, policies: &Policies, now: Timestamp, who: Refused) -> bool {
        let (each, all) = (policies.number(settings::AUDIT_REFUSALS), policies.number(settings::AUDIT_REFUSALS_ALL));
        let is_recorded = self.lock().count(who, now, each, all);
        let label = if is_recorded { "recorded" } else { "counted" };
        metrics::counter!("gpuaas_refusals_total", "audit" => label).increment(1);
        is_recorded
    }

    /// Sums up every window that is over, until stopped; the last one then.
    pub async fn run(self, db: Db, stop: CancellationToken) {
        loop {
            let is_stopping = tokio::select! {
                () = stop.cancelled() => true,
                () = tokio::time::sleep(LOOK) => false,
            };
            let now = db.clock.estimate();
            let summary = self.lock().end(now, is_stopping);
            if let Some(summary) = summary
                && let Err(error) = write(&db, &summary).await
            {
                tracing::warn!(%error, "a summary of refusals was not written; it is added to the next one");
                self.lock().others += summary.count;
            }
            if is_stopping {
                return;
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Window> {
        self.0.lock().expect("no code panics while it holds this lock")
    }
}

async fn write(db: &Db, summary: &Summary) -> sqlx::Result<()> {
    let mut tx = Tx::system(db, "refusals", Access::Write).await?;
    let Summary { began, count, callers } = summary;
    let entry = audit::NewEntry {
        action: "denied.summary".into(),
        organization: None,
        resource: None,
        outcome: "refused",
        detail: json!({ "count": count, "callers": callers, "since": began }),
    };
    audit::record(&mut tx, entry);
    tx.commit().await
}

impl Window {
    fn count(&mut self, who: Refused, now: Timestamp, each: u64, all: u64) -> bool {
        self.began.get_or_insert(now);
        let known = self.recorded.get(&who).copied().unwrap_or_default();
        let has_room = known > 0 || self.recorded.len() < MOST_CALLERS;
        if known < each && self.all_recorded < all && has_room {
            self.recorded.insert(who, known + 1);
            self.all_recorded += 1;
            return true;
        }
        match self.left_out.len() < MOST_CALLERS || self.left_out.contains_key(&who) {
            true => *self.left_out.entry(who).or_default() += 1,
            false => self.others += 1,
        }
        false
    }

    /// What the window left out, if it is over.
    fn end(&mut self, now: Timestamp, is_last: bool) -> Option<Summary> {
        let began = self.began?;
        if !is_last && now.duration_since(began).unsigned_abs() < WINDOW {
            return None;
        }
        let over = std::mem::take(self);
        let count = over.left_out.values().sum::<u64>() + over.others;
        let callers = over.left_out.len() + usize::from(over.others > 0);
        (count > 0).then_some(Summary { began, count, callers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(number: u32) -> Refused {
        Refused::Network(Some(std::net::Ipv4Addr::from_bits(number).into()))
    }

    #[test]
    fn first_refusals_of_each_are_recorded_and_the_rest_are_counted() {
        let mut window = Window::default();
        let start = Timestamp::UNIX_EPOCH;
        let recorded = (0..50).filter(|_| window.count(from(1), start, 5, 100)).count();
        assert_eq!(recorded, 5);
        assert!(window.count(from(2), start, 5, 100), "another address has its own");
        assert_eq!(window.end(start + WINDOW / 2, false), None);
        assert_eq!(window.end(start + WINDOW, false), Some(Summary { began: start, count: 45, callers: 1 }));
        assert!(window.count(from(1), start + WINDOW, 5, 100), "a new window");
        assert_eq!(window.end(start + WINDOW * 2, false), None, "nothing was left out");
    }

    #[test]
    fn many_addresses_are_bounded_in_entries_and_in_memory() {
        let mut window = Window::default();
        let start = Timestamp::UNIX_EPOCH;
        let many = u32::try_from(MOST_CALLERS).unwrap() * 3;
        let recorded = (0..many).filter(|it| window.count(from(*it), start, 5, 1000)).count();
        assert_eq!(recorded, 1000);
        assert!(window.recorded.len() <= MOST_CALLERS && window.left_out.len() <= MOST_CALLERS);
        let summary = window.end(start, true).unwrap();
        assert_eq!(summary.count, u64::from(many) - 1000);
    }
}
