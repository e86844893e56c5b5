//! Streams as a real user of this host: the real program as root.

use crate::gateway::{Gateway, Stream, again, run, shell};
use crate::node::{Node, children_named};
use crate::plane::{Plane, eventually};
use crate::streams::world::{allocation, done, gone, login};
use bytes::Bytes;
use protocol::Verb;
use protocol::stream::{Closing, Frame, Grant, Kind, StreamEnded, refusals};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

struct Host {
    plane: Plane,
    gateway: Gateway,
    node: Node,
    user: String,
    _homes: tempfile::TempDir,
}

impl Drop for Host {
    fn drop(&mut self) {
        self.node.kill();
        // Only what a failed test left behind.
        let _ = Command::new("pkill").args(["-KILL", "-u", &self.user]).output();
        let _ = Command::new("userdel").args(["--force", "--remove", &self.user]).output();
    }
}

impl Host {
    async fn new(tail: &str) -> Self {
        assert!(nix::unistd::geteuid().is_root(), "this test makes users: run `sudo cargo xtask root-test`");
        let homes = tempfile::tempdir().unwrap();
        std::fs::set_permissions(homes.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let plane = Plane::start().await;
        let gateway = Gateway::start(&plane, "gw-1").await;
        plane.state().gateways = vec![gateway.entry()];
        // Ids and keys of this test alone: others look for what is left in theirs.
        let first_uid = 1_000_000 + std::process::id() * 32;
        let settings = format!(
            "simulated_gpus = 1\nhome_root = {:?}\nkeys_root = {:?}\nfirst_uid = {first_uid}\nlast_uid = {}\n",
            homes.path(),
            homes.path().join("keys"),
            first_uid + 31
        );
        let mut node = Node::enrolled(&plane, &settings).await;
        node.start(&[]);
        let user = format!("s{:08x}{tail}", std::process::id());
        let host = Self { plane, gateway, node, user, _homes: homes };
        host.perform(1, allocation(&host.user, vec![])).await;
        host.gateway.connected().await;
        host
    }

    async fn perform(&self, version: i64, verb: Verb) {
        let task = self.plane.task(&self.node.id, "allocation-1", version, verb);
        done(&self.plane, self.plane.deliver(task)).await;
    }

    fn grant(&self, kind: Kind) -> Grant {
        Grant { workload: login(&self.user), ..self.gateway.grant(&self.plane, &self.node.id, kind) }
    }

    async fn open(&self, kind: Kind) -> Stream {
        self.gateway.open(&self.plane, &self.grant(kind)).await.unwrap()
    }

    async fn says(&self, line: &str) -> String {
        let mut stream = self.open(run(line)).await;
        String::from_utf8(stream.rest().await.0).unwrap().replace("\r\n", "\n")
    }

    async fn refusal(&self, kind: Kind) -> String {
        let answer = self.gateway.open(&self.plane, &self.grant(kind)).await;
        answer.err().expect("a refusal").1.code
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn a_shell_is_the_users_own_without_capabilities() {
    let host = Host::new("aaaa").await;
    let user = nix::unistd::User::from_name(&host.user).unwrap().unwrap();
    let home = user.dir.display();
    let who = host.says("id -u; id -g; id -Gn; pwd; echo $HOME $USER $LOGNAME $SHELL $TERM; umask; echo $0").await;
    let name = &host.user;
    let expected = format!(
        "{}\n{}\n{name} gpuaas-logins\n{home}\n{home} {name} {name} /bin/bash xterm-256color\n0022\n-bash\n",
        user.uid, user.gid
    );
    assert_eq!(who, expected);
    let rights = host.says("grep ^Cap /proc/self/status").await;
    assert_eq!(rights.matches("0000000000000000").count(), 5, "{rights}");
    let tty = host.says("test -O $(tty) && test -w $(tty) && ps -o tty= -p $$ | grep -c pts").await;
    assert_eq!(tty, "1\n", "the terminal is the user's own and controls its session");
    assert_eq!(host.says("ls /proc/self/fd | wc -l; env | grep -c GPUAAS_NODE").await, "4\n0\n");
    let mut stream = host.open(shell()).await;
    stream.typed("sh -c 'echo started$((1+1)); exec sleep 100'\n");
    stream.until("started2").await;
    stream.typed("\x1a");
    stream.until("Stopped").await;
    stream.typed("exit 3\n");
    stream.typed("exit 3\n");
    assert_eq!(stream.rest().await.1, Some(Frame::Exit(StreamEnded { code: 3, signal: None })));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn commands_files_and_own_ports_are_served_and_others_ports_are_not() {
    let host = Host::new("bbbb").await;
    let mut exec = host.open(Kind::Exec { command: "cat; id -un >&2; exit 6".into() }).await;
    exec.typed("in");
    exec.send(&Frame::EndOfInput);
    let (out, end) = exec.rest().await;
    assert_eq!((&out[..], end), (&b"in"[..], Some(Frame::Exit(StreamEnded { code: 6, signal: None }))));
    let mut files = host.open(Kind::File).await;
    files.send_raw(Bytes::from_static(&[0, 0, 0, 5, 1, 0, 0, 0, 3]));
    assert_eq!(files.raw().await.unwrap()[4], 2, "the SFTP server's greeting");
    drop(files);
    // A socket of root's is not the user's.
    let foreign = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = foreign.local_addr().unwrap().port();
    assert_eq!(host.refusal(Kind::Tcp { port }).await, refusals::FOREIGN_PORT);
    drop(foreign);
    assert_eq!(host.refusal(Kind::Tcp { port }).await, refusals::NOTHING_LISTENS);
    let mut serving = host.open(shell()).await;
    serving.typed("python3 -c 'import socket\ns = socket.create_server((\"127.0.0.1\", 0))\nprint(\"port=%d<>\" % s.getsockname()[1], flush=True)\nc, _ = s.accept()\nc.sendall(c.recv(9).upper())\nc.close()\n'\n");
    let said = serving.until("<>\r\n").await;
    let port = said.split("port=").find_map(|it| it.split("<>").next()?.parse().ok()).expect("a port");
    let mut own = host.open(Kind::Tcp { port }).await;
    own.send_raw(Bytes::from_static(b"hello"));
    assert_eq!(own.raw().await.unwrap(), "HELLO");
    assert!(own.raw().await.is_none());
    assert_eq!(host.refusal(Kind::Serial { size: protocol::stream::Size::DEFAULT }).await, refusals::UNSUPPORTED);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn a_killed_agent_takes_its_shells_along_and_the_next_one_sweeps_up() {
    let mut host = Host::new("cccc").await;
    let mark = |digit: u32| format!("{digit}{:07}", std::process::id());
    let (plain, stubborn, own) = (mark(7), mark(8), mark(9));
    let mut stream = host.open(shell()).await;
    stream.typed(&format!("sleep {plain} & nohup sleep {stubborn} >/dev/null & setsid sleep {own} & sleep {plain}\n"));
    let mut exec = host.open(Kind::Exec { command: format!("sleep {plain}; true") }).await;
    exec.frame().await.unwrap();
    let all =
        |count: usize| move |marks: [&String; 3]| marks.iter().map(|it| children_named(it)).sum::<usize>() == count;
    eventually("five sleepers", || all(5)([&plain, &stubborn, &own]).then_some(())).await;
    host.node.kill();
    host.node.start(&[]);
    eventually("nothing of the sessions", || (children_named(&plain) + children_named(&stubborn) == 0).then_some(()))
        .await;
    assert_eq!(children_named(&own), 1, "what left its session is the user's own business, as with sshd");
    host.gateway.connected().await;
    eventually("the new agent polls", || (host.plane.state().polls.last()?.1.generation == 2).then_some(())).await;
    host.perform(2, gone(&host.user)).await;
    assert_eq!(children_named(&own), 0, "and ends with the allocation");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn a_stopped_allocation_has_no_streams_and_a_released_one_no_user() {
    let host = Host::new("dddd").await;
    let grant = host.grant(shell());
    let mut stream = host.gateway.open(&host.plane, &grant).await.unwrap();
    stream.until("$").await;
    host.perform(2, Verb::EnsureStopped { workload: login(&host.user), gpus: vec![] }).await;
    assert_eq!(stream.closed_with().await, Closing::AllocationEnded);
    assert_eq!(host.refusal(shell()).await, refusals::NO_ALLOCATION);
    let come_back = host.gateway.open(&host.plane, &again(&grant, None, false)).await;
    assert_eq!(come_back.err().unwrap().1.code, refusals::NO_SESSION);
    host.perform(3, allocation(&host.user, vec![])).await;
    let mut stream = host.open(shell()).await;
    stream.until("$").await;
    host.perform(4, gone(&host.user)).await;
    assert_eq!(stream.closed_with().await, Closing::AllocationEnded);
    assert_eq!(host.refusal(shell()).await, refusals::NO_ALLOCATION);
    assert!(nix::unistd::User::from_name(&host.user).unwrap().is_none());
    assert_eq!(host.refusal(Kind::Tcp { port: 22 }).await, refusals::NO_ALLOCATION);
    let mut foreign = host.grant(shell());
    foreign.workload = login("root");
    let refused = host.gateway.open(&host.plane, &foreign).await.err().unwrap();
    assert_eq!(refused.1.code, refusals::NO_ALLOCATION, "root was not created by the agent");
}
