//! The real program against a scripted control plane, through outages, kills,
//! renewals and updates.
#![allow(clippy::unwrap_used)]

use crate::node::{Node, counting_script, lines};
use crate::plane::{Plane, eventually};
use agent::TARGET;
use protocol::agent_binary::{AgentBinary, sha256_hex};
use protocol::{Done, Outcome, SigningKey, TaskId, TaskKey, TrustSet, TrustVersion, Verb, codes, paths};

async fn outcome(plane: &Plane, task: TaskId) -> Outcome {
    eventually("a report", || plane.report_of(task)).await.outcome
}

fn polls(plane: &Plane) -> usize {
    plane.state().polls.len()
}

async fn polls_again(plane: &Plane) {
    let before = polls(plane);
    eventually("another poll", || (polls(plane) > before).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_enrolls_once_runs_and_says_how_it_stands() {
    let plane = Plane::start().await;
    let mut node = Node::enrolled(&plane, "simulated_gpus = 2\n").await;
    let again = node.tell(&["enroll", "--url", &plane.url, "--token", "x", "--ca-fingerprint", "x"], true).await;
    assert!(String::from_utf8_lossy(&again.stderr).contains("--again"));
    node.start(&[]);
    eventually("an inventory", || {
        let state = plane.state();
        let inventory = state.polls.iter().find_map(|(_, poll)| poll.inventory.clone())?;
        (inventory.gpus.len() == 2).then_some(())
    })
    .await;
    eventually("samples", || plane.state().polls.iter().any(|(_, poll)| !poll.samples.is_empty()).then_some(())).await;
    // A poll is sent when the answer to the one before was taken in.
    polls_again(&plane).await;
    let status = node.tell(&["status"], true).await;
    let said = String::from_utf8(status.stdout).unwrap();
    assert!(status.status.success() && said.contains("connected") && said.contains(&node.id), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_fingerprint_and_a_spent_token_are_refused_with_advice() {
    let plane = Plane::start().await;
    let node = Node::enrolled(&plane, "").await;
    let wrong = "ab".repeat(32);
    let arguments = ["enroll", "--again", "--url", &plane.url, "--token", "token-1", "--ca-fingerprint", &wrong];
    let told = node.tell(&arguments, true).await;
    assert!(!told.status.success());
    assert!(String::from_utf8_lossy(&told.stderr).contains("UnknownIssuer"), "{told:?}");
    let fingerprint = plane.authority.fingerprint();
    let arguments = ["enroll", "--again", "--url", &plane.url, "--token", "spent", "--ca-fingerprint", &fingerprint];
    let told = node.tell(&arguments, true).await;
    assert!(String::from_utf8_lossy(&told.stderr).contains("bad_token"), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_killed_at_any_point_is_done_and_reported_and_never_again_once_stored() {
    for (point, runs) in [("accepted", 1), ("wipe_script", 1), ("executed", 2), ("persisted", 1)] {
        let plane = Plane::start().await;
        let scripts = tempfile::tempdir().unwrap();
        let (script, count) = counting_script(scripts.path());
        let mut node = Node::enrolled(&plane, &wiping(&script)).await;
        node.start(&["--crash-at", point]);
        let task = plane.deliver(plane.task(&node.id, "node", 1, Verb::EnsureSanitized {}));
        node.ended().await;
        node.start(&[]);
        let outcome = outcome(&plane, task).await;
        assert!(matches!(outcome, Outcome::Done { result: Done::Evidence { .. } }), "{point}: {outcome:?}");
        assert_eq!(lines(&count), runs, "{point}");
        println!("killed at {point}: done, the script ran {runs} times");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_survive_an_outage_and_a_kill_and_the_task_is_not_done_again() {
    let plane = Plane::start().await;
    let scripts = tempfile::tempdir().unwrap();
    let (script, count) = counting_script(scripts.path());
    let mut node = Node::enrolled(&plane, &wiping(&script)).await;
    plane.state().keeps_reports = false;
    node.start(&[]);
    let task = plane.deliver(plane.task(&node.id, "node", 1, Verb::EnsureSanitized {}));
    // What is killed while it works may be done again; what was reported may not.
    eventually("it reported, and nobody kept it", || {
        let reported = |poll: &protocol::PollRequest| poll.reports.iter().any(|it| it.task == task);
        plane.state().polls.iter().any(|(_, poll)| reported(poll)).then_some(())
    })
    .await;
    plane.state().problem = Some((503, "unavailable"));
    eventually("it says so", || {
        let status = std::fs::read_to_string(node.data().join("status.json")).ok()?;
        status.contains("\"unavailable\"").then_some(())
    })
    .await;
    node.kill();
    {
        let mut state = plane.state();
        state.problem = None;
        state.keeps_reports = true;
    }
    node.start(&[]);
    outcome(&plane, task).await;
    polls_again(&plane).await;
    assert_eq!(lines(&count), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_certificate_is_renewed_when_ordered_when_due_and_when_it_has_ended() {
    let plane = Plane::start().await;
    let mut node = Node::enrolled(&plane, "").await;
    node.start(&[]);
    polls_again(&plane).await;
    plane.state().asks_renewal = true;
    plane.wake();
    eventually("renewed when told", || (plane.state().renewals == 1).then_some(())).await;
    polls_again(&plane).await;
    // By the control plane's clock, not by the host's.
    plane.state().now += jiff::SignedDuration::from_hours(17);
    eventually("renewed when due", || (plane.state().renewals == 2).then_some(())).await;
    plane.state().problem = Some((401, codes::CERTIFICATE_EXPIRED));
    eventually("renewed when ended", || (plane.state().renewals == 3).then_some(())).await;
    polls_again(&plane).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_node_keeps_asking_slowly_and_says_so() {
    let plane = Plane::start().await;
    let mut node = Node::enrolled(&plane, "").await;
    plane.state().problem = Some((403, codes::CERTIFICATE_REVOKED));
    node.start(&[]);
    eventually("it says so", || {
        let status = std::fs::read_to_string(node.data().join("status.json")).ok()?;
        status.contains(codes::CERTIFICATE_REVOKED).then_some(())
    })
    .await;
    let status = node.tell(&["status"], true).await;
    let said = String::from_utf8(status.stdout).unwrap();
    assert!(!status.status.success() && said.contains("enroll again"), "{said}");
    let doctor = node.tell(&["doctor"], true).await;
    let said = String::from_utf8(doctor.stdout).unwrap();
    assert!(said.contains("ok   enrollment") && said.contains("control plane"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn new_task_keys_and_epochs_survive_a_restart() {
    let plane = Plane::start().await;
    let mut node = Node::enrolled(&plane, "").await;
    node.start(&[]);
    polls_again(&plane).await;
    {
        let mut state = plane.state();
        state.epoch = 7;
        state.new_keys = Some(vec![]);
    }
    polls_again(&plane).await;
    polls_again(&plane).await;
    node.kill();
    let identity = std::fs::read_to_string(node.data().join("identity.json")).unwrap();
    assert!(identity.contains("\"epoch\": 7"));
    assert!(identity.contains(plane.key.id()), "an empty set of keys is not taken over");
}

#[tokio::test(flavor = "multi_thread")]
async fn task_keys_that_no_known_key_signed_are_not_accepted() {
    let plane = Plane::start().await;
    let mut node = Node::enrolled(&plane, "").await;
    node.start(&[]);
    polls_again(&plane).await;
    let thief = SigningKey::from_seed(&[66; 32]).unwrap();
    let (stolen, version) = (vec![thief.public()], TrustVersion::default());
    for endorsements in [vec![], vec![TrustSet { version, task_keys: &stolen, roots: "" }.endorse(&thief)]] {
        {
            let mut state = plane.state();
            (state.new_keys, state.endorsements) = (Some(stolen.clone()), endorsements);
        }
        polls_again(&plane).await;
        polls_again(&plane).await;
        let identity = std::fs::read_to_string(node.data().join("identity.json")).unwrap();
        assert!(identity.contains(plane.key.id()) && !identity.contains(thief.id()), "whoever answers names the keys");
    }
    let next = SigningKey::from_seed(&[77; 32]).unwrap();
    let keys = vec![next.public(), plane.key.public()];
    {
        let mut state = plane.state();
        state.endorsements = vec![TrustSet { version, task_keys: &keys, roots: "" }.endorse(&plane.key)];
        state.new_keys = Some(keys);
    }
    eventually("the endorsed key is kept", || {
        let identity = std::fs::read_to_string(node.data().join("identity.json")).ok()?;
        identity.contains(next.id()).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_task_keys_that_a_known_key_signed_are_not_accepted() {
    let plane = Plane::start().await;
    let mut node = Node::enrolled(&plane, "").await;
    node.start(&[]);
    polls_again(&plane).await;
    let leaked = SigningKey::from_seed(&[66; 32]).unwrap();
    let tell = |version, keys: Vec<TaskKey>| {
        let mut state = plane.state();
        state.endorsements = vec![TrustSet { version, task_keys: &keys, roots: "" }.endorse(&plane.key)];
        (state.trust_version, state.new_keys) = (version, Some(keys));
    };
    let path = node.data().join("identity.json");
    let knows = |id: &str| std::fs::read_to_string(&path).is_ok_and(|identity| identity.contains(id));
    let version = |keys| TrustVersion { epoch: 1, keys, roots: 1 };
    // Both were trusted, then one was revoked; whoever answers now recorded the first set.
    tell(version(2), vec![leaked.public(), plane.key.public()]);
    eventually("the set with both", || knows(leaked.id()).then_some(())).await;
    tell(version(3), vec![plane.key.public()]);
    eventually("the set without the revoked key", || (!knows(leaked.id())).then_some(())).await;
    tell(version(2), vec![leaked.public(), plane.key.public()]);
    polls_again(&plane).await;
    polls_again(&plane).await;
    assert!(!knows(leaked.id()), "an earlier set brought a revoked key back");
    node.kill();
    node.start(&[]);
    polls_again(&plane).await;
    polls_again(&plane).await;
    assert!(!knows(leaked.id()), "nor after a restart");
    // A control plane that was restored from a backup counts anew, in a new epoch.
    tell(TrustVersion { epoch: 2, keys: 1, roots: 1 }, vec![leaked.public(), plane.key.public()]);
    eventually("the set of a new epoch", || knows(leaked.id()).then_some(())).await;
}

/// A new agent: a script that says another version and behaves as told.
fn offer(plane: &Plane, node: &Node, behavior: &str) -> Verb {
    let version = "9.9.9";
    let real = env!("CARGO_BIN_EXE_gpuaas-node");
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo gpuaas-node {version} && exit 0\n\
         echo started >> {count}\n{behavior}\nexec {real} \"$@\"\n",
        count = node.folder.path().join("starts").display()
    );
    let sha256 = sha256_hex(text.as_bytes());
    let signature = AgentBinary { version, target: TARGET, sha256: &sha256 }.sign(&plane.key);
    plane.state().agents.insert(paths::agent(version, TARGET), text.into_bytes());
    Verb::EnsureAgent { version: version.into(), target: TARGET.into(), sha256, signature }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_is_fetched_checked_started_and_confirmed() {
    let plane = Plane::start().await;
    let mut node = Node::enrolled(&plane, "").await;
    node.start(&[]);
    let verb = offer(&plane, &node, "");
    let task = plane.deliver(plane.task(&node.id, "agent", 1, verb));
    let report = eventually("a report", || plane.report_of(task)).await;
    assert!(matches!(report.outcome, Outcome::Done { result: Done::Updated { .. } }), "{report:?}");
    assert_eq!(report.generation, 2, "the new agent reports");
    assert!(std::fs::read(&node.binary).unwrap().starts_with(b"#!"), "the new one is in place");
    assert!(!node.data().join("update.json").exists(), "the guard is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_that_does_not_reach_the_control_plane_is_rolled_back() {
    let plane = Plane::start().await;
    let mut node = Node::enrolled(&plane, "").await;
    node.start(&["--prove-within-ms", "1000"]);
    // The new agent's address leads nowhere: it can start, and not poll.
    let identity = node.data().join("identity.json");
    let port = plane.url.rsplit(':').next().unwrap();
    let behavior = format!("sed -i 's/:{port}/:9/' {}", identity.display());
    let verb = offer(&plane, &node, &behavior);
    let task = plane.deliver(plane.task(&node.id, "agent", 1, verb));
    // Its status names the address that it read: the way may be free again, before the old one comes back.
    let status = node.data().join("status.json");
    eventually("the new one says where it went", || {
        std::fs::read_to_string(&status).ok()?.contains(":9\"").then_some(())
    })
    .await;
    let text = std::fs::read_to_string(&identity).unwrap();
    std::fs::write(&identity, text.replace(":9\"", &format!(":{port}\""))).unwrap();
    let report = eventually("a report", || plane.report_of(task)).await;
    assert!(matches!(&report.outcome, Outcome::Failed { code, .. } if code == "rolled_back"), "{report:?}");
    assert_eq!(lines(&node.folder.path().join("starts")), 1, "the new one was started once");
    assert!(!std::fs::read(&node.binary).unwrap().starts_with(b"#!"), "the old one is back");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_that_is_not_what_was_signed_is_never_started() {
    let plane = Plane::start().await;
    let mut node = Node::enrolled(&plane, "").await;
    node.start(&[]);
    let Verb::EnsureAgent { version, target, sha256, signature } = offer(&plane, &node, "") else { panic!() };
    let with = |sha256: &str, target: &str, signature: &str| Verb::EnsureAgent {
        version: version.clone(),
        target: target.into(),
        sha256: sha256.into(),
        signature: signature.into(),
    };
    let other = sha256_hex(b"other");
    let thief = protocol::SigningKey::from_seed(&[3; 32]).unwrap();
    let forged = AgentBinary { version: &version, target: &target, sha256: &sha256 }.sign(&thief);
    let wrong_sum = AgentBinary { version: &version, target: &target, sha256: &other }.sign(&plane.key);
    for (at, (verb, expected)) in [
        (with(&sha256, &target, &forged), "bad_agent_signature"),
        (with(&other, &target, &signature), "bad_agent_signature"),
        (with(&other, &target, &wrong_sum), "bad_checksum"),
        (with(&sha256, "riscv64-unknown-linux-gnu", &signature), "wrong_target"),
    ]
    .into_iter()
    .enumerate()
    {
        let version = i64::try_from(at).unwrap() + 1;
        let task = plane.deliver(plane.task(&node.id, "agent", version, verb));
        let outcome = outcome(&plane, task).await;
        assert!(matches!(&outcome, Outcome::Failed { code, .. } if code == expected), "{expected}: {outcome:?}");
    }
    assert!(!node.folder.path().join("starts").exists());
}

/// Settings with a wipe script, and ids and keys of this test alone.
fn wiping(script: &std::path::Path) -> String {
    let folder = script.parent().unwrap();
    let first_uid = 1_000_000 + std::process::id() * 32;
    format!(
        "wipe_script = {script:?}\nhome_root = {:?}\nkeys_root = {:?}\nfirst_uid = {first_uid}\nlast_uid = {}\n",
        folder.join("homes"),
        folder.join("keys"),
        first_uid + 31
    )
}
