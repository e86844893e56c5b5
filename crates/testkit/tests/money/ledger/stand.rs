//! An organization with a SKU that costs something, and allocations that are
//! moved as their lifecycle does, without hosts.

use std::{sync::Arc, time::Duration};

use contract::id::OrganizationId;
use gpuaasd::roles::Role;
use kernel::{Access, Tx, money::Currency};
use money::{
    books::{self, PostingOutcome},
    ledger::{Balance, balance},
};
use testkit::{
    Database, Server, World,
    moves::{move_all, move_one},
};
use uuid::Uuid;

use crate::ledger::meters::Owner;

pub struct Stand {
    pub world: World,
    pub organization: OrganizationId,
    pub project: Uuid,
    pub sku: Uuid,
}

/// A mark as it is stored.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Mark {
    pub subject_id: Uuid,
    pub meter: String,
    pub number: i64,
    pub kind: String,
    pub at_us: i64,
    pub interval: i64,
    pub quantity: i64,
    pub price_micros: i64,
    pub per_units: i64,
    pub micros_per_hour: i64,
    pub cause: String,
}

impl Stand {
    /// One GPU and hour costs `micros`.
    pub async fn new(micros: i64) -> Stand {
        let server = Server::with(Arc::new(Database::new().await), &[Role::Api], |_| ()).await;
        let world = World::on(server).await;
        let (organization, _) = world.organization().await;
        let project = world.project(organization).await.uuid();
        let stand = Stand { world, organization, project, sku: Uuid::now_v7() };
        stand
            .run(&format!(
                "INSERT INTO skus (id, name, shape, gpu_counts, numa_bound) VALUES ('{}', 'slice', 'gpu_slice', '{{1,2,4,8}}', false)",
                stand.sku
            ))
            .await;
        stand.price(micros).await;
        stand
    }

    pub fn owner(&self) -> Owner {
        Owner { organization: self.organization, project: self.project, sku: self.sku }
    }

    pub async fn tx(&self) -> Tx {
        Tx::system(&self.world.server.control_plane.db, "test", Access::Write).await.unwrap()
    }

    /// Does something to the database as the system.
    pub async fn run(&self, statement: &str) {
        let mut tx = self.tx().await;
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned())).execute(tx.conn()).await.unwrap();
        tx.commit().await.unwrap();
    }

    pub async fn price(&self, micros: i64) {
        self.run(&format!(
            "INSERT INTO prices (id, sku_id, unit, kind, version, currency, price_micros, effective_at)
             SELECT gen_random_uuid(), '{0}', 'gpu_hour', 'on_demand', 1 + (SELECT count(*) FROM prices), 'USD', {micros}, app_now()",
            self.sku
        ))
        .await;
    }

    /// A new allocation that waits for its hosts.
    pub async fn allocation(&self, gpus: i32) -> Uuid {
        let id = Uuid::now_v7();
        self.run(&format!(
            "INSERT INTO allocations (id, organization_id, project_id, sku_id, gpus, nodes, same_fabric, login, created_by, state)
             VALUES ('{id}', '{}', '{}', '{}', {gpus}, 1, false, 'g', 'test', 'requested')",
            self.organization.uuid(),
            self.project,
            self.sku
        ))
        .await;
        self.go(id, "provisioning").await;
        id
    }

    /// An allocation that runs.
    pub async fn started(&self, gpus: i32) -> Uuid {
        let id = self.allocation(gpus).await;
        self.go(id, "active").await;
        id
    }

    /// Moves an allocation, as the lifecycle does.
    pub async fn go(&self, id: Uuid, state: &str) {
        let mut tx = self.tx().await;
        move_one(&mut tx, id, state).await;
        tx.commit().await.unwrap();
    }

    /// Lets all that wait for hosts run.
    pub async fn run_all(&self) {
        let db = &self.world.server.control_plane.db;
        move_all(db, "state = 'requested'", "provisioning").await;
        move_all(db, "state = 'provisioning'", "active").await;
    }

    pub async fn close(&self) -> PostingOutcome {
        let mut tx = self.tx().await;
        let closed = books::close(&mut tx, self.organization).await.unwrap().unwrap();
        tx.commit().await.unwrap();
        closed
    }

    pub fn advance(&self, seconds: u64) {
        self.world.server.control_plane.db.clock.advance(Duration::from_secs(seconds));
    }

    pub async fn balance(&self) -> Balance {
        let mut tx = self.tx().await;
        let balance = balance(&mut tx, self.organization, Currency::USD).await.unwrap();
        tx.commit().await.unwrap();
        balance
    }

    pub async fn marks(&self) -> Vec<Mark> {
        let mut above = self.world.server.database.superuser().await;
        sqlx::query_as(
            "SELECT subject_id, meter, number, kind, epoch_us(at) AS at_us, interval, quantity, price_micros, per_units, micros_per_hour, cause
             FROM usage ORDER BY subject_id, meter, number",
        )
        .fetch_all(&mut above)
        .await
        .unwrap()
    }

    pub async fn one<T>(&self, statement: &str) -> T
    where
        T: Send + Unpin + for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
    {
        let mut above = self.world.server.database.superuser().await;
        sqlx::query_scalar(sqlx::AssertSqlSafe(statement.to_owned())).fetch_one(&mut above).await.unwrap()
    }

    /// Every interval was charged what it came to, exactly, up to the last
    /// posting: the least that any split of time may change is nothing.
    pub async fn is_exact(&self) -> usize {
        let posted_to: i64 = self.one("SELECT epoch_us(posted_to) FROM books ORDER BY journals DESC LIMIT 1").await;
        let marks = self.marks().await;
        let mut above = self.world.server.database.superuser().await;
        let charged: Vec<(Uuid, String, i64, i64)> = sqlx::query_as(
            "SELECT subject_id, meter, interval, sum(amount)::bigint FROM entries WHERE subject_id IS NOT NULL GROUP BY 1, 2, 3",
        )
        .fetch_all(&mut above)
        .await
        .unwrap();
        let mut intervals = 0;
        let mut expected_sum = 0;
        for first in marks.iter().filter(|it| it.interval == it.number) {
            let is_of = |it: &&Mark| {
                it.subject_id == first.subject_id && it.meter == first.meter && it.interval == first.number
            };
            let expected = if first.kind == "start" {
                let end = marks.iter().filter(is_of).find(|it| it.kind == "end");
                let end = end.map_or(posted_to, |it| it.at_us.min(posted_to));
                let elapsed = i128::from((end - first.at_us).max(0));
                i128::from(first.micros_per_hour) * elapsed / 3_600_000_000
            } else {
                let counted = marks.iter().filter(is_of).filter(|it| it.at_us < posted_to);
                let quantity: i128 = counted.map(|it| i128::from(it.quantity)).sum();
                i128::from(first.price_micros) * quantity / i128::from(first.per_units)
            };
            let expected = i64::try_from(expected).unwrap();
            let is_it = |it: &&(Uuid, String, i64, i64)| {
                (it.0, it.1.as_str(), it.2) == (first.subject_id, first.meter.as_str(), first.number)
            };
            let found = charged.iter().find(is_it).map_or(0, |it| it.3);
            assert_eq!(found, expected, "{first:?} until {posted_to}");
            expected_sum += expected;
            intervals += 1;
        }
        let wallet = "SELECT coalesce(-sum(amount), 0)::bigint FROM entries JOIN accounts ON accounts.id = account_id
                      WHERE kind = 'wallet' AND number IN (SELECT number FROM journals WHERE kind = 'usage')";
        assert_eq!(self.one::<i64>(wallet).await, expected_sum, "the wallet paid for the intervals and nothing else");
        let gaps = "SELECT count(*) FROM (SELECT number - lag(number, 1, 0::bigint) OVER (ORDER BY number) AS step FROM journals) s WHERE step <> 1";
        assert_eq!(self.one::<i64>(gaps).await, 0, "journals are numbered without gaps");
        let torn = "SELECT count(*) FROM (SELECT from_at, lag(to_at) OVER (ORDER BY number) AS before FROM journals WHERE kind = 'usage') s WHERE from_at < before";
        assert_eq!(self.one::<i64>(torn).await, 0, "no window is closed twice");
        intervals
    }
}
