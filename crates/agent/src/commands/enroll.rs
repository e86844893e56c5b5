//! `enroll`: spend a token, keep the identity.

use super::{DataFolder, Outcome};
use agent::config::Config;
use agent::enroll::{EnrollError, enroll};
use agent::host::Host;
use agent::link::LinkError;
use agent::linux::LinuxHost;
use agent::state::StateFolder;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use trust::Trust;

#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    place: DataFolder,
    /// URL of the control plane's node listener
    #[arg(long, env = "GPUAAS_NODE_URL")]
    url: String,
    /// One-time enrollment token
    #[arg(long, env = "GPUAAS_NODE_TOKEN", hide_env_values = true)]
    token: String,
    /// SHA-256 fingerprint of the control plane's root certificate
    #[arg(long, required_unless_present = "ca_file", conflicts_with = "ca_file")]
    ca_fingerprint: Option<String>,
    /// File with the control plane's root certificates, in PEM
    #[arg(long)]
    ca_file: Option<PathBuf>,
    /// Enroll again, replacing the host's identity
    #[arg(long)]
    again: bool,
}

pub async fn run(options: Options) -> Outcome {
    let folder = StateFolder::open(&options.place.data_dir)?;
    if folder.identity().is_ok() && !options.again {
        return Err("this host is already enrolled; pass --again to replace its identity".into());
    }
    let trust = match (&options.ca_file, &options.ca_fingerprint) {
        (Some(path), _) => Trust::in_roots(&std::fs::read_to_string(path)?)?,
        (None, Some(fingerprint)) => Trust::in_fingerprint(fingerprint)?,
        (None, None) => return Err("pass --ca-file or --ca-fingerprint".into()),
    };
    let host = LinuxHost::new(Config::load(&folder.config())?, None);
    let enrolled = enroll(&options.url, &options.token, &trust, host.inventory().await, folder.asked()?).await;
    let identity = enrolled.map_err(|error| match &error {
        EnrollError::Link(LinkError::Unreachable(_) | LinkError::Silent(_) | LinkError::Garbled(_)) => {
            format!("{error}; run the command again: the token is still valid for this host").into()
        }
        _ => Box::<dyn std::error::Error>::from(error),
    })?;
    folder.save_identity(&identity)?;
    println!("Enrolled as {}. Start the agent with `gpuaas-node run`.", identity.node_id);
    Ok(ExitCode::SUCCESS)
}
