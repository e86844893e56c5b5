//! The control plane is killed.

use std::time::Instant;

use contract::allocations::AllocationState;
use testkit::{cloud::ask, rounds, server::eventually};

use crate::faults::{
    gate::{Gate, PROVISION, RELEASE, Step},
    stand::{GPUS, Stand},
};

/// Kills the control plane when it stands at the gate, and starts it again.
async fn kill_at(stand: &mut Stand, mut gate: Gate) {
    gate.is_met(&stand.plant.database).await;
    let ports = stand.kill_plane().await;
    gate.open().await;
    stand.start_plane(ports).await;
}

async fn provision(stand: &mut Stand, step: &Step) {
    let gate = Gate::close(&stand.plant.database, step).await;
    let asking = stand.asks();
    kill_at(stand, gate).await;
    let began = Instant::now();
    let id = asking.await.unwrap();
    stand.tenant().reaches(id, AllocationState::Active).await;
    println!(
        "control plane killed at provision `{}`: active {:.1} s after its start",
        step.name,
        began.elapsed().as_secs_f32()
    );
    stand.ends_well(id).await;
}

async fn release(stand: &mut Stand, step: &Step) {
    let tenant = stand.tenant();
    let id = tenant.get_one(ask(GPUS)).await.id;
    let rival = tenant.ask(ask(GPUS)).await;
    tenant.waits(rival).await;
    let gate = Gate::close(&stand.plant.database, step).await;
    let releasing = stand.releases(id);
    kill_at(stand, gate).await;
    let began = Instant::now();
    releasing.await.unwrap();
    stand.tenant().reaches(id, AllocationState::Released).await;
    println!(
        "control plane killed at release `{}`: released {:.1} s after its start",
        step.name,
        began.elapsed().as_secs_f32()
    );
    stand.hands_over(id, rival).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_plane_killed_at_any_step_of_provisioning_goes_on_afterwards() {
    let mut stand = Stand::new().await;
    let _agent = stand.start_agent(None);
    stand.has_free(i64::from(GPUS)).await;
    let times = rounds(10);
    for _ in 0..times {
        for step in PROVISION {
            provision(&mut stand, step).await;
        }
    }
    println!("{} kills of the control plane in provision: {}", times * PROVISION.len(), stand.is_sound().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_plane_killed_at_any_step_of_a_release_goes_on_afterwards() {
    let mut stand = Stand::new().await;
    let _agent = stand.start_agent(None);
    stand.has_free(i64::from(GPUS)).await;
    let times = rounds(10);
    for _ in 0..times {
        for step in RELEASE {
            release(&mut stand, step).await;
        }
    }
    println!("{} kills of the control plane in release: {}", times * RELEASE.len(), stand.is_sound().await);
}

/// The host goes on while nobody listens, and says so when somebody does.
#[tokio::test(flavor = "multi_thread")]
async fn a_control_plane_killed_while_the_host_works_gets_the_report_afterwards() {
    let mut stand = Stand::new().await;
    let _agent = stand.start_agent_slow();
    stand.has_free(i64::from(GPUS)).await;
    let times = rounds(10);
    let working = "SELECT count(*) FROM tasks WHERE delivered_at IS NOT NULL AND reported_at IS NULL";
    for _ in 0..times {
        let id = stand.asks().await.unwrap();
        for (what, state) in [("provision", AllocationState::Active), ("release", AllocationState::Released)] {
            if state == AllocationState::Released {
                stand.releases(id).await.unwrap();
            }
            eventually("the host to work", || async { stand.plant.count(working).await == 1 }).await;
            let ports = stand.kill_plane().await;
            stand.start_plane(ports).await;
            let began = Instant::now();
            stand.tenant().reaches(id, state).await;
            println!(
                "control plane killed while the host works at {what}: {state} {:.1} s after its start",
                began.elapsed().as_secs_f32()
            );
        }
    }
    println!("{} kills of the control plane while the host worked: {}", 2 * times, stand.is_sound().await);
}
