//! Thousands of short histories, each of an organization of its own: whatever
//! happens in whatever order, the books prove; and whatever is then done to a
//! stored row behind the database's back, they do not.

use std::time::Duration;

use contract::{
    Word,
    id::OrganizationId,
    ledger::Difference,
    prices::{PriceKind, PriceUnit},
};
use kernel::{
    Access, Db, Tx,
    money::{Currency, Money},
    tx::DbSettings,
};
use money::{
    books,
    ledger::{
        AccountKind, Journal, balance, post,
        prove::{Range, prove},
    },
    metering,
};
use platform::registry::Meter;
use testkit::{moves::move_one, rounds};
use uuid::Uuid;

use crate::ledger::{
    meters::{COUNTS, Owner, RATES},
    stand::Stand,
};

/// Histories that are told at the same time, each by a worker of its own.
const LANES: usize = 6;
const STEPS: u64 = 30;

/// Faults in the rows of one organization, `$org`, each in a row that chance picks.
const FAULTS: &[(&str, &str)] = &[
    ("delete a mark", "DELETE FROM usage WHERE ctid = (SELECT ctid FROM usage WHERE organization_id = '$org' ORDER BY $pick LIMIT 1)"),
    (
        "duplicate a mark",
        "INSERT INTO usage SELECT organization_id, subject_kind, subject_id, meter, number + 1000, kind, at, interval + 1000, project_id, allocation_id, volume_id, app_instance_id, deployment_id, component, operating_mode, correlation_id, sku_id, unit, price_kind, quantity, total, currency, price_id, price_micros, per_units, micros_per_hour, amount, nodes, tags, cause FROM usage WHERE organization_id = '$org' ORDER BY $pick LIMIT 1",
    ),
    (
        "edit when a mark was",
        "UPDATE usage SET at = at + interval '1 microsecond' WHERE ctid = (SELECT ctid FROM usage WHERE organization_id = '$org' ORDER BY $pick LIMIT 1)",
    ),
    (
        "edit a mark's rate",
        "UPDATE usage SET price_micros = price_micros + 1, micros_per_hour = (price_micros + 1) * quantity WHERE ctid = (SELECT ctid FROM usage WHERE organization_id = '$org' AND kind <> 'count' ORDER BY $pick LIMIT 1)",
    ),
    (
        "edit how much ran",
        "UPDATE usage SET quantity = quantity + 1, micros_per_hour = price_micros * (quantity + 1) WHERE ctid = (SELECT ctid FROM usage WHERE organization_id = '$org' AND kind <> 'count' ORDER BY $pick LIMIT 1)",
    ),
    (
        "edit a counted quantity",
        "UPDATE usage SET quantity = quantity + 1, total = total + 1,
           amount = counted(price_micros, per_units, total + 1) - counted(price_micros, per_units, total - quantity) WHERE ctid = (SELECT ctid FROM usage WHERE organization_id = '$org' AND kind = 'count' ORDER BY $pick LIMIT 1)",
    ),
    (
        "edit the total of a count",
        "UPDATE usage SET total = total + per_units,
           amount = counted(price_micros, per_units, total + per_units) - counted(price_micros, per_units, total + per_units - quantity) WHERE ctid = (SELECT ctid FROM usage WHERE organization_id = '$org' AND kind = 'count' ORDER BY $pick LIMIT 1)",
    ),
    (
        "give a mark to another subject",
        "UPDATE usage SET subject_id = gen_random_uuid() WHERE ctid = (SELECT ctid FROM usage WHERE organization_id = '$org' ORDER BY $pick LIMIT 1)",
    ),
    (
        "give a mark to another component",
        "UPDATE usage SET component = component || '!' WHERE ctid = (SELECT ctid FROM usage WHERE organization_id = '$org' AND component IS NOT NULL ORDER BY $pick LIMIT 1)",
    ),
    ("drop an open interval", "DELETE FROM open_intervals WHERE ctid = (SELECT ctid FROM open_intervals WHERE organization_id = '$org' ORDER BY $pick LIMIT 1)"),
    (
        "open an interval that ended",
        "INSERT INTO open_intervals SELECT organization_id, subject_id, meter, interval, project_id FROM usage WHERE organization_id = '$org' AND kind = 'end'
           AND NOT EXISTS (SELECT FROM open_intervals o WHERE o.organization_id = usage.organization_id AND o.subject_id = usage.subject_id AND o.meter = usage.meter)
           ORDER BY $pick LIMIT 1",
    ),
    (
        "move an open interval to another project",
        "UPDATE open_intervals SET project_id = gen_random_uuid() WHERE ctid = (SELECT ctid FROM open_intervals WHERE organization_id = '$org' ORDER BY $pick LIMIT 1)",
    ),
    (
        "swap two marks",
        "WITH two AS (SELECT ctid, at FROM usage WHERE organization_id = '$org' ORDER BY $pick LIMIT 2)
         UPDATE usage u SET at = b.at FROM two a, two b WHERE u.ctid = a.ctid AND a.ctid <> b.ctid AND a.at <> b.at",
    ),
    ("delete a journal", "DELETE FROM journals WHERE ctid = (SELECT ctid FROM journals WHERE organization_id = '$org' ORDER BY $pick LIMIT 1)"),
    (
        "duplicate a journal",
        "INSERT INTO journals SELECT organization_id, number + 1000, gen_random_uuid(), kind, at, from_at, to_at, actor, reason, NULL, NULL, xid, hash FROM journals WHERE organization_id = '$org' ORDER BY $pick LIMIT 1",
    ),
    (
        "swap two journals",
        "WITH two AS (SELECT ctid, number, at, id FROM journals WHERE organization_id = '$org' ORDER BY $pick LIMIT 2)
         UPDATE journals j SET at = b.at, actor = j.actor || '!' FROM two a, two b WHERE j.ctid = a.ctid AND a.ctid <> b.ctid",
    ),
    ("delete an entry", "DELETE FROM entries WHERE ctid = (SELECT ctid FROM entries WHERE organization_id = '$org' ORDER BY $pick LIMIT 1)"),
    (
        "duplicate an entry",
        "INSERT INTO entries SELECT organization_id, number, line + 1000, account_id, currency, amount, subject_id, meter, interval FROM entries WHERE organization_id = '$org' ORDER BY $pick LIMIT 1",
    ),
    (
        "edit an entry",
        "UPDATE entries SET amount = amount + 1 WHERE ctid = (SELECT ctid FROM entries WHERE organization_id = '$org' AND amount <> -1 ORDER BY $pick LIMIT 1)",
    ),
    (
        "swap two entries",
        "WITH two AS (SELECT ctid, amount FROM entries WHERE organization_id = '$org' ORDER BY $pick LIMIT 2)
         UPDATE entries e SET amount = b.amount FROM two a, two b WHERE e.ctid = a.ctid AND a.ctid <> b.ctid AND a.amount <> b.amount",
    ),
    (
        "change a past price",
        "UPDATE prices SET price_micros = price_micros + 1 WHERE id = (SELECT price_id FROM usage
           WHERE organization_id = '$org' AND price_id IS NOT NULL ORDER BY $pick LIMIT 1)",
    ),
    (
        "change for how many a past price is",
        "UPDATE prices SET per_units = per_units + 1 WHERE id = (SELECT price_id FROM usage
           WHERE organization_id = '$org' AND price_id IS NOT NULL AND kind = 'count' ORDER BY $pick LIMIT 1)",
    ),
];

/// One who tells histories: a SKU of its own, and a clock that only this one moves.
struct Lane {
    ahead: Db,
    /// Somebody whose clock is behind, and who is above every rule.
    behind: Db,
    sku: Uuid,
    /// Whether its SKU has no price yet.
    is_new: bool,
    seed: u64,
}

/// An organization whose history is told.
struct LedgerHistory {
    organization: OrganizationId,
    owner: Owner,
    /// Its allocations, and the states they are in.
    live: Vec<(Uuid, &'static str)>,
    /// What else is measured over time.
    open: Vec<(Uuid, &'static Meter)>,
    /// What is counted, by one meter each.
    counted: [Uuid; COUNTS.len()],
}

async fn connect(url: String) -> Db {
    let wait = Duration::from_secs(60);
    let settings =
        DbSettings { url, max_connections: 4, acquire_timeout: wait, statement_timeout: wait, lock_timeout: wait };
    Db::connect(&settings).await.unwrap()
}

async fn run(tx: &mut Tx, statement: &str) -> u64 {
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned())).execute(tx.conn()).await.unwrap().rows_affected()
}

impl Lane {
    async fn new(stand: &Stand, seed: u64) -> Self {
        let url = stand.world.server.database.url();
        let above = url.replace("user=gpuaas", "user=postgres");
        let lane =
            Self { ahead: connect(url).await, behind: connect(above).await, sku: Uuid::now_v7(), is_new: true, seed };
        let mut tx = lane.tx().await;
        run(&mut tx, &format!(
            "INSERT INTO skus (id, name, shape, gpu_counts, numa_bound) VALUES ('{}', 'slice-{seed}', 'gpu_slice', '{{1,2,4,8}}', false)",
            lane.sku
        ))
        .await;
        tx.commit().await.unwrap();
        lane
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % limit
    }

    async fn tx(&self) -> Tx {
        Tx::system(&self.ahead, "test", Access::Write).await.unwrap()
    }

    async fn run(&self, statement: &str) {
        let mut tx = self.tx().await;
        run(&mut tx, statement).await;
        tx.commit().await.unwrap();
    }

    /// A new price of allocations, or of any other unit and kind.
    async fn price(&mut self, owner: &Owner, is_any: bool) {
        let micros = 1 + self.below(9_000_000) as i64;
        let (mut unit, mut kind, mut per_units) = (PriceUnit::GpuHour, PriceKind::OnDemand, 1);
        if is_any {
            (unit, kind) = (self.one_of(PriceUnit::ALL), self.one_of(PriceKind::ALL));
        }
        if !unit.is_rate() {
            per_units = self.one_of(&[1, 7, 1000, 1_000_000]);
        }
        self.run(&owner.priced(unit, kind, micros, per_units)).await;
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }

    async fn begin(&mut self) -> LedgerHistory {
        let (organization, project) = (Uuid::now_v7(), Uuid::now_v7());
        self.run(&format!(
            // tidy: planted because an organization that only has books needs no request
            "INSERT INTO organizations (id, name, state) VALUES ('{organization}', 'o', 'active');
             INSERT INTO projects (id, organization_id, name, state) VALUES ('{project}', '{organization}', 'p', 'active')"
        ))
        .await;
        let organization = OrganizationId::from(organization);
        let owner = Owner { organization, project, sku: self.sku };
        let counted = [(); COUNTS.len()].map(|()| Uuid::now_v7());
        let mut history = LedgerHistory { organization, owner, live: Vec::new(), open: Vec::new(), counted };
        if self.is_new {
            self.is_new = false;
            self.price(&owner, false).await;
        }
        // The first mark opens accounts and wakes the books, and those of the same
        // moment wait for it; later ones do not wait for each other.
        let mut tx = self.tx().await;
        self.started(&mut tx, &mut history).await;
        tx.commit().await.unwrap();
        history
    }

    async fn started(&mut self, tx: &mut Tx, history: &mut LedgerHistory) {
        let (id, gpus) = (Uuid::now_v7(), 1 << self.below(4));
        history.live.push((id, "active"));
        run(tx, &format!(
            "INSERT INTO allocations (id, organization_id, project_id, sku_id, gpus, nodes, same_fabric, login, created_by, state)
             VALUES ('{id}', '{}', '{}', '{}', {gpus}, 1, false, 'g', 'test', 'requested')",
            history.organization.uuid(), history.owner.project, self.sku
        ))
        .await;
        for state in ["provisioning", "active"] {
            move_one(tx, id, state).await;
        }
    }

    /// Stops what runs, starts what is stopped, or gives it back.
    async fn moved(&mut self, tx: &mut Tx, history: &mut LedgerHistory) {
        let at = usize::try_from(self.below(history.live.len().max(1) as u64)).unwrap();
        let Some(&(id, state)) = history.live.get(at) else { return };
        if self.below(3) == 0 {
            history.live.swap_remove(at);
            return move_one(tx, id, "releasing").await;
        }
        let path = if state == "active" { ["stopping", "stopped"] } else { ["starting", "active"] };
        history.live[at].1 = path[1];
        for state in path {
            move_one(tx, id, state).await;
        }
    }

    /// Starts, changes or stops something that is measured over time by another unit or kind.
    async fn measured(&mut self, tx: &mut Tx, history: &mut LedgerHistory) {
        let quantity = 1 + self.below(500) as i64;
        let kind = self.one_of(PriceKind::ALL);
        if history.open.is_empty() || self.below(3) == 0 {
            let (id, meter) = (Uuid::now_v7(), self.one_of(&RATES));
            history.open.push((id, meter));
            return metering::start(tx, &[history.owner.used(meter, id, quantity, kind)]).await.unwrap();
        }
        let at = usize::try_from(self.below(history.open.len() as u64)).unwrap();
        let (id, meter) = history.open[at];
        if self.below(2) == 0 {
            return metering::change(tx, &[history.owner.used(meter, id, quantity, kind)]).await.unwrap();
        }
        history.open.swap_remove(at);
        history.owner.stop(tx, meter, id).await;
    }

    /// Counts something, of several subjects and meters at once.
    async fn counts(&mut self, tx: &mut Tx, history: &LedgerHistory) {
        let kind = if self.below(4) == 0 { PriceKind::Spot } else { PriceKind::OnDemand };
        let mut used = Vec::new();
        for (meter, id) in COUNTS.into_iter().zip(history.counted) {
            if self.below(3) > 0 {
                used.push(history.owner.used(meter, id, self.below(5_000_000) as i64, kind));
            }
        }
        metering::count(tx, &used).await.unwrap();
    }

    async fn credit(&mut self, history: &LedgerHistory) {
        let gift = self.below(3);
        let amount = Money::from_micros(1 + gift as i64 * 333_333, Currency::USD);
        let reference = format!("gift-{gift}");
        let journal = Journal::between(history.organization, "credit", AccountKind::Promotional, "", amount).unwrap();
        let mut tx = self.tx().await;
        // The same reference may come again: that is a repeated delivery.
        post(&mut tx, journal.by("test", "a gift").once(reference)).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Closes a window; a crash is a transaction that never commits.
    async fn close(&mut self, db: Db, history: &LedgerHistory) {
        let mut tx = Tx::system(&db, "test", Access::Write).await.unwrap();
        books::close(&mut tx, history.organization).await.unwrap();
        if self.below(4) == 0 { drop(tx) } else { tx.commit().await.unwrap() }
    }

    /// Two marks whose transactions commit in the other order, and a posting that
    /// was asked for in between.
    async fn reordered(&mut self, history: &mut LedgerHistory) {
        let (mut early, mut late) = (self.tx().await, self.tx().await);
        self.started(&mut early, history).await;
        self.started(&mut late, history).await;
        let posting = tokio::spawn({
            let (db, organization) = (self.ahead.clone(), history.organization);
            async move {
                let mut tx = Tx::system(&db, "test", Access::Write).await.unwrap();
                books::close(&mut tx, organization).await.unwrap();
                tx.commit().await.unwrap();
            }
        });
        // pause: the seed's, so that they meet at different moments
        tokio::time::sleep(Duration::from_millis(self.below(4))).await;
        late.commit().await.unwrap();
        early.commit().await.unwrap();
        posting.await.unwrap();
    }

    async fn step(&mut self, history: &mut LedgerHistory) {
        match self.below(13) {
            step @ (0..=3 | 9..=12) => {
                let mut tx = self.tx().await;
                match step {
                    0 | 1 => self.started(&mut tx, history).await,
                    2 | 3 => self.moved(&mut tx, history).await,
                    9 | 10 => self.measured(&mut tx, history).await,
                    _ => self.counts(&mut tx, history).await,
                }
                tx.commit().await.unwrap();
            }
            4 => {
                let is_any = self.below(4) > 0;
                self.price(&history.owner, is_any).await;
            }
            5 => {
                let seconds = self.below(7200);
                self.ahead.clock.advance(Duration::from_secs(seconds));
            }
            6 => self.credit(history).await,
            7 => self.reordered(history).await,
            _ => {
                let db = if self.below(3) == 0 { self.behind.clone() } else { self.ahead.clone() };
                self.close(db, history).await;
            }
        }
    }

    /// What a proof says, after a fault that is then taken back; nothing when it changed no row.
    async fn proven(&self, history: &LedgerHistory, fault: Option<&str>) -> Option<Option<Difference>> {
        let mut tx = Tx::system(&self.behind, "test", Access::Write).await.unwrap();
        if let Some(fault) = fault {
            run(&mut tx, "RESET ROLE; SET LOCAL session_replication_role = replica").await;
            let changed = run(&mut tx, fault).await;
            run(&mut tx, "SET LOCAL ROLE gpuaas_system").await;
            if changed == 0 {
                return None;
            }
        }
        let range = Range { organization: Some(history.organization), month: None, after: None };
        let proof = prove(&mut tx, &range).await.unwrap();
        tx.rollback().await.unwrap();
        Some(proof.difference)
    }

    /// Journals that do not balance, and by how much the wallet is not the sum of its entries.
    async fn wrong(&self, history: &LedgerHistory) -> (i64, i64) {
        let mut tx = self.tx().await;
        let torn = "SELECT count(*) FROM (SELECT FROM entries WHERE organization_id = $1 GROUP BY number, currency HAVING sum(amount) <> 0) s";
        let torn: i64 = sqlx::query_scalar(torn).bind(history.organization.uuid()).fetch_one(tx.conn()).await.unwrap();
        let sum = "SELECT coalesce(sum(amount), 0)::bigint FROM entries JOIN accounts a ON a.id = account_id
                   WHERE a.organization_id = $1 AND a.kind = 'wallet'";
        let sum: i64 = sqlx::query_scalar(sum).bind(history.organization.uuid()).fetch_one(tx.conn()).await.unwrap();
        let posted = balance(&mut tx, history.organization, Currency::USD).await.unwrap().posted.micros();
        (torn, posted - sum)
    }

    /// Tells a history to its end, proves it, and plants one fault in it.
    async fn tell(&mut self) -> bool {
        let mut history = self.begin().await;
        for _ in 0..STEPS {
            self.step(&mut history).await;
        }
        self.ahead.clock.advance(Duration::from_secs(1));
        let mut tx = self.tx().await;
        books::close(&mut tx, history.organization).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(self.proven(&history, None).await, Some(None), "{}", history.organization);
        assert_eq!(self.wrong(&history).await, (0, 0), "{}", history.organization);
        let (name, fault) = FAULTS[usize::try_from(self.below(FAULTS.len() as u64)).unwrap()];
        let pick = format!("md5(ctid::text || '{}')", self.below(1 << 20));
        let fault = fault.replace("$org", &history.organization.uuid().to_string()).replace("$pick", &pick);
        match self.proven(&history, Some(&fault)).await {
            None => false,
            Some(Some(_)) => true,
            Some(None) => panic!("nobody saw: {name} in the books of {}", history.organization),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_history_proves_and_every_fault_in_it_is_seen() {
    let each = rounds(3000) / LANES;
    let stand = Stand::new(1).await;
    let mut lanes = Vec::new();
    for lane in 0..LANES {
        let mut lane = Lane::new(&stand, 20_261_115 + lane as u64).await;
        lanes.push(tokio::spawn(async move {
            let mut faults = 0;
            for _ in 0..each {
                faults += usize::from(lane.tell().await);
            }
            faults
        }));
    }
    let mut faults = 0;
    for lane in lanes {
        faults += lane.await.unwrap();
    }
    let histories = each * LANES;
    assert!(faults * 2 > histories, "most faults find a row to change: {faults} of {histories}");
    println!("{histories} histories of {STEPS} steps proven; {faults} faults planted, one in a history, all seen");
}
