//! The cluster against real processes: deaths of the server, of its
//! supervisor and of the watcher between them.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, geteuid},
};
use sqlx::{Connection, PgConnection};

use super::*;

const CHILD_DIR: &str = "GPUAAS_TEST_CLUSTER_DIR";

fn fast(dir: &Path) -> ClusterOptions {
    ClusterOptions { remove_at_exit: false, max_connections: 20, ..ClusterOptions::disposable(dir) }
}

async fn scalar(cluster: &Cluster, query: &'static str) -> String {
    let mut connection = PgConnection::connect(&cluster.url("postgres")).await.unwrap();
    sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap()
}

async fn remember(cluster: &Cluster) {
    let mut connection = PgConnection::connect(&cluster.url("postgres")).await.unwrap();
    sqlx::query("CREATE TABLE IF NOT EXISTS memory AS SELECT 'kept' AS word").execute(&mut connection).await.unwrap();
}

async fn recall(cluster: &Cluster) -> String {
    scalar(cluster, "SELECT word FROM memory").await
}

fn processes(dir: &Path) -> Vec<i32> {
    let account = Account::needed().unwrap();
    leftovers::find(&dir.join("data"), account.as_ref())
}

#[track_caller]
fn assert_no_process(dir: &Path) {
    let left = processes(dir);
    assert!(left.is_empty(), "still running: {left:?}");
}

fn server_pid(dir: &Path) -> Option<Pid> {
    let lock = fs::read_to_string(dir.join("data/postmaster.pid")).ok()?;
    lock.lines().next()?.parse().ok().map(Pid::from_raw)
}

/// Not so for a zombie, which some containers have nobody to reap.
fn is_running(pid: Pid) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|it| !it.is_empty())
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(30), "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_cluster_starts_answers_stops_and_leaves_no_process() {
    let dir = tempfile::tempdir().unwrap();
    let cluster = Cluster::start(fast(dir.path())).await.unwrap();
    assert_eq!(scalar(&cluster, "SHOW listen_addresses").await, "");
    assert_eq!(scalar(&cluster, "SHOW server_encoding").await, "UTF8");
    assert_eq!(scalar(&cluster, "SELECT current_user::text").await, "postgres");
    let mode = fs::metadata(cluster.socket_dir()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert!(!processes(dir.path()).is_empty());

    cluster.stop().await.unwrap();
    assert_no_process(dir.path());
    assert!(!dir.path().join("data/postmaster.pid").exists());
}

#[tokio::test]
async fn a_second_start_on_the_same_folder_keeps_the_data() {
    let dir = tempfile::tempdir().unwrap();
    let options = ClusterOptions::durable(dir.path());
    let cluster = Cluster::start(options.clone()).await.unwrap();
    assert_eq!(scalar(&cluster, "SHOW fsync").await, "on");
    remember(&cluster).await;
    let in_use = Cluster::start(options.clone()).await.err().unwrap();
    assert!(matches!(in_use, DevError::InUse { .. }), "{in_use}");
    cluster.stop().await.unwrap();

    let cluster = Cluster::start(options).await.unwrap();
    assert_eq!(recall(&cluster).await, "kept");
    drop(cluster);
    assert_no_process(dir.path());
}

#[tokio::test]
async fn a_killed_server_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let cluster = Cluster::start(fast(dir.path())).await.unwrap();
    remember(&cluster).await;
    let status = cluster.status();
    for _ in 0..2 {
        let killed = server_pid(dir.path()).unwrap();
        kill(killed, Signal::SIGKILL).unwrap();
        until("another server is ready", || {
            let server = server_pid(dir.path());
            *status.borrow() == Status::Ready && server.is_some_and(|it| it != killed)
        })
        .await;
        assert_eq!(recall(&cluster).await, "kept");
    }
    cluster.stop().await.unwrap();
    assert_eq!(*status.borrow(), Status::Stopped);
    assert_no_process(dir.path());
}

#[tokio::test]
async fn a_lock_file_that_names_another_process_is_no_obstacle() {
    let dir = tempfile::tempdir().unwrap();
    let cluster = Cluster::start(fast(dir.path())).await.unwrap();
    remember(&cluster).await;
    let lock = dir.path().join("data/postmaster.pid");
    let text = fs::read_to_string(&lock).unwrap();
    cluster.stop().await.unwrap();

    // A process of the server's own account, or the server would not mind it.
    let account = Account::needed().unwrap();
    let mut stranger =
        account::command(account.as_ref(), Path::new("/bin/sleep"), Path::new("/")).arg("60").spawn().unwrap();
    let rest = text.split_once('\n').unwrap().1;
    for pid in [stranger.id(), 4_000_000] {
        fs::write(&lock, format!("{pid}\n{rest}")).unwrap();
        fs::set_permissions(&lock, fs::Permissions::from_mode(0o644)).unwrap();
        let cluster = Cluster::start(fast(dir.path())).await.unwrap();
        assert_eq!(recall(&cluster).await, "kept");
        cluster.stop().await.unwrap();
    }
    assert_eq!(stranger.try_wait().unwrap(), None, "the stranger lives");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[tokio::test]
async fn half_an_initdb_is_thrown_away() {
    let dir = tempfile::tempdir().unwrap();
    let half = dir.path().join("data.new-of-a-crash");
    fs::create_dir(&half).unwrap();
    fs::write(half.join("PG_VERSION"), "15\n").unwrap();
    let cluster = Cluster::start(fast(dir.path())).await.unwrap();
    assert!(!half.exists());
    cluster.stop().await.unwrap();

    let other = tempfile::tempdir().unwrap();
    fs::create_dir(other.path().join("data")).unwrap();
    let error = Cluster::start(fast(other.path())).await.err().unwrap();
    assert!(matches!(error, DevError::NotACluster { .. }), "{error}");
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = fast(dir.path());
    options.max_connections = 1;
    let error = Cluster::start(options).await.err().unwrap();
    assert!(matches!(error, DevError::Ended { .. }), "{error}");
    assert!(error.to_string().contains("max_connections"), "{error}");
    assert_no_process(dir.path());
}

#[tokio::test]
async fn a_long_path_works_through_a_short_socket() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).unwrap();
    let long = dir.path().join("x".repeat(100));
    let cluster = Cluster::start(fast(&long)).await.unwrap();
    assert!(!cluster.socket_dir().starts_with(dir.path()));
    assert_eq!(scalar(&cluster, "SELECT 'yes'").await, "yes");
    let socket_dir = cluster.socket_dir().to_owned();
    cluster.stop().await.unwrap();
    assert!(!socket_dir.exists());
}

#[tokio::test]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn root_keeps_the_data_of_a_closed_folder_in_an_open_one() {
    assert!(geteuid().is_root(), "this test is about root: run `sudo cargo xtask root-test`");
    let closed = tempfile::tempdir().unwrap();
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let dir = closed.path().join("gpuaas");
    let error = Cluster::start(fast(&dir)).await.err().unwrap();
    assert!(matches!(error, DevError::Closed { .. }), "{error}");

    let options = ClusterOptions::durable(&dir);
    let cluster = Cluster::start(options.clone()).await.unwrap();
    remember(&cluster).await;
    cluster.stop().await.unwrap();
    let cluster = Cluster::start(options).await.unwrap();
    assert_eq!(recall(&cluster).await, "kept");
    cluster.stop().await.unwrap();
    let home = dir.join("cluster").canonicalize().unwrap();
    assert!(!home.starts_with(closed.path()));
    fs::remove_dir_all(&home).unwrap();
    // Stays if another cluster is in it.
    let _ = fs::remove_dir(home.parent().unwrap());
}

/// Another process that supervises a cluster, for us to kill.
struct Victim(std::process::Child);

impl Victim {
    fn start(dir: &Path, kind: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "dev::postgres::tests::victim"])
            .args(["--ignored", "--nocapture"])
            .env(CHILD_DIR, dir)
            .env("GPUAAS_TEST_CLUSTER_KIND", kind)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.map_while(Result::ok).any(|it| it.ends_with("victim is ready"));
        assert!(ready);
        Self(child)
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    fn kill_watcher(&self) {
        let output = Command::new("ps")
            .args(["--no-headers", "-o", "pid,comm", "--ppid"])
            .arg(self.0.id().to_string())
            .output()
            .unwrap();
        let children = String::from_utf8(output.stdout).unwrap();
        let watcher = children.lines().find(|it| it.trim().ends_with(" sh")).unwrap();
        let pid = watcher.split_whitespace().next().unwrap().parse().unwrap();
        kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    }
}

#[tokio::test]
#[ignore = "started by other tests"]
async fn victim() {
    let dir = std::env::var_os(CHILD_DIR).unwrap();
    let options = match std::env::var("GPUAAS_TEST_CLUSTER_KIND").as_deref() {
        Ok("durable") => ClusterOptions::durable(dir),
        _ => ClusterOptions::disposable(dir),
    };
    let cluster = Cluster::start(options).await.unwrap();
    remember(&cluster).await;
    println!("victim is ready");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn server_leaves_nothing_when_its_supervisor_is_killed() {
    let outside = tempfile::tempdir().unwrap();
    fs::set_permissions(outside.path(), fs::Permissions::from_mode(0o711)).unwrap();
    let dir = outside.path().join("disposable");
    let victim = Victim::start(&dir, "disposable");
    let server = server_pid(&dir).unwrap();
    victim.kill();
    until("the server and its folder are gone", || !is_running(server) && !dir.exists()).await;

    let dir = outside.path().join("durable");
    let victim = Victim::start(&dir, "durable");
    victim.kill();
    until("the server is gone", || processes(&dir).is_empty()).await;
    let cluster = Cluster::start(ClusterOptions::durable(&dir)).await.unwrap();
    assert_eq!(recall(&cluster).await, "kept");
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_start_right_after_a_kill_works() {
    let outside = tempfile::tempdir().unwrap();
    fs::set_permissions(outside.path(), fs::Permissions::from_mode(0o711)).unwrap();
    let dir = outside.path().join("durable");
    for _ in 0..4 {
        Victim::start(&dir, "durable").kill();
    }
    let cluster = Cluster::start(ClusterOptions::durable(&dir)).await.unwrap();
    assert_eq!(recall(&cluster).await, "kept");
    cluster.stop().await.unwrap();
    assert_no_process(&dir);
}

#[tokio::test]
async fn a_server_that_outlived_its_supervisor_is_taken_over() {
    let outside = tempfile::tempdir().unwrap();
    fs::set_permissions(outside.path(), fs::Permissions::from_mode(0o711)).unwrap();
    let dir = outside.path().join("durable");
    let victim = Victim::start(&dir, "durable");
    let orphan = server_pid(&dir).unwrap();
    victim.kill_watcher();
    victim.kill();
    assert!(is_running(orphan), "without a watcher it runs on");

    let cluster = Cluster::start(ClusterOptions::durable(&dir)).await.unwrap();
    assert_ne!(server_pid(&dir), Some(orphan));
    assert_eq!(recall(&cluster).await, "kept");
    cluster.stop().await.unwrap();
    assert_no_process(&dir);
}
