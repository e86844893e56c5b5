//! `gpuaas demo` as a newcomer runs it, against `gpuaasd dev` with its simulated
//! hosts: to its end, broken off, refused, and with the server gone.

use std::{collections::HashMap, process::Stdio, time::Duration};

use nix::{sys::signal::Signal, unistd::Pid};
use serde_json::Value;
use tempfile::TempDir;
use testkit::{
    dev::{Dev, folder},
    process::binary,
    server::eventually,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{Child, Command},
    time::timeout,
};

const PATIENCE: Duration = Duration::from_secs(90);

struct Stand {
    dev: Dev,
    env: HashMap<String, String>,
    folder: TempDir,
}

#[derive(Debug)]
struct Ended {
    code: i32,
    text: String,
}

impl Stand {
    async fn new() -> Stand {
        let folder = folder();
        let dev = Dev::start(&folder.path().join("data"), &["--sim-nodes", "2"]).await;
        let env = dev.env();
        let stand = Stand { dev, env, folder };
        eventually("the hosts to be there", || async {
            let free = stand.get("/v1/capacity").await;
            free["items"].as_array().unwrap().iter().any(|it| it["unit"] == "gpu" && it["free"] == 16)
        })
        .await;
        stand
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("GPUAAS_URL", &self.dev.daemon.base)
            .env("GPUAAS_ORGANIZATION", &self.env["GPUAAS_ORGANIZATION"])
            .env("GPUAAS_TOKEN", &self.env["GPUAAS_TOKEN"])
            .env("GPUAAS_CONFIG", self.folder.path().join("config.toml"))
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    fn gpuaas(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(binary("gpuaas").to_str().unwrap());
        command.args(arguments);
        command
    }

    async fn run(&self, arguments: &[&str]) -> Ended {
        ended(self.gpuaas(arguments)).await
    }

    async fn get(&self, path: &str) -> Value {
        let request = reqwest::Client::new().get(format!("{}{path}", self.dev.daemon.base));
        let answer = request.bearer_auth(&self.env["GPUAAS_TOKEN"]).send().await.unwrap();
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    }

    /// In any of the project's states; the newest first.
    async fn allocations(&self, state: &str) -> Vec<Value> {
        let path = format!("/v1/projects/{}/allocations?state={state}", self.env["GPUAAS_PROJECT"]);
        self.get(&path).await["items"].as_array().unwrap().clone()
    }

    /// Nothing holds or wants anything.
    async fn is_empty(&self) -> bool {
        let path = format!("/v1/projects/{}/allocations", self.env["GPUAAS_PROJECT"]);
        self.get(&path).await["items"].as_array().unwrap().is_empty()
    }

    /// A key of a service account, which may do these things.
    async fn key(&self, scopes: &str) -> String {
        let password = format!("{}\n", self.env["GPUAAS_OWNER_PASSWORD"]);
        let mut login = self.gpuaas(&["login", "--email", "owner@demo.localhost", "--password-stdin"]);
        let mut child = login.env_remove("GPUAAS_TOKEN").stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(password.as_bytes()).await.unwrap();
        assert!(child.wait().await.unwrap().success());
        self.run(&["service-accounts", "create", "ci", "--role", "member"]).await.has(0, &[]);
        let arguments = ["service-accounts", "keys", "create", "ci", "tour", "--scope", scopes, "--quiet"];
        let mut create = self.gpuaas(&arguments);
        let output = create.env_remove("GPUAAS_TOKEN").output().await.unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// The process of the simulated hosts.
    fn hosts(&self) -> Pid {
        let parent = self.dev.daemon.child.id().unwrap().to_string();
        let is_hosts = |pid: &i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let after_name = stat.rsplit_once(") ").map(|it| it.1).unwrap_or_default();
            stat.contains("(gpuaas-node)") && after_name.split(' ').nth(1) == Some(parent.as_str())
        };
        let names = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|it| it.file_name().into_string().ok());
        Pid::from_raw(names.filter_map(|it| it.parse().ok()).find(is_hosts).expect("the hosts run"))
    }

    fn signal_hosts(&self, signal: Signal) {
        nix::sys::signal::kill(self.hosts(), signal).unwrap();
    }
}

impl Ended {
    fn has(self, code: i32, says: &[&str]) -> Self {
        assert_eq!(self.code, code, "{}", self.text);
        says.iter().for_each(|it| assert!(self.text.contains(it), "{it}\n{}", self.text));
        self
    }
}

/// Both outputs in one, as on a screen.
async fn ended(mut command: Command) -> Ended {
    let output = timeout(PATIENCE, command.output()).await.expect("it ends").unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    println!("{text}[{:?}]", output.status);
    Ended { code: output.status.code().unwrap_or(-1), text }
}

/// Reads until something appears; everything that was read.
async fn until(from: &mut (impl AsyncRead + Unpin), needle: &str) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    let reading = async {
        while !text.contains(needle) {
            match from.read(&mut buffer).await.unwrap() {
                0 => panic!("it ended before `{needle}`:\n{text}"),
                count => text += &String::from_utf8_lossy(&buffer[..count]),
            }
        }
    };
    let seen = timeout(PATIENCE, reading).await;
    assert!(seen.is_ok(), "no `{needle}`:\n{text}");
    text
}

async fn code(child: &mut Child) -> Option<i32> {
    timeout(PATIENCE, child.wait()).await.expect("it ends").unwrap().code()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_takes_uses_gives_back_and_shows_the_bill() {
    let stand = Stand::new().await;
    let tour = stand.run(&["demo"]).await;
    let tour = tour.has(
        0,
        &[
            "Price      3.50 USD per GPU-hour",
            "Balance    1000.00 USD available",
            "$ gpuaas capacity list\n",
            "$ gpuaas allocations create --sku h200-slice --gpus 1 --name tour-",
            "--project first-project\n",
            "GPU 0: NVIDIA H200",
            "$ gpuaas allocations release tour-",
            "$ gpuaas usage --by tag --tag tour --since 1h\n",
            "$ gpuaas ledger balance\n",
            "nothing is left running",
        ],
    );
    let released = stand.allocations("released").await;
    assert_eq!(released.len(), 1);
    let name = released[0]["name"].as_str().unwrap();
    let bill = tour.text.split("5 of 6").nth(1).unwrap();
    assert!(bill.lines().any(|it| it.starts_with(name) && it.contains("USD")), "{bill}");
    assert!(stand.is_empty().await);

    // A reader that leaves takes nothing with it.
    let pipe = format!("set -o pipefail; {} demo --yes | head -n 3", binary("gpuaas").display());
    let mut shell = stand.command("bash");
    shell.args(["-c", &pipe]);
    ended(shell).await.has(0, &["Allocates  1 GPU of h200-slice"]);
    eventually("everything to be given back", || stand.is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a_terminal_it_waits_for_enter_and_ctrl_c_leaves_nothing() {
    let stand = Stand::new().await;
    let mut screen = stand.command("script");
    let line = format!("{} demo", binary("gpuaas").display());
    screen.args(["--quiet", "--return", "--flush", "--command", &line, "/dev/null"]);
    let mut child = screen.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut keys, mut shown) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    until(&mut shown, "Ctrl-C to end the tour]").await;
    assert!(stand.is_empty().await, "nothing happens before Enter");
    keys.write_all(b"\n").await.unwrap();
    until(&mut shown, "Ctrl-C to end the tour]").await;
    assert!(stand.is_empty().await);
    keys.write_all(b"\n").await.unwrap();
    until(&mut shown, "Ctrl-C to end the tour]").await;
    assert_eq!(stand.allocations("active").await.len(), 1, "it is launched, and the terminal is asked for");
    keys.write_all(b"\x03").await.unwrap();
    until(&mut shown, "Nothing is left running.").await;
    assert_eq!(code(&mut child).await, Some(130));
    assert!(stand.is_empty().await);
    assert_eq!(stand.allocations("released").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_fails_releases_the_allocation_and_its_code_is_returned() {
    let stand = Stand::new().await;
    let scopes = "organization:read,projects:read,policies:read,ledger:read,allocations:read,allocations:write";
    let key = stand.key(scopes).await;
    let as_program = |arguments: &[&str]| {
        let mut command = stand.gpuaas(arguments);
        command.env("GPUAAS_TOKEN", &key);
        command
    };
    // It is nobody of the demo, so what it costs may be real.
    let refused = ended(as_program(&["demo"])).await;
    refused.has(2, &["Price      3.50 USD", "Hold       0.875 USD", "Pass --yes to confirm"]);
    assert!(stand.is_empty().await && stand.allocations("released").await.is_empty());

    let failed = ended(as_program(&["demo", "--yes"])).await;
    failed.has(4, &["3 of 6", "code: forbidden", "Releasing tour-", "released", "Nothing is left running."]);
    assert!(stand.is_empty().await);
    assert_eq!(stand.allocations("released").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_launch_that_hangs_is_released_and_a_server_that_went_away_is_reported() {
    let stand = Stand::new().await;
    stand.signal_hosts(Signal::SIGSTOP);
    let mut child = stand.gpuaas(&["demo", "--yes"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = child.stderr.take().unwrap();
    until(&mut said, "provisioning").await;
    let pid = Pid::from_raw(child.id().unwrap().try_into().unwrap());
    nix::sys::signal::kill(pid, Signal::SIGTERM).unwrap();
    until(&mut said, "$ gpuaas allocations release").await;
    stand.signal_hosts(Signal::SIGCONT);
    until(&mut said, "Nothing is left running.").await;
    assert_eq!(code(&mut child).await, Some(130));
    assert!(stand.is_empty().await);

    stand.signal_hosts(Signal::SIGSTOP);
    let late = stand.run(&["demo", "--yes", "--timeout", "3"]).await;
    late.has(9, &["The server reports", "timed out after 3 seconds", "may still exist. Release it with"]);
    stand.signal_hosts(Signal::SIGCONT);
    eventually("the hosts to clean up", || stand.is_empty()).await;

    stand.signal_hosts(Signal::SIGSTOP);
    let mut child = stand.gpuaas(&["demo", "--yes"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = child.stderr.take().unwrap();
    until(&mut said, "provisioning").await;
    let hosts = stand.hosts();
    stand.dev.daemon.kill().await;
    nix::sys::signal::kill(hosts, Signal::SIGCONT).unwrap();
    let told = until(&mut said, "It ends automatically 15 minutes after it started.").await;
    assert!(told.contains("gpuaas allocations release tour-"), "{told}");
    assert_eq!(code(&mut child).await, Some(9));
}

#[tokio::test(flavor = "multi_thread")]
async fn tour_that_cannot_run_is_refused_before_anything_happens() {
    let stand = Stand::new().await;
    stand.run(&["demo", "-o", "json"]).await.has(2, &["without -o and --quiet"]);
    stand.run(&["demo", "--sku", "b300-node"]).await.has(5, &["gpuaas skus list"]);
    stand.run(&["demo", "--url", "http://127.0.0.1:1"]).await.has(9, &["no response from http://127.0.0.1:1"]);
    let mut nobody = stand.gpuaas(&["demo"]);
    nobody.env_remove("GPUAAS_TOKEN");
    ended(nobody).await.has(3, &["gpuaas login"]);
    stand.run(&["projects", "create", "second"]).await.has(0, &[]);
    stand.run(&["demo"]).await.has(2, &["first-project", "second", "--project"]);
    assert!(stand.is_empty().await && stand.allocations("released").await.is_empty());
}
