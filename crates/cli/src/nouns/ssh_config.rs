//! `gpuaas ssh-config`: allocations as hosts of OpenSSH's configuration, for
//! everything that uses it: scp, sftp, rsync, git, editors.

use std::{fs, io, path::Path};

use clap::Args;
use contract::{
    Nothing,
    allocations::{Allocation, AllocationFilter, AllocationPath, AllocationState, GetAllocation, ListAllocations},
    ssh_certificates::GetSshKnownHosts,
};

use crate::{
    context::Context,
    failure::{Done, Failure},
    ssh::{self, Kit},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas ssh-config notebook --write
  gpuaas ssh-config >> ~/.ssh/config
  gpuaas ssh-config --known-hosts

Then run `ssh notebook.gpuaas` or `scp data.tar notebook.gpuaas:`, or use \"Connect to Host\" in an editor.
For an allocation with several nodes, select one by its rank: ssh sweep+3.gpuaas.";

/// Configure OpenSSH for allocations (ssh, scp, sftp, rsync, editors)
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SshConfig {
    /// ID or name of the allocation [default: all active allocations of the project]
    allocation: Option<String>,
    /// Write the configuration file and include it in ~/.ssh/config
    #[arg(long)]
    write: bool,
    /// Print gateway host keys in `known_hosts` format instead
    #[arg(long, conflicts_with_all = ["allocation", "write"])]
    known_hosts: bool,
}

impl SshConfig {
    pub async fn run(self, context: &Context) -> Done {
        if self.known_hosts {
            return context.output.bytes(&context.download::<GetSshKnownHosts>(Nothing {}).await?.bytes);
        }
        let allocations = match &self.allocation {
            Some(name) => vec![one(context, name).await?],
            None => {
                let query = AllocationFilter { state: Some(AllocationState::Active), ..AllocationFilter::default() };
                context.all::<ListAllocations>(context.project().await?, query).await?
            }
        };
        let mut text = String::from("# Written by `gpuaas ssh-config`.\n");
        for allocation in &allocations {
            text.push_str(&host(context, allocation)?);
        }
        if !self.write {
            return context.output.line(text.trim_end());
        }
        let file = ssh::folder(context)?.join("config");
        Kit::at(ssh::folder(context)?)?;
        ssh::replace(&file, &text).map_err(|error| ssh::unusable(&file, error))?;
        include(&file)?;
        for allocation in &allocations {
            context.output.hint(format!("ssh {}", alias(allocation, None)));
        }
        context.output.line(format!("Wrote {} and included it in ~/.ssh/config.", file.display()))
    }
}

async fn one(context: &Context, name: &str) -> Result<Allocation, Failure> {
    let path = context.allocation_named(name).await?;
    context.send_request(&client::Request::<GetAllocation>::new(path, Nothing {}, Nothing {})).await
}

/// One host, and that its certificate is renewed before it is used: OpenSSH reads
/// it before it starts the proxy.
fn host(context: &Context, allocation: &Allocation) -> Result<String, Failure> {
    let path = AllocationPath { project_id: allocation.project_id, allocation_id: allocation.id };
    let kit = Kit::kept(context, &path)?;
    let program = std::env::current_exe().map_err(|error| ssh::unusable(Path::new("gpuaas"), error))?;
    let mut proxy = format!("{} --project {}", program.display(), allocation.project_id);
    if let Some(name) = &context.flags.context {
        proxy.push_str(&format!(" --context {name}"));
    }
    let (mut names, id) = (vec![alias(allocation, None)], allocation.id);
    let mut text = String::new();
    // Before what all have: OpenSSH takes the first user that it finds for a name.
    let ranks = if allocation.parts.len() > 1 { allocation.parts.len() } else { 0 };
    for rank in 0..ranks {
        let name = alias(allocation, Some(rank));
        text.push_str(&format!("\nHost {name}\n  User {}\n", ssh::login_of(&id.to_string(), rank)));
        names.push(name);
    }
    let all = names.join(" ");
    text.push_str(&format!("\nHost {all}\n  HostName {id}\n  User {id}\n  ProxyCommand {proxy} ssh-proxy %h\n"));
    for (name, value) in kit.settings() {
        text.push_str(&format!("  {name} {value}\n"));
    }
    let any = names.join(",");
    text.push_str(&format!("Match originalhost {any} exec \"{proxy} ssh-proxy --prepare {id}\"\n"));
    Ok(text)
}

/// What to write after `ssh`, for the first or for another of its hosts.
fn alias(allocation: &Allocation, rank: Option<usize>) -> String {
    let name = allocation.name.as_ref().map_or_else(|| allocation.id.to_string(), ToString::to_string);
    let plain = |it: char| if it.is_ascii_alphanumeric() || "-_.".contains(it) { it.to_ascii_lowercase() } else { '-' };
    let name: String = name.chars().map(plain).collect();
    let name = rank.map_or_else(|| name.clone(), |rank| ssh::login_of(&name, rank));
    format!("{name}.{}", ssh::ALIAS)
}

/// At the top: what stands below a host belongs to that host.
fn include(file: &Path) -> Done {
    let Some(home) = std::env::home_dir() else {
        return Err(Failure::usage(
            "HOME is not set",
            "Set HOME, or include the printed configuration in OpenSSH's manually.",
        ));
    };
    let config = home.join(".ssh").join("config");
    let line = format!("Include {}\n", ssh::quoted(file));
    let before = match fs::read_to_string(&config) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(ssh::unusable(&config, error)),
    };
    if before.contains(line.trim_end()) {
        return Ok(());
    }
    Kit::at(home.join(".ssh"))?;
    ssh::replace(&config, &format!("{line}\n{before}")).map_err(|error| ssh::unusable(&config, error))
}
