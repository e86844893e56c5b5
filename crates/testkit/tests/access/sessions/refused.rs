//! Those who are refused are counted, by reason, and once.

use std::{path::Path, process::Output, sync::Arc, time::Duration};

use contract::Code;
use protocol::stream::ALPN;
use testkit::{cloud::add_key, server::eventually, world::set_policy};
use tokio::{net::TcpStream, process::Command};
use trust::{ControlClock, Trust};

use crate::sessions::stand::{Stand, code, counted, refused, terminal};

// bound: a loaded machine needs seconds for a handshake
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_for_another_organizations_allocation_is_refused_and_counted() {
    let stand = Stand::new().await;
    let (_, stranger) = stand.cloud.world().organization().await;
    let labels = [("code", Code::NotFound.info().name)];
    let before = counted("gpuaas_http_problems_total", &labels);
    let refusal = stand.try_ticket(&stand.cloud.world().as_(&stranger), terminal()).await.unwrap_err();
    assert_eq!(code(refusal), Code::NotFound.info().name);
    assert!(counted("gpuaas_http_problems_total", &labels) > before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_names_no_node_is_no_hosts_and_counted() {
    let stand = Stand::new().await;
    let labels = [("reason", "not_a_node")];
    let before = counted("gpuaas_gateway_refused_hosts_total", &labels);
    // Of the right authority, and a gateway's.
    let identity = stand.gateway.identity();
    let trust = Trust::in_gateways(&identity.roots).unwrap();
    let mut tls = (*trust.identified(&identity.pair, &ControlClock::default()).unwrap()).clone();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let line = TcpStream::connect(stand.gateway.agents).await.unwrap();
    let name = rustls::pki_types::ServerName::try_from("127.0.0.1").unwrap();
    let line = tokio_rustls::TlsConnector::from(Arc::new(tls)).connect(name, line).await;
    eventually("it is counted", || async { counted("gpuaas_gateway_refused_hosts_total", &labels) == before + 1 })
        .await;
    drop(line);
}

struct Laptop<'a> {
    folder: tempfile::TempDir,
    stand: &'a Stand,
}

impl Laptop<'_> {
    async fn make_key(&self, name: &str) -> String {
        let file = self.folder.path().join(name);
        let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&file).status().await;
        assert!(made.unwrap().success());
        std::fs::read_to_string(file.with_extension("pub")).unwrap().trim().to_owned()
    }

    async fn ssh(&self, keys: &[&str], login: &str) -> Output {
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", "/dev/null", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none"]);
        ssh.args(["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]);
        for key in keys {
            ssh.arg("-i").arg(Path::new(self.folder.path()).join(key));
        }
        ssh.args(["-p", &self.stand.gateway.ssh.port().to_string(), &format!("{login}@127.0.0.1"), "echo in"]);
        ssh.kill_on_drop(true).stdin(std::process::Stdio::null());
        tokio::time::timeout(PATIENCE, ssh.output()).await.expect("it ends in time").unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ssh_client_counts_once_and_only_when_none_of_its_keys_gets_it_in() {
    let stand = Stand::new().await;
    let laptop = Laptop { folder: tempfile::tempdir().unwrap(), stand: &stand };
    set_policy(stand.operator(), "access.ssh_certificates_only", "false").await;
    laptop.make_key("known").await;
    laptop.make_key("other").await;
    laptop.make_key("third").await;
    let login = stand.allocation.to_string();

    let denied = laptop.ssh(&["known", "other", "third"], &login).await;
    assert_eq!(denied.status.code(), Some(255));
    eventually("it is counted", || async { refused("ssh_unknown_key") > 0 }).await;
    assert_eq!(refused("ssh_unknown_key"), 1, "three keys are one refusal");

    add_key(stand.cloud.world(), &stand.tenant, "laptop", &laptop.folder.path().join("known")).await;
    let said = laptop.ssh(&["other", "known"], &login).await;
    assert_eq!(String::from_utf8_lossy(&said.stdout), "in\n", "{}", String::from_utf8_lossy(&said.stderr));
    assert_eq!(refused("ssh_unknown_key"), 1, "the second key got in");

    let elsewhere = contract::id::AllocationId::generate().to_string();
    let denied = laptop.ssh(&["known", "other"], &elsewhere).await;
    assert_eq!(denied.status.code(), Some(255));
    eventually("it is counted", || async { refused("ssh_no_such_allocation") > 0 }).await;
    assert_eq!((refused("ssh_no_such_allocation"), refused("ssh_unknown_key")), (1, 1), "by what says most");
}
