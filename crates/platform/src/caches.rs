//! What this process caches, and which events make it stale. Whoever caused one
//! forgets before they answer; every other replica forgets when it hears of it.

use std::sync::{Arc, Mutex};

use kernel::Db;

use crate::policies::Policies;

/// A cache: the nouns of the events that make it stale, and how it forgets.
#[derive(Clone)]
// cache: what others registered
struct Cache {
    nouns: &'static [&'static str],
    forget: Arc<dyn Fn() + Send + Sync>,
}

/// The caches of a process, registered while it starts.
#[derive(Clone, Default)]
// cache: what others registered
pub struct Caches(Arc<Mutex<Vec<Cache>>>);

/// What some events made stale.
pub struct Stale {
    caches: Vec<Cache>,
    policies: bool,
}

/// The noun of events about policies, which are read again before anything is answered.
const POLICY: &str = "policy";

impl Caches {
    pub fn register(&self, nouns: &'static [&'static str], forget: impl Fn() + Send + Sync + 'static) {
        let cache = Cache { nouns, forget: Arc::new(forget) };
        self.0.lock().expect("no code panics while it holds this lock").push(cache);
    }

    /// What these events make stale.
    pub fn after<'a>(&self, subjects: impl Iterator<Item = &'a str>) -> Stale {
        let nouns: Vec<&str> = subjects.map(|it| it.split('.').next().unwrap_or_default()).collect();
        let caches = self.0.lock().expect("no code panics while it holds this lock");
        let caches = caches.iter().filter(|it| nouns.iter().any(|noun| it.nouns.contains(noun))).cloned().collect();
        Stale { caches, policies: nouns.contains(&POLICY) }
    }

    /// Forgets everything.
    pub fn forget_all(&self) {
        let caches = self.0.lock().expect("no code panics while it holds this lock").clone();
        caches.iter().for_each(|it| (it.forget)());
    }
}

impl Stale {
    /// Forgets it; what is read ahead is read again soon.
    pub fn forget(self) {
        self.caches.iter().for_each(|it| (it.forget)());
    }

    /// As [`Stale::forget`], with the policies read again before this returns.
    pub async fn forget_now(self, policies: &Policies, db: &Db) {
        if self.policies
            && let Err(error) = policies.refresh(db).await
        {
            tracing::warn!(%error, "reading policies failed; the last known values are still used");
        }
        self.forget();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn events_make_stale_what_depends_on_them() {
        let (caches, callers, nodes) =
            (Caches::default(), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        for (nouns, count) in [(["member", "policy"].as_slice(), &callers), (["node"].as_slice(), &nodes)] {
            let nouns: &'static [&'static str] = nouns.to_vec().leak();
            let count = count.clone();
            caches.register(nouns, move || {
                count.fetch_add(1, Ordering::SeqCst);
            });
        }
        let forgotten = || (callers.load(Ordering::SeqCst), nodes.load(Ordering::SeqCst));
        caches.after(["member.removed", "allocation.active"].into_iter()).forget();
        assert_eq!(forgotten(), (1, 0));
        caches.after(["node.ready", "node.failed"].into_iter()).forget();
        assert_eq!(forgotten(), (1, 1), "once, however many events");
        assert!(caches.after(["policy.set"].into_iter()).policies);
        caches.forget_all();
        assert_eq!(forgotten(), (2, 2));
    }
}
