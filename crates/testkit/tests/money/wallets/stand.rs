//! An organization whose allocations need money. They are asked for over the
//! API and moved by statements: what is looked at here is the money.

use std::{sync::Arc, time::Duration};

use client::{Client, ClientError};
use contract::{
    Nothing,
    allocations::{
        Allocation, AllocationPath, AllocationSpec, CreateAllocation, ExplainAllocation, Explanation, GetAllocation,
    },
    corrections::{CorrectionSpec, GrantCredit},
    id::{AllocationId, OrganizationId, ProjectId},
    ledger::{Balance, GetBalance},
    organizations::OrganizationPath,
    projects::ProjectPath,
    wallets::WalletState,
};
use gpuaasd::roles::Role;
use kernel::{Access, Tx};
use serde_json::Value;
use testkit::{Database, MailServer, Member, Server, World, moves::move_all, world::set_policy};
use uuid::Uuid;

pub const DOLLAR: i64 = 1_000_000;

pub struct Stand {
    pub world: World,
    pub operator: Client,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub owner: Member,
    pub sku: Uuid,
}

impl Stand {
    /// A GPU costs a dollar an hour; holds are for an hour, low is at two, and the grace is half an hour.
    pub async fn new() -> Stand {
        Stand::with(None).await
    }

    pub async fn mailing(server: &MailServer) -> Stand {
        Stand::with(Some(server.url.clone())).await
    }

    async fn with(url: Option<String>) -> Stand {
        let database = Arc::new(Database::new().await);
        let server = Server::with(database, &[Role::Api, Role::Relay], |config| {
            config.mail.from = url.as_ref().map(|_| "gpuaas <no-reply@gpu.example.test>".to_owned());
            config.mail.public_url = Some("https://gpu.example.test".into());
            config.mail.url = url;
        });
        let world = World::on(server.await).await;
        let operator = world.as_(&world.operator().await);
        let (organization, owner) = world.organization().await;
        let project = world.project(organization).await;
        let stand = Stand { world, operator, organization, project, owner, sku: Uuid::now_v7() };
        let sku = format!(
            "INSERT INTO skus (id, name, shape, gpu_counts, numa_bound) VALUES ('{}', 'slice', 'gpu_slice', '{{1,2,4,8}}', false)",
            stand.sku
        );
        stand.run(&sku).await;
        stand.price(DOLLAR, "USD").await;
        for (key, value) in [
            ("rate_limit.default_per_minute", "1000000"),
            ("rate_limit.financial_per_minute", "1000000"),
            ("billing.low_balance_minutes", "120"),
            ("billing.required", "true"),
        ] {
            stand.policy(key, value).await;
        }
        stand
    }

    pub async fn policy(&self, key: &str, value: &str) {
        set_policy(&self.operator, key, value).await;
        let control_plane = &self.world.server.control_plane;
        control_plane.policies.refresh(&control_plane.db).await.unwrap();
    }

    /// Does something to the database as the system.
    pub async fn run(&self, statement: &str) {
        let mut tx = Tx::system(&self.world.server.control_plane.db, "test", Access::Write).await.unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned())).execute(tx.conn()).await.unwrap();
        tx.commit().await.unwrap();
    }

    pub async fn one<T>(&self, statement: &str) -> T
    where
        T: Send + Unpin + for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
    {
        let mut above = self.world.server.database.superuser().await;
        sqlx::query_scalar(sqlx::AssertSqlSafe(statement.to_owned())).fetch_one(&mut above).await.unwrap()
    }

    /// What a GPU costs from now on.
    pub async fn price(&self, micros: i64, currency: &str) {
        self.price_of("slice", micros, currency).await;
    }

    pub async fn price_of(&self, sku: &str, micros: i64, currency: &str) {
        self.run(&format!(
            "INSERT INTO prices (id, sku_id, unit, kind, version, currency, price_micros, effective_at)
             SELECT gen_random_uuid(), id, 'gpu_hour', 'on_demand', 1 + (SELECT count(*) FROM prices), '{currency}', {micros}, app_now() FROM skus WHERE name = '{sku}'"
        ))
        .await;
    }

    pub async fn credit(&self, amount_micros: i64) {
        let spec =
            CorrectionSpec { currency: "USD".parse().unwrap(), amount_micros, reason: "a test".parse().unwrap() };
        self.operator.call::<GrantCredit>(self.path(), Nothing {}, spec).await.unwrap();
    }

    pub fn path(&self) -> OrganizationPath {
        OrganizationPath { organization_id: self.organization }
    }

    /// The owner, with a token that still works.
    pub async fn client(&self) -> Client {
        self.world.as_(&self.owner)
    }

    pub async fn try_ask(&self, spec: AllocationSpec) -> Result<Allocation, ClientError> {
        let path = ProjectPath { project_id: self.project };
        self.client().await.call::<CreateAllocation>(path, Nothing {}, spec).await
    }

    pub async fn ask(&self, spec: AllocationSpec) -> AllocationId {
        self.try_ask(spec).await.unwrap().id
    }

    /// Asks for it and lets it run.
    pub async fn start(&self, spec: AllocationSpec) -> AllocationId {
        let id = self.ask(spec).await;
        self.go(id, "provisioning").await;
        self.go(id, "active").await;
        id
    }

    /// Lets so many run that nobody asked for, each a bit newer than the one before.
    pub async fn run_many(&self, count: i64) {
        self.make(count, "provisioning").await;
        move_all(&self.world.server.control_plane.db, "state = 'provisioning'", "active").await;
    }

    /// Allocations that stand at a state on their way to run.
    pub async fn make(&self, count: i64, state: &str) {
        let (organization, project, sku) = (self.organization.uuid(), self.project.uuid(), self.sku);
        self.run(&format!(
            "INSERT INTO allocations (id, organization_id, project_id, sku_id, gpus, nodes, same_fabric, login, created_by, created_at, state)
               SELECT (lpad(to_hex((epoch_us(app_now()) / 1000)::bigint + n), 12, '0') || '7' || substr(md5(random()::text), 1, 3) || '8'
                   || substr(md5(random()::text), 1, 15))::uuid, '{organization}', '{project}', '{sku}', 1, 1, false, 'g', 'test',
                 app_now() + n * interval '1 millisecond', 'requested' FROM generate_series(1, {count}) n"
        ))
        .await;
        move_all(&self.world.server.control_plane.db, "state = 'requested'", state).await;
    }

    /// Moves an allocation, as its hosts would.
    pub async fn go(&self, id: AllocationId, state: &str) {
        move_all(&self.world.server.control_plane.db, &format!("id = '{}'", id.uuid()), state).await;
    }

    pub fn at(&self, id: AllocationId) -> AllocationPath {
        AllocationPath { project_id: self.project, allocation_id: id }
    }

    pub async fn get(&self, id: AllocationId) -> Allocation {
        self.client().await.call::<GetAllocation>(self.at(id), Nothing {}, Nothing {}).await.unwrap()
    }

    pub async fn why(&self, id: AllocationId) -> Explanation {
        self.client().await.call::<ExplainAllocation>(self.at(id), Nothing {}, Nothing {}).await.unwrap()
    }

    pub async fn balance(&self) -> Balance {
        let client = self.client().await;
        client.call::<GetBalance>(self.path(), Nothing {}, Nothing {}).await.unwrap().items.remove(0)
    }

    pub async fn is(&self, state: WalletState) {
        assert_eq!(self.balance().await.state, state);
    }

    /// Lets so many minutes pass, and does what is due every five.
    pub async fn pass(&self, minutes: u64) {
        for _ in 0..minutes.div_ceil(5) {
            self.world.server.control_plane.db.clock.advance(Duration::from_secs(300));
            self.world.server.settle().await;
        }
    }

    /// Lets so many minutes pass at once.
    pub async fn later(&self, minutes: u64) {
        self.world.server.control_plane.db.clock.advance(Duration::from_secs(minutes * 60));
        self.settle().await;
    }

    pub async fn settle(&self) {
        self.world.server.settle().await;
    }

    /// What was told under a subject, oldest first.
    pub async fn told(&self, subject: &str) -> Vec<Value> {
        let mut above = self.world.server.database.superuser().await;
        sqlx::query_scalar("SELECT data FROM outbox WHERE subject = $1 ORDER BY place")
            .bind(subject)
            .fetch_all(&mut above)
            .await
            .unwrap()
    }

    /// How often each crossing was told: low, grace, depleted, funded.
    pub async fn crossings(&self) -> [usize; 4] {
        let mut counts = [0; 4];
        let subjects = ["wallet.balance_low", "wallet.grace_started", "wallet.depleted", "wallet.funded"];
        for (count, subject) in counts.iter_mut().zip(subjects) {
            *count = self.told(subject).await.len();
        }
        counts
    }
}
