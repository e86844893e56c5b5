//! `gpuaasd dev` as people run it: one data folder, one process, and nothing
//! left behind however it ends.

use std::{
    collections::{HashMap, HashSet},
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    time::Duration,
};

use gpuaasd::dev::postgres::{Cluster, ClusterOptions};
use nix::sys::signal::Signal;
use sqlx::Connection;
use testkit::{
    dev::{Dev, folder},
    process::{CommandOutput, command, said},
    server::eventually,
};

async fn whoami(dev: &Dev, token: &str) -> u16 {
    let request = reqwest::Client::new().get(format!("{}/v1/whoami", dev.daemon.base)).bearer_auth(token);
    request.send().await.unwrap().status().as_u16()
}

async fn refused(data: &Path, more: &[&str]) -> CommandOutput {
    let arguments = [&["dev", "--data-dir", data.to_str().unwrap()], more].concat();
    let mut command = command(&arguments, "");
    command.env_remove("GPUAAS_DATABASE_URL");
    let said = said(command).await;
    assert!(!said.is_success, "{said:?}");
    said
}

/// Every process with its parent and the moment it started, which tells a
/// process from a later one of the same number.
fn processes() -> HashMap<u32, (u32, String)> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
    let stat = |pid: u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
        // A zombie has ended; its parent just has not looked yet.
        (fields[0] != "Z").then(|| (pid, (fields[1].parse().unwrap_or(0), fields[19].to_owned())))
    };
    numbers.filter_map(stat).collect()
}

/// A process and everything that came from it.
fn family(of: u32) -> HashSet<(u32, String)> {
    let all = processes();
    let mut family = HashSet::from([of]);
    loop {
        let children: Vec<u32> = all
            .iter()
            .filter(|(pid, (parent, _))| family.contains(parent) && !family.contains(pid))
            .map(|(pid, _)| *pid)
            .collect();
        if children.is_empty() {
            return family.into_iter().filter_map(|pid| Some((pid, all.get(&pid)?.1.clone()))).collect();
        }
        family.extend(children);
    }
}

async fn all_end(family: &HashSet<(u32, String)>) {
    eventually("every process to end", || async {
        let now = processes();
        !family.iter().any(|(pid, started)| now.get(pid).is_some_and(|it| it.1 == *started))
    })
    .await;
}

/// Whether any process was started for this data folder.
fn is_in_use(data: &Path) -> bool {
    let needle = data.to_str().unwrap().as_bytes();
    processes().keys().any(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.windows(needle.len()).any(|it| it == needle)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_leaves_nothing_running_and_a_kill_loses_nothing() {
    let folder = folder();
    let data = folder.path().join("data");
    let mut dev = Dev::start(&data, &[]).await;
    assert!(dev.rest().await.contains("owner@demo.localhost"));
    let first = dev.env();
    assert_eq!(fs::metadata(data.join("dev.env")).unwrap().permissions().mode() & 0o077, 0);
    assert_eq!(whoami(&dev, &first["GPUAAS_TOKEN"]).await, 200);
    let policy = reqwest::Client::new().get(format!("{}/v1/platform/policies/billing.required", dev.daemon.base));
    let policy = policy.bearer_auth(&first["GPUAAS_OPERATOR_TOKEN"]).send().await.unwrap().text().await.unwrap();
    assert!(policy.contains(r#""value":"true""#), "what is tried out here must be affordable: {policy}");
    let before = family(dev.daemon.child.id().unwrap());
    assert!(before.len() > 5, "gpuaasd, its PostgreSQL and their helpers: {before:?}");
    dev.daemon.signal(Signal::SIGINT);
    assert_eq!(dev.daemon.child.wait().await.unwrap().code(), Some(0));
    all_end(&before).await;
    assert!(!is_in_use(&data));

    let dev = Dev::start(&data, &[]).await;
    let before = family(dev.daemon.child.id().unwrap());
    dev.daemon.kill().await;
    let started = std::time::Instant::now();
    let dev = Dev::start(&data, &[]).await;
    println!("ready {:?} after a kill", started.elapsed());
    all_end(&before).await;
    let third = dev.env();
    for name in ["GPUAAS_TOKEN", "GPUAAS_OPERATOR_TOKEN", "GPUAAS_ORGANIZATION", "GPUAAS_PROJECT"] {
        assert_eq!(first[name], third[name], "{name}");
    }
    for name in ["GPUAAS_TOKEN", "GPUAAS_OPERATOR_TOKEN"] {
        assert_eq!(whoami(&dev, &first[name]).await, 200, "{name}");
    }
    assert_eq!(third["GPUAAS_URL"], dev.daemon.base);
    assert!(dev.daemon.stop().await.success());
    assert!(!is_in_use(&data));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_has_one_user_and_a_port_in_use_leaves_nothing_behind() {
    let folder = folder();
    let data = folder.path().join("data");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = refused(&data, &["--listen", &address]).await;
    assert!(said.err.contains(&address) && said.err.contains("--listen"), "{said:?}");
    assert!(!is_in_use(&data), "its PostgreSQL is gone too");

    let mut dev = Dev::start(&data, &["--no-seed"]).await;
    assert!(!dev.rest().await.contains("password"));
    assert!(!data.join("dev.env").exists());
    let credentials = serde_json::json!({ "email": "owner@demo.localhost", "password": "whatever it was" });
    let sign_in = reqwest::Client::new().post(format!("{}/v1/sessions", dev.daemon.base)).json(&credentials);
    assert_eq!(sign_in.send().await.unwrap().status(), 401);

    let said = refused(&data, &["--listen", "127.0.0.1:0"]).await;
    assert!(said.err.contains("in use by another gpuaasd"), "{said:?}");
    dev.daemon.ready(Duration::from_secs(1)).await;
    assert!(dev.daemon.stop().await.success());
    assert!(!is_in_use(&data));
}

#[tokio::test(flavor = "multi_thread")]
async fn data_of_a_pre_release_build_is_deleted_only_on_request() {
    let folder = folder();
    let data = folder.path().join("data");
    assert!(Dev::start(&data, &["--no-seed"]).await.daemon.stop().await.success());
    let (mail, key) = (data.join("mails/old.eml"), data.join("secrets.key"));
    fs::create_dir_all(mail.parent().unwrap()).unwrap();
    fs::write(&mail, "of before").unwrap();
    fs::write(&key, "the key of secrets").unwrap();
    let cluster = Cluster::start(ClusterOptions::durable(data.join("postgres"))).await.unwrap();
    let mut owner = sqlx::PgConnection::connect(&cluster.url("gpuaas")).await.unwrap();
    let change = "UPDATE _sqlx_migrations SET checksum = sha256('of before'); CREATE TABLE of_before ()";
    sqlx::raw_sql(change).execute(&mut owner).await.unwrap();
    owner.close().await.unwrap();
    cluster.stop().await.unwrap();

    let said = refused(&data, &["--listen", "127.0.0.1:0"]).await;
    assert!(said.err.contains("pre-release build") && said.err.contains("make dev ARGS=--reset"), "{said:?}");
    assert!(mail.exists(), "nothing is deleted without a request");

    assert!(Dev::start(&data, &["--no-seed", "--reset"]).await.daemon.stop().await.success());
    assert!(!mail.exists());
    assert_eq!(fs::read_to_string(&key).unwrap(), "the key of secrets");
    let cluster = Cluster::start(ClusterOptions::durable(data.join("postgres"))).await.unwrap();
    let mut owner = sqlx::PgConnection::connect(&cluster.url("gpuaas")).await.unwrap();
    let left: Option<String> =
        sqlx::query_scalar("SELECT to_regclass('of_before')::text").fetch_one(&mut owner).await.unwrap();
    assert_eq!(left, None);
    owner.close().await.unwrap();
    cluster.stop().await.unwrap();
    assert!(Dev::start(&data, &["--no-seed"]).await.daemon.stop().await.success());
}
