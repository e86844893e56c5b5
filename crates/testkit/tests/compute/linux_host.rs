//! A real host: `gpuaas-node` with the driver `linux` as root, and a real sshd.
//! An allocation is a user who can log in; its release leaves nothing of them.

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use contract::{
    Role,
    allocations::{AllocationPath, AllocationSpec, AllocationSshKeys, AllocationState, SetAllocationSshKeys},
    members::{MemberPath, RemoveMember},
    nodes::{ListNodes, NodeState},
    pools::PoolProvider,
    ssh_keys::{RemoveSshKey, SshKeyPath},
};
use testkit::{
    Fleet, Tenant,
    cloud::{add_key, add_sku, ask},
    fleet::add_pool,
    process::{binary, free_port},
    server::eventually,
};

const SSHD: &str = "/usr/sbin/sshd";

/// A folder that every user may look into, as `/` is.
struct Host {
    folder: tempfile::TempDir,
    port: u16,
    sshd: Option<tokio::process::Child>,
    user: Option<String>,
}

impl Host {
    fn new() -> Host {
        testkit::needs_root();
        // Not below `/tmp`: sshd refuses keys in folders below one that everybody may write to.
        let folder = tempfile::tempdir_in("/run").unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["homes", "state"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let first_uid = 1_000_000 + std::process::id() * 32;
        let settings = format!(
            "simulated_gpus = 2\nhome_root = {:?}\nkeys_root = {:?}\nfirst_uid = {first_uid}\nlast_uid = {}\n",
            folder.path().join("homes"),
            folder.path().join("keys"),
            first_uid + 31
        );
        std::fs::write(folder.path().join("state/agent.toml"), settings).unwrap();
        Host { folder, port: free_port(), sshd: None, user: None }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A key pair; the private half is the file of that name.
    fn key(&self, name: &str) -> String {
        let mut make = Command::new("ssh-keygen");
        make.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"]).arg(self.path(name));
        assert!(make.status().unwrap().success());
        std::fs::read_to_string(self.path(name).with_extension("pub")).unwrap().trim().to_owned()
    }

    /// The same, by its file.
    fn key_file(&self, name: &str) -> PathBuf {
        self.key(name);
        self.path(name)
    }

    fn agent(&self, arguments: &[&str]) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(binary("gpuaas-node"));
        command.args(arguments).arg("--data-dir").arg(self.path("state"));
        command.stdin(Stdio::null()).env("GPUAAS_NODE_LOG", "warn").kill_on_drop(true);
        command
    }

    fn runs(&self) -> tokio::process::Child {
        self.agent(&["run", "--heartbeat-ms", "500"]).spawn().unwrap()
    }

    /// Listens on a free port with a configuration of its own.
    async fn serve_ssh(&mut self) {
        assert!(Path::new(SSHD).exists(), "sshd is missing: run `scripts/bootstrap.sh --test`");
        // Where Debian's sshd keeps what it no longer trusts; its service makes it elsewhere.
        std::fs::create_dir_all("/run/sshd").unwrap();
        self.key("host-key");
        let settings = format!(
            "Port {}\nListenAddress 127.0.0.1\nHostKey {}\nPidFile none\nUsePAM no\nStrictModes yes\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nAuthorizedKeysFile .ssh/authorized_keys\n\
             Match Group {}\nAuthorizedKeysFile {}/%u\n",
            self.port,
            self.path("host-key").display(),
            agent::workloads::LOGINS,
            self.path("keys").display()
        );
        std::fs::write(self.path("sshd_config"), settings).unwrap();
        let mut command = tokio::process::Command::new(SSHD);
        command.args(["-D", "-e", "-f"]).arg(self.path("sshd_config"));
        let log = std::fs::File::create(self.path("sshd.log")).unwrap();
        self.sshd = Some(command.stdin(Stdio::null()).stderr(log).kill_on_drop(true).spawn().unwrap());
        let address = ("127.0.0.1", self.port);
        eventually("sshd", || async { tokio::net::TcpStream::connect(address).await.is_ok() }).await;
    }

    /// Logs in with a key and runs a command.
    async fn ssh(&self, user: &str, key: &str, command: &str) -> Output {
        let mut ssh = tokio::process::Command::new("ssh");
        ssh.args(["-F", "none", "-p", &self.port.to_string(), "-i"]).arg(self.path(key));
        for option in
            ["BatchMode=yes", "IdentitiesOnly=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"]
        {
            ssh.args(["-o", option]);
        }
        ssh.args(["-o", "ConnectTimeout=10", "-q", &format!("{user}@127.0.0.1"), command]);
        ssh.stdin(Stdio::null()).kill_on_drop(true).output().await.unwrap()
    }

    async fn lets_in(&self, user: &str, key: &str) -> bool {
        self.ssh(user, key, "true").await.status.success()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Only what a failed test left behind.
        if let Some(user) = &self.user
            && nix::unistd::User::from_name(user).is_ok_and(|it| it.is_some())
        {
            let _ = Command::new("userdel").args(["--force", "--remove", user]).output();
        }
    }
}

/// Processes of a user that are not merely waiting to be reaped.
fn processes_of(uid: u32) -> Vec<String> {
    let listed = Command::new("ps").args(["-o", "stat=,args=", "-U", &uid.to_string()]).output().unwrap();
    let text = String::from_utf8(listed.stdout).unwrap();
    text.lines().filter(|it| !it.starts_with('Z')).map(str::to_owned).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A fleet with the host in it, ready to take work.
async fn enrolled(host: &Host) -> (Fleet, tokio::process::Child) {
    let fleet = Fleet::new().await;
    add_sku(&fleet.operator).await;
    let pool = add_pool(&fleet.operator, "metal", PoolProvider::Enrolled).await;
    let token = fleet.token_for(pool).await;
    let url = format!("https://{}", fleet.world.server.node_address.unwrap());
    let secret = token.secret.expose();
    let enroll = ["enroll", "--url", &url, "--token", secret, "--ca-fingerprint", &token.ca_fingerprint];
    let output = host.agent(&enroll).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let agent = host.runs();
    eventually("the node to be ready", || async {
        let nodes = fleet.operator.call::<ListNodes>(Default::default(), Default::default(), Default::default()).await;
        nodes.unwrap().items.iter().any(|it| it.state == NodeState::Ready && it.gpus_free == 2)
    })
    .await;
    (fleet, agent)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn an_allocation_is_a_real_login_and_its_release_leaves_nothing_of_it() {
    let mut host = Host::new();
    host.serve_ssh().await;
    let (fleet, mut agent) = enrolled(&host).await;
    let tenant = Tenant::new(&fleet.world).await;
    let mine = add_key(&fleet.world, &tenant, "mine", &host.key_file("mine")).await;
    let second = add_key(&fleet.world, &tenant, "second", &host.key_file("second")).await;
    host.key("stranger");

    let active = tenant.get_one(AllocationSpec { ssh_keys: Some(vec![mine.id]), ..ask(1) }).await;
    let user = active.login.clone();
    host.user = Some(user.clone());
    let account = nix::unistd::User::from_name(&user).unwrap().expect("the user is there");
    let output = host.ssh(&user, "mine", "id -un; bash -lc 'echo $CUDA_VISIBLE_DEVICES'").await;
    assert_eq!(said(&output), format!("{user}\n{}", active.parts[0].gpus[0]), "{output:?}");
    assert!(!host.lets_in(&user, "stranger").await, "only the attached key opens");

    let path = AllocationPath { project_id: tenant.project, allocation_id: active.id };
    let body = AllocationSshKeys { ssh_keys: vec![second.id] };
    tenant.client.call::<SetAllocationSshKeys>(path, Default::default(), body).await.unwrap();
    eventually("the other key", || async { host.lets_in(&user, "second").await }).await;
    assert!(!host.lets_in(&user, "mine").await, "the first key no longer opens");

    // A key that the tenant adds by hand is not the platform's: it would go around every rule.
    let own = host.key("own");
    let plant = format!("mkdir -p .ssh; chmod 700 .ssh; echo '{own}' > .ssh/authorized_keys; chmod 600 .ssh/*");
    assert!(host.ssh(&user, "second", &plant).await.status.success());
    assert!(!host.lets_in(&user, "own").await, "a key in the home opens nothing");

    let busy = "trap '' HUP TERM; mkdir -p work; echo secret > work/data; (setsid sleep 600 >/dev/null 2>&1 &) ; (nohup sleep 601 >/dev/null 2>&1 &)";
    assert!(host.ssh(&user, "second", busy).await.status.success());
    assert!(processes_of(account.uid.as_raw()).len() >= 2);
    // An agent that dies in between finds everything again.
    agent.kill().await.unwrap();
    let _agent = host.runs();

    let released = tenant.gives_back(active.id).await;
    assert_eq!(released.state, AllocationState::Released);
    assert!(nix::unistd::User::from_name(&user).unwrap().is_none(), "the user is gone");
    assert_eq!(processes_of(account.uid.as_raw()), Vec::<String>::new(), "so is what they ran");
    assert!(!account.dir.exists(), "and their home");
    assert!(!host.lets_in(&user, "second").await);
    let mut above = fleet.world.server.database.superuser().await;
    let evidence: serde_json::Value =
        sqlx::query_scalar("SELECT evidence FROM allocation_parts WHERE allocation_id = $1")
            .bind(active.id.uuid())
            .fetch_one(&mut above)
            .await
            .unwrap();
    assert!(evidence["processes_killed"].as_u64().unwrap() >= 2, "{evidence}");
    let took = active.active_at.unwrap().duration_since(active.created_at);
    println!(
        "user {user} (uid {}) was made in {} ms, logged in through sshd on port {}, and is gone with {} processes and {}",
        account.uid,
        took.as_millis(),
        host.port,
        evidence["processes_killed"],
        account.dir.display()
    );
}

/// Whoever may not be in the organization any longer is not let in by its hosts.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn former_members_and_removed_keys_open_no_host() {
    let mut host = Host::new();
    host.serve_ssh().await;
    let (fleet, _agent) = enrolled(&host).await;
    let tenant = Tenant::new(&fleet.world).await;
    let owner = fleet.world.member_of(tenant.organization, Role::Member).await;
    let colleague = Tenant { client: fleet.world.as_(&owner), owner, ..tenant.clone() };
    let theirs = add_key(&fleet.world, &colleague, "colleague", &host.key_file("colleague")).await;
    let other = add_key(&fleet.world, &colleague, "other", &host.key_file("other")).await;
    let keys = Some(vec![theirs.id, other.id]);
    let active = colleague.get_one(AllocationSpec { ssh_keys: keys, ..ask(1) }).await;
    let user = active.login.clone();
    host.user = Some(user.clone());
    assert!(host.lets_in(&user, "colleague").await && host.lets_in(&user, "other").await);

    let session = fleet.world.signed_in(colleague.owner.id).await;
    let path = SshKeyPath { ssh_key_id: other.id };
    session.call::<RemoveSshKey>(path, Default::default(), Default::default()).await.unwrap();
    eventually("the removed key to open nothing", || async { !host.lets_in(&user, "other").await }).await;
    assert!(host.lets_in(&user, "colleague").await, "the other key still does");

    let path = MemberPath { organization_id: tenant.organization, user_id: colleague.owner.id };
    tenant.client.call::<RemoveMember>(path, Default::default(), Default::default()).await.unwrap();
    eventually("the former member to be out", || async { !host.lets_in(&user, "colleague").await }).await;
    tenant.gives_back(active.id).await;
}
