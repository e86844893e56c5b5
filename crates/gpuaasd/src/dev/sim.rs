//! The simulated nodes of `gpuaasd dev`: `gpuaas-node sim` as a process of its
//! own, which speaks the real protocol and ends when this process does.

use std::{io::Write, os::unix::fs::OpenOptionsExt, path::PathBuf, process::Stdio, time::Duration};

use kernel::{Access, Tx, clock};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use super::{Options, demo_fleet};
use crate::control_plane::ControlPlane;
use fleet::{enrollment_tokens, nodes};
use platform::policies::settings;

const BINARY: &str = "gpuaas-node";
// bound: how long it may take to end before it is killed
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum SimError {
    #[error("seeding the demo fleet failed")]
    Database(#[from] sqlx::Error),
    #[error("cannot write {path}")]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("cannot start {path}: build it with `cargo build --workspace`, or use --sim-nodes 0")]
    Start {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

pub struct SimNodes {
    child: Child,
}

/// Seeds what the nodes belong to, gives a token to each that is not enrolled
/// yet, and starts them.
pub async fn start(
    control_plane: &ControlPlane,
    options: &Options,
    stop: &CancellationToken,
) -> Result<SimNodes, SimError> {
    let folder = options.data_dir.join("sim");
    std::fs::create_dir_all(&folder).map_err(|source| SimError::File { path: folder.clone(), source })?;
    let tokens = mint(control_plane, usize::from(options.sim_nodes)).await?;
    let (roots, list) = (folder.join("roots.pem"), folder.join("tokens"));
    write(&roots, control_plane.fleet.ca.authority().roots_pem())?;
    write(&list, &tokens.join("\n"))?;
    let program = std::env::current_exe().ok().and_then(|it| it.parent().map(|it| it.join(BINARY)));
    let program = program.filter(|it| it.exists()).unwrap_or_else(|| BINARY.into());
    let child = Command::new(&program)
        .arg("sim")
        .args(["--url", &control_plane.config.node.url])
        .args(["--nodes", &options.sim_nodes.to_string()])
        .arg("--ca-file")
        .arg(&roots)
        .arg("--tokens")
        .arg(&list)
        .arg("--data-dir")
        .arg(&folder)
        // It ends when this end of the pipe goes away, however this process ends.
        .arg("--until-stdin-closes")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(log(&folder)?)
        // A Ctrl-C at the terminal is for this process; it stops the other one in its turn.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|source| SimError::Start { path: program, source })?;
    let _ = stop;
    Ok(SimNodes { child })
}

impl SimNodes {
    pub async fn stop(mut self) {
        drop(self.child.stdin.take());
        if tokio::time::timeout(PATIENCE, self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }
}

async fn mint(control_plane: &ControlPlane, wanted: usize) -> Result<Vec<String>, SimError> {
    let mut tx = Tx::system(&control_plane.db, "seed", Access::Write).await?;
    let pool = demo_fleet::seed(&mut tx).await?;
    let enrolled = nodes::count_in(&mut tx, pool).await?;
    let expires_at = clock::now(&mut tx).await?
        + settings::minutes(control_plane.policies.number(settings::NODE_ENROLLMENT_MINUTES));
    let mut tokens = Vec::new();
    for _ in enrolled..wanted {
        if let Some((_, secret)) = enrollment_tokens::mint(&mut tx, pool, expires_at).await? {
            tokens.push(secret);
        }
    }
    tx.commit().await?;
    Ok(tokens)
}

fn write(path: &std::path::Path, text: &str) -> Result<(), SimError> {
    let failed = |source| SimError::File { path: path.to_owned(), source };
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}

fn log(folder: &std::path::Path) -> Result<Stdio, SimError> {
    let path = folder.join("log");
    let file = std::fs::File::create(&path).map_err(|source| SimError::File { path, source })?;
    Ok(file.into())
}
