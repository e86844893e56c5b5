//! A real mail server (PyPI `aiosmtpd`) that can be told what to answer, go
//! away and come back. What it accepted is read back as Python decoded it.

use std::{
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{
    net::TcpStream,
    process::{Child, Command},
};

use crate::{process::free_port, python};

pub struct MailServer {
    pub url: String,
    port: u16,
    folder: tempfile::TempDir,
    tool: PathBuf,
    child: Option<Child>,
}

/// A mail as it was received.
#[derive(Debug, Clone, serde::Deserialize)]
pub struct Received {
    pub envelope_from: String,
    pub envelope_to: Vec<String>,
    /// By their names in lower case.
    pub headers: std::collections::BTreeMap<String, String>,
    pub text: String,
    pub html: String,
    /// What Python's parser found wrong with it.
    pub defects: Vec<String>,
}

impl MailServer {
    pub async fn start() -> MailServer {
        let mut server = MailServer::not_yet().await;
        server.come_back().await;
        server
    }

    /// One that is not there yet.
    pub async fn not_yet() -> MailServer {
        let tool = tokio::task::spawn_blocking(|| python::tool("smtp", TOOL)).await.unwrap();
        let port = free_port();
        let folder = tempfile::tempdir().unwrap();
        MailServer { url: format!("smtp://127.0.0.1:{port}"), port, folder, tool, child: None }
    }

    /// As `kill -9`.
    pub async fn go_away(&mut self) {
        self.child.take().expect("it runs").kill().await.unwrap();
    }

    pub async fn come_back(&mut self) {
        let child = Command::new(self.tool.join("venv/bin/python"))
            .arg(self.tool.join("server.py"))
            .arg(self.port.to_string())
            .arg(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        self.child = Some(child.unwrap());
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
            assert!(started.elapsed() < Duration::from_secs(30), "the mail server did not answer in 30 s");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// What to answer next at a step (`mail`, `rcpt` or `data`), one after the other.
    pub fn answer(&self, step: &str, answers: &[&str]) {
        std::fs::write(self.folder.path().join("script.json"), json!({ step: answers }).to_string()).unwrap();
    }

    /// How many times it answered as it was told to.
    pub fn refusals(&self) -> usize {
        self.lines("refused.jsonl").len()
    }

    pub fn received(&self) -> Vec<Received> {
        self.lines("mails.jsonl").into_iter().map(|it| serde_json::from_value(it).unwrap()).collect()
    }

    /// Those to one address.
    pub fn to(&self, address: &str) -> Vec<Received> {
        self.received().into_iter().filter(|it| it.envelope_to == [address]).collect()
    }

    fn lines(&self, file: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join(file)).unwrap_or_default();
        // The last line may be on its way.
        text.split_inclusive('\n').filter_map(|it| serde_json::from_str(it.strip_suffix('\n')?).ok()).collect()
    }
}

const TOOL: &[(&str, &str)] = &[
    ("requirements.txt", include_str!("../tools/smtp/requirements.txt")),
    ("server.py", include_str!("../tools/smtp/server.py")),
];
