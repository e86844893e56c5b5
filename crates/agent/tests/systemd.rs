//! The agent under its own unit, on a host that systemd runs: a virtual machine.
//! Run by `make host-test`; the machine is built once by `scripts/host-vm.sh`.
#![allow(clippy::unwrap_used)]

mod gateway;
mod plane;
mod vm;

use gateway::{Gateway, Stream, run, shell};
use plane::Plane;
use protocol::stream::{Frame, Grant, Kind, StreamEnded};
use protocol::{Done, GpuRef, Isolation, Login, LoginSpec, Outcome, Shape, TaskId, Verb, WorkloadRef, WorkloadSpec};
use std::time::{Duration, Instant};
use vm::Machine;

/// How tasks and grants name the login of a user.
fn login(user: &str) -> WorkloadRef {
    WorkloadRef::login(Shape::GpuSlice, user)
}

const PATIENCE: Duration = Duration::from_secs(600);
/// How long a task may take while somebody attacks. The machine is emulated and
/// shares its processors with whatever else runs; the times are printed.
const BAR: Duration = Duration::from_secs(10);
const ATTACKER: &str = "g00000000000a";
const NEIGHBOR: &str = "g00000000000b";

struct World {
    plane: Plane,
    gateway: Gateway,
    machine: Machine,
    node: String,
    gpus: Vec<GpuRef>,
    version: std::cell::Cell<i64>,
}

impl World {
    async fn new() -> Self {
        let plane = Plane::start().await;
        let gateway = Gateway::start(&plane, "gw-1").await;
        plane.state().gateways = vec![gateway.entry()];
        let ports = [&plane.url, &gateway.url].map(|url| url.rsplit(':').next().unwrap().parse().unwrap());
        let machine = Machine::boot(&ports).await;
        machine.install().await;
        let token = plane.state().tokens.iter().next().cloned().unwrap();
        let enroll = format!(
            "/usr/local/lib/gpuaas/gpuaas-node enroll --url {} --token {token} --ca-fingerprint {}",
            plane.url,
            plane.authority.fingerprint()
        );
        let said = machine.says(&enroll).await;
        let node = said.strip_prefix("Enrolled as ").unwrap().split('.').next().unwrap().to_owned();
        // In place of GPUs: files of devices that no driver serves.
        machine
            .says("for i in 0 1; do mknod -m 666 /dev/nvidia$i c 195 $i; done; mknod -m 666 /dev/nvidiactl c 195 255")
            .await;
        machine.says("systemctl daemon-reload && systemctl enable --now gpuaas-node 2>&1").await;
        let gpus = patiently("an inventory", || {
            let state = plane.state();
            state.polls.iter().find_map(|(_, poll)| poll.inventory.clone()).map(|inventory| inventory.gpus)
        })
        .await;
        let gpus = gpus.into_iter().map(|gpu| GpuRef { uuid: gpu.uuid, pci: gpu.pci }).collect();
        Self { plane, gateway, machine, node, gpus, version: std::cell::Cell::new(0) }
    }

    /// Asks for something and says how it ended and how long that took.
    async fn ask(&self, user: &str, verb: Verb) -> (Outcome, Duration) {
        self.version.set(self.version.get() + 1);
        let task = self.plane.task(&self.node, &format!("allocation-{user}"), self.version.get(), verb);
        let began = Instant::now();
        let id: TaskId = self.plane.deliver(task);
        let report = patiently("a report", || self.plane.report_of(id)).await;
        (report.outcome, began.elapsed())
    }

    async fn allocate(&self, user: &str, gpu: usize, key: &str) {
        let login = Login { user: user.into(), keys: vec![key.to_owned()] };
        let gpus = vec![self.gpus[gpu].clone()];
        let spec = LoginSpec { shape: Shape::GpuSlice, gpus, login, self_test: true, limits: None };
        let verb = Verb::EnsureAllocation { workload: WorkloadSpec::Login(spec) };
        let (outcome, took) = self.ask(user, verb).await;
        assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
        println!("{user}: allocated in {} ms", took.as_millis());
    }

    fn grant(&self, user: &str, kind: Kind) -> Grant {
        let grant = self.gateway.grant(&self.plane, &self.node, kind);
        Grant { workload: login(user), allocation: format!("allocation-{user}"), ..grant }
    }

    async fn open(&self, user: &str, kind: Kind) -> Stream {
        let opened = self.gateway.open(&self.plane, &self.grant(user, kind)).await;
        opened.map_err(|refused| format!("{refused:?}")).unwrap()
    }

    /// What a command prints on a terminal.
    async fn says(&self, user: &str, line: &str) -> String {
        let mut stream = self.open(user, run(line)).await;
        String::from_utf8_lossy(&stream.rest().await.0).trim().replace("\r\n", "\n")
    }

    /// Begins something. Its stream stays open: what a shell that starves has begun
    /// would end with it.
    async fn begin(&self, user: &str, line: &str) -> Stream {
        let command = format!("setsid bash -c 'sleep 1; {line}' </dev/null >/dev/null 2>&1 & echo begun; wait");
        let mut stream = self.open(user, Kind::Exec { command }).await;
        stream.until("begun").await;
        stream
    }

    /// How long the neighbor's task and the neighbor's command take now.
    async fn neighbor_is_served(&self, during: &str, key: &str) {
        let mut slowest = (Duration::ZERO, Duration::ZERO);
        for _ in 0..5 {
            let keys = Verb::EnsureKeys { workload: login(NEIGHBOR), keys: vec![key.to_owned()] };
            let (outcome, task) = self.ask(NEIGHBOR, keys).await;
            assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
            let began = Instant::now();
            assert_eq!(self.says(NEIGHBOR, "id -un").await, NEIGHBOR);
            slowest = (slowest.0.max(task), slowest.1.max(began.elapsed()));
        }
        println!("{during}: slowest task {} ms, slowest shell {} ms", slowest.0.as_millis(), slowest.1.as_millis());
        assert!(slowest.0 < BAR, "{during}: a task took {:?}", slowest.0);
    }
}

async fn patiently<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(answer) = ask() {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("never: {what}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "boots a virtual machine; run by make host-test"]
async fn unit_serves_every_kind_of_stream_and_outlives_what_a_tenant_does() {
    let world = World::new().await;
    let key = world.machine.key();
    world.allocate(ATTACKER, 0, &key).await;
    world.allocate(NEIGHBOR, 1, &key).await;
    vm::eventually("a connection of the agent", || world.gateway.connections() > 0).await;
    streams_work(&world).await;
    sshd_lets_in_by_the_agents_keys_only(&world).await;
    devices_follow_their_holders(&world).await;
    world.neighbor_is_served("at rest", &key).await;

    // What lasts is begun first; a million files take the emulated disk minutes.
    let many: u32 = std::env::var("GPUAAS_VM_FILES").map_or(1_000_000, |count| count.parse().unwrap());
    let files = format!(
        "exec python3 -c \"import os; [os.mkdir(str(part)) for part in range(10)]; \
         [os.mknod(\\\"%d/%d\\\" % (number % 10, number)) for number in range({many})]; os.mknod(\\\"all\\\")\""
    );
    let _files = world.begin(ATTACKER, &files).await;
    world.neighbor_is_served(&format!("while {many} files are made"), &key).await;

    let open = "ulimit -n 131072; exec python3 -c \"import time; held = [open(\\\"/dev/null\\\") for _ in range(100000)]; \
                open(\\\"opened\\\", \\\"w\\\").close(); time.sleep(900)\"";
    let _open = world.begin(ATTACKER, open).await;
    world.machine.eventually(&format!("test -e /home/{ATTACKER}/opened")).await;
    world.neighbor_is_served("100,000 open files", &key).await;

    let memory =
        "exec python3 -c \"open(\\\"began\\\", \\\"w\\\").close(); held = bytearray(b\\\"x\\\") * (10 << 30)\"";
    let _memory = world.begin(ATTACKER, memory).await;
    world.machine.eventually(&format!("test -e /home/{ATTACKER}/began")).await;
    world.neighbor_is_served("10 GiB of memory", &key).await;

    world.machine.eventually(&format!("test -e /home/{ATTACKER}/all")).await;
    let _bomb = world.begin(ATTACKER, "bomb() { bomb | bomb & }; bomb; sleep 900").await;
    let uid = world.machine.says(&format!("id -u {ATTACKER}")).await;
    world
        .machine
        .eventually(&format!("test $(cat /sys/fs/cgroup/user.slice/user-{uid}.slice/pids.current) -gt 300"))
        .await;
    world.neighbor_is_served("a fork bomb", &key).await;
    let slice = world.machine.says(&format!("systemctl show user-{uid}.slice -p TasksCurrent -p MemoryCurrent")).await;
    println!("the attacker's slice: {}", slice.replace('\n', ", "));

    let verb = Verb::EnsureGone {
        workload: login(ATTACKER),
        gpus: vec![world.gpus[0].clone()],
        isolation: Isolation::UserRevoke,
    };
    let mut last = world.ask(ATTACKER, verb.clone()).await;
    for _ in 0..4 {
        if matches!(last.0, Outcome::Done { .. }) {
            break;
        }
        // Its time was over; the next attempt goes on where it was.
        println!("cleaning again after {:?}", last.0);
        last = world.ask(ATTACKER, verb.clone()).await;
    }
    let (outcome, took) = last;
    let Outcome::Done { result: Done::Evidence { processes_killed, home_removed, user_removed, .. } } = outcome else {
        panic!("{outcome:?}");
    };
    assert!(home_removed && user_removed);
    println!("released in {} ms: {processes_killed} processes killed, home and user gone", took.as_millis());
    let left = format!(
        "id {ATTACKER} 2>/dev/null; ps -o pid= -u {uid}; ls -d /home/{ATTACKER} /etc/gpuaas/keys/{ATTACKER} \
         /sys/fs/cgroup/user.slice/user-{uid}.slice /etc/systemd/system.control/user-{uid}.slice.d /run/user/{uid} 2>/dev/null; true"
    );
    assert_eq!(world.machine.says(&left).await, "", "something of the login is left");
    world.neighbor_is_served("afterwards", &key).await;
    let status = world
        .machine
        .says("systemctl show gpuaas-node -p NRestarts -p MemoryPeak -p MemoryCurrent -p TasksCurrent")
        .await;
    println!("the agent: {}", status.replace('\n', ", "));
    assert!(status.contains("NRestarts=0"), "{status}");
    println!("{}", world.machine.says("/usr/local/lib/gpuaas/gpuaas-node doctor; true").await);
}

async fn streams_work(world: &World) {
    let mut terminal = world.open(ATTACKER, shell()).await;
    terminal.typed("id -un; cat /proc/self/oom_score_adj; cat /proc/self/cgroup; echo e''nd\n");
    let said = terminal.until("end").await;
    assert!(said.contains(ATTACKER) && said.contains("user.slice/user-"), "{said}");
    terminal.typed("exit\n");
    println!("terminal: {}", said.lines().find(|line| line.contains("user.slice")).unwrap_or_default());

    let mut exec = world.open(ATTACKER, Kind::Exec { command: "grep Cap /proc/self/status; exit 7".into() }).await;
    let (output, last) = exec.rest().await;
    let output = String::from_utf8_lossy(&output).into_owned();
    assert!(matches!(last, Some(Frame::Exit(StreamEnded { code: 7, .. }))), "{last:?} {output}");
    assert!(output.lines().all(|line| line.ends_with("0000000000000000")), "{output}");
    println!("exec: ended with 7 and without capabilities");

    let mut files = world.open(ATTACKER, Kind::File).await;
    files.send_raw(bytes::Bytes::from_static(&[0, 0, 0, 5, 1, 0, 0, 0, 3]));
    let hello = files.raw().await.unwrap();
    assert_eq!(hello.get(4), Some(&2), "the server's version: {hello:?}");
    println!("sftp: version {}", hello[8]);
    drop(files);

    let serve = "exec python3 -c \"import socket; s = socket.create_server((\\\"127.0.0.1\\\", 8080)); \
                 open(\\\"listens\\\", \\\"w\\\").close(); c = s.accept()[0]; c.sendall(b\\\"forwarded\\\")\"";
    let _server = world.begin(ATTACKER, serve).await;
    world.machine.eventually(&format!("test -e /home/{ATTACKER}/listens")).await;
    let mut forward = world.open(ATTACKER, Kind::Tcp { port: 8080 }).await;
    assert_eq!(forward.raw().await.unwrap(), "forwarded");
    println!("forward: ok");
}

async fn sshd_lets_in_by_the_agents_keys_only(world: &World) {
    let machine = &world.machine;
    let inside = machine.ssh_as(NEIGHBOR, "id", "id -un; cat /proc/self/cgroup").await;
    assert!(inside.contains(NEIGHBOR) && inside.contains("user.slice/user-"), "{inside}");
    let own = machine.make_key("own").await;
    let plant =
        format!("mkdir -p .ssh; echo '{own}' > .ssh/authorized_keys; chmod 700 .ssh; chmod 600 .ssh/*; echo planted");
    assert_eq!(machine.ssh_as(NEIGHBOR, "id", &plant).await, "planted");
    assert_eq!(machine.ssh_as(NEIGHBOR, "own", "id -un").await, "", "a key of the tenant's own opens nothing");
    let keys = Verb::EnsureKeys { workload: login(NEIGHBOR), keys: vec![] };
    assert!(matches!(world.ask(NEIGHBOR, keys).await.0, Outcome::Done { .. }));
    assert_eq!(machine.ssh_as(NEIGHBOR, "id", "id -un").await, "", "a key that was taken away opens nothing");
    let keys = Verb::EnsureKeys { workload: login(NEIGHBOR), keys: vec![machine.key()] };
    assert!(matches!(world.ask(NEIGHBOR, keys).await.0, Outcome::Done { .. }));
    println!("sshd: the agent's keys only, in the login's slice");
    let others = "ls -d /proc/[0-9]* | wc -l; ls -ld /proc/1 2>&1 | grep -c 'No such file'";
    let seen = machine.ssh_as(NEIGHBOR, "id", others).await;
    assert!(seen.ends_with('1'), "other users' processes are seen: {seen}");
    let cron =
        machine.ssh_as(NEIGHBOR, "id", "echo '* * * * * true' | crontab - 2>&1; crontab -l 2>&1 | tail -1").await;
    assert!(cron.contains("not allowed"), "cron would run jobs outside of the slice: {cron}");
    println!("cron: closed to logins");
}

/// No driver serves the devices, so that opening one says which gate refused it.
async fn devices_follow_their_holders(world: &World) {
    let tries = "for i in 0 1; do (exec 3</dev/nvidia$i) 2>&1 | sed \"s/.*: /$i /\"; done";
    let (held, closed, denied) = ("No such device or address", "Permission denied", "Operation not permitted");
    assert_eq!(world.says(ATTACKER, tries).await, format!("0 {held}\n1 {closed}"));
    assert_eq!(world.says(NEIGHBOR, tries).await, format!("0 {closed}\n1 {held}"));
    assert_eq!(world.machine.ssh_as(NEIGHBOR, "id", tries).await, format!("0 {closed}\n1 {held}"));
    // Somebody opens the files to everybody: the slice's own policy still holds.
    let opened = "for i in 0 1; do (chmod 666 /dev/nvidia$i); done; echo opened";
    let mut policy = String::new();
    for _ in 0..20 {
        assert_eq!(world.machine.says(opened).await, "opened");
        policy = world.says(ATTACKER, tries).await;
        // The agent closes them again at every look.
        if !policy.contains(closed) {
            break;
        }
    }
    assert_eq!(policy, format!("0 {held}\n1 {denied}"));
    println!("devices: files closed to others, and the slice's policy denies them where files are open");
}
