//! What is on offer: regions, pools, SKUs, prices, quotas, and people's SSH keys.

use std::{path::PathBuf, process::Command, time::Duration};

use client::{Client, ClientError};
use compute::quotas;
use contract::{
    Code, Limit, Page, Role,
    id::{OrganizationId, PoolId, RegionId, SkuId, SshKeyId, UserId},
    organizations::OrganizationPath,
    policies::{
        GetProjectPolicy, OrganizationPolicyPath, PolicyValue, ProjectPolicyPath, SetOrganizationPolicy,
        SetProjectPolicy, UnsetProjectPolicy,
    },
    pools::{
        ChangePool, CreatePool, Isolation, ListPools, Pool, PoolChange, PoolFilter, PoolPath, PoolProvider, PoolSpec,
    },
    prices::{ListPrices, Price, PriceFilter, PriceKind, PriceSpec, PriceUnit, SetPrice},
    quotas::{ListAnyQuotas, ListQuotas, Quota, QuotaPath, QuotaSpec, SetQuota, UnsetQuota},
    regions::{CreateRegion, ListRegions, Region, RegionFilter, RegionSpec},
    skus::{CreateSku, ListSkus, RetireSku, Shape, Sku, SkuFilter, SkuPath, SkuSpec},
    ssh_keys::{AddSshKey, ListSshKeys, PublicKey, RemoveSshKey, SshKey, SshKeyPath, SshKeySpec},
    users::{EraseUser, UserPath},
};
use fleet::prices::{self, PriceKey};
use kernel::{Access, Actor, Scope, Tx, clock};
use people::ssh_keys;
use testkit::{
    World,
    cloud::{key_spec, make_key, price_of, prove},
    world::set_policy,
};

async fn region(operator: &Client, name: &str) -> Result<Region, ClientError> {
    let spec = RegionSpec { name: name.parse().unwrap() };
    operator.call::<CreateRegion>(Default::default(), Default::default(), spec).await
}

async fn pool(operator: &Client, name: &str, region_id: RegionId) -> Result<Pool, ClientError> {
    let spec = PoolSpec {
        name: name.parse().unwrap(),
        region_id,
        provider: PoolProvider::Enrolled,
        isolation: Isolation::UserRevoke,
        isolates_vms: false,
    };
    operator.call::<CreatePool>(Default::default(), Default::default(), spec).await
}

async fn sku(operator: &Client, name: &str, gpu_counts: &[u16]) -> Result<Sku, ClientError> {
    let spec = SkuSpec {
        name: name.parse().unwrap(),
        shape: Shape::GpuSlice,
        gpu_model: Some("NVIDIA H200".parse().unwrap()),
        gpu_counts: gpu_counts.to_vec(),
        numa_bound: true,
        limits: Default::default(),
    };
    operator.call::<CreateSku>(Default::default(), Default::default(), spec).await
}

fn price(currency: &str, micros: i64, effective_at: Option<contract::Timestamp>) -> PriceSpec {
    PriceSpec { currency: currency.parse().unwrap(), effective_at, ..price_of(micros) }
}

async fn set_price(operator: &Client, sku_id: SkuId, spec: PriceSpec) -> Result<Price, ClientError> {
    operator.call::<SetPrice>(SkuPath { sku_id }, Default::default(), spec).await
}

async fn set_quota(
    operator: &Client,
    organization_id: OrganizationId,
    sku_id: SkuId,
    gpus: u32,
) -> Result<Quota, ClientError> {
    operator.call::<SetQuota>(QuotaPath { organization_id, sku_id }, Default::default(), QuotaSpec { gpus }).await
}

async fn quotas_of(client: &Client, organization_id: OrganizationId) -> Vec<Quota> {
    let path = OrganizationPath { organization_id };
    client.call::<ListQuotas>(path, Default::default(), Default::default()).await.unwrap().items
}

async fn add_key(client: &Client, user: UserId, name: &str, key: &Made) -> Result<SshKey, ClientError> {
    let spec = key_spec(user, name, &key.file);
    client.call::<AddSshKey>(Default::default(), Default::default(), spec).await
}

/// A key made by the real program, and what it prints of it.
struct Made {
    _folder: tempfile::TempDir,
    file: PathBuf,
    line: String,
    fingerprint: String,
}

fn made_key(name: &str) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let file = make_key(folder.path(), name);
    let public = file.with_extension("pub");
    let said = Command::new("ssh-keygen").arg("-lf").arg(&public).output().unwrap();
    let fingerprint = String::from_utf8(said.stdout).unwrap().split(' ').nth(1).unwrap().to_owned();
    let line = std::fs::read_to_string(public).unwrap().trim().to_owned();
    Made { _folder: folder, file, line, fingerprint }
}

/// Registers a key with what somebody made up instead of what they hold.
async fn claim(client: &Client, spec: SshKeySpec) -> Result<SshKey, ClientError> {
    client.call::<AddSshKey>(Default::default(), Default::default(), spec).await
}

async fn begin(world: &World, scope: Scope) -> Tx {
    Tx::begin(&world.server.control_plane.db, scope, Access::Read, Actor::system("test"), "test".into()).await.unwrap()
}

async fn told(world: &World, subjects: &str) -> Vec<String> {
    let mut above = world.server.database.superuser().await;
    sqlx::query_scalar("SELECT subject FROM outbox WHERE subject ~ $1 ORDER BY id")
        .bind(subjects)
        .fetch_all(&mut above)
        .await
        .unwrap()
}

fn refused_at<T: std::fmt::Debug>(answer: Result<T, ClientError>, code: Code, field: &str) {
    let ClientError::Problem(problem) = answer.unwrap_err() else { panic!("not a problem of the server") };
    assert_eq!((problem.code.as_str(), problem.field.as_deref()), (code.info().name, Some(field)), "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn offer_is_added_listed_changed_and_retired() {
    let world = World::new().await;
    let operator = world.as_(&world.operator().await);
    let anyone = world.as_(&world.person().await);
    let north = region(&operator, "north").await.unwrap();
    region(&operator, "south").await.unwrap();
    let filter = RegionFilter { name: Some("north".parse().unwrap()), ..Default::default() };
    let found = anyone.call::<ListRegions>(Default::default(), filter, Default::default()).await.unwrap();
    assert_eq!(found.items.iter().map(|it| it.id).collect::<Vec<_>>(), [north.id]);
    let filter = RegionFilter { limit: Limit::new(1).unwrap(), ..Default::default() };
    let first = anyone.call::<ListRegions>(Default::default(), filter.clone(), Default::default()).await.unwrap();
    let filter = RegionFilter { cursor: first.next_cursor, ..filter };
    let second = anyone.call::<ListRegions>(Default::default(), filter, Default::default()).await.unwrap();
    let names = |page: &Page<Region>| page.items.iter().map(|it| it.name.to_string()).collect::<Vec<_>>();
    assert_eq!((names(&first), names(&second)), (vec!["south".into()], vec!["north".into()]));
    assert!(second.next_cursor.is_none());

    let added = pool(&operator, "hosts", north.id).await.unwrap();
    let path = || PoolPath { pool_id: added.id };
    let wiped = || PoolChange { isolation: Isolation::FullReimage };
    let changed = operator.call::<ChangePool>(path(), Default::default(), wiped()).await.unwrap();
    assert_eq!(changed, Pool { isolation: Isolation::FullReimage.into(), ..added.clone() });
    operator.call::<ChangePool>(path(), Default::default(), wiped()).await.expect("again is harmless");
    let filter = PoolFilter { region_id: Some(north.id), ..Default::default() };
    let listed = operator.call::<ListPools>(Default::default(), filter, Default::default()).await.unwrap();
    assert_eq!(listed.items, [changed]);

    let slice = sku(&operator, "h200-slice", &[8, 1, 4, 2]).await.unwrap();
    assert_eq!(slice.gpu_counts, [1, 2, 4, 8], "in order, however they were said");
    let path = || SkuPath { sku_id: slice.id };
    let retired = operator.call::<RetireSku>(path(), Default::default(), Default::default()).await.unwrap();
    let again = operator.call::<RetireSku>(path(), Default::default(), Default::default()).await.unwrap();
    assert!(retired.retired_at.is_some() && again == retired);
    let skus = async |retired| {
        let filter = SkuFilter { retired, ..Default::default() };
        anyone.call::<ListSkus>(Default::default(), filter, Default::default()).await.unwrap().items.len()
    };
    assert_eq!((skus(None).await, skus(Some(false)).await, skus(Some(true)).await), (0, 0, 1));
    let expected = ["region.created", "region.created", "pool.created", "pool.changed", "sku.created", "sku.retired"];
    assert_eq!(told(&world, "^(region|pool|sku)[.]").await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_named_and_leaves_no_trace() {
    let world = World::new().await;
    let operator = world.as_(&world.operator().await);
    let (organization, owner) = world.organization().await;
    let person = world.signed_in(owner.id).await;
    let north = region(&operator, "north").await.unwrap();
    pool(&operator, "hosts", north.id).await.unwrap();
    let slice = sku(&operator, "h200-slice", &[1]).await.unwrap();
    let stranger = world.person().await;
    let mine = made_key("mine");
    add_key(&person, owner.id, "laptop", &mine).await.unwrap();
    let mut above = world.server.database.superuser().await;
    let mut trace = async || -> String {
        let tables = ["regions", "pools", "skus", "prices", "quotas", "ssh_keys", "outbox", "audit"];
        let counts: Vec<String> = tables.iter().map(|it| format!("(SELECT count(*) FROM {it})")).collect();
        let statement = format!("SELECT concat_ws(' ', {})", counts.join(", "));
        sqlx::query_scalar(sqlx::AssertSqlSafe(statement)).fetch_one(&mut above).await.unwrap()
    };
    let before = trace().await;

    assert!(region(&operator, "north").await.unwrap_err().is(Code::NameTaken));
    assert!(pool(&operator, "hosts", north.id).await.unwrap_err().is(Code::NameTaken));
    assert!(sku(&operator, "h200-slice", &[1]).await.unwrap_err().is(Code::NameTaken));
    refused_at(pool(&operator, "other", RegionId::generate()).await, Code::InvalidValue, "region_id");
    for counts in [&[][..], &[0], &[65], &[2, 2]] {
        refused_at(sku(&operator, "other", counts).await, Code::InvalidValue, "gpu_counts");
    }
    let nowhere = PoolPath { pool_id: PoolId::generate() };
    let change = PoolChange { isolation: Isolation::FullReimage };
    assert!(operator.call::<ChangePool>(nowhere, Default::default(), change).await.unwrap_err().is(Code::NotFound));
    let nothing = || SkuPath { sku_id: SkuId::generate() };
    let none = operator.call::<RetireSku>(nothing(), Default::default(), Default::default()).await.unwrap_err();
    assert!(none.is(Code::NotFound));

    let past = contract::Timestamp::now() - Duration::from_secs(60);
    refused_at(set_price(&operator, slice.id, price("USD", 1, Some(past))).await, Code::InvalidValue, "effective_at");
    for micros in [-1, 1_000_000_000_001] {
        let refused = set_price(&operator, slice.id, price("USD", micros, None)).await;
        refused_at(refused, Code::InvalidValue, "price_micros");
    }
    let none = set_price(&operator, SkuId::generate(), price("USD", 1, None)).await.unwrap_err();
    assert!(none.is(Code::NotFound));
    let none = person.call::<ListPrices>(nothing(), Default::default(), Default::default()).await.unwrap_err();
    assert!(none.is(Code::NotFound));

    refused_at(set_quota(&operator, organization, slice.id, 1_000_001).await, Code::InvalidValue, "gpus");
    assert!(set_quota(&operator, organization, SkuId::generate(), 1).await.unwrap_err().is(Code::NotFound));
    assert!(set_quota(&operator, OrganizationId::generate(), slice.id, 1).await.unwrap_err().is(Code::NotFound));

    let other = made_key("other");
    let taken = add_key(&person, owner.id, "LAPTOP", &other).await.unwrap_err();
    assert!(taken.is(Code::NameTaken), "names compare without case");
    let renamed = mine.line.replace(" mine", " another comment").parse().unwrap();
    let spec = SshKeySpec { public_key: renamed, ..key_spec(owner.id, "again", &mine.file) };
    refused_at(claim(&person, spec).await, Code::InvalidValue, "public_key");
    let lying = other.line.replace("ssh-ed25519", "ssh-rsa").parse().unwrap();
    let spec = SshKeySpec { public_key: lying, ..key_spec(owner.id, "liar", &other.file) };
    refused_at(claim(&person, spec).await, Code::InvalidValue, "public_key");
    let spec = SshKeySpec { proof: prove(stranger.id, &other.file), ..key_spec(owner.id, "found", &other.file) };
    refused_at(claim(&person, spec).await, Code::InvalidValue, "proof");
    let spec = SshKeySpec { proof: prove(owner.id, &mine.file), ..key_spec(owner.id, "found", &other.file) };
    refused_at(claim(&person, spec).await, Code::InvalidValue, "proof");
    let path = SshKeyPath { ssh_key_id: SshKeyId::generate() };
    let none = person.call::<RemoveSshKey>(path, Default::default(), Default::default()).await.unwrap_err();
    assert!(none.is(Code::NotFound));
    assert_eq!(trace().await, before);

    for bad in
        ["", "ssh-ed25519", "ssh-dss AAAAB3NzaC1kc3MAAACBAPq aaaaaaaaaaaaaaaaaa", "command=\"sh\" ssh-ed25519 AAAA"]
    {
        assert!(bad.parse::<PublicKey>().is_err(), "{bad}");
    }
    assert!(format!("{}\n{}", mine.line, other.line).parse::<PublicKey>().is_err(), "one line only");
}

#[tokio::test(flavor = "multi_thread")]
async fn prices_are_versions_and_the_last_to_take_effect_is_in_force() {
    let world = World::new().await;
    let operator = world.as_(&world.operator().await);
    let slice = sku(&operator, "h200-slice", &[1]).await.unwrap();
    let mut tx = begin(&world, Scope::System).await;
    let now = clock::now(&mut tx).await.unwrap();
    let (soon, late) = (now + Duration::from_secs(3600), now + Duration::from_secs(7200));
    for (currency, micros, at, version) in [
        ("USD", 2_000_000, None, 1),
        ("USD", 4_000_000, Some(late), 2),
        ("USD", 3_000_000, Some(soon), 3),
        ("EUR", 1_900_000, None, 1),
        ("USD", 3_500_000, Some(soon), 4),
    ] {
        let set = set_price(&operator, slice.id, price(currency, micros, at)).await.unwrap();
        assert_eq!((set.version, set.price_micros), (version, micros));
    }
    let anyone = world.as_(&world.person().await);
    let filter = PriceFilter { currency: Some("USD".parse().unwrap()), ..Default::default() };
    let path = SkuPath { sku_id: slice.id };
    let listed = anyone.call::<ListPrices>(path, filter, Default::default()).await.unwrap().items;
    assert_eq!(listed.iter().map(|it| it.version).collect::<Vec<_>>(), [4, 3, 2, 1]);

    let minute = Duration::from_secs(60);
    tx.rollback().await.unwrap();
    let mut tx = begin(&world, Scope::Organization(OrganizationId::generate().uuid())).await;
    let mut at = async |currency: &str, at| {
        let (unit, kind) = (PriceUnit::GpuHour, PriceKind::OnDemand);
        let key = PriceKey { sku: slice.id, unit, kind, currency: currency.parse().unwrap() };
        let price = prices::in_force(&mut tx, key, at).await.unwrap();
        price.map(|it| it.price_micros)
    };
    assert_eq!(at("USD", now - minute).await, None, "nothing was set then");
    assert_eq!(at("USD", now + minute).await, Some(2_000_000));
    assert_eq!(at("USD", soon).await, Some(3_500_000), "the correction wins");
    assert_eq!(at("USD", late + minute).await, Some(4_000_000));
    assert_eq!((at("EUR", late).await, at("GBP", late).await), (Some(1_900_000), None));
    // An open reader would keep the truncation below waiting.
    tx.rollback().await.unwrap();

    let mut above = world.server.database.superuser().await;
    for statement in ["UPDATE prices SET price_micros = 0", "DELETE FROM prices", "TRUNCATE prices CASCADE"] {
        assert!(sqlx::query(statement).execute(&mut above).await.is_err(), "{statement}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_of_prices_set_at_once_do_not_meet() {
    let world = World::new().await;
    let operator = world.as_(&world.operator().await);
    let slice = sku(&operator, "h200-slice", &[1]).await.unwrap();
    let tries: Vec<_> = (0..10)
        .map(|nth| {
            let operator = operator.clone();
            tokio::spawn(async move { set_price(&operator, slice.id, price("USD", nth, None)).await.unwrap().version })
        })
        .collect();
    let mut versions = Vec::new();
    for one in tries {
        versions.push(one.await.unwrap());
    }
    versions.sort_unstable();
    assert_eq!(versions, (1..=10).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn quotas_are_set_by_staff_and_show_what_is_used() {
    let world = World::new().await;
    let operator = world.as_(&world.operator().await);
    let (organization, owner) = world.organization().await;
    let (other, stranger) = world.organization().await;
    let project = world.project(organization).await;
    let slice = sku(&operator, "h200-slice", &[1, 2]).await.unwrap();
    let whole = sku(&operator, "h200-node", &[8]).await.unwrap();
    set_quota(&operator, organization, slice.id, 4).await.unwrap();
    set_quota(&operator, other, slice.id, 99).await.unwrap();
    let mut above = world.server.database.superuser().await;
    // Skips the guard of states: how allocations come to be is not what is tested.
    sqlx::raw_sql("SET session_replication_role = replica").execute(&mut above).await.unwrap();
    for (sku, gpus, nodes, state) in [
        (slice.id, 2, 3, "active"),
        (slice.id, 1, 1, "requested"),
        (slice.id, 2, 9, "released"),
        (whole.id, 8, 1, "active"),
    ] {
        sqlx::query(
            "INSERT INTO allocations (id, organization_id, project_id, sku_id, gpus, nodes, same_fabric, login, created_by, state)
             VALUES (gen_random_uuid(), $1, $2, $3, $4, $5, false, 'g', 'test', $6)",
        )
        .bind(organization.uuid())
        .bind(project.uuid())
        .bind(sku.uuid())
        .bind(gpus)
        .bind(nodes)
        .bind(state)
        .execute(&mut above)
        .await
        .unwrap();
    }
    let raised = set_quota(&operator, organization, slice.id, 10).await.unwrap();
    assert_eq!((raised.gpus, raised.used, raised.sku.as_str()), (10, 7, "h200-slice"));
    assert_eq!(quotas_of(&world.as_(&owner), organization).await, std::slice::from_ref(&raised));
    let listed = async |client: &Client, organization_id| {
        client.call::<ListAnyQuotas>(OrganizationPath { organization_id }, Default::default(), Default::default()).await
    };
    assert_eq!(listed(&operator, organization).await.unwrap().items, [raised], "staff see the same");
    let refused = listed(&world.as_(&owner), organization).await.unwrap_err();
    assert!(refused.is(Code::Forbidden), "{refused}");
    let unknown = listed(&operator, OrganizationId::generate()).await.unwrap_err();
    assert!(unknown.is(Code::NotFound), "{unknown}");
    let theirs = quotas_of(&world.as_(&stranger), other).await;
    assert_eq!(theirs.iter().map(|it| (it.gpus, it.used)).collect::<Vec<_>>(), [(99, 0)]);

    let mut tx = begin(&world, Scope::Organization(organization.uuid())).await;
    assert_eq!(quotas::limit(&mut tx, organization, slice.id).await.unwrap(), Some(10));
    assert_eq!(quotas::limit(&mut tx, organization, whole.id).await.unwrap(), None);
    assert_eq!(quotas::limit(&mut tx, other, slice.id).await.unwrap(), None, "another's is hidden");
    for _ in 0..2 {
        let path = QuotaPath { organization_id: organization, sku_id: slice.id };
        operator.call::<UnsetQuota>(path, Default::default(), Default::default()).await.expect("again is harmless");
    }
    assert!(quotas_of(&world.as_(&owner), organization).await.is_empty());
    assert_eq!(told(&world, "^quota[.]").await, ["quota.set", "quota.set", "quota.set", "quota.unset"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_lowers_its_gpus_and_never_raises_them() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let project_id = world.project(organization).await;
    let other = world.project(organization).await;
    let client = world.as_(&owner);
    let key = || "allocations.max_gpus".to_owned();
    let set = async |value: &str| {
        let path = ProjectPolicyPath { project_id, key: key() };
        client.call::<SetProjectPolicy>(path, Default::default(), PolicyValue { value: value.into() }).await
    };
    let set_above = async |value: &str| {
        let path = OrganizationPolicyPath { organization_id: organization, key: key() };
        client.call::<SetOrganizationPolicy>(path, Default::default(), PolicyValue { value: value.into() }).await
    };
    let applies = async |project_id| {
        let path = ProjectPolicyPath { project_id, key: key() };
        let policy = client.call::<GetProjectPolicy>(path, Default::default(), Default::default()).await.unwrap();
        (policy.value, policy.source.to_string())
    };
    let text = |value: &str, source: &str| (value.to_owned(), source.to_owned());
    assert_eq!(applies(project_id).await, text("64", "default"));
    assert!(set("65").await.unwrap_err().is(Code::InvalidValue), "more than the default");
    set("16").await.unwrap();
    assert_eq!((applies(project_id).await, applies(other).await), (text("16", "project"), text("64", "default")));
    set_above("8").await.unwrap();
    assert_eq!(applies(project_id).await, text("8", "organization"), "what is above was tightened meanwhile");
    assert!(set("9").await.unwrap_err().is(Code::InvalidValue), "more than the organization's");
    set("0").await.unwrap();
    assert_eq!(applies(project_id).await, text("0", "project"));
    let path = ProjectPolicyPath { project_id, key: key() };
    let unset = client.call::<UnsetProjectPolicy>(path, Default::default(), Default::default()).await.unwrap();
    assert_eq!((unset.value.as_str(), unset.source.as_str()), ("8", "organization"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_keeps_public_keys_and_allocations_choose_among_them() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let member = world.member_of(organization, Role::Member).await;
    let (mine, theirs) = (world.signed_in(owner.id).await, world.signed_in(member.id).await);
    let (first, second, foreign) = (made_key("owner@laptop"), made_key("b"), made_key("c"));
    let laptop = add_key(&mine, owner.id, "laptop", &first).await.unwrap();
    assert_eq!((&laptop.fingerprint, laptop.public_key.as_str()), (&first.fingerprint, first.line.as_str()));
    let desk = add_key(&mine, owner.id, "desk", &second).await.unwrap();
    let other = add_key(&theirs, member.id, "laptop", &foreign).await.unwrap();
    let shared = add_key(&theirs, member.id, "shared", &first).await;
    refused_at(shared, Code::InvalidValue, "public_key");
    let listed = mine.call::<ListSshKeys>(Default::default(), Default::default(), Default::default()).await.unwrap();
    assert_eq!(listed.items, [desk.clone(), laptop.clone()]);

    let mut tx = begin(&world, Scope::Organization(organization.uuid())).await;
    let keys = ssh_keys::chosen(&mut tx, owner.id, None).await.unwrap();
    assert_eq!(keys, Ok(vec![laptop.id, desk.id]), "all, unless some are named");
    let keys = ssh_keys::chosen(&mut tx, owner.id, Some(&[desk.id, desk.id])).await.unwrap();
    assert_eq!(keys, Ok(vec![desk.id]));
    let keys = ssh_keys::chosen(&mut tx, owner.id, Some(&[desk.id, other.id])).await.unwrap();
    assert_eq!(keys, Err(other.id), "another member's key is not theirs");
    assert_eq!(ssh_keys::chosen(&mut tx, owner.id, Some(&[])).await.unwrap(), Ok(vec![]));
    let mut tx = begin(&world, Scope::Organization(OrganizationId::generate().uuid())).await;
    assert_eq!(ssh_keys::chosen(&mut tx, owner.id, None).await.unwrap(), Ok(vec![]), "strangers see none");

    let path = SshKeyPath { ssh_key_id: laptop.id };
    let foreign = theirs.call::<RemoveSshKey>(path.clone(), Default::default(), Default::default()).await;
    assert!(foreign.unwrap_err().is(Code::NotFound));
    mine.call::<RemoveSshKey>(path, Default::default(), Default::default()).await.unwrap();
    let operator = world.as_(&world.operator().await);
    set_policy(&operator, "ssh_keys.max", "1").await;
    assert!(add_key(&mine, owner.id, "laptop", &first).await.unwrap_err().is(Code::LimitReached));
    let path = UserPath { user_id: member.id };
    operator.call::<EraseUser>(path, Default::default(), Default::default()).await.unwrap();
    let mut above = world.server.database.superuser().await;
    let left: Vec<String> = sqlx::query_scalar("SELECT name FROM ssh_keys").fetch_all(&mut above).await.unwrap();
    assert_eq!(left, ["desk"], "an erased person leaves none");
    assert_eq!(told(&world, "^ssh_key[.]").await.len(), 5, "the erased person's key is said to be gone, too");
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_and_people_cannot_read_the_fleet() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let scopes = [Scope::Organization(organization.uuid()), Scope::Person(owner.id.uuid()), Scope::Public];
    for scope in scopes {
        for hidden in ["pools", "nodes", "slots", "node_heartbeats", "node_certificates", "enrollment_tokens", "tasks"]
        {
            let mut tx = begin(&world, scope).await;
            let statement = format!("SELECT count(*) FROM {hidden}");
            let error = sqlx::query(sqlx::AssertSqlSafe(statement)).execute(tx.conn()).await.unwrap_err();
            assert!(error.to_string().contains("permission denied"), "{scope:?} {hidden}: {error}");
        }
    }
    let asked = world.as_(&owner).call::<ListPools>(Default::default(), Default::default(), Default::default()).await;
    assert!(asked.unwrap_err().is(Code::Forbidden));
}
