//! The agent is killed.

use contract::allocations::AllocationState;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use testkit::{cloud::ask, rounds, server::eventually};
use tokio::process::Child;

use crate::faults::stand::{GPUS, Stand};

const PROVISION: [&str; 8] =
    ["accepted", "check_gpus", "create_user", "write_keys", "assign_gpus", "self_test", "executed", "persisted"];
const RELEASE: [&str; 8] =
    ["accepted", "lock_login", "kill_processes", "remove_home", "remove_user", "check_gpus", "executed", "persisted"];

/// Waits until the agent has ended itself.
async fn dies(mut agent: Child) {
    let ended = tokio::time::timeout(std::time::Duration::from_secs(30), agent.wait()).await;
    assert!(!ended.expect("it ends at its point").unwrap().success());
}

/// Enrolls the host.
async fn enrolled() -> Stand {
    let stand = Stand::new().await;
    let mut agent = stand.start_agent(None);
    stand.has_free(i64::from(GPUS)).await;
    agent.kill().await.unwrap();
    stand
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_killed_at_any_step_of_provisioning_goes_on_afterwards() {
    let stand = enrolled().await;
    let times = rounds(10);
    for _ in 0..times {
        for step in PROVISION {
            let agent = stand.start_agent(Some(step));
            let id = stand.asks().await.unwrap();
            dies(agent).await;
            let mut agent = stand.start_agent(None);
            stand.tenant().reaches(id, AllocationState::Active).await;
            println!("agent killed at provision `{step}`: active");
            stand.ends_well(id).await;
            agent.kill().await.unwrap();
        }
    }
    println!("{} kills of the agent in provision: {}", times * PROVISION.len(), stand.is_sound().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_killed_at_any_step_of_a_release_goes_on_afterwards() {
    let stand = enrolled().await;
    let times = rounds(10);
    for _ in 0..times {
        for step in RELEASE {
            let tenant = stand.tenant();
            let mut agent = stand.start_agent(None);
            let id = tenant.get_one(ask(GPUS)).await.id;
            let rival = tenant.ask(ask(GPUS)).await;
            tenant.waits(rival).await;
            agent.kill().await.unwrap();
            let agent = stand.start_agent(Some(step));
            tenant.release(id).await.unwrap();
            dies(agent).await;
            let mut agent = stand.start_agent(None);
            stand.tenant().reaches(id, AllocationState::Released).await;
            println!("agent killed at release `{step}`: released");
            stand.hands_over(id, rival).await;
            agent.kill().await.unwrap();
        }
    }
    println!("{} kills of the agent in release: {}", times * RELEASE.len(), stand.is_sound().await);
}

/// What was sent and never read is sent again.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_killed_before_it_reads_its_task_gets_it_again() {
    let stand = enrolled().await;
    let sent = "SELECT count(*) FROM tasks WHERE delivered_at IS NOT NULL AND reported_at IS NULL";
    let times = rounds(10);
    for _ in 0..times {
        let mut agent = stand.start_agent(None);
        let mut id = None;
        for (what, state) in [("provision", AllocationState::Active), ("release", AllocationState::Released)] {
            // Polls follow each other without a pause: after one that was noted, the next one waits.
            let now = stand.plant.count("SELECT epoch_us(app_now())").await;
            let polled = "SELECT coalesce(max(epoch_us(last_seen_at)), 0) FROM node_heartbeats";
            eventually("a poll", || async { stand.plant.count(polled).await > now }).await;
            let pid = Pid::from_raw(agent.id().unwrap().try_into().unwrap());
            kill(pid, Signal::SIGSTOP).unwrap();
            let known = match id {
                None => stand.asks().await.unwrap(),
                Some(known) => stand.releases(known).await.unwrap(),
            };
            // A poll may have been between two waits; then the task is still to be sent when it dies.
            let mut is_sent = false;
            for _ in 0..20 {
                is_sent = stand.plant.count(sent).await == 1;
                if is_sent {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
            agent.kill().await.unwrap();
            agent = stand.start_agent(None);
            stand.tenant().reaches(known, state).await;
            let how = if is_sent { "sent" } else { "not sent yet" };
            println!("agent killed before it read its task of {what}, which was {how}: {state}");
            id = Some(known);
        }
        agent.kill().await.unwrap();
    }
    println!("{} kills of an agent that had not read its task: {}", 2 * times, stand.is_sound().await);
}
