//! The books prove, and nothing that is done to them behind the database's
//! back goes unseen.

use std::time::Duration;

use client::Client;
use contract::{
    Nothing, Role, Word,
    ledger::{GetBalance, JournalFilter, ListJournals, PlatformProofRange, Proof, ProofRange, ProveBooks, ProveLedger},
    organizations::OrganizationPath,
    permission::PlatformRole,
    prices::{PriceKind, PriceUnit},
    usage::{GetUsage, UsageBy, UsageRange},
};
use kernel::{
    Access, Db, Tx,
    money::{Currency, Money},
    tx::DbSettings,
};
use money::{
    ledger::{
        AccountKind, Journal, post,
        prove::{Range, prove},
    },
    metering,
};
use platform::registry::Meter;
use testkit::rounds;
use uuid::Uuid;

use crate::ledger::{
    meters::{APPS, COUNTS, JOBS, RATES, REQUESTS, STORAGE, TOKENS},
    stand::Stand,
};

async fn credit(stand: &Stand, micros: i64) {
    let amount = Money::from_micros(micros, Currency::USD);
    let journal = Journal::between(stand.organization, "credit", AccountKind::Promotional, "", amount).unwrap();
    let mut tx = stand.tx().await;
    post(&mut tx, journal.by("test", "a gift")).await.unwrap();
    tx.commit().await.unwrap();
}

/// Some days of an organization: starts, stops, counts, prices, postings and a gift.
async fn history() -> Stand {
    let stand = Stand::new(2_345_678).await;
    credit(&stand, 1_000_000_000).await;
    let owner = stand.owner();
    for (unit, kind, micros, per_units) in [
        (PriceUnit::GibHour, PriceKind::OnDemand, 1457, 1),
        (PriceUnit::GibHour, PriceKind::Stopped, 234, 1),
        (PriceUnit::Hour, PriceKind::OnDemand, 500_001, 1),
        (PriceUnit::Token, PriceKind::OnDemand, 700_003, 1_000_000),
        (PriceUnit::Request, PriceKind::OnDemand, 1234, 1000),
    ] {
        stand.run(&owner.priced(unit, kind, micros, per_units)).await;
    }
    let (volume, app, model) = (Uuid::now_v7(), Uuid::now_v7(), Uuid::now_v7());
    let counts = |tokens, requests| {
        [
            owner.used(&TOKENS, model, tokens, PriceKind::OnDemand),
            owner.used(&REQUESTS, model, requests, PriceKind::OnDemand),
            // Nothing is priced by the job: it is free, and counted all the same.
            owner.used(&JOBS, app, 1, PriceKind::OnDemand),
        ]
    };
    let mut tx = stand.tx().await;
    let running =
        [owner.used(&STORAGE, volume, 512, PriceKind::OnDemand), owner.used(&APPS, app, 1, PriceKind::OnDemand)];
    metering::start(&mut tx, &running).await.unwrap();
    metering::count(&mut tx, &counts(1_234_567, 301)).await.unwrap();
    tx.commit().await.unwrap();
    let one = stand.started(1).await;
    stand.advance(1234);
    let two = stand.started(4).await;
    stand.advance(3600);
    stand.close().await;
    stand.price(3_000_001).await;
    stand.advance(600);
    let three = stand.started(2).await;
    let mut tx = stand.tx().await;
    metering::change(&mut tx, &[owner.used(&STORAGE, volume, 700, PriceKind::Stopped)]).await.unwrap();
    metering::count(&mut tx, &counts(89, 1)).await.unwrap();
    tx.commit().await.unwrap();
    stand.run(&owner.priced(PriceUnit::Token, PriceKind::OnDemand, 900_001, 1_000_000)).await;
    let mut tx = stand.tx().await;
    metering::count(&mut tx, &counts(45_678_901, 5000)).await.unwrap();
    tx.commit().await.unwrap();
    stand.go(one, "stopping").await;
    stand.advance(77);
    stand.close().await;
    stand.go(one, "stopped").await;
    stand.go(one, "starting").await;
    stand.go(one, "active").await;
    stand.advance(86_400);
    stand.close().await;
    stand.go(two, "releasing").await;
    let mut tx = stand.tx().await;
    owner.stop(&mut tx, &APPS, app).await;
    tx.commit().await.unwrap();
    stand.advance(10);
    stand.close().await;
    stand.go(three, "releasing").await;
    stand
}

/// A connection pool of somebody who is above every rule.
async fn above(stand: &Stand) -> Db {
    let wait = Duration::from_secs(30);
    let settings = DbSettings {
        url: stand.world.server.database.url().replace("user=gpuaas", "user=postgres"),
        max_connections: 4,
        acquire_timeout: wait,
        statement_timeout: wait,
        lock_timeout: wait,
    };
    Db::connect(&settings).await.unwrap()
}

/// Lets marks be what no statement of the product can make them.
const UNCHECKED: &str = "DO $$ DECLARE checked text; BEGIN
    FOR checked IN SELECT conname FROM pg_constraint WHERE conrelid = 'usage'::regclass AND contype = 'c' LOOP
      EXECUTE format('ALTER TABLE usage DROP CONSTRAINT %I', checked);
    END LOOP; END $$";

/// What a proof says after a fault was planted; the fault is taken back.
async fn with_fault(db: &Db, stand: &Stand, fault: &str) -> Proof {
    let mut tx = Tx::system(db, "test", Access::Write).await.unwrap();
    let planted = format!(
        "RESET ROLE; SET LOCAL session_replication_role = replica; {UNCHECKED}; {fault}; SET LOCAL ROLE gpuaas_system"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(planted)).execute(tx.conn()).await.unwrap();
    let range = Range { organization: Some(stand.organization), month: None, after: None };
    let proof = prove(&mut tx, &range).await.unwrap();
    tx.rollback().await.unwrap();
    proof
}

/// Makes every hash follow from what stands there now, as somebody would who knows how.
const REHASH: &str = "DO $$ DECLARE j record; before bytea := ''; from_marks timestamptz := '-infinity'; BEGIN
    FOR j IN SELECT * FROM journals ORDER BY number LOOP
      UPDATE journals SET hash = journal_hash(before, journal_head(j.organization_id, j.number, j.id, j.kind, j.at, j.from_at, j.to_at,
          j.actor, j.reason, j.reverses, j.reference),
        coalesce((SELECT string_agg(entry_text(line, account_id, currency, amount, subject_id, meter, interval), E'\\n' ORDER BY line)
          FROM entries e WHERE e.organization_id = j.organization_id AND e.number = j.number), ''),
        CASE WHEN j.kind = 'usage' THEN coalesce((SELECT string_agg(usage_text(u), E'\\n' ORDER BY at, subject_id, meter COLLATE \"C\", number) FROM usage u
          WHERE u.organization_id = j.organization_id AND at >= from_marks AND at < j.to_at), '') ELSE '' END)
      WHERE organization_id = j.organization_id AND number = j.number RETURNING hash INTO before;
      from_marks := coalesce(j.to_at, from_marks);
    END LOOP;
    UPDATE books SET hash = before WHERE journals > 0; END $$";

const FAULTS: &[(&str, &str)] = &[
    (
        "delete a start",
        "DELETE FROM usage WHERE (subject_id, meter, number) IN (SELECT subject_id, meter, number FROM usage WHERE kind = 'start' ORDER BY at LIMIT 1)",
    ),
    (
        "delete an end",
        "DELETE FROM usage WHERE (subject_id, meter, number) IN (SELECT subject_id, meter, number FROM usage WHERE kind = 'end' ORDER BY at LIMIT 1)",
    ),
    (
        "duplicate a mark",
        "INSERT INTO usage SELECT organization_id, subject_kind, subject_id, meter, number + 1000, kind, at, interval + 1000, project_id, allocation_id, volume_id, app_instance_id, deployment_id, component, operating_mode, correlation_id, sku_id, unit, price_kind, quantity, total, currency, price_id, price_micros, per_units, micros_per_hour, amount, nodes, tags, cause FROM usage WHERE kind = 'start' ORDER BY at LIMIT 1",
    ),
    ("edit when it started", "UPDATE usage SET at = at + interval '1 microsecond' WHERE kind = 'start'"),
    ("edit a mark's tags", "UPDATE usage SET tags = '{\"team\": \"other\"}'"),
    ("edit a mark's rate", "UPDATE usage SET micros_per_hour = micros_per_hour + 1"),
    (
        "swap two marks",
        "UPDATE usage u SET at = o.at FROM usage o WHERE u.kind = 'start' AND o.kind = 'start' AND u.subject_id <> o.subject_id AND u.interval = o.interval",
    ),
    ("delete a journal", "DELETE FROM journals WHERE number = 3"),
    (
        "delete a journal with its entries",
        "DELETE FROM journals WHERE number = 3; DELETE FROM entries WHERE number = 3",
    ),
    ("delete the newest journal", "DELETE FROM journals WHERE number = 5; DELETE FROM entries WHERE number = 5"),
    (
        "duplicate a journal",
        "INSERT INTO journals SELECT organization_id, 6, gen_random_uuid(), kind, at, from_at, to_at, actor, reason, reverses, reference, xid, hash FROM journals WHERE number = 1",
    ),
    ("edit a journal's reason", "UPDATE journals SET reason = 'another' WHERE number = 1"),
    ("edit an entry", "UPDATE entries SET amount = amount + 1 WHERE number = 2 AND line = 1"),
    (
        "edit both sides",
        "UPDATE entries SET amount = amount + CASE WHEN subject_id IS NULL THEN -1 ELSE 1 END WHERE number = 2 AND (line = 1 OR subject_id IS NULL)",
    ),
    ("delete an entry", "DELETE FROM entries WHERE number = 2 AND line = 1"),
    (
        "duplicate an entry",
        "INSERT INTO entries SELECT organization_id, number, 99, account_id, currency, amount, subject_id, meter, interval FROM entries WHERE number = 2 AND line = 1",
    ),
    (
        "swap two entries",
        "UPDATE entries e SET amount = o.amount FROM entries o WHERE e.number = 2 AND o.number = 2 AND e.line + o.line = 3",
    ),
    (
        "swap two journals",
        "UPDATE entries SET number = number + 100 WHERE number IN (2, 3); UPDATE entries SET number = 105 - number WHERE number > 100",
    ),
    ("change a past price", "UPDATE prices SET price_micros = price_micros + 1 WHERE version = 1"),
    (
        "change since when a price is in force",
        "UPDATE prices SET effective_at = effective_at + interval '1 day' WHERE version = 1",
    ),
    ("delete a price", "DELETE FROM prices WHERE version = 1"),
    (
        "put a price in force five milliseconds before a start",
        "INSERT INTO prices (id, sku_id, unit, kind, version, currency, price_micros, effective_at) SELECT gen_random_uuid(), sku_id, unit, price_kind, 99, currency, 1, at - interval '5 milliseconds' FROM usage WHERE kind = 'start' ORDER BY at DESC LIMIT 1",
    ),
    ("delete a count", "DELETE FROM usage WHERE unit = 'token' AND number = 2"),
    ("edit a counted quantity", "UPDATE usage SET quantity = quantity + 1 WHERE unit = 'token' AND number = 2"),
    ("edit the total of a count", "UPDATE usage SET total = total + 1 WHERE unit = 'request' AND number = 2"),
    ("edit the amount of a count", "UPDATE usage SET amount = amount + 1 WHERE unit = 'request' AND number = 3"),
    ("edit the price of a mark", "UPDATE usage SET price_micros = price_micros + 1 WHERE unit = 'token'"),
    ("edit the unit of a mark", "UPDATE usage SET unit = 'hour' WHERE unit = 'gib_hour'"),
    ("edit the kind of price of a mark", "UPDATE usage SET price_kind = 'spot' WHERE unit = 'gib_hour'"),
    ("edit what a mark belongs to", "UPDATE usage SET volume_id = gen_random_uuid() WHERE unit = 'gib_hour'"),
    ("edit whose component a mark is", "UPDATE usage SET component = 'other' WHERE unit = 'hour'"),
    ("change for how many tokens a past price is", "UPDATE prices SET per_units = per_units / 2 WHERE unit = 'token'"),
    ("change the kind of a past price", "UPDATE prices SET kind = 'spot' WHERE unit = 'gib_hour' AND kind = 'stopped'"),
    ("drop an open interval", "DELETE FROM open_intervals WHERE meter = 'test_storage'"),
    (
        "open an interval that ended",
        "INSERT INTO open_intervals SELECT organization_id, subject_id, meter, interval, project_id FROM usage WHERE kind = 'end' AND unit = 'hour'",
    ),
    (
        "charge a count twice",
        "UPDATE entries SET amount = amount * 2 WHERE number = 2 AND meter = 'test_tokens'; UPDATE entries SET amount = amount + (SELECT amount / 2 FROM entries WHERE number = 2 AND meter = 'test_tokens') * -1 WHERE number = 2 AND subject_id IS NULL",
    ),
    (
        "keep a wrong balance",
        "INSERT INTO checkpoints SELECT organization_id, id, 4, 7 FROM accounts WHERE kind = 'wallet'",
    ),
];

/// What is caught although every hash was made to fit again, and the audit log was cut too.
const SKILLED: &[(&str, &str)] = &[
    (
        "edit both sides",
        "UPDATE entries SET amount = amount + CASE WHEN subject_id IS NULL THEN -1 ELSE 1 END WHERE number = 2 AND (line = 1 OR subject_id IS NULL)",
    ),
    ("edit when it ended", "UPDATE usage SET at = at - interval '1 second' WHERE kind = 'end'"),
    ("edit a rate", "UPDATE usage SET micros_per_hour = micros_per_hour - 1"),
    (
        "swap two entries",
        "UPDATE entries e SET amount = o.amount FROM entries o WHERE e.number = 2 AND o.number = 2 AND e.line + o.line = 3",
    ),
    (
        "edit a rate of storage",
        "UPDATE usage SET price_micros = price_micros + 1, micros_per_hour = (price_micros + 1) * quantity WHERE unit = 'gib_hour'",
    ),
    (
        "edit a counted quantity",
        "UPDATE usage SET quantity = quantity - 1000, total = total - 1000, amount = counted(price_micros, per_units, total - 1000) - counted(price_micros, per_units, total - quantity) WHERE unit = 'token' AND number = 2",
    ),
    ("edit the amount of a count", "UPDATE usage SET amount = amount - 1 WHERE unit = 'token' AND number = 3"),
    ("charge for what never was", "UPDATE entries SET interval = interval + 77 WHERE number = 2 AND line = 1"),
    (
        "leave one interval out",
        "UPDATE entries SET amount = amount + (SELECT amount FROM entries WHERE number = 3 AND line = 1) WHERE number = 3 AND subject_id IS NULL; DELETE FROM entries WHERE number = 3 AND line = 1; UPDATE entries SET line = line + 99 WHERE number = 3; UPDATE entries SET line = line - 100 WHERE number = 3",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn each_planted_fault_is_caught() {
    let stand = history().await;
    let db = above(&stand).await;
    let clean = with_fault(&db, &stand, "SELECT 1").await;
    assert_eq!((clean.difference, clean.organizations, clean.journals), (None, 1, 5));
    let rehashed = with_fault(&db, &stand, REHASH).await;
    assert_eq!(rehashed.difference, None, "the test knows how hashes are made");
    let cut = "DELETE FROM entries WHERE number > 1; DELETE FROM journals WHERE number > 1; DELETE FROM usage;
               UPDATE books SET journals = 1 WHERE journals > 1";
    let cut = with_fault(&db, &stand, &format!("{cut}; {REHASH}")).await.difference.expect("a cut tail is seen");
    println!("cut everything after the first journal, with new hashes: {}", cut.what);
    for (name, fault) in FAULTS {
        let proof = with_fault(&db, &stand, fault).await;
        let difference = proof.difference.unwrap_or_else(|| panic!("nobody saw: {name}"));
        println!("{name}: journal {:?}, {}", difference.journal, difference.what);
    }
    let reason = format!("UPDATE journals SET reason = 'another' WHERE number = 1; {REHASH}");
    let rewritten = with_fault(&db, &stand, &reason).await.difference.expect("the audit log attests another hash");
    println!("edit a journal's reason, with new hashes: {}", rewritten.what);
    for (name, fault) in SKILLED {
        let unsealed = "DELETE FROM audit WHERE action = 'books.attest'";
        let proof = with_fault(&db, &stand, &format!("{fault}; {REHASH}; {unsealed}")).await;
        let difference = proof.difference.unwrap_or_else(|| panic!("nobody saw: {name}, with new hashes"));
        println!(
            "{name}, with new hashes and without the audit log: journal {:?}, {}",
            difference.journal, difference.what
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_histories_prove() {
    let total = rounds(300);
    let stand = Stand::new(1_000_003).await;
    let mut seed = 20_261_115_u64;
    let mut below = move |limit: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % limit
    };
    let behind = above(&stand).await;
    let mut live: Vec<(Uuid, &str)> = Vec::new();
    let mut open: Vec<(&'static Meter, Uuid)> = Vec::new();
    let (owner, counted) = (stand.owner(), Uuid::now_v7());
    for round in 0..total {
        for _ in 0..8 {
            match below(10) {
                8 => {
                    let mut tx = stand.tx().await;
                    let quantity = 1 + below(500) as i64;
                    let kind = PriceKind::ALL[below(4) as usize];
                    match (open.len(), below(3)) {
                        (1.., 0) => {
                            let (meter, id) = open.swap_remove(below(open.len() as u64) as usize);
                            owner.stop(&mut tx, meter, id).await;
                        }
                        (1.., 1) => {
                            let (meter, id) = open[below(open.len() as u64) as usize];
                            metering::change(&mut tx, &[owner.used(meter, id, quantity, kind)]).await.unwrap();
                        }
                        _ => {
                            let (meter, id) = (RATES[below(3) as usize], Uuid::now_v7());
                            open.push((meter, id));
                            metering::start(&mut tx, &[owner.used(meter, id, quantity, kind)]).await.unwrap();
                        }
                    }
                    tx.commit().await.unwrap();
                }
                9 => {
                    let (unit, kind) = (PriceUnit::ALL[below(6) as usize], PriceKind::ALL[below(4) as usize]);
                    let per_units = if unit.is_rate() { 1 } else { 1 + below(1_000_000) as i64 };
                    stand.run(&owner.priced(unit, kind, below(9_000_000) as i64, per_units)).await;
                    let mut tx = stand.tx().await;
                    let used = COUNTS.map(|it| owner.used(it, counted, below(2_000_000) as i64, PriceKind::OnDemand));
                    metering::count(&mut tx, &used).await.unwrap();
                    tx.commit().await.unwrap();
                }
                0 => live.push((stand.started(1 << below(4)).await, "active")),
                1 | 2 if !live.is_empty() => {
                    let at = below(live.len() as u64) as usize;
                    let (id, state) = live[at];
                    let path: &[&str] =
                        if state == "active" { &["stopping", "stopped"] } else { &["starting", "active"] };
                    for state in path {
                        stand.go(id, state).await;
                    }
                    live[at].1 = path[1];
                }
                3 if live.len() > 3 => {
                    let (id, _) = live.swap_remove(below(live.len() as u64) as usize);
                    stand.go(id, "releasing").await;
                }
                4 => stand.price(below(9_000_000) as i64).await,
                5 => stand.advance(below(7200)),
                6 => credit(&stand, 1 + below(1_000_000) as i64).await,
                // A worker whose clock is behind; and one that dies before it commits.
                7 => {
                    let mut tx = Tx::system(&behind, "test", Access::Write).await.unwrap();
                    money::books::close(&mut tx, stand.organization).await.unwrap();
                    if below(2) == 0 { tx.commit().await.unwrap() } else { drop(tx) }
                }
                _ => {
                    stand.close().await;
                }
            }
        }
        if round % 10 == 9 {
            stand.is_exact().await;
        }
    }
    stand.close().await;
    let intervals = stand.is_exact().await;
    let proof = with_fault(&behind, &stand, "SELECT 1").await;
    assert_eq!(proof.difference, None);
    let sum: i64 = stand.one("SELECT coalesce(sum(amount), 0)::bigint FROM entries").await;
    assert_eq!(sum, 0);
    let wallet: i64 = stand
        .one("SELECT sum(amount)::bigint FROM entries JOIN accounts a ON a.id = account_id WHERE a.kind = 'wallet'")
        .await;
    assert_eq!(stand.balance().await.posted.micros(), wallet);
    println!("{} random steps: {intervals} intervals, {} journals, proven", total * 8, proof.journals);
}

async fn proven(client: &Client, stand: &Stand) -> Proof {
    let path = OrganizationPath { organization_id: stand.organization };
    client.call::<ProveBooks>(path, ProofRange::default(), Nothing {}).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn members_see_their_own_books_and_auditors_everybodys() {
    let stand = history().await;
    let world = &stand.world;
    let viewer = world.member_of(stand.organization, Role::Viewer).await;
    let client = world.as_(&viewer);
    let path = || OrganizationPath { organization_id: stand.organization };
    let balances = client.call::<GetBalance>(path(), Nothing {}, Nothing {}).await.unwrap();
    let [balance] = &balances.items[..] else { panic!("{balances:?}") };
    assert_eq!(balance.available_micros, balance.posted_micros - balance.accrued_micros);
    assert!(balance.burn_micros_per_hour > 0 && balance.lasts_until.is_some());

    let statement = client.call::<ListJournals>(path(), JournalFilter::default(), Nothing {}).await.unwrap();
    let numbers: Vec<i64> = statement.items.iter().map(|it| it.number).collect();
    assert_eq!(numbers, [5, 4, 3, 2, 1]);
    assert_eq!(statement.items[0].wallets[0].balance_micros, balance.posted_micros);
    assert_eq!(statement.items[4].wallets[0].amount_micros, 1_000_000_000);
    let filter = JournalFilter { kind: Some("credit".parse().unwrap()), ..JournalFilter::default() };
    let gifts = client.call::<ListJournals>(path(), filter, Nothing {}).await.unwrap();
    assert_eq!((gifts.items.len(), gifts.items[0].reason.as_deref()), (1, Some("a gift")));

    // However usage is cut, it comes to the same, which is what was charged and accrued.
    let mut sums = Vec::new();
    for by in [UsageBy::Project, UsageBy::Sku, UsageBy::Tag, UsageBy::Day, UsageBy::Meter] {
        let since = Some("2020-01-01T00:00:00Z".parse().unwrap()).filter(|_| by != UsageBy::Day);
        let tag = Some("team".parse().unwrap());
        let range = UsageRange { by: Some(by), tag, since, ..UsageRange::default() };
        let usage = client.call::<GetUsage>(path(), range, Nothing {}).await.unwrap();
        assert!(by != UsageBy::Day || usage.lines.len() >= 2, "{usage:?}");
        sums.push((usage.lines.iter().map(|it| it.amount_micros).sum::<i64>(), usage.until));
    }
    let charged = 1_000_000_000 - balance.posted_micros + balance.accrued_micros;
    let burned = |from: jiff::Timestamp, to: jiff::Timestamp| {
        i128::from(balance.burn_micros_per_hour) * to.duration_since(from).as_micros() / 3_600_000_000
    };
    for (sum, until) in sums {
        let later = i128::from(sum - charged) - burned(balances.at, until);
        assert!((-9..=9).contains(&later), "{sum} is {charged} and what ran since");
    }

    assert_eq!(proven(&client, &stand).await.difference, None);
    let (_, stranger) = world.organization().await;
    assert!(world.as_(&stranger).call::<GetBalance>(path(), Nothing {}, Nothing {}).await.is_err());
    let auditor = world.as_(&world.person_with(Some(PlatformRole::Auditor)).await);
    let proof = auditor.call::<ProveLedger>(Nothing {}, PlatformProofRange::default(), Nothing {}).await.unwrap();
    assert_eq!((proof.organizations, proof.difference, proof.next_after), (2, None, None));
    let month = PlatformProofRange { month: Some("2020-01".parse().unwrap()), ..PlatformProofRange::default() };
    let proof = auditor.call::<ProveLedger>(Nothing {}, month, Nothing {}).await.unwrap();
    assert_eq!((proof.journals, proof.difference), (0, None));
    let after = PlatformProofRange { after: Some("rubbish".parse().unwrap()), ..PlatformProofRange::default() };
    let refused = auditor.call::<ProveLedger>(Nothing {}, after, Nothing {}).await.unwrap_err();
    assert!(refused.is(contract::Code::InvalidValue), "{refused}");
}
