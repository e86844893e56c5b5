//! The work queue: leases, wakes, failures and many workers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use kernel::{
    Access, Db, Tx,
    work::{self, FinishError, Next, Reconciler, Settings, VisitError, Workers, claim, finish, visit},
};
use testkit::{Server, World, rounds, server::eventually, world::set_policy};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

const KIND: &str = "probe";

/// What every visit of a probe comes to.
enum Visit {
    Works,
    Fails,
    Panics,
}

/// Counts its visits in the database, so that a rolled-back visit does not count.
struct Probe {
    visit: Visit,
    acted: Arc<AtomicUsize>,
}

impl Probe {
    fn new() -> Self {
        Self { visit: Visit::Works, acted: Arc::default() }
    }
}

impl Reconciler for Probe {
    const KIND: &'static str = KIND;
    const LANE: kernel::work::Lane = kernel::work::Lane { name: "test", slots: 4, batch: 1 };
    type Snapshot = Uuid;
    type Observation = ();
    type Verdict = ();
    type Error = sqlx::Error;

    async fn load(&self, _: &mut Tx, id: Uuid) -> Result<Option<Uuid>, sqlx::Error> {
        Ok(Some(id))
    }
    async fn act(&self, _: &Uuid) -> Result<(), sqlx::Error> {
        self.acted.fetch_add(1, Ordering::SeqCst);
        match self.visit {
            Visit::Works => Ok(()),
            Visit::Fails => Err(sqlx::Error::Protocol("the port failed".into())),
            Visit::Panics => panic!("planted in a visit"),
        }
    }
    fn decide(&self, _: &Uuid, (): ()) {}
    async fn apply(&self, tx: &mut Tx, id: Uuid, (): ()) -> Result<Next, sqlx::Error> {
        sqlx::query("INSERT INTO visits (id) VALUES ($1)").bind(id).execute(tx.conn()).await?;
        Ok(Next::Done)
    }
    async fn overdue(&self, _: &mut Tx, _: i64) -> sqlx::Result<Vec<Uuid>> {
        Ok(Vec::new())
    }
}

fn settings() -> Settings {
    Settings {
        lease: Duration::from_secs(30),
        poll: Duration::from_millis(50),
        sweep_every: Duration::from_secs(3600),
        attempts: 3,
        first_retry: Duration::from_millis(1),
        slowest_retry: Duration::from_secs(60),
    }
}

async fn world() -> World {
    let database = Arc::new(testkit::Database::new().await);
    let world = World::on(Server::with(database, &[gpuaasd::roles::Role::Api], |_| ()).await).await;
    let mut connection = world.server.database.superuser().await;
    sqlx::raw_sql("CREATE TABLE visits (id uuid NOT NULL); GRANT ALL ON visits TO gpuaas_system")
        .execute(&mut connection)
        .await
        .unwrap();
    world
}

async fn wake(db: &Db, id: Uuid) {
    let mut tx = Tx::system(db, "test", Access::Write).await.unwrap();
    work::wake(&mut tx, KIND, id);
    tx.commit().await.unwrap();
}

async fn visits(world: &World) -> (i64, i64) {
    let mut connection = world.server.database.superuser().await;
    sqlx::query_as("SELECT count(*), count(DISTINCT id) FROM visits").fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_worker_cannot_apply() {
    let world = world().await;
    let db = &world.server.control_plane.db;
    let id = Uuid::now_v7();
    wake(db, id).await;
    let slow = claim(db, &[KIND], Duration::from_secs(5), 1).await.unwrap().pop().unwrap();
    assert!(claim(db, &[KIND], Duration::from_secs(5), 1).await.unwrap().is_empty(), "leased rows are not offered");
    db.clock.advance(Duration::from_secs(6));
    let fast = claim(db, &[KIND], Duration::from_secs(5), 1).await.unwrap().pop().unwrap();
    let lost = visit(db, &Probe::new(), &slow).await;
    assert!(matches!(lost, Err(VisitError::Finish(FinishError::LeaseLost { .. }))), "{lost:?}");
    assert_eq!(visits(&world).await, (0, 0), "what it wrote was taken back");
    visit(db, &Probe::new(), &fast).await.unwrap();
    assert_eq!(visits(&world).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wake_during_a_visit_is_not_lost() {
    let world = world().await;
    let db = &world.server.control_plane.db;
    let id = Uuid::now_v7();
    wake(db, id).await;
    let held = claim(db, &[KIND], Duration::from_secs(5), 1).await.unwrap().pop().unwrap();
    wake(db, id).await;
    let mut tx = Tx::system(db, "test", Access::Write).await.unwrap();
    finish(&mut tx, &held, Next::Done).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(claim(db, &[KIND], Duration::from_secs(5), 1).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_keeps_failing_is_shown_and_can_be_tried_again() {
    let world = world().await;
    let db = &world.server.control_plane.db;
    let id = Uuid::now_v7();
    wake(db, id).await;
    let acted = Arc::new(AtomicUsize::new(0));
    for _ in 0..3 {
        let mut workers = Workers::default();
        workers.add(Probe { visit: Visit::Fails, acted: acted.clone() });
        workers.settle(db, settings()).await.unwrap();
        db.clock.advance(Duration::from_secs(1));
    }
    assert_eq!(acted.load(Ordering::SeqCst), 3);
    let operator = world.operator().await;
    let client = world.as_(&operator);
    let filter = contract::work::WorkFilter { needs_attention: Some(true), ..Default::default() };
    let stuck = client.call::<contract::work::ListWork>(Default::default(), filter, Default::default()).await.unwrap();
    assert_eq!((stuck.items.len(), stuck.items[0].id), (1, id));
    assert!(stuck.items[0].last_error.as_deref().unwrap().contains("the port failed"));
    let path = contract::work::WorkPath { kind: KIND.into(), id };
    client.call::<contract::work::RetryWork>(path, Default::default(), Default::default()).await.unwrap();
    let mut workers = Workers::default();
    workers.add(Probe::new());
    assert_eq!(workers.settle(db, settings()).await.unwrap(), 1);
    assert_eq!(visits(&world).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn panicking_visit_is_a_failure_that_a_person_sees() {
    let world = world().await;
    let db = &world.server.control_plane.db;
    wake(db, Uuid::now_v7()).await;
    let stop = CancellationToken::new();
    let mut workers = Workers::default();
    workers.add(Probe { visit: Visit::Panics, acted: Arc::default() });
    let settings = || Settings { slowest_retry: Duration::from_millis(10), ..settings() };
    let running = tokio::spawn(workers.run(db.clone(), settings, stop.clone()));
    eventually("a person to be asked", || async {
        let work = "SELECT needs_attention AND last_error LIKE '%planted in a visit%' FROM work WHERE kind = 'probe'";
        let mut above = world.server.database.superuser().await;
        sqlx::query_scalar::<_, Option<bool>>(work).fetch_one(&mut above).await.unwrap().unwrap_or(false)
    })
    .await;
    stop.cancel();
    running.await.unwrap();
}

/// Breaks down while it looks for what nobody woke.
struct Careless(Probe);

impl Reconciler for Careless {
    const KIND: &'static str = KIND;
    const LANE: kernel::work::Lane = kernel::work::Lane { name: "test", slots: 4, batch: 1 };
    type Snapshot = Uuid;
    type Observation = ();
    type Verdict = ();
    type Error = sqlx::Error;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Uuid>, sqlx::Error> {
        self.0.load(tx, id).await
    }
    async fn act(&self, id: &Uuid) -> Result<(), sqlx::Error> {
        self.0.act(id).await
    }
    fn decide(&self, _: &Uuid, (): ()) {}
    async fn apply(&self, tx: &mut Tx, id: Uuid, (): ()) -> Result<Next, sqlx::Error> {
        self.0.apply(tx, id, ()).await
    }
    async fn overdue(&self, _: &mut Tx, _: i64) -> sqlx::Result<Vec<Uuid>> {
        panic!("planted in a sweep")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn panic_outside_a_visit_does_not_end_the_lane() {
    let world = world().await;
    let db = &world.server.control_plane.db;
    let stop = CancellationToken::new();
    let mut workers = Workers::default();
    workers.add(Careless(Probe::new()));
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let settings = move || {
        assert!(counted.fetch_add(1, Ordering::SeqCst) != 1, "planted in a round");
        settings()
    };
    let running = tokio::spawn(workers.run(db.clone(), settings, stop.clone()));
    eventually("the round that panics", || async { calls.load(Ordering::SeqCst) > 1 }).await;
    wake(db, Uuid::now_v7()).await;
    eventually("the visit", || async { visits(&world).await == (1, 1) }).await;
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_policy_reaches_workers_that_run() {
    let world = world().await;
    let control_plane = world.server.control_plane.clone();
    let mut workers = Workers::default();
    workers.add(Probe { visit: Visit::Fails, acted: Arc::default() });
    let stop = CancellationToken::new();
    let settings = {
        let control_plane = control_plane.clone();
        move || Settings { slowest_retry: Duration::from_millis(100), ..gpuaasd::roles::work_settings(&control_plane) }
    };
    let running = tokio::spawn(workers.run(control_plane.db.clone(), settings, stop.clone()));
    let operator = world.as_(&world.operator().await);
    set_policy(&operator, "work.attempts", "1000").await;
    eventually("the first policy", || async { gpuaasd::roles::work_settings(&control_plane).attempts == 1000 }).await;
    wake(&control_plane.db, Uuid::now_v7()).await;
    let needs_attention = async || {
        let work = "SELECT attempts, needs_attention FROM work WHERE kind = 'probe'";
        let row: (i32, bool) =
            sqlx::query_as(work).fetch_one(&mut world.server.database.superuser().await).await.unwrap();
        (row.0 > 2).then_some(row.1)
    };
    eventually("failures", || async { needs_attention().await.is_some() }).await;
    assert_eq!(needs_attention().await, Some(false), "it may fail a thousand times");
    set_policy(&operator, "work.attempts", "1").await;
    eventually("a person to be asked", || async { needs_attention().await == Some(true) }).await;
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn many_workers_visit_each_row_once() {
    let world = world().await;
    let db = world.server.control_plane.db.clone();
    let rows = rounds(2000) as i64;
    let mut tx = Tx::system(&db, "test", Access::Write).await.unwrap();
    for _ in 0..rows {
        work::wake(&mut tx, KIND, Uuid::now_v7());
    }
    tx.commit().await.unwrap();
    let workers: Vec<_> = (0..6)
        .map(|_| {
            let db = db.clone();
            tokio::spawn(async move {
                let mut workers = Workers::default();
                workers.add(Probe::new());
                workers.settle(&db, settings()).await.unwrap()
            })
        })
        .collect();
    let mut total = 0;
    for worker in workers {
        total += worker.await.unwrap();
    }
    assert_eq!((total as i64, visits(&world).await), (rows, (rows, rows)));
    println!("6 workers visited {rows} rows once each");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_replica_is_woken_and_does_not_wait_for_its_next_look() {
    let world = World::new().await;
    let there = Server::with(world.server.database.clone(), &[], |_| ()).await;
    let mut ear = there.control_plane.db.bell.ear(&[]);
    let listening = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    eventually("both to listen", || async {
        let mut above = world.server.database.superuser().await;
        sqlx::query_scalar::<_, i64>(listening).fetch_one(&mut above).await.unwrap() == 2
    })
    .await;
    ear.wait(Duration::from_millis(1)).await;
    let started = std::time::Instant::now();
    wake(&world.server.control_plane.db, Uuid::now_v7()).await;
    let next_look = Duration::from_secs(120);
    ear.wait(next_look).await;
    println!("woken after {:?}", started.elapsed());
    assert!(started.elapsed() < next_look / 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_visits_that_wake_each_other_do_not_wait_for_each_other() {
    let world = world().await;
    let db = &world.server.control_plane.db;
    let (one, two) = (Uuid::now_v7(), Uuid::now_v7());
    let end = async |own: Uuid, other: Uuid, claims: &[work::Claim]| -> Result<(), FinishError> {
        let claim = claims.iter().find(|it| it.id == own).unwrap();
        let mut tx = Tx::system(db, KIND, Access::Write).await?;
        work::wake(&mut tx, KIND, other);
        finish(&mut tx, claim, Next::After(Duration::ZERO)).await?;
        // pause: the other ends its claim meanwhile, or waits for this one; both must not wait at once
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok(tx.commit().await?)
    };
    for round in 0..5 {
        wake(db, one).await;
        wake(db, two).await;
        let claims = claim(db, &[KIND], Duration::from_secs(30), 2).await.unwrap();
        assert_eq!(claims.len(), 2);
        let (first, second) = tokio::join!(end(one, two, &claims), end(two, one, &claims));
        assert!(first.is_ok() && second.is_ok(), "round {round}: {first:?} {second:?}");
    }
}
