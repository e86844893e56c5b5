//! `kill -9` of everybody in between, one after the other.

use std::time::Duration;

use contract::{
    Nothing,
    id::AccessSessionId,
    organizations::OrganizationPath,
    recordings::{GetRecording, ListRecordings, RecordingPath, VerifyRecording},
};
use testkit::{
    server::eventually,
    shell::{End, Shell},
};

use crate::hosts::site::Site;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn a_shell_outlives_the_control_plane_and_its_gateway_and_ends_with_its_agent() {
    let mut site = Site::new(&[("access.recording", "on")], "").await;
    let id = site.allocation().id;
    let (session, mut shell) = site.tenant.shell(id).await;
    let who = shell.runs("id -un; echo \"sh\"ell=$$.").await;
    assert!(who.contains(&site.allocation().login), "{who}");
    let pid = who.split("shell=").nth(1).and_then(|it| it.split('.').next()).expect("it says").to_owned();

    // The control plane: the session does not notice.
    let plane = site.plane.take().expect("it runs");
    let (port, node_port) = (plane.port, plane.node_port);
    plane.daemon.kill().await;
    assert!(shell.runs("echo while-$((40 + 2))").await.contains("while-42"));
    let plane = site.plant.plane_at(port, node_port).await;
    site.tenant = site.plant.tenant_at(&plane);
    site.plane = Some(plane);
    assert!(shell.runs("echo after-$((40 + 3))").await.contains("after-43"));
    println!("the control plane was killed and started again; the shell ran on");

    // The gateway: the shell waits, and is found again with nothing lost.
    shell.types("for i in 1 2 3 4 5 6; do echo tick-$i; sleep 0.3; done; echo ticked\r").await;
    shell.shows("tick-2").await;
    site.door.kill().await;
    assert!(matches!(shell.ends().await, End::Closed(..)), "its client notices");
    let (seen, before) = (shell.seen, shell.text.clone());
    site.door.start_again().await;
    let mut again = found_again(&site, session, seen).await;
    assert!(again.opened.resumed);
    let after = again.shows("ticked").await;
    let all = before + &after;
    for tick in 1..=6 {
        assert_eq!(all.matches(&format!("tick-{tick}\r")).count(), 1, "each line came once: {all:?}");
    }
    assert!(again.runs("echo \"sh\"ell=$$.").await.contains(&format!("shell={pid}.")), "it is the same shell");
    println!("the gateway was killed; the same shell (pid {pid}) was found again and every line came once");

    again.types("exit 5\r").await;
    assert_eq!(again.ends().await, End::Exit(5));
    verified(&site).await;

    // The agent: its shells end, and nothing of them runs on.
    let (_, mut shell) = site.tenant.shell(id).await;
    shell.types("sleep 611 & sleep 612\r").await;
    eventually("the sleeps", || async { site.processes().iter().any(|it| it.contains("sleep 612")) }).await;
    site.agent.take().expect("it runs").kill().await.unwrap();
    let end = tokio::time::timeout(Duration::from_secs(30), shell.ends()).await.expect("the client is told");
    eventually("nothing to be left", || async { site.processes().is_empty() }).await;
    println!("the agent was killed; the client was told ({end:?}) and no process of the shell is left");
    site.run_agent();
    site.clear().await;
}

/// The shell, as soon as host and gateway are connected again.
async fn found_again(site: &Site, session: AccessSessionId, seen: u64) -> Shell {
    let (id, url) = (site.allocation().id, site.door.url.as_str());
    for _ in 0..100 {
        if let Ok(shell) = site.tenant.back(id, session, Some(url), Some(seen)).await {
            return shell;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    panic!("the shell was not found again");
}

/// Everything that was recorded of the longest session is what was registered, and whole.
pub async fn verified(site: &Site) {
    let organization_id = site.tenant.organization;
    let client = &site.tenant.client;
    let path = OrganizationPath { organization_id };
    let all = client.call::<ListRecordings>(path, Default::default(), Nothing {}).await.unwrap().items;
    let one = all.iter().max_by_key(|it| it.size_bytes).expect("it was recorded");
    let path = RecordingPath { organization_id, recording_id: one.id };
    for _ in 0..100 {
        let detail = client.call::<GetRecording>(path.clone(), Nothing {}, Nothing {}).await.unwrap();
        if detail.recording.sealed_at.is_some() {
            let proof = client.call::<VerifyRecording>(path, Nothing {}, Nothing {}).await.unwrap();
            assert!(proof.is_intact, "{proof:?}");
            // What a gateway had shown and not yet written when it was killed, the next one asked for.
            let missing: u64 = detail.gaps.iter().map(|it| it.to - it.from).sum();
            assert_eq!(missing, 0, "{detail:?}");
            println!(
                "the recording has {} pieces in {} segments, {missing} bytes are marked as missing, and it verifies: {}",
                proof.pieces,
                detail.segments.len(),
                proof.root
            );
            return;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let detail = client.call::<GetRecording>(path, Nothing {}, Nothing {}).await.unwrap();
    panic!("it is not sealed: {detail:#?}");
}
