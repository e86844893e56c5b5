//! OpenSSH's own programs against a gateway: shells' commands, files, forwarded
//! ports, and those who are not let in.

use crate::stage::plane::host_authority;
use crate::stage::{Host, Stage, eventually};
use protocol::stream::{Frame, Signal};
use russh::keys::{PrivateKeyWithHashAlg, PublicKeyOrCertificate};
use russh::{Sig, client};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

const LOGIN: &str = "alloc-1";
const ALL: &[&str] = &["terminal", "exec", "file", "tcp"];

/// A person at a machine of their own.
struct Laptop {
    folder: TempDir,
    port: u16,
}

impl Laptop {
    async fn new(stage: &Stage) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = host_authority().public_key().to_openssh().unwrap();
        let known = format!("@cert-authority [127.0.0.1]:{} {authority}\n", stage.ssh.port());
        std::fs::write(folder.path().join("known_hosts"), known).unwrap();
        let laptop = Self { folder, port: stage.ssh.port() };
        laptop.make_key("key").await;
        laptop
    }

    async fn make_key(&self, name: &str) -> String {
        let key = self.path(name);
        let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).status().await;
        assert!(made.unwrap().success());
        std::fs::read_to_string(key.with_extension("pub")).unwrap()
    }

    fn public_key(&self) -> String {
        std::fs::read_to_string(self.path("key.pub")).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// One of OpenSSH's programs, with nothing of this machine's configuration.
    fn program(&self, name: &str, key: &str) -> Command {
        let mut command = Command::new(name);
        let known = self.path("known_hosts");
        let key = self.path(key);
        command.args(["-F", "/dev/null", "-o", "StrictHostKeyChecking=yes", "-o", "IdentitiesOnly=yes"]);
        command.args(["-o", "GlobalKnownHostsFile=/dev/null", "-o", "IdentityAgent=none", "-o", "BatchMode=yes"]);
        command.arg("-o").arg(format!("UserKnownHostsFile={}", known.display()));
        command.arg("-i").arg(key).arg("-o").arg(format!("Port={}", self.port));
        command.kill_on_drop(true).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    async fn ssh(&self, arguments: &[&str]) -> Output {
        let mut command = self.program("ssh", "key");
        run(command.arg(format!("{LOGIN}@127.0.0.1")).args(arguments)).await
    }
}

async fn run(command: &mut Command) -> Output {
    let output = tokio::time::timeout(Duration::from_secs(60), command.output()).await;
    output.expect("it ends in time").unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

async fn inside(kinds: &[&str]) -> (Stage, Host, Laptop) {
    let (stage, host) = Stage::with_host().await;
    let laptop = Laptop::new(&stage).await;
    stage.plane.let_in(&laptop.public_key(), LOGIN, kinds);
    (stage, host, laptop)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runs_with_its_three_streams_and_its_exit_code() {
    let (stage, _host, laptop) = inside(ALL).await;
    let said = laptop.ssh(&["echo out; echo err >&2; exit 7"]).await;
    assert_eq!((text(&said.stdout).as_str(), said.status.code()), ("out\n", Some(7)), "{}", text(&said.stderr));
    assert_eq!(text(&said.stderr), "err\n");
    let said = laptop.ssh(&["kill -9 $$"]).await;
    assert_eq!(said.status.code(), Some(255), "as OpenSSH tells that a signal ended it");
    let login = stage.plane.logins().remove(0);
    assert!(login.is_proven && login.address == "127.0.0.1" && login.login == LOGIN);
    eventually("the control plane hears of both", || stage.plane.beats().len() > 1).await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_has_its_size_and_passes_on_what_is_typed() {
    let (stage, host, laptop) = inside(ALL).await;
    let said = laptop.ssh(&["-tt", "say hello|3"]).await;
    assert_eq!((text(&said.stdout).as_str(), said.status.code()), ("hello", Some(3)), "{}", text(&said.stderr));
    let mut command = laptop.program("ssh", "key");
    command.args(["-tt", &format!("{LOGIN}@127.0.0.1"), "echo"]).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(b"typed").await.unwrap();
    let mut heard = [0; 5];
    child.stdout.as_mut().unwrap().read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"typed");
    child.kill().await.unwrap();
    eventually("the host hangs up", || host.seen.frames().contains(&Frame::Hangup)).await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_sends_its_language_and_nothing_else() {
    let (stage, _host, laptop) = inside(ALL).await;
    let mut ssh = laptop.program("ssh", "key");
    ssh.env("LANG", "de_DE.UTF-8").env("LC_TIME", "C").env("LC_ALL", "../x").env("EVIL", "yes");
    ssh.args(["-o", "SendEnv=LANG LC_* EVIL", &format!("{LOGIN}@127.0.0.1")]);
    let said = run(ssh.arg("echo $LANG $LC_TIME ${LC_ALL-unset} ${EVIL-unset}")).await;
    assert_eq!(text(&said.stdout), "de_DE.UTF-8 C unset unset\n", "{}", text(&said.stderr));
    assert_eq!(text(&laptop.ssh(&["echo $LANG"]).await.stdout), "C\n");
    stage.end().await;
}

/// A client that shows a key and trusts everybody.
struct Trusting;

impl client::Handler for Trusting {
    type Error = russh::Error;

    async fn check_server_key(&mut self, _: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        Ok(true)
    }
}

/// OpenSSH's client sends no signals: another one does.
#[tokio::test(flavor = "multi_thread")]
async fn signals_go_to_the_host_as_it_understands_them() {
    let (stage, host, laptop) = inside(ALL).await;
    let mut client = client::connect(Arc::default(), ("127.0.0.1", laptop.port), Trusting).await.unwrap();
    let key = russh::keys::load_secret_key(laptop.path("key"), None).unwrap();
    let key = PrivateKeyWithHashAlg::new(Arc::new(key), None);
    assert!(client.authenticate_publickey(LOGIN, key).await.unwrap().success());
    let frames = |signals: &[&str]| signals.iter().map(|it| Frame::Signal(Signal::named(it).unwrap())).collect();
    let typed = |bytes: &'static [u8]| Frame::Input(bytes.into());
    let cases: [(&str, Vec<Frame>); 2] =
        [("silent", frames(&["USR2", "INT", "TERM"])), ("older", vec![typed(b"\x03"), Frame::Hangup])];
    let mut channels = Vec::new();
    for (script, expected) in cases {
        host.seen.frames.lock().unwrap().clear();
        let channel = client.channel_open_session().await.unwrap();
        channel.request_pty(true, "xterm", 80, 24, 0, 0, &[]).await.unwrap();
        channel.exec(true, script).await.unwrap();
        for signal in [Sig::Custom("USR2".into()), Sig::Custom("STOP".into()), Sig::INT, Sig::TERM] {
            channel.signal(signal).await.unwrap();
        }
        eventually("the host hears of it", || host.seen.frames().len() >= expected.len()).await;
        assert_eq!(host.seen.frames()[..expected.len()], expected, "{script}");
        channels.push(channel);
    }
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn much_goes_in_and_out_at_once_and_nothing_comes_to_a_halt() {
    let (stage, _host, laptop) = inside(ALL).await;
    let script = format!(
        "head -c 60000000 /dev/zero | ssh -F /dev/null -o IdentityAgent=none -o UserKnownHostsFile={} -i {} -p {} {LOGIN}@127.0.0.1 cat | wc -c",
        laptop.path("known_hosts").display(),
        laptop.path("key").display(),
        laptop.port
    );
    let began = std::time::Instant::now();
    let said = run(Command::new("sh").args(["-c", &script]).stdout(Stdio::piped()).stderr(Stdio::piped())).await;
    assert_eq!(text(&said.stdout).trim(), "60000000", "{}", text(&said.stderr));
    println!("60 MB went through `ssh … cat` and back in {:.1} s", began.elapsed().as_secs_f64());
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_copied_both_ways_in_both_protocols_and_in_a_batch() {
    let (stage, _host, laptop) = inside(ALL).await;
    let (here, there) = (laptop.path("here"), laptop.path("there"));
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|it| (it * 7 % 251) as u8).collect();
    std::fs::write(&here, &bytes).unwrap();
    let remote = |path: &Path| format!("{LOGIN}@127.0.0.1:{}", path.display());
    for old in [None, Some("-O")] {
        let mut up = laptop.program("scp", "key");
        let said = run(up.args(old).arg(&here).arg(remote(&there))).await;
        assert!(said.status.success(), "{}", text(&said.stderr));
        assert_eq!(std::fs::read(&there).unwrap(), bytes);
        std::fs::remove_file(&here).unwrap();
        let mut down = laptop.program("scp", "key");
        let said = run(down.args(old).arg(remote(&there)).arg(&here)).await;
        assert!(said.status.success(), "{}", text(&said.stderr));
        assert_eq!(std::fs::read(&here).unwrap(), bytes);
        std::fs::remove_file(&there).unwrap();
    }
    let batch = laptop.path("batch");
    std::fs::write(&batch, format!("put {} {}\nls -l {}\nbye\n", here.display(), there.display(), there.display()))
        .unwrap();
    let mut sftp = laptop.program("sftp", "key");
    let said = run(sftp.arg("-b").arg(&batch).arg(format!("{LOGIN}@127.0.0.1"))).await;
    assert!(said.status.success() && text(&said.stdout).contains("3000000"), "{}", text(&said.stderr));
    println!("scp (new and old) and sftp copied 3 MB both ways, byte for byte");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ports_of_the_allocation_are_forwarded_and_no_others() {
    let (stage, _host, laptop) = inside(ALL).await;
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let served = server.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = server.accept().await {
            tokio::spawn(async move {
                let mut asked = Vec::new();
                stream.read_to_end(&mut asked).await.unwrap();
                stream.write_all(&[b"you said ", &asked[..]].concat()).await.unwrap();
            });
        }
    });
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let other = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let mut command = laptop.program("ssh", "key");
    command.args(["-N", "-L", &format!("{free}:localhost:{served}"), "-L", &format!("{other}:192.0.2.1:22")]);
    let mut child = command.arg(format!("{LOGIN}@127.0.0.1")).spawn().unwrap();
    let mut stream = connect(free).await;
    stream.write_all(b"hello").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).await.unwrap();
    assert_eq!(heard, "you said hello", "each half is closed by itself");
    let mut stream = connect(other).await;
    assert_eq!(stream.read(&mut [0; 1]).await.unwrap_or(0), 0);
    let mut errors = vec![0; 4096];
    let length = child.stderr.as_mut().unwrap().read(&mut errors).await.unwrap();
    let errors = text(&errors[..length]);
    assert!(errors.contains("only ports of the allocation itself"), "{errors}");
    child.kill().await.unwrap();
    let mut reverse = laptop.program("ssh", "key");
    reverse.args(["-o", "ExitOnForwardFailure=yes", "-N", "-R", "0:localhost:22"]);
    let said = run(reverse.arg(format!("{LOGIN}@127.0.0.1"))).await;
    assert!(!said.status.success() && text(&said.stderr).contains("forwarding"), "{}", text(&said.stderr));
    stage.end().await;
}

async fn connect(port: u16) -> tokio::net::TcpStream {
    for _ in 0..500 {
        if let Ok(stream) = tokio::net::TcpStream::connect(("127.0.0.1", port)).await {
            return stream;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("nothing listens on {port}");
}

#[tokio::test(flavor = "multi_thread")]
async fn caller_without_a_key_gets_the_same_answer_whatever_is_wrong() {
    let (stage, _host, laptop) = inside(ALL).await;
    laptop.make_key("other").await;
    let mut said = Vec::new();
    for (key, login) in [("other", LOGIN), ("key", "alloc-2"), ("key", "root")] {
        let output = run(laptop.program("ssh", key).args([&format!("{login}@127.0.0.1"), "true"])).await;
        assert_eq!(output.status.code(), Some(255));
        said.push(text(&output.stderr).replace(login, "LOGIN"));
    }
    assert!(said.iter().all(|it| *it == said[0] && it.contains("Permission denied (publickey)")), "{said:?}");
    let mut password = laptop.program("ssh", "key");
    password.args(["-o", "PreferredAuthentications=password,keyboard-interactive"]);
    let output = run(password.args([&format!("{LOGIN}@127.0.0.1"), "true"])).await;
    assert!(text(&output.stderr).contains("Permission denied (publickey)"), "{}", text(&output.stderr));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn channel_that_cannot_be_recorded_is_refused_with_the_reason() {
    let (stage, _host, laptop) = inside(&["terminal", "exec"]).await;
    assert_eq!(text(&laptop.ssh(&["echo works"]).await.stdout), "works\n");
    let mut sftp = laptop.program("sftp", "key");
    let said = run(sftp.arg(format!("{LOGIN}@127.0.0.1"))).await;
    assert!(
        !said.status.success() && text(&said.stderr).contains("`access.recording` is `required`"),
        "{}",
        text(&said.stderr)
    );
    let mut forward = laptop.program("ssh", "key");
    let said = run(forward.args(["-W", "localhost:22", &format!("{LOGIN}@127.0.0.1")])).await;
    assert!(
        !said.status.success() && text(&said.stderr).contains("`access.recording` is `required`"),
        "{}",
        text(&said.stderr)
    );
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_stops_the_host_and_others_go_on() {
    let (stage, _host, laptop) = inside(ALL).await;
    let mut command = laptop.program("ssh", "key");
    let mut child = command.args([&format!("{LOGIN}@127.0.0.1"), "yes"]).spawn().unwrap();
    let mut first = [0; 2];
    child.stdout.as_mut().unwrap().read_exact(&mut first).await.unwrap();
    // A beat that tells of a stall may be told while the windows still fill.
    let mut taken = 0;
    eventually("it stalls, and nothing more is taken from the host", || {
        let beats = stage.plane.beats();
        let told = beats.iter().rev().take(4).map(|it| {
            let is_stalled = it.sessions.iter().any(|it| it.stalls > 0);
            (is_stalled, it.sessions.iter().map(|it| it.bytes_out).sum::<u64>())
        });
        let told: Vec<(bool, u64)> = told.collect();
        taken = told.first().map_or(0, |it| it.1);
        told.len() == 4 && told.iter().all(|it| *it == (true, taken))
    })
    .await;
    assert_eq!(text(&laptop.ssh(&["echo still here"]).await.stdout), "still here\n");
    println!("a stalled `ssh … yes` got {} KiB and no more", taken / 1024);
    child.kill().await.unwrap();
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_stops_says_so() {
    let (stage, _host, laptop) = inside(ALL).await;
    let mut command = laptop.program("ssh", "key");
    let mut child = command.args([&format!("{LOGIN}@127.0.0.1"), "echo ready; sleep 60"]).spawn().unwrap();
    let mut first = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut first).await.unwrap();
    stage.end().await;
    let said = tokio::time::timeout(Duration::from_secs(10), child.wait_with_output()).await.unwrap().unwrap();
    assert!(
        !said.status.success() && text(&said.stderr).contains("this gateway is shutting down"),
        "{}",
        text(&said.stderr)
    );
}
