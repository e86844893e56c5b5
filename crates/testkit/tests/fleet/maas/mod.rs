//! Machines of a MAAS server: handed over, taken back erased, and neither taken
//! twice nor lost, whatever fails in between.

use std::{sync::Arc, time::Duration};

use contract::{
    Code, Nothing,
    allocations::AllocationState,
    id::{MachineId, NodeId, PoolId, ProviderId},
    machines::{
        AbandonMachine, GetMachine, ListMachines, Machine, MachineFilter, MachinePath, MachineState, RetireMachine,
        RetryMachine,
    },
    nodes::{NodeHealth, NodeState},
    organizations::Because,
    pools::PoolProvider,
    providers::{
        ChangeProvider, CreateProvider, Erase, GetProvider, Provider as ProviderRow, ProviderChange, ProviderKind,
        ProviderPath, ProviderSpec, ProviderState, RemoveProvider,
    },
};
use fleet::nodes;
use gpuaasd::{adapters::maas::MaasConnector, roles::Role};
use kernel::clock::Clock;
use platform::ports::metal::{
    Install, MachineRequirements, MetalAccess, MetalConnector, MetalError, MetalFilter, MetalProvider, MetalStatus,
    Power,
};
use testkit::{
    Database, Fleet, Maas, Server, Tenant,
    cloud::{add_sku, ask},
    fleet::add_pool,
    maas::{Fault, InjectedFault, KEY, Pace, Status, read_instructions},
    server::eventually,
};

mod crashes;
mod leaving;
mod power;

fn because() -> Because {
    Because { reason: "test".parse().unwrap() }
}

fn open(maas: &Maas, key: &str) -> Arc<dyn MetalProvider> {
    let access = MetalAccess { url: maas.url.clone(), api_key: key.to_owned().into() };
    MaasConnector::new(Clock::default()).connect(&access).unwrap()
}

/// A control plane whose work is done when the test says so, and a MAAS.
struct Site {
    fleet: Fleet,
    maas: Maas,
    pool: PoolId,
    provider: ProviderId,
}

impl Site {
    async fn new() -> Site {
        Site::with(KEY, 1, &["a1"]).await
    }

    async fn with(key: &str, max_machines: u32, machines: &[&str]) -> Site {
        let server = Server::with(Arc::new(Database::new().await), &[Role::Api, Role::Nodes], |_| ()).await;
        let fleet = Fleet::on(server).await;
        let maas = Maas::start(Pace::default()).await;
        for system_id in machines {
            maas.ready(system_id, &["h200", "nvme"]);
        }
        maas.ready("unfit", &["cpu"]);
        let pool = add_pool(&fleet.operator, "metal", PoolProvider::Maas).await;
        let provider = register(&fleet, &maas, pool, key, max_machines).await.id;
        Site { fleet, maas, pool, provider }
    }

    async fn provider(&self) -> ProviderRow {
        let path = ProviderPath { provider_id: self.provider };
        self.fleet.operator.call::<GetProvider>(path, Default::default(), Default::default()).await.unwrap()
    }

    async fn machines(&self) -> Vec<Machine> {
        let query = MachineFilter { provider_id: Some(self.provider), ..MachineFilter::default() };
        self.fleet.operator.call::<ListMachines>(Nothing {}, query, Default::default()).await.unwrap().items
    }

    async fn machine(&self) -> Machine {
        let mut all = self.machines().await;
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    async fn get(&self, id: MachineId) -> Machine {
        let path = MachinePath { machine_id: id };
        self.fleet.operator.call::<GetMachine>(path, Default::default(), Default::default()).await.unwrap()
    }

    /// Works, and lets time pass, until the only machine is so.
    async fn drive(&self, state: MachineState) -> Machine {
        self.drive_until(&format!("a machine {state}"), async || {
            let machines = self.machines().await;
            machines.len() == 1 && machines[0].state == state
        })
        .await;
        self.machine().await
    }

    async fn drive_until(&self, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
        for _ in 0..600 {
            self.fleet.world.server.settle().await;
            if is_so().await {
                return;
            }
            self.fleet.advance(Duration::from_secs(5));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{what} did not come: {:?}, {:?}", self.machines().await, self.maas.complaints());
    }

    async fn serves(&self) -> (Machine, NodeId) {
        let machine = self.drive(MachineState::InService).await;
        let node = machine.node_id.expect("it is a node");
        eventually("a ready node", async || self.fleet.state(node).await.0 == "ready").await;
        (machine, node)
    }

    async fn sanitize(&self, node: NodeId) {
        let mut tx = self.fleet.tx().await;
        assert!(nodes::request_sanitizing(&mut tx, node, "another organization is next").await.unwrap());
        tx.commit().await.unwrap();
    }

    fn holder(&self) -> String {
        format!("gpuaas-{}", self.provider)
    }
}

async fn register(fleet: &Fleet, maas: &Maas, pool: PoolId, key: &str, max_machines: u32) -> ProviderRow {
    let spec = ProviderSpec {
        kind: ProviderKind::Maas,
        name: format!("maas-{}", uuid::Uuid::now_v7().simple()).parse().unwrap(),
        pool_id: pool,
        url: maas.url.parse().unwrap(),
        api_key: contract::SecretText::new(key.to_owned()),
        maas_pool: Some("default".parse().unwrap()),
        tags: vec!["h200".parse().unwrap()],
        series: "noble".parse().unwrap(),
        erase: Erase::Secure,
        max_machines,
        agent: None,
    };
    fleet.operator.call::<CreateProvider>(Nothing {}, Default::default(), spec).await.unwrap()
}

async fn serials(site: &Site, node: NodeId) -> Vec<(String, bool)> {
    let mut connection = site.fleet.world.server.database.superuser().await;
    sqlx::query_as("SELECT serial, revoked_at IS NOT NULL FROM node_certificates WHERE node_id = $1 ORDER BY issued_at")
        .bind(node.uuid())
        .fetch_all(&mut connection)
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_speaks_as_the_api_documents() {
    let maas = Maas::start(Pace::default()).await;
    maas.ready("a1", &["h200", "nvme"]);
    maas.ready("a2", &["h200"]);
    let metal = open(&maas, KEY);
    let tagged = MetalFilter { tags: vec!["h200".into(), "nvme".into()], ..MetalFilter::default() };
    assert_eq!(metal.list(&tagged).await.unwrap().len(), 1);
    assert_eq!(metal.get("nobody").await.unwrap(), None);
    assert!(matches!(metal.get("../users").await, Err(MetalError::Malformed(_))));

    let wish = MachineRequirements {
        tags: vec!["nvme".into()],
        pool: Some("default".into()),
        holder: "us".into(),
        ..MachineRequirements::default()
    };
    let taken = metal.allocate(&wish).await.unwrap();
    assert_eq!((taken.system_id.as_str(), taken.status), ("a1", MetalStatus::Allocated));
    assert!(matches!(metal.allocate(&wish).await, Err(MetalError::Conflict { .. })));
    let mine = MetalFilter { holder: Some("us".into()), ..MetalFilter::default() };
    assert_eq!(metal.list(&mine).await.unwrap()[0].system_id, "a1");

    let script = "#!/bin/sh\nexport GPUAAS_NODE_URL='x'\n".to_owned();
    let install = Install { series: "noble".into(), user_data: script.clone().into(), holder: "us".into() };
    assert_eq!(metal.install("a1", &install).await.unwrap().status, MetalStatus::Installing);
    assert_eq!(maas.user_data("a1"), Some(script));
    eventually("it is deployed", async || maas.status("a1") == Status::Deployed).await;
    assert!(matches!(metal.install("a1", &install).await, Err(MetalError::Conflict { .. })));

    assert_eq!(metal.power("a1").await.unwrap(), Power::On);
    metal.power_off("a1").await.unwrap();
    assert_eq!(metal.power("a1").await.unwrap(), Power::Off);
    metal.power_on("a1").await.unwrap();

    assert_eq!(metal.release("a1", Erase::Quick, "test").await.unwrap().status, MetalStatus::DiskErasing);
    eventually("it is free", async || maas.status("a1") == Status::Ready).await;
    assert_eq!(metal.release("a1", Erase::Quick, "again").await.unwrap().status, MetalStatus::Ready);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_is_a_situation_of_its_own_and_only_reads_are_repeated() {
    let maas = Maas::start(Pace::default()).await;
    maas.ready("a1", &[]);
    maas.ready("foreign", &[]);
    maas.set("foreign", Status::Deployed, Some("somebody"));
    assert!(matches!(open(&maas, "consumerkey:tokenkey:wrong").get("a1").await, Err(MetalError::WrongKey)));
    let access = MetalAccess { url: maas.url.clone(), api_key: "two:parts".to_owned().into() };
    assert!(matches!(MaasConnector::new(Clock::default()).connect(&access).err(), Some(MetalError::BadAccess(_))));

    let metal = open(&maas, KEY);
    assert!(matches!(metal.release("foreign", Erase::Secure, "x").await, Err(MetalError::Forbidden { .. })));
    assert!(matches!(metal.release("nobody", Erase::Secure, "x").await, Err(MetalError::NotFound)));
    let busy = || InjectedFault::Refuse { status: 503, text: "busy", retry_after: Some(7) };
    maas.inject("get", busy());
    let before = maas.calls("get");
    assert!(metal.get("a1").await.unwrap().is_some());
    assert_eq!(maas.calls("get") - before, 2, "a read is repeated");
    maas.inject("allocate", busy());
    let wish = MachineRequirements { holder: "us".into(), ..MachineRequirements::default() };
    let refused = metal.allocate(&wish).await;
    assert!(matches!(refused, Err(MetalError::Busy { after: Some(after) }) if after == Duration::from_secs(7)));
    assert_eq!(maas.calls("allocate"), 1, "a change is not");
    maas.inject("get", InjectedFault::Refuse { status: 500, text: "<html>\noops", retry_after: None });
    assert!(matches!(metal.get("a1").await, Err(MetalError::Unexpected { status: 500, .. })));
    maas.inject("get", InjectedFault::Slow(Duration::from_secs(30)));
    assert!(matches!(metal.get("a1").await, Err(MetalError::TimedOut)));
    let gone = MetalAccess { url: "http://127.0.0.1:1/MAAS".into(), api_key: KEY.to_owned().into() };
    let gone = MaasConnector::new(Clock::default()).connect(&gone).unwrap();
    assert!(matches!(gone.get("a1").await, Err(MetalError::Unreachable(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_serves_is_erased_between_tenants_and_serves_again() {
    let site = Site::new().await;
    let (machine, node) = site.serves().await;
    let told = read_instructions(&site.maas.user_data("a1").unwrap()).unwrap();
    assert!(told.token.starts_with("gpn_") && told.node_url.starts_with("https://127.0.0.1:"));
    let detail = site.fleet.node(node).await;
    assert_eq!((detail.node.name.as_str(), detail.slots.len()), ("host-a1", 2));
    assert_eq!(detail.node.pool_id, site.pool);
    assert_eq!(site.machines().await.len(), 1, "what does not fit is not taken in");

    // As a tenant leaves it.
    let (organization, _) = site.fleet.world.organization().await;
    let mut connection = site.fleet.world.server.database.superuser().await;
    for statement in [
        "UPDATE nodes SET serves = $2 WHERE id = $1",
        "UPDATE slots SET condition = 'dirty' WHERE node_id = $1 AND $2 IS NOT NULL",
    ] {
        sqlx::query(statement).bind(node.uuid()).bind(organization.uuid()).execute(&mut connection).await.unwrap();
    }
    let before = serials(&site, node).await;
    site.sanitize(node).await;
    site.drive(MachineState::Releasing).await;
    assert!(serials(&site, node).await.iter().all(|(_, is_revoked)| *is_revoked), "what was on it cannot speak for it");
    let (again, node_again) = site.serves().await;
    assert_eq!((again.id, node_again), (machine.id, node));
    assert!(site.maas.history("a1").contains(&Status::DiskErasing));
    let detail = site.fleet.node(node).await;
    assert_eq!(detail.node.serves, None);
    assert!(detail.slots.iter().all(|it| it.condition.as_str() == "clean"), "{:?}", detail.slots);
    let after = serials(&site, node).await;
    assert!(after.iter().any(|it| !it.1 && !before.contains(it)), "a new certificate works: {after:?}");
    let new_token = read_instructions(&site.maas.user_data("a1").unwrap()).unwrap().token;
    assert_ne!(new_token, told.token);
    assert_eq!(site.maas.taken().len(), 2, "once for each install");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_takes_nothing_is_shown_and_can_be_replaced() {
    let site = Site::with("consumerkey:tokenkey:wrong", 1, &["a1"]).await;
    site.fleet.world.server.settle().await;
    let provider = site.provider().await;
    assert!(provider.last_error.as_deref().unwrap_or_default().contains("rejects the API key"), "{provider:?}");
    assert!(site.machines().await.is_empty() && site.maas.taken().is_empty());

    let path = ProviderPath { provider_id: site.provider };
    let key = |text: &str| Some(contract::SecretText::new(text.to_owned()));
    let change = ProviderChange { api_key: key("nonsense"), ..ProviderChange::default() };
    let refused = site.fleet.operator.call::<ChangeProvider>(path.clone(), Default::default(), change).await;
    assert!(refused.unwrap_err().is(Code::InvalidValue));
    let change = ProviderChange { api_key: key(KEY), ..ProviderChange::default() };
    let changed = site.fleet.operator.call::<ChangeProvider>(path, Default::default(), change).await.unwrap();
    assert!(!serde_json::to_string(&changed).unwrap().contains("tokensecret"));
    site.serves().await;
    assert_eq!(site.provider().await.last_error, None);
    let mut connection = site.fleet.world.server.database.superuser().await;
    let leaks: i64 = sqlx::query_scalar(
        "SELECT (SELECT count(*) FROM audit WHERE detail::text LIKE '%tokensecret%')
              + (SELECT count(*) FROM outbox WHERE data::text LIKE '%tokensecret%')
              + (SELECT count(*) FROM providers WHERE position('tokensecret'::bytea IN api_key) > 0)",
    )
    .fetch_one(&mut connection)
    .await
    .unwrap();
    assert_eq!(leaks, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_address_of_maas_needs_its_key_again() {
    let site = Site::with(KEY, 0, &["a1"]).await;
    let path = ProviderPath { provider_id: site.provider };
    let url = site.provider().await.url;
    let elsewhere: contract::providers::MaasUrl = "https://thief.example.test/MAAS".parse().unwrap();
    let change = async |url, api_key: Option<&str>| {
        let api_key = api_key.map(|it| contract::SecretText::new(it.to_owned()));
        let change = ProviderChange { url: Some(url), api_key, ..ProviderChange::default() };
        site.fleet.operator.call::<ChangeProvider>(path.clone(), Default::default(), change).await
    };
    let refused = change(elsewhere.clone(), None).await.expect_err("the stored key would be sent there");
    let field = refused.problem().and_then(|it| it.field.as_deref());
    assert_eq!((refused.is(Code::InvalidValue), field), (true, Some("api_key")), "{refused}");
    assert_eq!(site.provider().await.url, url);
    change(url, None).await.expect("the same address is no change");
    assert_eq!(change(elsewhere.clone(), Some(KEY)).await.unwrap().url, elsewhere);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_and_failing_maas_ends_with_one_machine_in_service() {
    let site = Site::with(KEY, 1, &["a1", "a2"]).await;
    for operation in ["list", "get", "allocate", "deploy"] {
        for _ in 0..4 {
            site.maas.inject(operation, InjectedFault::Refuse { status: 503, text: "busy", retry_after: Some(1) });
        }
        site.maas.inject(operation, InjectedFault::LoseAnswer);
        site.maas.inject(operation, InjectedFault::Slow(Duration::from_millis(100)));
        site.maas.inject(operation, InjectedFault::Refuse { status: 500, text: "oops", retry_after: None });
    }
    site.drive_until("a machine in service", async || {
        site.machines().await.iter().any(|it| it.state == MachineState::InService)
    })
    .await;
    assert_eq!(site.maas.taken().len(), 1, "a lost answer takes no second machine");
    assert_eq!(site.maas.held(&site.holder()).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_cannot_be_installed_is_given_back_shown_and_can_be_retried() {
    let site = Site::new().await;
    for _ in 0..3 {
        site.maas.fault("a1", Fault::DeployFails);
    }
    let failed = site.drive(MachineState::Failed).await;
    assert!(failed.reason.as_deref().unwrap_or_default().contains("Failed deployment"), "{failed:?}");
    assert_eq!((failed.attempts, site.maas.taken().len()), (3, 3));
    assert_eq!(site.maas.status("a1"), Status::Ready, "nothing is held");
    let path = MachinePath { machine_id: failed.id };
    site.fleet.operator.call::<RetryMachine>(path, Default::default(), because()).await.unwrap();
    let (machine, _) = site.serves().await;
    assert_eq!((machine.attempts, machine.reason), (0, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_whose_agent_never_enrolls_is_returned_and_its_token_is_worthless() {
    let site = Site::new().await;
    site.maas.fault("a1", Fault::NeverEnrolls);
    site.drive(MachineState::Enrolling).await;
    let told = read_instructions(&site.maas.user_data("a1").unwrap()).unwrap();
    let machine = site.drive(MachineState::Releasing).await;
    assert!(machine.reason.as_deref().unwrap_or_default().contains("did not enroll in time"), "{machine:?}");
    let code = site.fleet.enroll_err(&told.token, testkit::agent::inventory("late", 1)).await;
    assert!(code.contains("token"), "{code}");
    let (machine, _) = site.serves().await;
    assert_eq!(machine.id, site.machine().await.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_cannot_be_erased_stays_allocated_and_shown_and_its_node_with_it() {
    let site = Site::new().await;
    let (_, node) = site.serves().await;
    for _ in 0..3 {
        site.maas.fault("a1", Fault::EraseFails);
    }
    site.sanitize(node).await;
    let failed = site.drive(MachineState::Failed).await;
    assert!(failed.reason.as_deref().unwrap_or_default().contains("Failed disk erasing"), "{failed:?}");
    assert_eq!(site.fleet.state(node).await.0, "failed");
    assert_eq!(site.maas.held(&site.holder()), ["a1"]);
    let path = MachinePath { machine_id: failed.id };
    site.fleet.operator.call::<RetryMachine>(path, Default::default(), because()).await.unwrap();
    assert_eq!(site.serves().await.1, node);
}

#[tokio::test(flavor = "multi_thread")]
async fn machine_freed_without_erasing_is_acquired_again_and_erased() {
    let site = Site::new().await;
    let (_, node) = site.serves().await;
    site.sanitize(node).await;
    // The order to release is refused, and then somebody frees it by hand.
    site.maas.inject("release", InjectedFault::Refuse { status: 503, text: "busy", retry_after: None });
    site.drive(MachineState::Releasing).await;
    site.fleet.world.server.settle().await;
    site.maas.set("a1", Status::Ready, None);
    site.serves().await;
    assert!(site.maas.history("a1").contains(&Status::DiskErasing));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_somebody_takes_away_fails_and_is_not_touched() {
    let site = Site::new().await;
    let (machine, node) = site.serves().await;
    site.maas.set("a1", Status::Deployed, Some("somebody"));
    let failed = site.drive(MachineState::Failed).await;
    assert!(failed.reason.as_deref().unwrap_or_default().contains("it is in use by someone else"), "{failed:?}");
    assert_eq!(site.fleet.state(node).await.0, "failed");
    assert!(serials(&site, node).await.iter().all(|it| it.1));
    let path = MachinePath { machine_id: machine.id };
    site.fleet.operator.call::<RetryMachine>(path.clone(), Default::default(), because()).await.unwrap();
    site.drive(MachineState::Failed).await;
    assert_eq!((site.maas.status("a1"), site.maas.calls("release")), (Status::Deployed, 0));
    let gone = site.fleet.operator.call::<AbandonMachine>(path, Default::default(), because()).await.unwrap();
    assert_eq!(gone.state, MachineState::Retired);
}
