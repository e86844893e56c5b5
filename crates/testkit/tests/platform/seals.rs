//! The audit log is append-only, sealed soon, and betrays every change.

use std::time::Duration;

use contract::{
    Code,
    audit::{ListSeals, SealRange, SealReport, VerifySeals},
    policies::{PlatformPolicyPath, PolicyValue, SetPlatformPolicy},
};
use sqlx::PgConnection;
use testkit::{Member, World, server::eventually, world::set_policy};
use uuid::Uuid;

struct Sealed {
    world: World,
    auditor: Member,
    entries: Vec<Uuid>,
}

async fn sealed() -> Sealed {
    sealed_in(World::new().await).await.0
}

/// A sealed log, and how long the sealing took.
async fn sealed_in(world: World) -> (Sealed, Duration) {
    let (organization, owner) = world.organization().await;
    let auditor = world.person_with(Some(contract::permission::PlatformRole::Auditor)).await;
    for n in 0..5 {
        let path = contract::organizations::OrganizationPath { organization_id: organization };
        let body = contract::projects::ProjectSpec { name: format!("p{n}").parse().unwrap() };
        world.as_(&owner).call::<contract::projects::CreateProject>(path, Default::default(), body).await.unwrap();
    }
    let mut connection = world.server.database.superuser().await;
    let entries: Vec<Uuid> = sqlx::query_scalar("SELECT id FROM audit WHERE action = 'project.create' ORDER BY id")
        .fetch_all(&mut connection)
        .await
        .unwrap();
    let sealed = Sealed { world, auditor, entries };
    let started = std::time::Instant::now();
    eventually("the entries to be sealed", || async {
        let mut connection = sealed.world.server.database.superuser().await;
        let unsealed: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM audit WHERE action = 'project.create' AND (epoch, xid) > (SELECT last_epoch, last_xid FROM seals ORDER BY number DESC LIMIT 1)",
        )
        .fetch_one(&mut connection)
        .await
        .unwrap_or(1);
        let any: i64 = sqlx::query_scalar("SELECT count(*) FROM seals").fetch_one(&mut connection).await.unwrap();
        unsealed == 0 && any > 0
    })
    .await;
    (sealed, started.elapsed())
}

/// Entries are sealed by themselves, and the pause between two seals is five seconds at
/// most, whatever an operator asks for.
#[tokio::test(flavor = "multi_thread")]
async fn entries_are_sealed_within_five_seconds() {
    let database = std::sync::Arc::new(testkit::Database::alone().await);
    let world = World::on(testkit::Server::with(database, &gpuaasd::roles::Role::ALL, |_| ()).await).await;
    let operator = world.as_(&world.operator().await);
    set_policy(&operator, "audit.seal_ms", "5000").await;
    let path = PlatformPolicyPath { key: "audit.seal_ms".to_owned() };
    let longer = PolicyValue { value: "5001".to_owned() };
    let refused = operator.call::<SetPlatformPolicy>(path, Default::default(), longer).await.unwrap_err();
    assert!(refused.is(Code::InvalidValue), "{refused}");
    let (_, took) = sealed_in(world).await;
    println!("sealed after {took:?}");
}

fn entry(action: &str) -> kernel::audit::NewEntry {
    kernel::audit::NewEntry {
        action: action.to_owned(),
        organization: None,
        resource: None,
        outcome: "done",
        detail: serde_json::json!({}),
    }
}

impl Sealed {
    /// A transaction that took its number, and may wait as long as it likes.
    async fn numbered(&self) -> kernel::Tx {
        let db = &self.world.server.control_plane.db;
        let mut tx = kernel::Tx::system(db, "late", kernel::Access::Write).await.unwrap();
        let statements = "SET LOCAL idle_in_transaction_session_timeout = 0; SELECT pg_current_xact_id()";
        sqlx::raw_sql(statements).execute(tx.conn()).await.unwrap();
        tx
    }

    /// How many entries of an action come after the last seal.
    async fn unsealed(&self, action: &str) -> i64 {
        let mut connection = self.world.server.database.superuser().await;
        let statement = "SELECT count(*) FROM audit WHERE action = $1
             AND (epoch, xid) > (SELECT last_epoch, last_xid FROM seals ORDER BY number DESC LIMIT 1)";
        sqlx::query_scalar(statement).bind(action).fetch_one(&mut connection).await.unwrap()
    }

    async fn report(&self) -> SealReport {
        self.world
            .fresh_key(&self.auditor)
            .await
            .call::<VerifySeals>(Default::default(), SealRange::default(), Default::default())
            .await
            .unwrap()
    }

    /// Changes the log as somebody who stands above the triggers.
    async fn tamper(&self, statement: &'static str, entry: Uuid) {
        let mut connection: PgConnection = self.world.server.database.superuser().await;
        sqlx::raw_sql("SET session_replication_role = replica").execute(&mut connection).await.unwrap();
        let done = sqlx::query(statement).bind(entry).execute(&mut connection).await.unwrap();
        assert_eq!(done.rows_affected(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_untouched_log_verifies() {
    let sealed = sealed().await;
    let report = sealed.report().await;
    assert_eq!(report.findings, []);
    assert!(report.entries_checked >= 5 && report.seals_checked >= 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_entry_is_found_and_named() {
    let sealed = sealed().await;
    sealed.tamper("UPDATE audit SET actor = 'nobody' WHERE id = $1", sealed.entries[2]).await;
    let report = sealed.report().await;
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    assert_eq!(report.findings[0].entry.unwrap().uuid(), sealed.entries[2]);
    assert!(report.findings[0].what.contains("edited"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_entry_is_found_and_named() {
    let sealed = sealed().await;
    sealed.tamper("DELETE FROM audit WHERE id = $1", sealed.entries[1]).await;
    let report = sealed.report().await;
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    assert_eq!(report.findings[0].entry.unwrap().uuid(), sealed.entries[1]);
    assert!(report.findings[0].what.contains("removed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inserted_entry_is_found_and_named() {
    let sealed = sealed().await;
    let forged = "INSERT INTO audit SELECT epoch, xid, gen_random_uuid(), organization_id, at, actor, action, resource, outcome, correlation_id, detail FROM audit WHERE id = $1";
    sealed.tamper(forged, sealed.entries[3]).await;
    let report = sealed.report().await;
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    assert!(
        report.findings[0].what.contains("inserted")
            && !sealed.entries.contains(&report.findings[0].entry.unwrap().uuid())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_seal_is_found() {
    for (statement, word) in [
        (
            "UPDATE seals SET entries_root = sha256('x'::bytea) WHERE number = 1 AND $1::uuid IS NOT NULL",
            "does not match the previous one",
        ),
        (
            "UPDATE seals SET signature = decode(repeat('00', 64), 'hex') WHERE number = 1 AND $1::uuid IS NOT NULL",
            "signature",
        ),
        (
            "UPDATE seals SET leaves = substring(leaves FROM 49) WHERE number = 1 AND $1::uuid IS NOT NULL",
            "list of entries in the seal",
        ),
    ] {
        let sealed = sealed().await;
        sealed.tamper(statement, sealed.entries[0]).await;
        let report = sealed.report().await;
        assert!(report.findings.iter().any(|it| it.what.contains(word)), "{word}: {:?}", report.findings);
    }
}

/// A log that is cut off together with its seals verifies, but the root that
/// was kept elsewhere is no longer in it.
#[tokio::test(flavor = "multi_thread")]
async fn a_cut_tail_is_seen_by_the_exported_root() {
    let sealed = sealed().await;
    let auditor = sealed.world.as_(&sealed.auditor);
    let seals = auditor.call::<ListSeals>(Default::default(), SealRange::default(), Default::default()).await.unwrap();
    let root = seals.newest_root.unwrap();
    assert!(sealed.report().await.roots.contains(&root));
    let last = seals.items.last().unwrap().number;
    let mut connection = sealed.world.server.database.superuser().await;
    sqlx::raw_sql("SET session_replication_role = replica").execute(&mut connection).await.unwrap();
    sqlx::query("DELETE FROM audit WHERE (epoch, xid) > coalesce((SELECT (last_epoch, last_xid) FROM seals WHERE number = $1 - 1), (0, '0'::xid8))")
        .bind(last)
        .execute(&mut connection)
        .await
        .unwrap();
    sqlx::query("DELETE FROM seals WHERE number >= $1").bind(last).execute(&mut connection).await.unwrap();
    assert!(!sealed.report().await.roots.contains(&root));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_refuses_change_even_by_a_superuser() {
    let sealed = sealed().await;
    let mut connection = sealed.world.server.database.superuser().await;
    for statement in
        ["UPDATE audit SET actor = 'x'", "DELETE FROM audit", "TRUNCATE audit", "DELETE FROM seals", "TRUNCATE seals"]
    {
        let refused = sqlx::raw_sql(statement).execute(&mut connection).await.unwrap_err();
        assert!(refused.to_string().contains("append-only"), "{statement}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_batches_leave_their_root() {
    let sealed = sealed().await;
    let db = &sealed.world.server.control_plane.db;
    db.clock.advance(Duration::from_secs(2 * 86_400));
    let expired = kernel::seals::expire(db, Duration::from_secs(86_400), 100).await.unwrap();
    assert!(expired >= 1);
    let mut connection = sealed.world.server.database.superuser().await;
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM audit WHERE action = 'project.create'")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(left, 0);
    let report = sealed.report().await;
    assert_eq!(report.findings, []);
    assert!(!report.roots.is_empty());
}

/// A claim that a batch expired, made to hide its entries, is found out.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_expired_too_early_is_found() {
    let sealed = sealed().await;
    let mut connection = sealed.world.server.database.superuser().await;
    sqlx::raw_sql(
        "SET session_replication_role = replica;
         UPDATE seals SET expired_at = now(), leaves = NULL WHERE number = 1;
         DELETE FROM audit WHERE (epoch, xid) <= (SELECT last_epoch, last_xid FROM seals WHERE number = 1)",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    let report = sealed.report().await;
    assert!(
        report.findings.iter().any(|it| it.what.contains("before their retention has ended")),
        "{:?}",
        report.findings
    );
}

/// A transaction that began early and commits late is sealed too.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_commit_is_not_skipped() {
    let sealed = sealed().await;
    let (mut first, mut early) = (sealed.numbered().await, sealed.numbered().await);
    let (organization, owner) = sealed.world.organization().await;
    let path = contract::organizations::OrganizationPath { organization_id: organization };
    let body = contract::projects::ProjectSpec { name: "later".parse().unwrap() };
    sealed.world.as_(&owner).call::<contract::projects::CreateProject>(path, Default::default(), body).await.unwrap();
    // What is sealed now ends before the early one, and the round that sealed it saw the later entry.
    kernel::audit::record(&mut first, entry("test.first"));
    first.commit().await.unwrap();
    eventually("the first entry to be sealed", || async { sealed.unsealed("test.first").await == 0 }).await;
    assert_eq!(sealed.unsealed("project.create").await, 1, "the early one may still write before it");
    kernel::audit::record(&mut early, entry("test.late"));
    early.commit().await.unwrap();
    eventually("the late entry to be sealed", || async { sealed.report().await.unsealed.unwrap_or(1) <= 1 }).await;
    let report = sealed.report().await;
    assert_eq!(report.findings, []);
    assert_eq!(sealed.unsealed("test.late").await, 0);
}
