//! Replacing the root of the CA: no host enrolls again, and no step is made
//! before every node is ready for it.

use std::time::Duration;

use contract::nodes::{NodeHealth, NodeState};
use fleet::ca::{self, Overview, Turnover, UpkeepError};
use kernel::secrets::Secret;
use protocol::agent_binary::sha256_hex;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use testkit::{Agent, Fleet, host::Host, process, server::eventually};

const YEAR: Duration = Duration::from_secs(365 * 86_400);
/// Longer than a step waits for the replicas to notice the one before.
const A_WHILE: Duration = Duration::from_secs(150);

async fn look(fleet: &Fleet) -> Overview {
    let control_plane = &fleet.world.server.control_plane;
    control_plane.fleet.ca.refresh(YEAR).await.unwrap();
    ca::overview(&control_plane.db, &control_plane.keyring).await.unwrap()
}

fn roots(pem: &str) -> Vec<String> {
    CertificateDer::pem_slice_iter(pem.as_bytes()).map(|it| sha256_hex(&it.unwrap())).collect()
}

/// As an agent does that is told to renew.
async fn renew(agent: &mut Agent) {
    agent.hang_up();
    assert!(agent.poll().await.unwrap().renew, "it is told to");
    agent.roots = agent.renew().await.unwrap().roots;
    assert!(!agent.poll().await.unwrap().renew, "once is enough");
}

async fn waits_only_for(fleet: &Fleet, behind: i64) {
    eventually("the host to have renewed", || async { look(fleet).await.behind == behind }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_root_is_announced_then_signs_then_is_the_only_one_and_no_host_enrolls_again() {
    let fleet = Fleet::new().await;
    let mut host = Host::enrolled(&fleet, &[]).await;
    // A node that is away for a while.
    let mut away = fleet.host("away", 1).await;
    let control_plane = &fleet.world.server.control_plane;
    let before = look(&fleet).await;
    assert_eq!((before.turnover, before.behind), (Turnover::Settled, 0));

    let url = fleet.world.server.database.url();
    let said = process::run(&["ca", "rotate-root"], &url).await;
    assert!(said.is_success && said.out.contains("being distributed, 2 nodes remaining"), "{said:?}");
    println!(
        "{}",
        said.out.lines().filter(|it| !it.starts_with("MII") && it.len() != 64).collect::<Vec<_>>().join("\n")
    );
    assert!(matches!(ca::rotate_root(&control_plane.db, &control_plane.keyring).await, Err(UpkeepError::Turning)));
    let telling = look(&fleet).await;
    assert!(matches!(telling.turnover, Turnover::Telling { .. }));
    assert_eq!(telling.root_fingerprint, before.root_fingerprint, "the old one signs");
    assert_eq!(roots(&telling.roots_pem).len(), 2, "both are trusted");

    fleet.advance(A_WHILE);
    waits_only_for(&fleet, 1).await;
    assert!(matches!(look(&fleet).await.turnover, Turnover::Telling { .. }), "one node does not know it yet");
    let mut key = None;
    let keep = |it: &Secret| {
        key = Some(it.clone());
        Ok(())
    };
    ca::export_root(&control_plane.db, &control_plane.keyring, false, keep).await.unwrap().unwrap();
    let early = ca::rotate(&control_plane.db, &control_plane.keyring, key, YEAR).await.unwrap_err();
    assert!(matches!(early, UpkeepError::TooEarly { behind: 1 }), "{early}");

    renew(&mut away).await;
    let signing = look(&fleet).await;
    let signing = if signing.behind == 0 { look(&fleet).await } else { signing };
    assert!(matches!(signing.turnover, Turnover::Signing { .. }), "{:?}", signing.turnover);
    assert_ne!(signing.root_fingerprint, before.root_fingerprint, "the new one signs");
    away.hang_up();
    away.poll().await.expect("what the old one signed is trusted");

    fleet.advance(A_WHILE);
    waits_only_for(&fleet, 1).await;
    assert_eq!(roots(&look(&fleet).await.roots_pem).len(), 2);
    renew(&mut away).await;
    let after = look(&fleet).await;
    assert_eq!((after.turnover, after.behind), (Turnover::Settled, 0));
    assert_eq!(roots(&after.roots_pem), std::slice::from_ref(&signing.root_fingerprint), "the old one is forgotten");

    // Started anew, the same host knows whom to trust, and is the same node.
    eventually("the host to trust the new root alone", || async {
        let identity = std::fs::read_to_string(host.state().join("identity.json")).unwrap();
        let identity: serde_json::Value = serde_json::from_str(&identity).unwrap();
        roots(identity["roots"].as_str().unwrap()) == std::slice::from_ref(&signing.root_fingerprint)
    })
    .await;
    let generation = heard(&fleet, &host).await;
    host.start();
    eventually("the host to be heard after a restart", || async { heard(&fleet, &host).await > generation }).await;
    fleet.is(host.node, NodeState::Ready, NodeHealth::Ok).await;
    let late = fleet.host("late", 1).await;
    assert_eq!(roots(&late.roots), [after.root_fingerprint], "new hosts know the new root only");
}

async fn heard(fleet: &Fleet, host: &Host) -> i64 {
    let mut above = fleet.world.server.database.superuser().await;
    sqlx::query_scalar("SELECT generation FROM node_heartbeats WHERE node_id = $1")
        .bind(host.node.uuid())
        .fetch_one(&mut above)
        .await
        .unwrap()
}
