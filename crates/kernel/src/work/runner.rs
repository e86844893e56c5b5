//! Runs the reconcilers: claims what is due, visits with bounded concurrency in
//! each lane, backs off from failures, sweeps, and hands leases back when it stops.

use std::{any::Any, panic::AssertUnwindSafe, pin::Pin, sync::Arc, time::Duration};

use futures_util::FutureExt;
use tokio::{sync::Semaphore, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{Claim, Lane, Reconciler, VisitError, claim, fail, hand_back, sweep, visit_together};
use crate::tx::{Access, Db, Tx};

#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub lease: Duration,
    /// The longest time without looking when no bell rings.
    pub poll: Duration,
    pub sweep_every: Duration,
    /// After so many failures in a row a person is asked to look.
    pub attempts: i32,
    pub first_retry: Duration,
    pub slowest_retry: Duration,
}

type Future<'a, T> = Pin<Box<dyn std::future::Future<Output = T> + Send + 'a>>;

/// A reconciler with its types put away.
trait AnyReconciler: Send + Sync {
    fn kind(&self) -> &'static str;
    fn lane(&self) -> Lane;
    /// The outcomes are in the order of the claims.
    fn visit<'a>(&'a self, db: &'a Db, claims: &'a [Claim]) -> Future<'a, Vec<Result<(), String>>>;
    fn sweep<'a>(&'a self, db: &'a Db, limit: i64) -> Future<'a, sqlx::Result<u64>>;
}

impl<R: Reconciler> AnyReconciler for R {
    fn kind(&self) -> &'static str {
        R::KIND
    }

    fn lane(&self) -> Lane {
        R::LANE
    }

    fn visit<'a>(&'a self, db: &'a Db, claims: &'a [Claim]) -> Future<'a, Vec<Result<(), String>>> {
        let text = |error| match &error {
            VisitError::Reconciler(inner) => chain(inner),
            VisitError::Finish(_) | VisitError::Database(_) => chain(&error),
        };
        Box::pin(async move {
            let outcomes = visit_together(db, self, claims).await;
            outcomes.into_iter().map(|it| it.map_err(text)).collect()
        })
    }

    fn sweep<'a>(&'a self, db: &'a Db, limit: i64) -> Future<'a, sqlx::Result<u64>> {
        Box::pin(async move {
            let mut tx = Tx::system(db, R::KIND, Access::Write).await?;
            let ids = self.overdue(&mut tx, limit).await?;
            let added = if ids.is_empty() { 0 } else { sweep(&mut tx, R::KIND, &ids).await? };
            tx.commit().await?;
            Ok(added)
        })
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}

#[derive(Default)]
pub struct Workers {
    reconcilers: Vec<Arc<dyn AnyReconciler>>,
}

const SWEEP_ROWS: i64 = 1000;
// bound: between two looks of a lane that both find something; what is woken meanwhile is claimed together
const LOOK_PAUSE: Duration = Duration::from_millis(4);
// bound: between the restarts of a lane, so that one that always panics does not spin
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl Workers {
    pub fn add<R: Reconciler>(&mut self, reconciler: R) {
        self.reconcilers.push(Arc::new(reconciler));
    }

    /// Works until stopped, then lets running visits end and hands the rest back.
    /// Each lane has its own slots. The settings are asked for each round.
    pub async fn run(self, db: Db, settings: impl Fn() -> Settings + Clone + Send + 'static, stop: CancellationToken) {
        let mut running = JoinSet::new();
        for (lane, workers) in self.by_lane() {
            running.spawn(workers.keep_lane(lane, db.clone(), settings.clone(), stop.clone()));
        }
        while running.join_next().await.is_some() {}
    }

    /// Runs a lane, and again after it panicked outside a visit: nobody else does its work.
    async fn keep_lane(
        self,
        lane: Lane,
        db: Db,
        settings: impl Fn() -> Settings + Clone + Send,
        stop: CancellationToken,
    ) {
        let mut pause = FIRST_PAUSE;
        while let Err(panic) = AssertUnwindSafe(self.run_lane(lane, &db, settings.clone(), &stop)).catch_unwind().await
        {
            metrics::counter!("gpuaas_work_lane_restarts_total", "lane" => lane.name).increment(1);
            tracing::error!(lane = lane.name, panic = words(&*panic), "a lane of work panicked; starting it again");
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => (),
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn by_lane(self) -> Vec<(Lane, Workers)> {
        let mut lanes: Vec<(Lane, Workers)> = Vec::new();
        for reconciler in self.reconcilers {
            let lane = reconciler.lane();
            match lanes.iter_mut().find(|(it, _)| it.name == lane.name) {
                Some((_, workers)) => workers.reconcilers.push(reconciler),
                None => lanes.push((lane, Workers { reconcilers: vec![reconciler] })),
            }
        }
        lanes
    }

    async fn run_lane(&self, lane: Lane, db: &Db, settings: impl Fn() -> Settings, stop: &CancellationToken) {
        let kinds = self.kinds();
        let slots = Arc::new(Semaphore::new(lane.slots));
        let mut visits = JoinSet::new();
        let mut ear = db.bell.ear(&kinds).with_pause(LOOK_PAUSE);
        let mut swept: Option<tokio::time::Instant> = None;
        while !stop.is_cancelled() {
            while visits.try_join_next().is_some() {}
            let settings = settings();
            if swept.is_none_or(|it| it.elapsed() >= settings.sweep_every) {
                self.sweep(db).await;
                swept = Some(tokio::time::Instant::now());
            }
            let free = slots.available_permits();
            metrics::gauge!("gpuaas_work_slots_free", "lane" => lane.name).set(free as f64);
            let claims = if free == 0 {
                Vec::new()
            } else {
                claim(db, &kinds, settings.lease, (free * lane.batch) as i64).await.unwrap_or_else(|error| {
                    tracing::warn!(%error, "claiming work failed; trying again");
                    Vec::new()
                })
            };
            metrics::counter!("gpuaas_work_claims_total").increment(claims.len() as u64);
            if claims.is_empty() {
                tokio::select! {
                    () = stop.cancelled() => break,
                    () = ear.wait(settings.poll) => continue,
                    Some(_) = visits.join_next() => continue,
                }
            }
            if stop.is_cancelled() {
                let _ = hand_back(db, &claims).await;
                break;
            }
            for (reconciler, claims) in self.batches(claims, lane.batch) {
                let slot = slots.clone().acquire_owned().await.expect("the semaphore is never closed");
                let db = db.clone();
                visits.spawn(async move {
                    several(&db, &*reconciler, claims, settings).await;
                    drop(slot);
                });
            }
        }
        while visits.join_next().await.is_some() {}
    }

    /// Visits everything that is due until nothing is; for tests.
    pub async fn settle(&self, db: &Db, settings: Settings) -> sqlx::Result<usize> {
        let kinds = self.kinds();
        let mut visits = 0;
        loop {
            let claims = claim(db, &kinds, settings.lease, 100).await?;
            if claims.is_empty() {
                return Ok(visits);
            }
            for claim in claims {
                several(db, &*self.find(&claim.kind), vec![claim], settings).await;
                visits += 1;
            }
        }
    }

    /// Claims of one kind in batches of at most `size`.
    fn batches(&self, claims: Vec<Claim>, size: usize) -> Vec<(Arc<dyn AnyReconciler>, Vec<Claim>)> {
        let mut batches: Vec<(Arc<dyn AnyReconciler>, Vec<Claim>)> = Vec::new();
        for claim in claims {
            match batches.iter_mut().find(|(it, batch)| it.kind() == claim.kind && batch.len() < size) {
                Some((_, batch)) => batch.push(claim),
                None => batches.push((self.find(&claim.kind), vec![claim])),
            }
        }
        batches
    }

    /// What there are reconcilers for.
    pub fn kinds(&self) -> Vec<&'static str> {
        self.reconcilers.iter().map(|it| it.kind()).collect()
    }

    fn find(&self, kind: &str) -> Arc<dyn AnyReconciler> {
        self.reconcilers.iter().find(|it| it.kind() == kind).expect("only registered kinds are claimed").clone()
    }

    async fn sweep(&self, db: &Db) {
        for reconciler in &self.reconcilers {
            let kind = reconciler.kind();
            match AssertUnwindSafe(reconciler.sweep(db, SWEEP_ROWS)).catch_unwind().await {
                Ok(Ok(0)) => (),
                Ok(Ok(added)) => tracing::info!(kind, added, "the sweep found rows without work"),
                Ok(Err(error)) => tracing::warn!(kind, %error, "the sweep failed; trying again later"),
                // What is woken is still visited.
                Err(panic) => {
                    metrics::counter!("gpuaas_work_failures_total", "kind" => kind).increment(1);
                    tracing::error!(kind, panic = words(&*panic), "the sweep panicked; trying again later");
                }
            }
        }
    }
}

/// Visits a batch. If all of it panicked or took too long, each row is visited alone: one
/// must not keep the others from being visited.
async fn several(db: &Db, reconciler: &dyn AnyReconciler, claims: Vec<Claim>, settings: Settings) {
    match attempt(db, reconciler, &claims, settings).await {
        Ok(outcomes) => {
            for (claim, outcome) in claims.iter().zip(outcomes) {
                if let Err(error) = outcome {
                    failed(db, claim, settings, error).await;
                }
            }
        }
        Err(error) if claims.len() == 1 => failed(db, &claims[0], settings, error).await,
        Err(_) => {
            for claim in claims {
                Box::pin(several(db, reconciler, vec![claim], settings)).await;
            }
        }
    }
}

/// A visit may not outlive its lease: whoever takes over must find it gone.
async fn attempt(
    db: &Db,
    reconciler: &dyn AnyReconciler,
    claims: &[Claim],
    settings: Settings,
) -> Result<Vec<Result<(), String>>, String> {
    let visit = AssertUnwindSafe(reconciler.visit(db, claims)).catch_unwind();
    match tokio::time::timeout(settings.lease, visit).await {
        Ok(Ok(outcomes)) => Ok(outcomes),
        Ok(Err(panic)) => Err(format!("the visit panicked: {}", words(&*panic))),
        Err(_) => Err("the visit took longer than its lease".to_owned()),
    }
}

async fn failed(db: &Db, claim: &Claim, settings: Settings, error: String) {
    let exhausted = claim.attempts >= settings.attempts;
    let delay = if exhausted { settings.slowest_retry } else { backoff(settings, claim.attempts) };
    metrics::counter!("gpuaas_work_failures_total", "kind" => claim.kind.clone()).increment(1);
    if exhausted {
        tracing::error!(kind = claim.kind, id = %claim.id, attempts = claim.attempts, error, "work needs attention: see `gpuaas work list`");
    } else {
        tracing::warn!(kind = claim.kind, id = %claim.id, attempts = claim.attempts, error, "a visit failed; trying again");
    }
    if let Err(error) = fail(db, claim, delay, exhausted, &error).await {
        tracing::warn!(%error, "recording a failed visit failed; its lease ends automatically");
    }
}

/// What a panic said, if it said something.
fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without words")
}

fn backoff(settings: Settings, attempts: i32) -> Duration {
    let doublings = u32::try_from(attempts.saturating_sub(1)).unwrap_or(0).min(16);
    settings.first_retry.saturating_mul(1 << doublings).min(settings.slowest_retry)
}
