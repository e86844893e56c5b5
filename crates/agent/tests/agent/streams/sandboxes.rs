//! The walls of a simulated node's shell.

use crate::gateway::run;
use crate::node::children_named;
use crate::plane::{Plane, eventually};
use crate::streams::world::{World, allocation, done, login};

impl World {
    /// What a command prints inside.
    async fn says(&self, line: &str) -> String {
        let (_, mut stream) = self.open(run(line)).await;
        String::from_utf8(stream.rest().await.0).unwrap().replace("\r\n", "\n")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shell_of_a_simulated_node_is_unprivileged_and_sees_nothing_of_the_machine() {
    let world = World::new().await;
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    assert_eq!(world.says("id -u; id -g; id -un; hostname; pwd").await, "1000\n1000\nu\nsim-0001\n/home/u\n");
    let rights = world.says("grep -E '^Cap(Inh|Prm|Eff|Amb)|^NoNewPrivs' /proc/self/status").await;
    assert_eq!(rights.matches("0000000000000000").count(), 4, "{rights}");
    assert!(rights.contains("NoNewPrivs:\t1"), "{rights}");
    let own = std::process::id();
    assert_eq!(
        world
            .says(&format!("test -e /proc/{own}/fd && echo seen; ls -d /proc/[0-9]* | wc -l | grep -cE '^[0-9]$'"))
            .await,
        "1\n"
    );
    let written = world.says("for f in /usr/x /etc/x /x /opt/gpuaas/bin/nvidia-smi /etc/passwd; do ( : > $f ) 2>/dev/null && echo wrote $f; done; echo done").await;
    assert_eq!(written, "done\n");
    assert_eq!(world.says("ls /root /home/*/ /work /var/lib 2>/dev/null | grep -v ^/ | grep -c .").await, "0\n");
    let reached = world
        .says(&format!(
            "(: > /dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached; ls /sys/class/net 2>/dev/null; echo done"
        ))
        .await;
    assert_eq!(reached, "done\n");
    assert_eq!(world.says("env | grep -cE 'CARGO|RUST|GPUAAS_NODE'").await, "0\n");
    assert_eq!(
        world.says("mount -t tmpfs none /tmp 2>/dev/null || echo refused; kill -9 1; echo alive").await,
        "refused\nalive\n"
    );
    let listed = world
        .says("nvidia-smi -L; nvidia-smi | grep -c H200; echo $CUDA_VISIBLE_DEVICES | tr , '\\n' | grep -c ^GPU")
        .await;
    assert!(listed.starts_with("GPU 0: NVIDIA H200 (UUID: GPU-") && listed.ends_with("2\n2\n"), "{listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn home_stays_for_the_next_session_and_logins_do_not_see_each_other() {
    let world = World::new().await;
    world.says("echo mine > ~/file; setsid -f sleep 800; sleep 0.3").await;
    assert_eq!(world.says("cat ~/file; pgrep -c -x sleep").await, "mine\n1\n");
    let task = world.plane.task(&world.node, "allocation-2", 1, allocation("v", vec![]));
    done(&world.plane, world.plane.deliver(task)).await;
    let mut grant = world.grant(run("id -un; ls -A ~ /home; pgrep -c -x sleep; nvidia-smi -L"));
    (grant.allocation, grant.workload) = ("allocation-2".into(), login("v"));
    let mut stream = world.gateway.open(&world.plane, &grant).await.unwrap();
    let said = String::from_utf8(stream.rest().await.0).unwrap().replace("\r\n", "\n");
    assert_eq!(said, "v\n/home:\nv\n\n/home/v:\n0\nNo devices were found\n");
    // All of it can be killed from inside; the sandbox stays.
    assert_eq!(world.says("kill -9 -1; echo alive; cat ~/file").await, "alive\nmine\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_agent_leaves_nothing_of_its_sandboxes() {
    let plane = Plane::start().await;
    let gateway = crate::gateway::Gateway::start(&plane, "gw-1").await;
    plane.state().gateways = vec![gateway.entry()];
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("roots"), &plane.authority.roots).unwrap();
    std::fs::write(folder.path().join("tokens"), "token-0\n").unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gpuaas-node"));
    command.args(["sim", "--nodes", "1", "--heartbeat-ms", "300", "--url", &plane.url, "--ca-file"]);
    command.arg(folder.path().join("roots")).arg("--tokens").arg(folder.path().join("tokens"));
    let mut agent = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    gateway.connected().await;
    done(&plane, plane.deliver(plane.task("node-sim-0001", "allocation-1", 1, allocation("u", vec![])))).await;
    let mark = format!("8{:07}", std::process::id());
    let busy = format!("trap '' HUP TERM; (setsid sleep {mark} &); nohup sleep {mark} & sleep {mark}");
    let grant = gateway.grant(&plane, "node-sim-0001", run(&busy));
    let _stream = gateway.open(&plane, &grant).await.unwrap();
    eventually("three sleepers", || (children_named(&mark) == 3).then_some(())).await;
    agent.kill().unwrap();
    agent.wait().unwrap();
    eventually("nothing to be left", || (children_named(&mark) == 0).then_some(())).await;
}
