//! Visits that share their transactions: they write together, and one that fails keeps
//! no other from ending.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use kernel::{
    Access, Db, Tx,
    work::{self, Claim, Next, Reconciler, claim, visit_together},
};
use testkit::{Server, World};
use uuid::Uuid;

const KIND: &str = "probe";
const LEASE: Duration = Duration::from_secs(30);

/// What happens to one row of a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Its snapshot cannot be acted on.
    InAct,
    /// Its statement fails, and with it the transaction.
    InApply,
    /// It is not there any more.
    Gone,
}

/// Writes its visits in groups, and may fail for one row.
struct Probe {
    fault: (Uuid, Fault),
    next: Next,
    groups: Arc<Mutex<Vec<usize>>>,
    applied_alone: Arc<AtomicUsize>,
}

impl Probe {
    fn new(fault: (Uuid, Fault), next: Next) -> Self {
        Self { fault, next, groups: Arc::default(), applied_alone: Arc::default() }
    }

    fn has(&self, id: Uuid, fault: Fault) -> bool {
        self.fault == (id, fault)
    }

    async fn write(&self, tx: &mut Tx, id: Uuid) -> Result<Next, sqlx::Error> {
        if self.has(id, Fault::InApply) {
            sqlx::query("SELECT 1 / 0").execute(tx.conn()).await?;
        }
        sqlx::query("INSERT INTO visits (id) VALUES ($1)").bind(id).execute(tx.conn()).await?;
        // Its own move, of which it need not hear.
        work::wake(tx, KIND, id);
        Ok(self.next)
    }
}

impl Reconciler for Probe {
    const KIND: &'static str = KIND;
    const LANE: work::Lane = work::Lane { name: "test", slots: 1, batch: 64 };
    type Snapshot = Uuid;
    type Observation = ();
    type Verdict = ();
    type Error = sqlx::Error;

    async fn load(&self, _: &mut Tx, id: Uuid) -> Result<Option<Uuid>, sqlx::Error> {
        Ok((!self.has(id, Fault::Gone)).then_some(id))
    }
    async fn act(&self, id: &Uuid) -> Result<(), sqlx::Error> {
        if self.has(*id, Fault::InAct) { Err(sqlx::Error::Protocol("the port failed".into())) } else { Ok(()) }
    }
    fn decide(&self, _: &Uuid, (): ()) {}
    fn group(&self, _: &Uuid, (): &()) -> Option<&'static str> {
        Some("write")
    }
    async fn apply(&self, tx: &mut Tx, id: Uuid, (): ()) -> Result<Next, sqlx::Error> {
        self.applied_alone.fetch_add(1, Ordering::SeqCst);
        self.write(tx, id).await
    }
    async fn apply_all(&self, tx: &mut Tx, visits: Vec<(Uuid, ())>) -> Result<Vec<Next>, sqlx::Error> {
        self.groups.lock().unwrap().push(visits.len());
        let mut next = Vec::new();
        for (id, ()) in visits {
            next.push(self.write(tx, id).await?);
        }
        Ok(next)
    }
    async fn overdue(&self, _: &mut Tx, _: i64) -> sqlx::Result<Vec<Uuid>> {
        Ok(Vec::new())
    }
}

/// A world, and so many claims in it.
async fn claimed(count: usize) -> (World, Vec<Claim>) {
    let database = Arc::new(testkit::Database::new().await);
    let world = World::on(Server::with(database, &[gpuaasd::roles::Role::Api], |_| ()).await).await;
    let mut above = world.server.database.superuser().await;
    let table = "CREATE TABLE visits (id uuid NOT NULL); GRANT ALL ON visits TO gpuaas_system";
    sqlx::raw_sql(table).execute(&mut above).await.unwrap();
    let db = &world.server.control_plane.db;
    let ids: Vec<Uuid> = (0..count).map(|_| Uuid::now_v7()).collect();
    wake(db, &ids).await;
    let claims = claim(db, &[KIND], LEASE, 100).await.unwrap();
    assert_eq!(claims.len(), count);
    (world, claims)
}

async fn wake(db: &Db, ids: &[Uuid]) {
    let mut tx = Tx::system(db, "test", Access::Write).await.unwrap();
    ids.iter().for_each(|id| work::wake(&mut tx, KIND, *id));
    tx.commit().await.unwrap();
}

/// How many visits were written, of how many rows, and how many rows are left in the queue.
async fn written(world: &World) -> (i64, i64, i64) {
    let counts = "SELECT count(*), count(DISTINCT id), (SELECT count(*) FROM work WHERE kind = 'probe') FROM visits";
    sqlx::query_as(counts).fetch_one(&mut world.server.database.superuser().await).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn visits_of_a_group_are_written_in_one_transaction_and_end_with_it() {
    let (world, claims) = claimed(10).await;
    let probe = Probe::new((Uuid::nil(), Fault::None), Next::Settled(None));
    let outcomes = visit_together(&world.server.control_plane.db, &probe, &claims).await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(*probe.groups.lock().unwrap(), [10]);
    assert_eq!(probe.applied_alone.load(Ordering::SeqCst), 0);
    assert_eq!(written(&world).await, (10, 10, 0), "(visits, rows, left): the wake of their own move is dropped");
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_visit_keeps_no_other_of_its_batch_from_ending() {
    for fault in [Fault::InAct, Fault::InApply, Fault::Gone] {
        let (world, claims) = claimed(10).await;
        let probe = Probe::new((claims[3].id, fault), Next::Settled(None));
        let outcomes = visit_together(&world.server.control_plane.db, &probe, &claims).await;
        let failed: Vec<usize> = (0..10).filter(|it| outcomes[*it].is_err()).collect();
        let (of_that, left) = if fault == Fault::Gone { (vec![], 0) } else { (vec![3], 1) };
        assert_eq!(failed, of_that, "{fault:?}");
        assert_eq!(written(&world).await, (9, 9, left), "{fault:?}: (visits, rows, left in the queue)");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wake_during_a_batch_brings_that_row_back_and_no_other() {
    let (world, claims) = claimed(5).await;
    let db = &world.server.control_plane.db;
    wake(db, &[claims[2].id]).await;
    let probe = Probe::new((Uuid::nil(), Fault::None), Next::Settled(None));
    assert!(visit_together(db, &probe, &claims).await.iter().all(Result::is_ok));
    let again = claim(db, &[KIND], LEASE, 100).await.unwrap();
    assert_eq!(again.iter().map(|it| it.id).collect::<Vec<_>>(), [claims[2].id]);
}

#[tokio::test(flavor = "multi_thread")]
async fn stale_lease_takes_back_its_own_visit_and_leaves_the_batch() {
    let (world, mut claims) = claimed(5).await;
    claims[1].lease = Uuid::now_v7();
    let probe = Probe::new((Uuid::nil(), Fault::None), Next::Settled(None));
    let outcomes = visit_together(&world.server.control_plane.db, &probe, &claims).await;
    assert_eq!(outcomes.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true, true, true]);
    assert_eq!(written(&world).await, (4, 4, 1), "(visits, rows, left in the queue)");
}

#[tokio::test(flavor = "multi_thread")]
async fn settled_row_comes_back_after_its_delay() {
    let (world, claims) = claimed(3).await;
    let db = &world.server.control_plane.db;
    let probe = Probe::new((Uuid::nil(), Fault::None), Next::Settled(Some(Duration::from_secs(60))));
    assert!(visit_together(db, &probe, &claims).await.iter().all(Result::is_ok));
    assert!(claim(db, &[KIND], LEASE, 100).await.unwrap().is_empty());
    db.clock.advance(Duration::from_secs(61));
    assert_eq!(claim(db, &[KIND], LEASE, 100).await.unwrap().len(), 3);
}
