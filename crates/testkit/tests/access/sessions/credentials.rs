//! What was opened with a credential ends with it: tickets, shells and certificates.

use std::{os::unix::fs::PermissionsExt, path::Path, process::Stdio, time::Duration};

use client::Client;
use contract::{
    Nothing, Permission, Word,
    access_sessions::AccessSessionState,
    keys::{CreatePersonalKey, KeyPath, KeySpec, RevokePersonalKey},
    sessions::SignOutEverywhere,
    ssh_certificates::{CreateSshCertificate, SshCertificate, SshCertificateSpec},
};
use testkit::{
    gateway::{Ending, Terminal},
    server::eventually,
};
use tokio::process::Command;

use crate::sessions::stand::{Stand, refused, terminal};

// bound: a gateway hears of it with its next beat; a loaded machine needs longer
const PATIENCE: Duration = Duration::from_secs(30);

/// What a credential opened: a ticket that nobody used, and a shell.
struct Opened {
    ticket: String,
    shell: Terminal,
}

impl Opened {
    async fn with(stand: &Stand, client: &Client) -> Opened {
        let ticket = stand.try_ticket(client, terminal()).await.unwrap();
        let mut shell = Terminal::open(stand.gateway.public, ticket.ticket.expose()).await;
        shell.type_in("echo in\n").await;
        assert!(shell.prints("in").await);
        let ticket = stand.try_ticket(client, terminal()).await.unwrap();
        Opened { ticket: ticket.ticket.expose().to_owned(), shell }
    }

    async fn ends(mut self, stand: &Stand) {
        let ended = tokio::time::timeout(PATIENCE, self.shell.ends()).await;
        assert!(matches!(ended, Ok(Ending::Closed(_))), "the shell is cut off: {ended:?}");
        let before = refused("credential_ended");
        let mut late = Terminal::open(stand.gateway.public, &self.ticket).await;
        assert!(matches!(late.ends().await, Ending::Closed(_)), "the ticket opens nothing");
        assert!(refused("credential_ended") > before);
        eventually("no session is left", || async {
            let live = [AccessSessionState::Opening, AccessSessionState::Open, AccessSessionState::Detached];
            let mut left = 0;
            for state in live {
                left += stand.sessions(Some(state)).await.len();
            }
            left == 0
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_key_ends_the_tickets_and_shells_made_with_it() {
    let stand = Stand::new().await;
    let world = stand.cloud.world();
    let me = world.signed_in(stand.tenant.owner.id).await;
    let spec = KeySpec { name: "ci".parse().unwrap(), scopes: Permission::ALL.to_vec(), expires_at: None };
    let key = me.call::<CreatePersonalKey>(Nothing {}, Nothing {}, spec).await.unwrap();
    let opened = Opened::with(&stand, &world.server.client(Some(key.secret.expose()))).await;
    me.call::<RevokePersonalKey>(KeyPath { key_id: key.key.id }, Nothing {}, Nothing {}).await.unwrap();
    opened.ends(&stand).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_out_everywhere_ends_the_tickets_and_shells_of_every_session() {
    let stand = Stand::new().await;
    let me = stand.cloud.world().signed_in(stand.tenant.owner.id).await;
    let opened = Opened::with(&stand, &me).await;
    let elsewhere = stand.cloud.world().signed_in(stand.tenant.owner.id).await;
    elsewhere.call::<SignOutEverywhere>(Nothing {}, Nothing {}, Nothing {}).await.unwrap();
    opened.ends(&stand).await;
}

async fn ssh(stand: &Stand, folder: &Path, login: &str) -> std::process::Output {
    let mut ssh = Command::new("ssh");
    ssh.args(["-F", "/dev/null", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none"]);
    ssh.args(["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-i"]).arg(folder.join("key"));
    ssh.args(["-p", &stand.gateway.ssh.port().to_string(), &format!("{login}@127.0.0.1"), "echo in"]);
    ssh.kill_on_drop(true).stdin(Stdio::null());
    tokio::time::timeout(PATIENCE * 2, ssh.output()).await.expect("it ends in time").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_key_ends_the_ssh_certificates_made_with_it() {
    let stand = Stand::new().await;
    let world = stand.cloud.world();
    let me = world.signed_in(stand.tenant.owner.id).await;
    let spec = KeySpec { name: "ci".parse().unwrap(), scopes: Permission::ALL.to_vec(), expires_at: None };
    let key = me.call::<CreatePersonalKey>(Nothing {}, Nothing {}, spec).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut make = Command::new("ssh-keygen");
    make.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.path().join("key"));
    assert!(make.status().await.expect("tests need OpenSSH: `make test` installs it").success());
    let line = std::fs::read_to_string(folder.path().join("key.pub")).unwrap();
    let spec = SshCertificateSpec { public_key: line.trim().parse().unwrap() };
    // The gateway of this process serves SSH without saying where.
    let address = format!("127.0.0.1:{}", stand.gateway.ssh.port());
    let mut connection = world.server.database.superuser().await;
    sqlx::query("UPDATE gateways SET ssh_address = $1").bind(address).execute(&mut connection).await.unwrap();
    let program = world.server.client(Some(key.secret.expose()));
    let made: SshCertificate = program.call::<CreateSshCertificate>(stand.at(), Nothing {}, spec).await.unwrap();
    std::fs::write(folder.path().join("key-cert.pub"), made.certificate + "\n").unwrap();
    let said = ssh(&stand, folder.path(), &made.login).await;
    assert_eq!(String::from_utf8_lossy(&said.stdout), "in\n", "{}", String::from_utf8_lossy(&said.stderr));
    me.call::<RevokePersonalKey>(KeyPath { key_id: key.key.id }, Nothing {}, Nothing {}).await.unwrap();
    let said = ssh(&stand, folder.path(), &made.login).await;
    assert_eq!(said.status.code(), Some(255), "the certificate still opens the allocation");
    // The gateway counts it once the connection is gone.
    eventually("it is counted", || async { refused("credential_ended") == 1 }).await;
}
