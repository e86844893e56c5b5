//! A real S3-compatible store with one bucket (PyPI `moto`), which checks
//! signatures with Amazon's own library, and can go away, come back, and change
//! the key that it believes.

use std::{
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use platform::config::Config;
use tokio::process::{Child, Command};

use crate::{process::free_port, python};

const NAME: &str = "recordings";
const ACCESS_KEY: &str = "AKIARECORDER";
/// The key that the store believes unless a test says otherwise; it guards nothing.
pub const SECRET_KEY: &str = "kept-by-the-test"; // secret-scan: allow

pub struct Bucket {
    port: u16,
    tool: PathBuf,
    child: Option<Child>,
}

impl Bucket {
    pub async fn start() -> Bucket {
        let mut bucket = Bucket::not_yet().await;
        bucket.come_back(SECRET_KEY).await;
        bucket
    }

    /// One that is not there yet.
    pub async fn not_yet() -> Bucket {
        let tool = tokio::task::spawn_blocking(|| python::tool("s3", TOOL)).await.unwrap();
        Bucket { port: free_port(), tool, child: None }
    }

    /// Has recordings kept in it.
    pub fn configure(&self, config: &mut Config) {
        let recordings = &mut config.recordings;
        recordings.folder = None;
        recordings.s3_url = Some(self.url(&format!("/{NAME}/kept")));
        recordings.s3_access_key = Some(ACCESS_KEY.to_owned());
        recordings.s3_secret_key = Some(SECRET_KEY.to_owned());
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Starts empty, and believes who has this key.
    pub async fn come_back(&mut self, secret_key: &str) {
        let child = Command::new(self.tool.join("venv/bin/python"))
            .arg(self.tool.join("server.py"))
            .arg(self.port.to_string())
            .args([NAME, ACCESS_KEY, secret_key])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        self.child = Some(child.unwrap());
        let started = Instant::now();
        while reqwest::get(self.url("/.keys")).await.is_err() {
            assert!(started.elapsed() < Duration::from_secs(60), "the store did not answer in a minute");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// As `kill -9`, with everything that it had.
    pub async fn go_away(&mut self) {
        self.child.take().expect("it runs").kill().await.unwrap();
    }

    /// The names of what it holds.
    pub async fn keys(&self) -> Vec<String> {
        let answer = reqwest::get(self.url("/.keys")).await.unwrap();
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
    }

    /// Changes an object behind everybody's back.
    pub async fn alter(&self, key: &str) {
        let answer = reqwest::get(self.url(&format!("/.alter?{key}"))).await.unwrap();
        assert!(answer.status().is_success());
    }
}

const TOOL: &[(&str, &str)] = &[
    ("requirements.txt", include_str!("../tools/s3/requirements.txt")),
    ("server.py", include_str!("../tools/s3/server.py")),
];
