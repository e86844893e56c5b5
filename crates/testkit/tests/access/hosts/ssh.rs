//! OpenSSH's own programs into an allocation on a real host: with a certificate
//! that the command line gets, with a registered key, and not at all.

use std::{
    path::PathBuf,
    process::{Output, Stdio},
    time::Duration,
};

use contract::id::UserId;
use testkit::{Member, door::memory_kib, process::binary, server::eventually, world::set_policy};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::Command,
};

use crate::hosts::site::Site;

// bound: a loaded machine needs seconds for a handshake
pub const PATIENCE: Duration = Duration::from_secs(90);

/// A person's machine: a home folder of their own, and nothing of this one's.
pub struct Laptop {
    home: tempfile::TempDir,
    url: String,
    token: String,
    project: String,
    pub allocation: String,
    pub port: u16,
}

impl Laptop {
    fn new(site: &Site) -> Self {
        Self::of(site, &site.tenant.owner)
    }

    pub fn of(site: &Site, person: &Member) -> Self {
        let plane = site.plane.as_ref().expect("it runs");
        Self {
            home: tempfile::tempdir().unwrap(),
            url: format!("http://127.0.0.1:{}", plane.port),
            token: person.token.clone(),
            project: site.tenant.project.to_string(),
            allocation: site.allocation().id.to_string(),
            port: site.door.ssh_port,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn at_home(&self, command: &mut Command) {
        command.env("HOME", self.home.path()).env("GPUAAS_CONFIG", self.path("gpuaas/config.toml"));
        command.env("GPUAAS_URL", &self.url).env("GPUAAS_TOKEN", &self.token).env("GPUAAS_PROJECT", &self.project);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    }

    pub fn gpuaas(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary("gpuaas"));
        self.at_home(command.args(arguments));
        command
    }

    /// One of OpenSSH's programs with the configuration that `gpuaas ssh-config` wrote.
    pub fn configured(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        self.at_home(command.arg("-F").arg(self.path(".ssh/config")).args(arguments));
        command
    }

    /// `ssh` with a key alone, as anybody has it.
    pub fn plain(&self, key: &str, login: &str, command: &str) -> Command {
        let mut ssh = Command::new("ssh");
        self.at_home(&mut ssh);
        ssh.args(["-F", "/dev/null", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none"]);
        ssh.arg("-o").arg(format!("UserKnownHostsFile={}", self.path("known_hosts").display()));
        ssh.args(["-o", "StrictHostKeyChecking=yes", "-p", &self.port.to_string(), "-i"]).arg(self.path(key));
        ssh.arg(format!("{login}@127.0.0.1")).arg(command);
        ssh
    }

    pub async fn make_key(&self, name: &str) -> String {
        let mut make = Command::new("ssh-keygen");
        run(make.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(self.path(name))).await;
        self.public_key(name)
    }

    fn public_key(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(&format!("{name}.pub"))).unwrap().trim().to_owned()
    }

    /// Learns the gateways' keys, as `known_hosts` has them.
    pub async fn learn_hosts(&self) {
        let known = ok(run(&mut self.gpuaas(&["ssh-config", "--known-hosts"])).await);
        std::fs::write(self.path("known_hosts"), &known).unwrap();
    }

    /// Makes a key somebody's, as if they had added it.
    pub async fn register(&self, site: &Site, user: UserId, name: &str) {
        let mut printed = Command::new("ssh-keygen");
        let printed = ok(run(printed.arg("-lf").arg(self.path(&format!("{name}.pub")))).await);
        let fingerprint = printed.split(' ').nth(1).expect("it prints one").to_owned();
        let add = "INSERT INTO ssh_keys (id, user_id, name, public_key, fingerprint) VALUES ($1, $2, 'laptop', $3, $4)";
        let mut above = site.plant.database.superuser().await;
        let id = contract::id::SshKeyId::generate().uuid();
        let added = sqlx::query(add).bind(id).bind(user.uuid()).bind(self.public_key(name)).bind(&fingerprint);
        added.execute(&mut above).await.unwrap();
        set_policy(&site.operator(), "access.ssh_certificates_only", "false").await;
    }
}

/// As if somebody had removed all of theirs.
pub async fn remove_keys(site: &Site, user: UserId) {
    let mut above = site.plant.database.superuser().await;
    let gone = sqlx::query("DELETE FROM ssh_keys WHERE user_id = $1").bind(user.uuid());
    assert_eq!(gone.execute(&mut above).await.unwrap().rows_affected(), 1);
}

pub async fn run(command: &mut Command) -> Output {
    let output = tokio::time::timeout(PATIENCE, command.output()).await;
    output.expect("it ends in time").unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn ok(output: Output) -> String {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn openssh_gets_in_copies_forwards_and_leaves_nothing_behind() {
    let mut site = Site::new(&[("access.sessions_per_allocation", "50")], "").await;
    let (login, id) = (site.allocation().login.clone(), site.allocation().id.to_string());
    let laptop = Laptop::new(&site);

    // Everything by one command.
    let said = run(&mut laptop.gpuaas(&["ssh", &id, "--", "id -un; echo oops >&2; exit 7"])).await;
    assert_eq!((text(&said.stdout).trim(), said.status.code()), (login.as_str(), Some(7)), "{}", text(&said.stderr));
    assert!(text(&said.stderr).contains("oops"), "{}", text(&said.stderr));
    println!("gpuaas ssh: a command ran as {login}, its errors apart, its exit code 7 passed on");

    // As a host of OpenSSH's configuration: what editors do.
    ok(run(&mut laptop.gpuaas(&["ssh-config", &id, "--write"])).await);
    let host = format!("{id}.gpuaas");
    assert_eq!(ok(run(&mut laptop.configured("ssh", &[&host, "echo $((40 + 2))"])).await), "42\n");
    let mut shell = laptop.configured("ssh", &["-tt", &host]).stdin(Stdio::piped()).spawn().unwrap();
    shell.stdin.as_mut().unwrap().write_all(b"stty size; tty; exit 3\n").await.unwrap();
    let said = tokio::time::timeout(PATIENCE, shell.wait_with_output()).await.unwrap().unwrap();
    assert!(said.status.code() == Some(3) && text(&said.stdout).contains("/dev/pts/"), "{}", text(&said.stdout));
    println!("ssh {host}: through ProxyCommand, with a terminal of its own");

    copies(&laptop, &host).await;
    forwards(&laptop, &host).await;
    keys(&site, &laptop, &id).await;
    stalls(&site, &laptop, &host).await;

    // The gateway dies: clients end, and so does what they ran.
    let mut command = laptop.configured("ssh", &[&host, "echo ready; exec sleep 600"]);
    let mut client = command.spawn().unwrap();
    let mut first = [0; 6];
    client.stdout.as_mut().unwrap().read_exact(&mut first).await.unwrap();
    assert!(site.processes().iter().any(|it| it.contains("sleep 600")));
    site.door.kill().await;
    assert!(!tokio::time::timeout(PATIENCE, client.wait()).await.unwrap().unwrap().success());
    eventually("nothing runs as the allocation's user", || async { site.processes().is_empty() }).await;
    println!("the gateway was killed: its client ended, and nothing was left on the host");
    site.door.start_again().await;
    site.clear().await;
}

async fn copies(laptop: &Laptop, host: &str) {
    let (here, back) = (laptop.path("here"), laptop.path("back"));
    let bytes: Vec<u8> = (0..2_000_000_u32).map(|it| (it * 7 % 251) as u8).collect();
    std::fs::write(&here, &bytes).unwrap();
    for old in [&[][..], &["-O"]] {
        let (to, from) = (format!("{host}:there"), back.display().to_string());
        ok(run(&mut laptop.configured("scp", &[old, &[&here.display().to_string(), &to]].concat())).await);
        ok(run(&mut laptop.configured("scp", &[old, &[&to, &from]].concat())).await);
        assert_eq!(std::fs::read(&back).unwrap(), bytes);
        ok(run(&mut laptop.configured("ssh", &[host, "rm there"])).await);
        std::fs::remove_file(&back).unwrap();
    }
    let batch = laptop.path("batch");
    std::fs::write(&batch, format!("put {} there\nls -l there\nbye\n", here.display())).unwrap();
    let said = ok(run(&mut laptop.configured("sftp", &["-b", &batch.display().to_string(), host])).await);
    assert!(said.contains("2000000"), "{said}");
    println!("scp (also -O) and sftp: 2 MB there and back, byte for byte");
}

async fn forwards(laptop: &Laptop, host: &str) {
    let (theirs, mine) = (testkit::process::free_port(), testkit::process::free_port());
    let serve = format!("cd /tmp && exec python3 -m http.server --bind 127.0.0.1 {theirs}");
    let mut server = laptop.configured("ssh", &[host, &serve]).spawn().unwrap();
    let forward = format!("{mine}:localhost:{theirs}");
    let mut client = laptop.configured("ssh", &["-N", "-L", &forward, host]).spawn().unwrap();
    let mut answer = String::new();
    let asking = async {
        while !answer.contains("200 OK") {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let Ok(mut stream) = tokio::net::TcpStream::connect(("127.0.0.1", mine)).await else { continue };
            let _ = stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await;
            answer.clear();
            let _ = stream.read_to_string(&mut answer).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.expect("the server answers through the tunnel");
    client.kill().await.unwrap();
    server.kill().await.unwrap();
    println!("ssh -L: a server of the allocation's user answered through the tunnel");
}

async fn keys(site: &Site, laptop: &Laptop, id: &str) {
    laptop.learn_hosts().await;
    laptop.make_key("key").await;
    let denied = run(&mut laptop.plain("key", id, "true")).await;
    let words = text(&denied.stderr);
    assert!(words.contains("Permission denied (publickey)"), "{words}");
    // Somebody of another organization has the key: that opens nothing here.
    laptop.register(site, site.plant.stranger.id, "key").await;
    let foreign = run(&mut laptop.plain("key", id, "true")).await;
    assert_eq!(text(&foreign.stderr), words, "they hear the same");
    remove_keys(site, site.plant.stranger.id).await;
    laptop.register(site, site.tenant.owner.id, "key").await;
    assert_eq!(ok(run(&mut laptop.plain("key", id, "echo in")).await), "in\n");
    let other = contract::id::AllocationId::generate().to_string();
    let elsewhere = run(&mut laptop.plain("key", &other, "true")).await;
    assert_eq!(text(&elsewhere.stderr).replace(&other, id), words, "they hear the same");
    remove_keys(site, site.tenant.owner.id).await;
    let revoked = run(&mut laptop.plain("key", id, "true")).await;
    assert_eq!(text(&revoked.stderr), words, "they hear the same");
    println!("a registered key gets in; unknown, foreign, revoked, and for another allocation: {}", words.trim());
}

/// How many bytes the commands `yes` of the allocation's user have written.
fn written(site: &Site) -> u64 {
    let listed = std::process::Command::new("pgrep").args(["-x", "yes", "-U", &site.uid().to_string()]).output();
    let pids = text(&listed.unwrap().stdout);
    assert_eq!(pids.lines().count(), 5, "every one of them runs");
    let of = |pid: &str| -> u64 {
        let counts = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
        let line = counts.lines().find_map(|it| it.strip_prefix("wchar: "));
        line.unwrap().parse().unwrap()
    };
    pids.lines().map(of).sum()
}

async fn stalls(site: &Site, laptop: &Laptop, host: &str) {
    let before = memory_kib(site.door.process());
    let mut clients = Vec::new();
    for _ in 0..5 {
        let mut client = laptop.configured("ssh", &[host, "yes"]).spawn().unwrap();
        let mut first = [0; 2];
        if client.stdout.as_mut().unwrap().read_exact(&mut first).await.is_err() {
            panic!("it ended: {}", text(&client.wait_with_output().await.unwrap().stderr));
        }
        clients.push(client);
    }
    // Once everything between them and their readers is full, they can write no more.
    let (mut grown, mut seen, mut quiet) = (0, 0, 0);
    let stalling = async {
        while quiet < 10 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            grown = memory_kib(site.door.process()).saturating_sub(before);
            assert!(grown < 20 * 1024, "the gateway grew by {grown} KiB");
            let now = written(site);
            quiet = if now == seen { quiet + 1 } else { 0 };
            seen = now;
        }
    };
    tokio::time::timeout(PATIENCE, stalling).await.expect("nobody takes what they write");
    println!("5 stalled `ssh … yes` wrote {} KiB: the gateway grew by {grown} KiB", seen / 1024);
    for mut client in clients {
        client.kill().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn required_recording_permits_shells_and_refuses_the_rest() {
    let site = Site::new(&[("access.recording", "required")], "").await;
    let laptop = Laptop::new(&site);
    let id = &laptop.allocation;
    let said = ok(run(&mut laptop.gpuaas(&["ssh", id, "--", "echo for-the-record"])).await);
    assert_eq!(said, "for-the-record\n");
    ok(run(&mut laptop.gpuaas(&["ssh-config", id, "--write"])).await);
    let host = format!("{id}.gpuaas");
    let said = run(&mut laptop.configured("sftp", &["-b", "/dev/null", &host])).await;
    assert!(!said.status.success() && text(&said.stderr).contains("`access.recording`"), "{}", text(&said.stderr));
    let said = run(&mut laptop.configured("ssh", &["-W", "localhost:22", &host])).await;
    assert!(!said.status.success() && text(&said.stderr).contains("`access.recording`"), "{}", text(&said.stderr));
    println!("required: sftp and -L are refused with the policy's name; a command ran");
    crate::hosts::deaths::verified(&site).await;
    site.clear().await;
}
