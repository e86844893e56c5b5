//! SSH while it goes on: policy, keys and people are looked at anew, and whoever
//! may not be there any more is cut off.

use std::time::Duration;

use contract::{
    access_sessions::{AccessSessionState, AnyAccessSessionPath, EndAnyAccessSession},
    allocations::AllocationState,
    id::AllocationId,
    organizations::{OrganizationPath, ResumeOrganization, SuspendOrganization},
    ssh_certificates::{CreateSshCertificate, SshCertificateSpec},
};
use testkit::{Tenant, cloud::because, process::free_port, server::eventually, world::set_policy};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    process::{Child, Command},
};

use crate::hosts::{
    site::Site,
    ssh::{Laptop, PATIENCE, ok, remove_keys, run, text},
};

const WAITS: &str = "echo ready; exec sleep 600";

/// A command that waits, once it runs.
async fn running(mut command: Command) -> Child {
    let mut client = command.spawn().unwrap();
    let mut first = [0; 6];
    if client.stdout.as_mut().unwrap().read_exact(&mut first).await.is_err() {
        panic!("it ended: {}", text(&client.wait_with_output().await.unwrap().stderr));
    }
    client
}

/// What the client said when it was cut off, which it is within seconds.
async fn cut_off(client: Child) -> String {
    let ended = tokio::time::timeout(Duration::from_secs(20), client.wait_with_output()).await;
    let ended = ended.expect("it is cut off within seconds").unwrap();
    assert!(!ended.status.success());
    text(&ended.stderr)
}

/// Certifies a key for an allocation, as `gpuaas ssh` does.
async fn certify(laptop: &Laptop, by: &Tenant, allocation_id: AllocationId, name: &str) {
    let public_key = laptop.make_key(name).await.parse().unwrap();
    let path = contract::allocations::AllocationPath { project_id: by.project, allocation_id };
    let spec = SshCertificateSpec { public_key };
    let made = by.client.call::<CreateSshCertificate>(path, Default::default(), spec).await.unwrap();
    // Beside the key, where `ssh` finds it.
    std::fs::write(laptop.path(&format!("{name}-cert.pub")), made.certificate + "\n").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn caller_whose_access_ended_is_disconnected() {
    let site = Site::new(&[("access.sessions_per_allocation", "50")], "").await;
    let id = site.allocation().id;
    let laptop = Laptop::of(&site, &site.tenant.owner);
    laptop.learn_hosts().await;
    certify(&laptop, &site.tenant, id, "certified").await;
    let certified = |what: &str| laptop.plain("certified", &laptop.allocation, what);
    assert_eq!(ok(run(&mut certified("echo in")).await), "in\n");

    revoked_key(&site, &laptop, running(certified(WAITS)).await).await;
    removed_member(&site).await;
    ended_by_an_operator(&site, running(certified(WAITS)).await).await;

    // A suspended organization: nobody is in, nobody comes in, until it is resumed.
    let (client, organization_id) = (running(certified(WAITS)).await, site.tenant.organization);
    let operator = site.operator();
    let path = OrganizationPath { organization_id };
    operator.call::<SuspendOrganization>(path.clone(), Default::default(), because()).await.unwrap();
    let said = cut_off(client).await;
    eventually("nothing runs as the allocation's user", || async { site.processes().is_empty() }).await;
    let denied = text(&run(&mut certified("true")).await.stderr);
    assert!(denied.contains("Permission denied (publickey)"), "{denied}");
    // What ran was stopped with it; its members start it again.
    site.tenant.reaches(id, AllocationState::Stopped).await;
    operator.call::<ResumeOrganization>(path, Default::default(), because()).await.unwrap();
    site.tenant.start(id).await.unwrap();
    site.tenant.reaches(id, AllocationState::Active).await;
    assert_eq!(ok(run(&mut certified("echo again")).await), "again\n");
    println!("suspended: cut off with {:?}, then {:?}", said.trim(), denied.trim());

    let client = running(certified(WAITS)).await;
    site.clear().await;
    let said = cut_off(client).await;
    assert!(said.contains("the allocation was stopped or released") && said.contains("gpuaas allocations"), "{said}");
    println!("released: cut off with {:?}", said.trim());
}

/// Waits until the gateway has named every open session to the control plane again.
async fn beaten(site: &Site) {
    let now = site.plant.count("SELECT epoch_us(app_now())").await;
    let oldest = "SELECT coalesce(min(coalesce(epoch_us(heard_at), 0)), 0) FROM access_sessions WHERE state = 'open'";
    eventually("a beat", || async { site.plant.count(oldest).await > now }).await;
}

/// A key that is removed while somebody is in with it; who came in otherwise stays.
async fn revoked_key(site: &Site, laptop: &Laptop, mut other: Child) {
    let owner = site.tenant.owner.id;
    laptop.make_key("stolen").await;
    laptop.register(site, owner, "stolen").await;
    let mut client = running(laptop.plain("stolen", &laptop.allocation, WAITS)).await;
    // It stays as long as the key does: the first beat is answered before the second is sent.
    beaten(site).await;
    beaten(site).await;
    assert!(client.try_wait().unwrap().is_none(), "the key is still there");
    remove_keys(site, owner).await;
    let said = cut_off(client).await;
    assert!(said.contains("the session was ended"), "{said}");
    let denied = text(&run(&mut laptop.plain("stolen", &laptop.allocation, "true")).await.stderr);
    assert!(denied.contains("Permission denied (publickey)"), "{denied}");
    assert!(other.try_wait().unwrap().is_none(), "who has a certificate needs no key");
    other.kill().await.unwrap();
    println!("a key that was removed: {:?}, then {:?}", said.trim(), denied.trim());
}

async fn ended_by_an_operator(site: &Site, client: Child) {
    let sessions = site.sessions(None).await;
    for session in sessions.iter().filter(|it| it.state != AccessSessionState::Ended) {
        let path = AnyAccessSessionPath { access_session_id: session.id };
        // One that ends by itself at this moment needs no end.
        let _ = site.operator().call::<EndAnyAccessSession>(path, Default::default(), because()).await;
    }
    let said = cut_off(client).await;
    assert!(said.contains("ended by you or by an operator") && said.contains("connect again"), "{said}");
    println!("ended by an operator: {:?}", said.trim());
}

async fn removed_member(site: &Site) {
    let colleague = site.colleague();
    let laptop = Laptop::of(site, &colleague.owner);
    laptop.learn_hosts().await;
    certify(&laptop, &colleague, site.allocation().id, "certified").await;
    let client = running(laptop.plain("certified", &laptop.allocation, WAITS)).await;
    site.removes(&colleague.owner).await;
    let said = cut_off(client).await;
    let denied = text(&run(&mut laptop.plain("certified", &laptop.allocation, "true")).await.stderr);
    assert!(denied.contains("Permission denied (publickey)"), "{denied}");
    println!("a member who was removed: {:?}, then {:?}", said.trim(), denied.trim());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn a_forward_of_a_running_connection_ends_where_recording_becomes_required() {
    let site = Site::new(&[("access.sessions_per_allocation", "50")], "").await;
    let laptop = Laptop::of(&site, &site.tenant.owner);
    ok(run(&mut laptop.gpuaas(&["ssh-config", &laptop.allocation, "--write"])).await);
    let host = format!("{}.gpuaas", laptop.allocation);
    let (theirs, mine) = (free_port(), free_port());
    let serve = format!("exec python3 -m http.server --directory /tmp --bind 127.0.0.1 {theirs}");
    let _server = laptop.configured("ssh", &[&host, &serve]).spawn().unwrap();
    let forward = format!("{mine}:localhost:{theirs}");
    let mut client = laptop.configured("ssh", &["-N", "-L", &forward, &host]).spawn().unwrap();
    let ask = async || {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", mine)).await else { return String::new() };
        let _ = stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await;
        let mut answer = String::new();
        let _ = tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer)).await;
        answer
    };
    eventually("the server answers through the tunnel", || async { ask().await.contains("200 OK") }).await;
    set_policy(&site.operator(), "access.recording", "required").await;
    assert_eq!(ask().await, "", "raw connections are refused from now on");
    client.kill().await.unwrap();
    let said = text(&client.wait_with_output().await.unwrap().stderr);
    assert!(said.contains("access.recording"), "{said}");
    let refused = run(&mut laptop.configured("ssh", &["-W", &format!("localhost:{theirs}"), &host])).await;
    assert!(!refused.status.success() && text(&refused.stderr).contains("`access.recording`"));
    println!("required, in a connection that was open: {:?}", said.trim());
    site.clear().await;
}
