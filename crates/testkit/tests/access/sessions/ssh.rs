//! Certificates for SSH, and their end; and which host of a gang they lead to.

use std::{
    collections::BTreeSet,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Output, Stdio},
    time::Duration,
};

use contract::{
    Nothing,
    access_sessions::AccessSessionState,
    allocations::AllocationState,
    gateways::{GatewayPath, GetGateway},
    ssh_certificates::{CreateSshCertificate, SshCertificate, SshCertificateSpec},
};
use tempfile::TempDir;
use testkit::{Door, process::binary, server::eventually};
use tokio::process::Command;

use crate::sessions::stand::{Stand, refused};

async fn ssh(folder: &Path, key: &str, door: &Door, login: &str, command: &str) -> Output {
    let known = format!("UserKnownHostsFile={}", folder.join("known_hosts").display());
    let mut ssh = Command::new("ssh");
    ssh.args(["-F", "/dev/null", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none"]);
    ssh.args(["-o", &known, "-o", "StrictHostKeyChecking=yes", "-p", &door.ssh_port.to_string()]);
    run(ssh.arg("-i").arg(folder.join(key)).arg(format!("{login}@127.0.0.1")).arg(command)).await
}

async fn run(command: &mut Command) -> Output {
    command.stdin(Stdio::null());
    tokio::time::timeout(Duration::from_secs(60), command.output()).await.expect("it ends in time").unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn ok(output: Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// A gateway that serves SSH, with every host of the stand connected.
async fn door(stand: &Stand, hosts: u32) -> Door {
    let server = &stand.cloud.world().server;
    let url = format!("https://{}", server.node_address.unwrap());
    let door = Door::open(stand.operator(), stand.cloud.fleet.pool, "edge-ssh", &url, "").await;
    eventually("the hosts at the gateway", || async {
        let path = GatewayPath { gateway_id: door.id };
        stand.operator().call::<GetGateway>(path, Nothing {}, Nothing {}).await.unwrap().nodes == hosts
    })
    .await;
    door
}

async fn make_key(folder: &Path, name: &str) -> String {
    let mut make = Command::new("ssh-keygen");
    make.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(name));
    assert!(make.status().await.expect("tests need OpenSSH: `make test` installs it").success());
    std::fs::read_to_string(folder.join(format!("{name}.pub"))).unwrap()
}

/// A key with a certificate for the stand's allocation.
async fn certified(stand: &Stand) -> (TempDir, SshCertificate) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let line = make_key(folder.path(), "key").await;
    let spec = SshCertificateSpec { public_key: line.trim().parse().unwrap() };
    let made: SshCertificate =
        stand.tenant.client.call::<CreateSshCertificate>(stand.at(), Nothing {}, spec).await.unwrap();
    std::fs::write(folder.path().join("key-cert.pub"), made.certificate.clone() + "\n").unwrap();
    std::fs::write(folder.path().join("known_hosts"), made.known_hosts.join("\n") + "\n").unwrap();
    (folder, made)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_has_ended_opens_nothing() {
    let stand = Stand::new().await;
    let door = door(&stand, 1).await;
    let (folder, made) = certified(&stand).await;
    assert_eq!(ok(ssh(folder.path(), "key", &door, &made.login, "echo in").await), "in\n");
    stand.cloud.fleet.advance(Duration::from_secs(11 * 60));
    let outside = ssh(folder.path(), "key", &door, &made.login, "echo in").await;
    let words = text(&outside.stderr);
    assert!(!outside.status.success() && words.contains("Permission denied (publickey)"), "{words}");
    println!("eleven minutes later: {}", words.trim());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rank_says_which_host_of_a_gang_is_entered() {
    let stand = Stand::gang(2).await;
    let door = door(&stand, 2).await;
    let (folder, made) = certified(&stand).await;
    let enter = async |login: &str| ssh(folder.path(), "key", &door, login, "hostname").await;
    let first = ok(enter(&format!("{}+0", made.login)).await);
    let second = ok(enter(&format!("{}+1", made.login)).await);
    assert_ne!(first, second);
    assert_eq!(ok(enter(&made.login).await), first, "the first is meant when nobody says");
    let parts = stand.tenant.reaches(stand.allocation, AllocationState::Active).await.parts;
    let both: BTreeSet<_> = parts.iter().map(|it| it.node_id.to_string()).collect();
    eventually("the sessions name both hosts", || async {
        let ended = stand.sessions(Some(AccessSessionState::Ended)).await;
        ended.iter().map(|it| it.node_id.to_string()).collect::<BTreeSet<_>>() == both
    })
    .await;

    for rank in ["2", "x", "-1", ""] {
        let said = enter(&format!("{}+{rank}", made.login)).await;
        let words = text(&said.stderr);
        assert!(!said.status.success() && words.contains("its ranks are 0 to 1"), "{words}");
        println!("rank {rank:?}: {}", words.trim());
    }
    assert_eq!(refused("no_such_rank"), 4);
    // Who may not come in does not learn how many there are.
    make_key(folder.path(), "other").await;
    let said = ssh(folder.path(), "other", &door, &format!("{}+7", made.login), "true").await;
    let words = text(&said.stderr);
    assert!(words.contains("Permission denied (publickey)") && !words.contains("rank"), "{words}");

    let home = tempfile::tempdir().unwrap();
    let at_home = |mut command: Command| {
        command.env("HOME", home.path()).env("GPUAAS_CONFIG", home.path().join("gpuaas/config.toml"));
        command.env("GPUAAS_URL", &stand.cloud.world().server.base).env("GPUAAS_TOKEN", &stand.tenant.owner.token);
        command.env("GPUAAS_PROJECT", stand.tenant.project.to_string());
        command
    };
    let gpuaas = async |arguments: &[&str]| {
        let mut command = at_home(Command::new(binary("gpuaas")));
        run(command.args(arguments)).await
    };
    let id = stand.allocation.to_string();
    assert_eq!(ok(gpuaas(&["ssh", &id, "--rank", "1", "--", "hostname"]).await), second);
    let wrong = gpuaas(&["ssh", &id, "--rank", "9"]).await;
    assert!(text(&wrong.stderr).contains("no rank 9: its ranks are 0 to 1"), "{}", text(&wrong.stderr));
    println!("gpuaas ssh --rank 9: {}", text(&wrong.stderr).trim());
    ok(gpuaas(&["ssh-config", &id, "--write"]).await);
    for (host, expected) in [(format!("{id}.gpuaas"), &first), (format!("{id}+1.gpuaas"), &second)] {
        let mut command = at_home(Command::new("ssh"));
        let said = run(command.arg("-F").arg(home.path().join(".ssh/config")).args([&host, "hostname"])).await;
        assert_eq!(ok(said), *expected, "{host}");
    }
}
