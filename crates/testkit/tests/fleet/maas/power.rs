//! The power of machines: switched by operators, never under somebody's work
//! unless it is forced, and without moving the machine.

use contract::{
    machines::{MachinePower, MachinePowerAction, MachinePowerSpec, PowerMachine},
    nodes::{CordonNode, NodePath},
};

use super::*;

fn wish(action: MachinePowerAction, force: bool) -> MachinePowerSpec {
    MachinePowerSpec { action, force, reason: Some("test".parse().unwrap()) }
}

async fn switch(site: &Site, id: MachineId, spec: MachinePowerSpec) -> Result<Machine, client::ClientError> {
    let path = MachinePath { machine_id: id };
    site.fleet.operator.call::<PowerMachine>(path, Nothing {}, spec).await?;
    site.fleet.world.server.settle().await;
    Ok(site.get(id).await)
}

async fn hold(site: &Site, node: NodeId, is_held: bool) {
    let mut above = site.fleet.world.server.database.superuser().await;
    sqlx::query("UPDATE slots SET held_by = CASE WHEN $2 THEN gen_random_uuid() END WHERE node_id = $1")
        .bind(node.uuid())
        .bind(is_held)
        .execute(&mut above)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_switches_a_machine_and_asks_how_it_stands() {
    let site = Site::new().await;
    let (machine, node) = site.serves().await;
    let asked = switch(&site, machine.id, wish(MachinePowerAction::Query, false)).await.unwrap();
    assert_eq!((asked.power, asked.power_wanted), (Some(MachinePower::On.into()), None));
    assert!(asked.power_at.is_some());

    let ready = switch(&site, machine.id, wish(MachinePowerAction::Off, false)).await.unwrap_err();
    assert!(ready.is(Code::Conflict) && ready.to_string().contains("cordon"), "{ready}");
    site.fleet.operator.call::<CordonNode>(NodePath { node_id: node }, Nothing {}, because()).await.unwrap();
    hold(&site, node, true).await;
    let held = switch(&site, machine.id, wish(MachinePowerAction::Off, false)).await.unwrap_err();
    assert!(held.is(Code::Conflict) && held.to_string().contains("drain the node first"), "{held}");
    assert!(site.maas.is_on(&machine.system_id), "nothing was switched");

    let forced = switch(&site, machine.id, wish(MachinePowerAction::Off, true)).await.unwrap();
    assert_eq!((forced.power, forced.state), (Some(MachinePower::Off.into()), MachineState::InService.into()));
    assert!(!site.maas.is_on(&machine.system_id));
    // A machine that is off is still ours, however often it is looked at.
    site.fleet.advance(Duration::from_secs(300));
    site.fleet.world.server.settle().await;
    assert_eq!(site.get(machine.id).await.state, MachineState::InService);

    let on = switch(&site, machine.id, wish(MachinePowerAction::On, false)).await.unwrap();
    assert_eq!((on.power, on.power_error), (Some(MachinePower::On.into()), None));
    assert!(site.maas.is_on(&machine.system_id));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wish_waits_while_maas_is_away_and_is_dropped_when_somebody_came_meanwhile() {
    let site = Site::new().await;
    let (machine, node) = site.serves().await;
    site.fleet.operator.call::<CordonNode>(NodePath { node_id: node }, Nothing {}, because()).await.unwrap();
    let busy = || InjectedFault::Refuse { status: 503, text: "busy", retry_after: None };
    (0..50).for_each(|_| site.maas.inject("power_off", busy()));
    let waits = switch(&site, machine.id, wish(MachinePowerAction::Off, false)).await.unwrap();
    assert_eq!(waits.power_wanted, Some(MachinePowerAction::Off.into()));
    assert!(waits.power_error.is_some(), "{waits:?}");
    hold(&site, node, true).await;
    site.maas.clear_faults();
    site.drive_until("an answer", async || site.get(machine.id).await.power_wanted.is_none()).await;
    let dropped = site.get(machine.id).await;
    assert!(dropped.power_error.is_some_and(|it| it.contains("drain the node first")));
    assert!(site.maas.is_on(&machine.system_id), "nothing was switched under somebody");
    let nobody = MachinePath { machine_id: MachineId::generate() };
    let refused =
        site.fleet.operator.call::<PowerMachine>(nobody, Nothing {}, wish(MachinePowerAction::On, false)).await;
    assert!(refused.unwrap_err().is(Code::NotFound));
}
