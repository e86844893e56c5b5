//! The drill of `docs/guides/revoke-keys.md`: keys of the platform's own are taken
//! back with the command that operators use, and what was signed with them is worth
//! nothing any longer, while everything else goes on.

use std::{sync::Arc, time::Duration};

use contract::{Code, Nothing, allocations::AllocationState, users::WhoAmI};
use gpuaasd::adapters::recording_folder::RecordingFolder;
use kernel::{Access, Tx};
use platform::ports::recording_store::RecordingStore;
use protocol::Refusal;
use testkit::{
    Agent, Cloud, Fleet, Server,
    cloud::{ask, make_key},
    process,
    server::eventually,
};

/// Longer than a server takes to look at its keys again.
const YEARS: Duration = Duration::from_secs(10 * 365 * 86_400);

async fn revoke(fleet: &Fleet, kind: &str) -> String {
    let url = fleet.world.server.database.url();
    let said = process::run(&["keys", "revoke", kind], &url).await;
    assert!(said.is_success, "{said:?}");
    print!("$ gpuaasd keys revoke {kind}\n{}", said.out);
    said.out
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_task_key_signs_nothing_that_hosts_do() {
    let fleet = Fleet::new().await;
    let mut agent = fleet.host("gpu-01", 1).await;
    agent.introduce().await.unwrap();
    let known = agent.task_keys.clone();
    let out = revoke(&fleet, "task").await;
    assert!(out.contains("Revoked 1 task key"), "{out}");
    let control_plane = &fleet.world.server.control_plane;
    control_plane.fleet.signer.refresh(&control_plane.keyring, YEARS).await.unwrap();
    agent.hang_up();
    let told = agent.poll().await.unwrap();
    let (keys, roots) = (told.task_keys.unwrap(), told.roots.unwrap());
    assert!(keys.len() == 1 && !known.contains(&keys[0]), "only the new key is trusted");
    let set = protocol::TrustSet { version: told.trust_version, task_keys: &keys, roots: &roots };
    assert!(set.is_endorsed_by(&known, &told.endorsements), "a host that knows the old key believes the new one");
    let task = fleet.order(agent.node, 2).await;
    agent.task_keys = keys;
    let mut tasks = told.tasks;
    while tasks.is_empty() {
        tasks = agent.wait(2_000).await.unwrap().tasks;
    }
    assert_eq!(agent.verified(&tasks)[0].id, task, "the new key signs at once");
    assert!(matches!(tasks[0].verify(&known), Err(Refusal::UnknownKey)), "and nothing is signed with the old one");
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_follow_a_new_task_key_without_enrolling_again() {
    let cloud = Cloud::new(1, 2).await;
    let tenant = cloud.tenant().await;
    let running = tenant.get_one(ask(1)).await;
    revoke(&cloud.fleet, "task").await;
    let control_plane = &cloud.world().server.control_plane;
    control_plane.fleet.signer.refresh(&control_plane.keyring, YEARS).await.unwrap();
    let second = tenant.get_one(ask(1)).await;
    assert_eq!(second.state, AllocationState::Active, "what the new key signs is done");
    tenant.gives_back(running.id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_of_a_revoked_ssh_authority_open_nothing() {
    let fleet = Fleet::new().await;
    let control_plane = &fleet.world.server.control_plane;
    let read = async |line: &str| {
        let mut tx = Tx::system(&control_plane.db, "test", Access::Write).await.unwrap();
        let now = kernel::clock::now(&mut tx).await.unwrap();
        let bearer = access::ssh_certificates::read(&mut tx, &control_plane.keyring, line, now).await.unwrap();
        tx.commit().await.unwrap();
        bearer
    };
    let mut tx = Tx::system(&control_plane.db, "test", Access::Write).await.unwrap();
    let now = kernel::clock::now(&mut tx).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let public = std::fs::read_to_string(make_key(folder.path(), "key").with_extension("pub")).unwrap();
    let key = russh::keys::PublicKey::from_openssh(public.trim()).unwrap();
    let bearer = access::ssh_certificates::Bearer {
        actor: "user:x".into(),
        login: "alloc-1".into(),
        credential: people::credentials::Credential { login_session: Some(uuid::Uuid::now_v7()), key: None },
    };
    let span = (now, now + Duration::from_secs(600));
    let made = access::ssh_certificates::issue(&mut tx, &control_plane.keyring, &key, &bearer, span).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(read(&made).await.as_ref(), Some(&bearer));
    revoke(&fleet, "ssh-user-ca").await;
    assert_eq!(read(&made).await, None, "from that moment on");
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_a_revoked_key_are_refused_and_refreshed() {
    let fleet = Fleet::new().await;
    let person = fleet.world.person().await;
    let before = fleet.world.signed_in(person.id).await;
    before.call::<WhoAmI>(Nothing {}, Nothing {}, Nothing {}).await.unwrap();
    revoke(&fleet, "token").await;
    let control_plane = &fleet.world.server.control_plane;
    control_plane.signing.refresh(YEARS).await.unwrap();
    eventually("the old token is refused", || async {
        before.call::<WhoAmI>(Nothing {}, Nothing {}, Nothing {}).await.is_err_and(|it| it.is(Code::Unauthenticated))
    })
    .await;
    let after = fleet.world.signed_in(person.id).await;
    after.call::<WhoAmI>(Nothing {}, Nothing {}, Nothing {}).await.expect("the next one is signed with the new key");
}

#[tokio::test(flavor = "multi_thread")]
async fn gateways_are_certified_by_a_new_authority_once_the_old_one_is_revoked() {
    let fleet = Fleet::new().await;
    let control_plane = &fleet.world.server.control_plane;
    let folder = tempfile::tempdir().unwrap();
    let public = std::fs::read_to_string(make_key(folder.path(), "host").with_extension("pub")).unwrap();
    let key = russh::keys::PublicKey::from_openssh(public.trim()).unwrap();
    // What people trust, and which authority certifies a gateway's key now.
    let certified = async || {
        let mut tx = Tx::system(&control_plane.db, "test", Access::Write).await.unwrap();
        let now = kernel::clock::now(&mut tx).await.unwrap();
        let trusted = access::ssh_certificates::host_line(&mut tx, &control_plane.keyring).await.unwrap();
        let (names, span) = (["gw.example.test".to_owned()], (now, now + Duration::from_secs(3600)));
        let made = access::ssh_certificates::issue_to_host(&mut tx, &control_plane.keyring, &key, ("gw", &names), span);
        let made = russh::keys::Certificate::from_openssh(&made.await.unwrap()).unwrap();
        tx.commit().await.unwrap();
        let signer = russh::keys::PublicKey::from(made.signature_key().clone());
        (trusted, signer.to_openssh().unwrap())
    };
    let (before, by) = certified().await;
    assert_eq!(before.trim(), by.trim());
    revoke(&fleet, "ssh-host-ca").await;
    let (after, by) = certified().await;
    assert_ne!(before, after, "people are given another line");
    assert_eq!(after.trim(), by.trim());
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_of_a_revoked_ca_are_refused_and_enroll_again() {
    let fleet = Fleet::new().await;
    let mut agent = fleet.host("gpu-01", 1).await;
    let before = fleet.world.server.control_plane.fleet.ca.authority().root_fingerprint().to_owned();
    let working = async || -> i64 {
        let statement = "SELECT (SELECT count(*) FROM node_certificates WHERE revoked_at IS NULL)
            + (SELECT count(*) FROM gateway_certificates WHERE revoked_at IS NULL)";
        let mut above = fleet.world.server.database.superuser().await;
        sqlx::query_scalar(statement).fetch_one(&mut above).await.unwrap()
    };
    assert_eq!(working().await, 1, "the host's");
    revoke(&fleet, "node-ca").await;
    assert_eq!(working().await, 0, "a server that runs on with the old root refuses them too");
    // As the command says: the servers are restarted.
    let database = fleet.world.server.database.clone();
    let restarted = Server::with(database, &gpuaasd::roles::Role::ALL, |_| ()).await;
    assert_ne!(restarted.control_plane.fleet.ca.authority().root_fingerprint(), before);
    agent.hang_up();
    agent.address = restarted.node_address.unwrap();
    assert!(agent.poll().await.is_err(), "the host does not believe the new one, which it was never told of");
    agent.roots = restarted.control_plane.fleet.ca.authority().roots_pem().to_owned();
    assert!(agent.poll().await.is_err(), "nor is its old certificate good for anything");
    let token = fleet.token().await;
    let mut again = Agent::enroll(&restarted, &token, testkit::agent::inventory("gpu-01", 1)).await.unwrap();
    again.introduce().await.expect("enrolled again, it works");
}

#[tokio::test(flavor = "multi_thread")]
async fn seals_go_on_with_a_new_key_and_those_of_the_old_one_verify() {
    let fleet = Fleet::new().await;
    let control_plane = &fleet.world.server.control_plane;
    let newest = async || {
        let mut tx = Tx::system(&control_plane.db, "test", Access::Read).await.unwrap();
        let seal = kernel::seals::newest(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
        seal
    };
    // The keeper of the server may be as fast.
    let sealed_since = async |number: i64| {
        eventually("another seal", || async {
            let _ = kernel::seals::seal_once(&control_plane.db, &control_plane.keyring, 1000).await;
            newest().await.is_some_and(|it| it.number > number)
        })
        .await;
        newest().await.unwrap()
    };
    let before = sealed_since(0).await;
    revoke(&fleet, "seal").await;
    let after = sealed_since(before.number).await;
    let after = if after.key_id == before.key_id { sealed_since(after.number).await } else { after };
    assert_ne!(before.key_id, after.key_id, "the entry of the revocation is sealed with the new key");
    let mut tx = Tx::system(&control_plane.db, "test", Access::Read).await.unwrap();
    let report = kernel::seals::verify(&mut tx, 0, 1000, YEARS).await.unwrap();
    assert!(report.findings.is_empty(), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn recordings_are_sealed_with_a_new_key_and_old_ones_are_read() {
    let fleet = Fleet::new().await;
    let control_plane = &fleet.world.server.control_plane;
    let folder = tempfile::tempdir().unwrap();
    let raw = Arc::new(RecordingFolder::open(folder.path().to_owned()));
    let start =
        async || access::recordings::sealed(&control_plane.db, &control_plane.keyring, raw.clone()).await.unwrap();
    let store = start().await;
    store.put("a/1", "typed before".into()).await.unwrap();
    revoke(&fleet, "recordings").await;
    let store = start().await;
    store.put("a/2", "typed after".into()).await.unwrap();
    let key_of = async |piece: &str| {
        let bytes = raw.get(piece).await.unwrap().unwrap();
        kernel::secrets::Sealed::from_bytes(&bytes).unwrap().key_id().as_str().to_owned()
    };
    assert_ne!(key_of("a/1").await, key_of("a/2").await, "the thief's key opens nothing new");
    assert_eq!(store.get("a/1").await.unwrap().unwrap(), "typed before");
    assert_eq!(store.get("a/2").await.unwrap().unwrap(), "typed after");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_key_is_revoked_by_the_drill_and_named_in_its_guide() {
    let (this, guide) = (include_str!("key_drill.rs"), include_str!("../../../../docs/guides/revoke-keys.md"));
    let (_, drill) = guide.split_once("## The drill").expect("the guide has a drill");
    for kind in gpuaasd::key_revocation::KeyKind::ALL.map(|it| it.name()) {
        assert!(this.contains(&format!("revoke(&fleet, \"{kind}\")")), "no test revokes {kind}");
        assert!(guide.contains(&format!("| `{kind}` |")), "the guide does not say what {kind} is");
        assert!(drill.contains(&format!("`{kind}`")), "the guide's drill leaves {kind} out");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_listed_with_what_they_are_good_for() {
    let fleet = Fleet::new().await;
    let url = fleet.world.server.database.url();
    revoke(&fleet, "ssh-host-ca").await;
    revoke(&fleet, "seal").await;
    let listed = process::run(&["keys", "list"], &url).await;
    print!("$ gpuaasd keys list\n{}", listed.out);
    let lines =
        |kind: &str, status: &str| listed.out.lines().filter(|it| it.starts_with(kind) && it.ends_with(status)).count();
    assert_eq!((lines("task", "in use"), lines("token", "in use")), (1, 1), "{listed:?}");
    assert_eq!(lines("ssh-host-ca", "in use"), 1, "{listed:?}");
    assert_eq!(lines("node-ca", "in use"), 2, "the root and the intermediate: {listed:?}");
    let none = process::run(&["keys", "revoke", "task", "--id", "01a1e584-1663-72c3-ba99-880d95706dd0"], &url).await;
    assert!(!none.is_success && none.err.contains("gpuaasd keys list"), "{none:?}");
    let part = process::run(&["keys", "revoke", "node-ca", "--id", "01a1e584-1663-72c3-ba99-880d95706dd0"], &url).await;
    assert!(!part.is_success && part.err.contains("as a whole"), "{part:?}");
}
