//! `gpuaas ssh`: OpenSSH's own client, with everything that it needs.

use clap::Args;
use tokio::process::Command;

use crate::{
    context::Context,
    failure::{Done, Failure},
    ssh::{self, Kit},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas ssh notebook
  gpuaas ssh notebook -- nvidia-smi
  gpuaas ssh notebook -L 8888:localhost:8888 -N
  gpuaas ssh sweep --rank 3 -- nvidia-smi

For scp, rsync, sftp and editors, see `gpuaas ssh-config`.";

// What OpenSSH says of itself when it was ended by a signal.
const ENDED: i32 = 255;

/// Connect to an allocation with OpenSSH, without registering a key
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Ssh {
    /// ID or name of the allocation
    allocation: String,
    /// Rank of the node to connect to, starting at 0 [default: the first]
    #[arg(long, value_name = "N")]
    rank: Option<u16>,
    /// Forward a local port, in ssh syntax: 8888:localhost:8888
    #[arg(short = 'L', value_name = "PORT:HOST:PORT")]
    forward: Vec<String>,
    /// Run no command, only forward ports
    #[arg(short = 'N')]
    nothing: bool,
    /// Allocate a terminal for the command
    #[arg(short = 't')]
    terminal: bool,
    /// Command to run instead of a shell
    #[arg(last = true)]
    command: Vec<String>,
}

impl Ssh {
    pub async fn run(self, context: &Context) -> Done {
        let path = context.allocation_named(&self.allocation).await?;
        let folder = tempfile::Builder::new().prefix("gpuaas-ssh-").tempdir();
        let folder = folder.map_err(|error| ssh::unusable(&std::env::temp_dir(), error))?;
        let kit = Kit::at(folder.path().to_owned())?;
        let way = kit.fill(context, path).await?;
        let mut command = Command::new("ssh");
        for (name, value) in kit.settings() {
            command.arg("-o").arg(format!("{name}={value}"));
        }
        // What is configured for other hosts is not meant for this one.
        command.args(["-o", "IdentityAgent=none", "-o", "ControlPath=none", "-p"]).arg(way.port.to_string());
        command.args(self.forward.iter().flat_map(|it| ["-L", it]));
        command.args(self.nothing.then_some("-N")).args(self.terminal.then_some("-t"));
        let login = self.rank.map_or_else(|| way.login.clone(), |rank| ssh::login_of(&way.login, rank));
        command.arg(format!("{login}@{}", way.host)).arg("--").args(&self.command);
        let status = command.status().await.map_err(|error| ssh::missing(&error))?;
        match status.code().unwrap_or(ENDED) {
            0 => Ok(()),
            code => Err(Failure::exited(code)),
        }
    }
}
