//! Machines and providers that leave: what ran on them ends, and what is not ours goes back.

use super::*;

/// Whichever way a host is lost, nobody pays for it any longer.
#[tokio::test(flavor = "multi_thread")]
async fn machine_that_is_removed_ends_what_ran_on_it() {
    let site = Site::new().await;
    let (_, node) = site.serves().await;
    add_sku(&site.fleet.operator).await;
    let tenant = Tenant::new(&site.fleet.world).await;
    let id = tenant.ask(ask(1)).await;
    eventually("an active allocation", async || {
        site.fleet.world.server.settle().await;
        tenant.get(id).await.state == AllocationState::Active
    })
    .await;
    site.maas.set("a1", Status::Deployed, Some("somebody"));
    site.drive(MachineState::Failed).await;
    assert_eq!(site.fleet.state(node).await.0, "failed");
    let mut above = site.fleet.world.server.database.superuser().await;
    let after: (bool, i64, i64, i64) = sqlx::query_as(
        "SELECT alive_until IS NOT NULL,
           (SELECT count(*) FROM usage WHERE kind = 'end' AND allocation_id = $1),
           (SELECT count(*) FROM outbox WHERE subject = 'allocation.node_lost'),
           (SELECT count(*) FROM slots WHERE held_by = $1 AND condition <> 'quarantined')
         FROM allocations WHERE id = $1",
    )
    .bind(id.uuid())
    .fetch_one(&mut above)
    .await
    .unwrap();
    assert_eq!(after, (true, 1, 1, 0), "(loss noted, usage ended, event, slots on offer)");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_is_allocated_without_our_knowing_is_returned() {
    let site = Site::with(KEY, 0, &["a1"]).await;
    site.drive(MachineState::Discovered).await;
    let wish =
        MachineRequirements { system_id: Some("a1".into()), holder: site.holder(), ..MachineRequirements::default() };
    open(&site.maas, KEY).allocate(&wish).await.unwrap();
    site.drive(MachineState::Releasing).await;
    site.drive_until("it is free again", async || {
        let machine = site.machine().await;
        site.maas.status("a1") == Status::Ready && machine.state != MachineState::Releasing
    })
    .await;
    assert!(site.maas.history("a1").contains(&Status::DiskErasing));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_and_a_provider_leave_when_nobody_is_on_them() {
    let site = Site::with(KEY, 2, &["a1", "a2"]).await;
    let all_serve = async || {
        let machines = site.machines().await;
        machines.len() == 2 && machines.iter().all(|it| it.state == MachineState::InService)
    };
    site.drive_until("two machines in service", all_serve).await;
    let (first, second) = (site.machines().await[0].clone(), site.machines().await[1].clone());
    let held = second.node_id.unwrap();
    site.fleet.is(held, NodeState::Ready, NodeHealth::Ok).await;
    let mut connection = site.fleet.world.server.database.superuser().await;
    let hold = "UPDATE slots SET held_by = gen_random_uuid() WHERE node_id = $1";
    sqlx::query(hold).bind(held.uuid()).execute(&mut connection).await.unwrap();

    for machine in [&first, &second] {
        let path = MachinePath { machine_id: machine.id };
        site.fleet.operator.call::<RetireMachine>(path, Default::default(), because()).await.unwrap();
    }
    site.drive_until("the free one retires", async || site.get(first.id).await.state == MachineState::Retired).await;
    assert_eq!(site.fleet.state(first.node_id.unwrap()).await.0, "retired");
    assert_eq!(site.get(second.id).await.state, MachineState::InService);
    assert_eq!(site.fleet.state(held).await.0, "cordoned");

    let path = ProviderPath { provider_id: site.provider };
    let removing =
        site.fleet.operator.call::<RemoveProvider>(path, Default::default(), Default::default()).await.unwrap();
    assert_eq!(removing.state, ProviderState::Removing);
    let release = "UPDATE slots SET held_by = NULL WHERE node_id = $1";
    sqlx::query(release).bind(held.uuid()).execute(&mut connection).await.unwrap();
    site.drive_until("it is removed", async || site.provider().await.state == ProviderState::Removed).await;
    assert_eq!((site.maas.status("a1"), site.maas.status("a2")), (Status::Ready, Status::Ready));
    let keys: i64 = sqlx::query_scalar("SELECT count(*) FROM providers WHERE api_key IS NOT NULL")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(keys, 0);
}
