//! A host with the real agent, started as a process from a copy of its own, so
//! that an update may replace it.

use std::{path::PathBuf, process::Stdio};

use contract::{
    id::NodeId,
    nodes::{ListNodes, NodeFilter, NodeState},
    pools::PoolProvider,
};

use crate::{Fleet, fleet::add_pool, process::binary, server::eventually};

pub struct Host {
    folder: tempfile::TempDir,
    options: Vec<String>,
    child: Option<tokio::process::Child>,
    pub node: NodeId,
}

impl Host {
    /// Enrolled into a pool of its own, running and ready. The options are those of `run`.
    pub async fn enrolled(fleet: &Fleet, options: &[&str]) -> Host {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let options = options.iter().map(|it| (*it).to_owned()).collect();
        let mut host = Host { folder, options, child: None, node: NodeId::generate() };
        std::fs::copy(binary("gpuaas-node"), host.binary()).expect("the agent is copied");
        std::fs::create_dir(host.state()).expect("the folder is ours");
        std::fs::write(host.state().join("agent.toml"), "simulated_gpus = 1\n").expect("the folder is ours");
        let pool_id = add_pool(&fleet.operator, "metal", PoolProvider::Enrolled).await;
        let token = fleet.token_for(pool_id).await;
        let address = fleet.world.server.node_address.expect("the server speaks with hosts");
        let (url, secret) = (format!("https://{address}"), token.secret.expose());
        let enroll = ["enroll", "--url", &url, "--token", secret, "--ca-fingerprint", &token.ca_fingerprint];
        let output = host.agent(&enroll).output().await.expect("the agent starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        host.start();
        let nodes = async || {
            let query = NodeFilter { pool_id: Some(pool_id), ..NodeFilter::default() };
            let nodes = fleet.operator.call::<ListNodes>(Default::default(), query, Default::default()).await;
            nodes.expect("nodes are listed").items
        };
        eventually("the host to be ready", || async { nodes().await.iter().any(|it| it.state == NodeState::Ready) })
            .await;
        host.node = nodes().await[0].id;
        host
    }

    pub fn binary(&self) -> PathBuf {
        self.folder.path().join("gpuaas-node")
    }

    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Runs the agent; one that runs is killed before.
    pub fn start(&mut self) {
        self.child = None;
        let mut command = self.agent(&["run", "--heartbeat-ms", "300"]);
        self.child = Some(command.args(&self.options).spawn().expect("the agent starts"));
    }

    fn agent(&self, arguments: &[&str]) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(self.binary());
        command.args(arguments).arg("--data-dir").arg(self.state());
        command.stdin(Stdio::null()).env("GPUAAS_NODE_LOG", "warn").kill_on_drop(true);
        command
    }
}
