//! How many GPUs there are, counted from slots, nodes and allocations.

use std::time::Instant;

use contract::{
    Limit, Role,
    capacity::{CapacityFilter, CapacityLine, ListCapacity},
    regions::{CreateRegion, RegionSpec},
    service_accounts::{CreateServiceAccount, CreateServiceAccountKey, ServiceAccountPath, ServiceAccountSpec},
    skus::{CreateSku, Shape, SkuSpec},
};
use sqlx::PgConnection;
use testkit::World;

/// Skips the guard of states: how nodes and allocations come to be is not what is tested.
async fn planting(world: &World) -> PgConnection {
    let mut above = world.server.database.superuser().await;
    sqlx::raw_sql("SET session_replication_role = replica").execute(&mut above).await.unwrap();
    above
}

async fn plant_node(above: &mut PgConnection, region: &str, name: &str, state: &str, health: &str) {
    sqlx::query(
        "INSERT INTO nodes (id, region_id, pool_id, name, state, health)
         SELECT gen_random_uuid(), id, gen_random_uuid(), $2, $3, $4 FROM regions WHERE name = $1",
    )
    .bind(region)
    .bind(name)
    .bind(state)
    .bind(health)
    .execute(above)
    .await
    .unwrap();
}

/// A slot, and the allocation that holds it when it has a state.
async fn plant_slot(above: &mut PgConnection, node: &str, model: &str, condition: &str, held: Option<&str>) {
    sqlx::query(
        "WITH holder AS (
           INSERT INTO allocations (id, organization_id, project_id, sku_id, gpus, nodes, same_fabric, login, created_by, state)
           SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1, 1, false, 'g', 'test', $4
           WHERE $4 IS NOT NULL RETURNING id)
         INSERT INTO slots (id, node_id, place, gpu_uuid, pci, model, memory_bytes, condition, condition_before, held_by)
         SELECT gen_random_uuid(), id, 0, gen_random_uuid(), 'pci', $2, 1, $3, CASE WHEN $3 = 'missing' THEN 'clean' END,
           (SELECT id FROM holder) FROM nodes WHERE name = $1",
    )
    .bind(node)
    .bind(model)
    .bind(condition)
    .bind(held)
    .execute(above)
    .await
    .unwrap();
}

async fn offer(world: &World, regions: &[&str], skus: &[(&str, Shape, Option<&str>)]) {
    let operator = world.as_(&world.operator().await);
    for name in regions {
        let spec = RegionSpec { name: name.parse().unwrap() };
        operator.call::<CreateRegion>(Default::default(), Default::default(), spec).await.unwrap();
    }
    for (name, shape, model) in skus {
        let spec = SkuSpec {
            name: name.parse().unwrap(),
            shape: *shape,
            gpu_model: model.map(|it| it.parse().unwrap()),
            gpu_counts: vec![1, 8],
            numa_bound: false,
            limits: Default::default(),
        };
        operator.call::<CreateSku>(Default::default(), Default::default(), spec).await.unwrap();
    }
}

async fn capacity(client: &client::Client, filter: CapacityFilter) -> Vec<CapacityLine> {
    client.call::<ListCapacity>(Default::default(), filter, Default::default()).await.unwrap().items
}

fn text(line: &CapacityLine) -> String {
    let CapacityLine { sku, region, free, held, used, broken, .. } = line;
    format!("{sku} {region} free {free} held {held} used {used} broken {broken}")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_slot_is_counted_once_as_what_it_is() {
    let world = World::new().await;
    let models = [
        ("any", Shape::GpuSlice, None),
        ("h200", Shape::GpuSlice, Some("NVIDIA H200")),
        ("mig", Shape::MigSlice, Some("NVIDIA H200")),
    ];
    offer(&world, &["north", "south"], &models).await;
    let mut above = planting(&world).await;
    for (name, state, health) in [
        ("well", "ready", "ok"),
        ("cordoned", "cordoned", "ok"),
        ("silent", "ready", "silent"),
        ("sanitizing", "sanitizing", "silent"),
        ("retired", "retired", "ok"),
    ] {
        plant_node(&mut above, "north", name, state, health).await;
    }
    plant_node(&mut above, "south", "far", "ready", "ok").await;
    for (node, condition, held) in [
        ("well", "clean", None),
        ("well", "clean", None),
        ("well", "clean", Some("provisioning")),
        ("well", "dirty", Some("releasing")),
        ("well", "dirty", None),
        ("well", "clean", Some("active")),
        ("well", "clean", Some("stopped")),
        ("well", "quarantined", None),
        ("well", "missing", Some("active")),
        ("cordoned", "clean", None),
        ("cordoned", "clean", Some("active")),
        ("silent", "clean", None),
        ("sanitizing", "dirty", None),
        ("retired", "clean", None),
    ] {
        plant_slot(&mut above, node, "NVIDIA H200", condition, held).await;
    }
    plant_slot(&mut above, "far", "NVIDIA L4", "clean", None).await;

    let (organization, owner) = world.organization().await;
    let lines: Vec<String> = capacity(&world.as_(&owner), Default::default()).await.iter().map(text).collect();
    let expected = [
        "any north free 2 held 4 used 3 broken 4",
        "any south free 1 held 0 used 0 broken 0",
        "h200 north free 2 held 4 used 3 broken 4",
        "h200 south free 0 held 0 used 0 broken 0",
        "mig north free 0 held 0 used 0 broken 0",
        "mig south free 0 held 0 used 0 broken 0",
    ];
    assert_eq!(lines, expected);

    let name = |it: &str| Some(it.parse().unwrap());
    let one = CapacityFilter { sku: name("h200"), region: name("north"), ..Default::default() };
    assert_eq!(capacity(&world.as_(&owner), one).await.iter().map(text).collect::<Vec<_>>(), [expected[2]]);
    let unknown = CapacityFilter { sku: name("h100"), ..Default::default() };
    assert!(capacity(&world.as_(&owner), unknown).await.is_empty());
    let query = CapacityFilter { limit: Limit::new(4).unwrap(), ..Default::default() };
    let client = world.as_(&owner);
    let paged = client.pages::<ListCapacity>(Default::default(), query).take(100).await.unwrap();
    assert_eq!(paged.iter().map(text).collect::<Vec<_>>(), expected, "pages hold the same");

    // A service account acts in its organization's scope, and sees the same.
    let path = || contract::organizations::OrganizationPath { organization_id: organization };
    let spec = ServiceAccountSpec { name: "robot".parse().unwrap(), role: Role::Viewer };
    let robot = client.call::<CreateServiceAccount>(path(), Default::default(), spec).await.unwrap();
    let path = ServiceAccountPath { organization_id: organization, service_account_id: robot.id };
    let scopes = vec![contract::Permission::ProjectsRead];
    let spec = contract::keys::KeySpec { name: "k".parse().unwrap(), scopes, expires_at: None };
    let key = client.call::<CreateServiceAccountKey>(path, Default::default(), spec).await.unwrap();
    let robot = world.server.client(Some(key.secret.expose()));
    assert_eq!(capacity(&robot, Default::default()).await.iter().map(text).collect::<Vec<_>>(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_metal_sku_counts_whole_nodes_and_says_so() {
    let world = World::new().await;
    offer(&world, &["north"], &[("slice", Shape::GpuSlice, None), ("mig", Shape::MigSlice, None)]).await;
    let operator = world.as_(&world.operator().await);
    for (name, gpu_model, gpu_counts) in
        [("metal", Some("NVIDIA H200".parse().unwrap()), vec![2, 4]), ("metal-of-two", None, vec![2])]
    {
        let spec = SkuSpec {
            name: name.parse().unwrap(),
            shape: Shape::Baremetal,
            gpu_model,
            gpu_counts,
            numa_bound: false,
            limits: Default::default(),
        };
        operator.call::<CreateSku>(Default::default(), Default::default(), spec).await.unwrap();
    }
    let mut above = planting(&world).await;
    let (clean, h200) = (("clean", None), "NVIDIA H200");
    for (name, state, slots) in [
        ("free", "ready", vec![clean, clean]),
        ("large", "ready", vec![clean; 4]),
        ("in-part", "ready", vec![clean, ("dirty", Some("active"))]),
        ("being-cleaned", "ready", vec![clean, ("dirty", Some("releasing"))]),
        ("quarantined", "ready", vec![clean, ("quarantined", None)]),
        ("cordoned", "cordoned", vec![clean, clean]),
        ("of-another-size", "ready", vec![clean; 3]),
        ("mixed", "ready", vec![clean]),
        ("retired", "retired", vec![clean, clean]),
    ] {
        plant_node(&mut above, "north", name, state, "ok").await;
        for (condition, held) in slots {
            plant_slot(&mut above, name, h200, condition, held).await;
        }
    }
    plant_slot(&mut above, "mixed", "NVIDIA L4", "clean", None).await;
    let lines = capacity(&operator, Default::default()).await;
    let lines: Vec<String> = lines.iter().map(|it| format!("{} in {}s", text(it), it.unit)).collect();
    let expected = [
        "metal north free 2 held 1 used 1 broken 2 in nodes",
        "metal-of-two north free 1 held 1 used 1 broken 2 in nodes",
        "mig north free 0 held 0 used 0 broken 0 in mig_slices",
        "slice north free 14 held 1 used 1 broken 3 in gpus",
    ];
    assert_eq!(lines, expected);
}

/// Ten thousand nodes with eight GPUs each, half of them used, beside as many allocations that ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_fleet_is_counted_in_a_moment() {
    let world = World::new().await;
    let skus = [("a", Shape::GpuSlice, Some("A")), ("any", Shape::GpuSlice, None), ("metal", Shape::Baremetal, None)];
    offer(&world, &["north", "south"], &skus).await;
    let mut above = planting(&world).await;
    sqlx::raw_sql(
        "INSERT INTO nodes (id, region_id, pool_id, name, state, health)
         SELECT md5('n' || i)::uuid, (SELECT id FROM regions ORDER BY name OFFSET i % 2 LIMIT 1), gen_random_uuid(), 'n' || i, 'ready', 'ok'
         FROM generate_series(1, 10000) i;
         INSERT INTO allocations (id, organization_id, project_id, sku_id, gpus, nodes, same_fabric, login, created_by, state)
         SELECT md5('a' || i)::uuid, md5('o' || i % 100)::uuid, gen_random_uuid(), gen_random_uuid(), 1, 1, false, 'g', 'test',
           CASE WHEN i <= 40000 THEN 'active' ELSE 'released' END
         FROM generate_series(1, 80000) i;
         INSERT INTO slots (id, node_id, place, gpu_uuid, pci, model, memory_bytes, held_by)
         SELECT gen_random_uuid(), md5('n' || n)::uuid, g, 'GPU-' || n || '-' || g, 'pci', 'A', 1,
           CASE WHEN g < 4 THEN md5('a' || ((n - 1) * 4 + g + 1))::uuid END
         FROM generate_series(1, 10000) n, generate_series(0, 7) g;
         ANALYZE nodes; ANALYZE allocations; ANALYZE slots",
    )
    .execute(&mut above)
    .await
    .unwrap();
    let client = world.as_(&world.person().await);
    let mut fastest = std::time::Duration::MAX;
    for _ in 0..5 {
        let started = Instant::now();
        let lines: Vec<String> = capacity(&client, Default::default()).await.iter().map(text).collect();
        fastest = fastest.min(started.elapsed());
        let of = |sku: &str, region: &str| format!("{sku} {region} free 20000 held 0 used 20000 broken 0");
        let nodes = |region: &str| format!("metal {region} free 0 held 0 used 5000 broken 0");
        let slices = [of("a", "north"), of("a", "south"), of("any", "north"), of("any", "south")];
        assert_eq!(lines, [&slices[..], &[nodes("north"), nodes("south")]].concat());
    }
    println!("80,000 slots counted in {fastest:?}");
    assert!(fastest.as_millis() < 500, "{fastest:?}");
}
