//! A gateway as a process of its own, so that its memory is its own.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::super::daemon::{Daemon, free_port, program};
use super::session::Bench;

const PATIENCE: Duration = Duration::from_secs(30);

pub struct Edge {
    pub url: String,
    process: Child,
    _folder: tempfile::TempDir,
}

impl Edge {
    pub async fn start(daemon: &Daemon, bench: &Bench) -> Result<Self, String> {
        let regions = bench.get_as_operator("/v1/regions").await?;
        let region = regions["items"][0]["id"].as_str().ok_or("the demo has no region")?.to_owned();
        let (port, agent_port) = (free_port()?, free_port()?);
        let spec = json!({
            "name": "bench-edge", "region_id": region,
            "agent_url": format!("https://127.0.0.1:{agent_port}"),
            "public_url": format!("ws://127.0.0.1:{port}"),
            "web_domain": "bench.localhost",
        });
        let made = bench.post_as_operator("/v1/platform/gateways", &spec).await?;
        let text = |name: &str| made[name].as_str().unwrap_or_default().to_owned();
        let folder = tempfile::tempdir().map_err(super::text)?;
        let process = Command::new(program(daemon))
            .args(["serve", "--roles", "gateway"])
            .env("GPUAAS_GATEWAY_CONTROL_URL", text("control_url"))
            .env("GPUAAS_GATEWAY_JOIN_TOKEN", text("secret"))
            .env("GPUAAS_GATEWAY_CA_FINGERPRINT", text("ca_fingerprint"))
            .env("GPUAAS_GATEWAY_FOLDER", folder.path())
            .env("GPUAAS_GATEWAY_LISTEN", format!("127.0.0.1:{port}"))
            .env("GPUAAS_GATEWAY_AGENT_LISTEN", format!("127.0.0.1:{agent_port}"))
            .env("GPUAAS_LOG", "warn")
            .stdin(Stdio::null())
            .spawn()
            .map_err(super::text)?;
        let edge = Edge { url: format!("ws://127.0.0.1:{port}"), process, _folder: folder };
        let started = Instant::now();
        // A host is connected when a shell opens.
        while bench.open_at(&edge.url, "true").await.is_err() {
            if started.elapsed() > PATIENCE {
                return Err("no shell opens through the gateway".to_owned());
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        Ok(edge)
    }

    pub fn memory_kib(&self) -> Result<f64, String> {
        let path = format!("/proc/{}/status", self.process.id());
        let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
        let kib = text.lines().find_map(|it| it.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok());
        kib.ok_or(format!("{path} does not say how much memory is used"))
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
