//! What a tenant leaves so that a release fails, and who stays connected.
#![allow(clippy::unwrap_used)]

use crate::host::{Host, KEY, eventually};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Runs a script as the login, or as root, and says what it printed.
fn succeeds(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn as_root(script: &str) -> String {
    succeeds(Command::new("/bin/bash").args(["-ec", script]).stdout(Stdio::piped()).spawn().unwrap())
}

fn mounts_with(text: &str) -> usize {
    std::fs::read_to_string("/proc/self/mountinfo").unwrap().lines().filter(|line| line.contains(text)).count()
}

#[tokio::test]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn folders_nested_without_end_are_removed_with_their_login() {
    // As many open files as the agent allows itself.
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, 8192.min(hard), hard).unwrap();
    let host = Host::new("d0d0");
    host.allocate(&[KEY]).await.unwrap();
    let shared = format!("/tmp/{}.deep", host.user);
    let nest = "import os, sys\nfor top in sys.argv[1:]:\n os.mkdir(top)\n os.chdir(top)\n for _ in range(10000):\n  \
                os.mkdir('d')\n  os.chdir('d')\n open('file', 'w').close()\n";
    succeeds(host.spawn(&format!("python3 -c \"{nest}\" ~/deep {shared}")));
    host.release().await;
    assert!(host.account().is_none() && !host.home().exists() && !Path::new(&shared).exists());
}

#[tokio::test]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn mounts_in_a_home_or_of_a_dead_server_do_not_keep_a_login() {
    let host = Host::new("d1d1");
    host.allocate(&[KEY]).await.unwrap();
    let (uid, home) = (host.account().unwrap().uid.as_raw(), host.home());
    let shared = format!("/tmp/{}.fuse", host.user);
    let far = "x".repeat(200);
    succeeds(host.spawn(&format!("mkdir -p ~/bound ~/'with blank' ~/served ~/up/far {shared}; cd ~/up; echo made")));
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("precious"), "x").unwrap();
    // A server that is gone answers nobody; root was never asked in.
    let served = |at: &str| {
        let options = format!("fd=3,rootmode=040000,user_id={uid},group_id={uid}");
        as_root(&format!("exec 3<>/dev/fuse; mount -i -t fuse -o {options} {} '{at}'", host.user));
    };
    served(&shared);
    served(&home.join("served").to_string_lossy());
    let home = home.display();
    as_root(&format!("mount --bind {} {home}/bound", outside.path().display()));
    as_root(&format!("mount -t tmpfs none '{home}/with blank'; mount -t tmpfs none '{home}/with blank'"));
    // Moved to where its path is longer than the kernel takes.
    as_root(&format!("mount -t tmpfs none {home}/up/far"));
    let bury = "import os\nname = 'NAME'\ntop = os.open('.', 0)\nfor _ in range(30):\n os.mkdir(name)\n os.chdir(name)\n\
                os.rename('up', 'up', src_dir_fd=top, dst_dir_fd=os.open('.', 0))\n";
    succeeds(host.spawn(&format!("cd ~ && python3 -c \"{}\"", bury.replace("NAME", &far))));
    let name = host.user.clone();
    assert_eq!(mounts_with(&name), 6);
    host.release().await;
    assert!(host.account().is_none() && !host.home().exists() && !Path::new(&shared).exists());
    assert_eq!(mounts_with(&name), 0);
    assert!(outside.path().join("precious").exists(), "what was mounted is left as it was");
}

#[tokio::test]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn files_in_the_operators_shared_folders_go_and_forbid_to_use_uids_again() {
    let scratch = tempfile::tempdir().unwrap();
    let open = |path: &Path| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    open(scratch.path());
    let host = Host::with("d2d2", |config| {
        config.wipe_script = Some("/bin/true".into());
        config.shared_folders = vec![scratch.path().to_owned(), "/no/such/folder".into()];
    });
    host.allocate(&[KEY]).await.unwrap();
    let uid = host.account().unwrap().uid.as_raw();
    // A folder that another user opened to all is not walked into by root while its owner may swap it.
    let foreign = scratch.path().join("foreign");
    std::fs::create_dir(&foreign).unwrap();
    chown(&foreign, Some(65534), None).unwrap();
    open(&foreign);
    let place = scratch.path().display();
    succeeds(host.spawn(&format!("mkdir -p {place}/own/below; touch {place}/own/below/file {place}/foreign/left")));
    host.release().await;
    assert!(!scratch.path().join("own").exists(), "files of the login are left");
    let sanitize = async || host.sanitize().await;
    let failure = sanitize().await.unwrap_err();
    assert_eq!(failure.code, "not_clean");
    assert!(failure.detail.contains("foreign/left"), "{}", failure.detail);
    host.allocate(&[KEY]).await.unwrap();
    assert_ne!(host.account().unwrap().uid.as_raw(), uid, "its files would be somebody else's");
    host.release().await;
    std::fs::remove_file(foreign.join("left")).unwrap();
    sanitize().await.unwrap();
}

/// An sshd that honors what the agent says, a key, and a way in by it.
struct Sshd {
    server: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Sshd {
    async fn start(host: &Host) -> Self {
        assert!(Path::new("/usr/sbin/sshd").exists(), "sshd is missing: run `scripts/bootstrap.sh --test`");
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().display();
        for name in ["host_key", "first", "second"] {
            as_root(&format!("ssh-keygen -q -t ed25519 -N '' -f {at}/{name}"));
        }
        std::fs::create_dir_all("/run/sshd").unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let own = format!("HostKey {at}/host_key\nListenAddress 127.0.0.1:{port}\nStrictModes no\nUsePAM no\n");
        let own = format!("{own}PidFile none\nSubsystem sftp internal-sftp\n");
        std::fs::write(folder.path().join("config"), format!("{own}{}", host.login.sshd_settings())).unwrap();
        let mut server = Command::new("/usr/sbin/sshd");
        server.args(["-D", "-e", "-f"]).arg(folder.path().join("config")).stderr(Stdio::null());
        let server = server.spawn().unwrap();
        eventually("sshd", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
        Self { server, port, folder }
    }

    fn key(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name).with_extension("pub")).unwrap().trim().to_owned()
    }

    /// A connection that stays, and prints a line once it is there.
    fn connect(&self, user: &str, key: &str, script: &str) -> Child {
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]);
        ssh.args(["-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-tt", "-p", &self.port.to_string()]);
        ssh.arg("-i").arg(self.folder.path().join(key)).arg(format!("{user}@127.0.0.1")).arg(script);
        let mut child = ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = [0; 5];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        assert_eq!(&line, b"ready");
        child
    }
}

#[tokio::test]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn connections_to_sshd_end_when_a_key_is_removed_and_jobs_go_on() {
    let host = Host::new("d3d3");
    let sshd = Sshd::start(&host).await;
    let (first, second) = (sshd.key("first"), sshd.key("second"));
    host.allocate(&[&first]).await.unwrap();
    let detached = "nohup setsid sleep 600 >/dev/null 2>&1 & echo ready; exec sleep 601";
    let mut connection = sshd.connect(&host.user, "first", detached);
    let program = agent::streams::shell::Program::Command("echo ready; exec sleep 602");
    let prepared = host.prepare(program).await;
    let mut stream = prepared.map_err(|refused| refused.detail).unwrap().command;
    let mut stream = stream.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    tokio::io::AsyncReadExt::read_exact(stream.stdout.as_mut().unwrap(), &mut [0; 6]).await.unwrap();
    let keys = async |keys: &[&String]| {
        let keys: Vec<String> = keys.iter().map(|key| (*key).clone()).collect();
        host.replace_keys(&keys).await.unwrap();
    };
    let uid = host.account().unwrap().uid.to_string();
    let runs = |what: &str| {
        let listed = Command::new("ps").args(["-o", "stat=,args=", "-U", &uid]).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        listed.lines().any(|line| !line.starts_with('Z') && line.contains(what))
    };
    keys(&[&first, &second]).await;
    keys(&[&second, &first]).await;
    assert!(runs("sshd") && runs("sleep 601"), "a key that is added ends nothing");
    assert!(connection.try_wait().unwrap().is_none());
    keys(&[&second]).await;
    assert!(!runs("sshd"), "somebody who may no longer come in is still there");
    eventually("the end of the connection", || connection.try_wait().unwrap().is_some()).await;
    eventually("the end of its terminal", || !runs("sleep 601")).await;
    assert!(runs("sleep 600"), "a job that left its terminal goes on");
    assert!(runs("sleep 602") && stream.try_wait().unwrap().is_none(), "so does a stream of a gateway");
    // Whoever may still come in comes in again, and stays until their key goes, too.
    let mut connection = sshd.connect(&host.user, "second", "echo ready; exec sleep 603");
    host.allocate(&[&second]).await.unwrap();
    assert!(connection.try_wait().unwrap().is_none());
    // A login whose keys cannot be written is locked, and nobody stays in it.
    std::fs::remove_file(host.key_file()).unwrap();
    std::fs::create_dir_all(host.key_file().join("x")).unwrap();
    let failure = host.replace_keys(&[]).await.unwrap_err();
    assert_eq!(failure.code, "keys");
    eventually("the end of the connection", || connection.try_wait().unwrap().is_some()).await;
    std::fs::remove_dir_all(host.key_file()).unwrap();
    host.release().await;
}
