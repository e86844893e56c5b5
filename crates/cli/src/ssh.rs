//! What OpenSSH needs to get into an allocation, as files of one folder that only
//! its owner reads: a key, a certificate for a few minutes, and the key of the
//! gateways.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use client::Request;
use contract::Nothing;
use contract::{
    Timestamp,
    allocations::AllocationPath,
    ssh_certificates::{CreateSshCertificate, SshCertificate, SshCertificateSpec},
    ssh_keys::PublicKey,
};
use serde::{Deserialize, Serialize};
use tokio::process::Command;

use crate::{
    context::Context,
    failure::{Class, Failure},
};

/// The one name under which every gateway is known there.
pub const ALIAS: &str = "gpuaas";
/// What stands before the key of an authority.
const AUTHORITY: &str = "@cert-authority ";
// bound: logging in takes less
const FRESH: Duration = Duration::from_secs(30);

/// Where to, and until when the certificate is good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SshRoute {
    pub login: String,
    pub host: String,
    pub port: u16,
    expires_at: Timestamp,
}

pub struct Kit {
    folder: PathBuf,
}

impl Kit {
    /// Made where it is missing, and closed to others.
    pub fn at(folder: PathBuf) -> Result<Self, Failure> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|error| unusable(&folder, error))?;
        Ok(Self { folder })
    }

    /// The one that is stored for an allocation beside the configuration.
    pub fn kept(context: &Context, path: &AllocationPath) -> Result<Self, Failure> {
        Self::at(folder(context)?.join(path.allocation_id.to_string()))
    }

    pub fn key(&self) -> PathBuf {
        self.folder.join("key")
    }

    pub fn known_hosts(&self) -> PathBuf {
        self.folder.join("known_hosts")
    }

    /// Sees to it that everything is there and good for a while.
    pub async fn fill(&self, context: &Context, path: AllocationPath) -> Result<SshRoute, Failure> {
        if let Some(way) = self.fresh() {
            return Ok(way);
        }
        let public_key = self.public_key().await?;
        let request = Request::<CreateSshCertificate>::new(path, Nothing {}, SshCertificateSpec { public_key });
        let answer: SshCertificate = context.send_request(&request).await?;
        let way = way(&answer)?;
        let known: String = answer.known_hosts.iter().filter_map(|it| aliased(it)).collect();
        self.write("key-cert.pub", &format!("{}\n", answer.certificate))?;
        self.write("known_hosts", &known)?;
        // Last: who finds it finds the others too.
        self.write("way.json", &serde_json::to_string(&way).unwrap_or_default())?;
        Ok(way)
    }

    fn fresh(&self) -> Option<SshRoute> {
        let way: SshRoute = serde_json::from_str(&fs::read_to_string(self.folder.join("way.json")).ok()?).ok()?;
        (way.expires_at > Timestamp::now() + FRESH && self.key().exists()).then_some(way)
    }

    async fn public_key(&self) -> Result<PublicKey, Failure> {
        let key = self.key();
        if !key.exists() {
            let mut make = Command::new("ssh-keygen");
            make.args(["-q", "-t", "ed25519", "-N", "", "-C", "gpuaas", "-f"]).arg(&key);
            let done = make.stdin(Stdio::null()).stdout(Stdio::null()).status().await.map_err(|it| missing(&it))?;
            if !done.success() && !key.exists() {
                return Err(Failure::usage("`ssh-keygen` could not create a key", "See its output above."));
            }
        }
        let public = key.with_extension("pub");
        let line = fs::read_to_string(&public).map_err(|error| unusable(&public, error))?;
        line.trim().parse().map_err(|_| unusable(&public, "it does not contain a public key; remove the file"))
    }

    /// Replaces a file in one step, so that nobody reads half of it.
    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.folder.join(name);
        replace(&path, text).map_err(|error| unusable(&path, error))
    }

    /// The options of `ssh`, in the form of its configuration file.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("IdentityFile", quoted(&self.key())),
            ("IdentitiesOnly", "yes".into()),
            ("UserKnownHostsFile", quoted(&self.known_hosts())),
            ("GlobalKnownHostsFile", "/dev/null".into()),
            ("HostKeyAlias", ALIAS.into()),
            ("StrictHostKeyChecking", "yes".into()),
        ]
    }
}

/// Beside the configuration file.
pub fn folder(context: &Context) -> Result<PathBuf, Failure> {
    let config = context.config_file()?;
    Ok(config.path().parent().unwrap_or(Path::new(".")).join("ssh"))
}

/// Replaces a file of the person's in one step; only they can read it.
pub fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let unique = path.with_extension(format!("{}.new", std::process::id()));
    let written = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unique);
    let done = written.and_then(|mut file| file.write_all(text.as_bytes())).and_then(|()| fs::rename(&unique, path));
    if done.is_err() {
        let _ = fs::remove_file(&unique);
    }
    done
}

/// The login that means one of an allocation's hosts.
pub fn login_of(login: &str, rank: impl std::fmt::Display) -> String {
    format!("{login}+{rank}")
}

/// What to say when OpenSSH's programs cannot be started.
pub fn missing(error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound => {
            Failure::usage("OpenSSH is not installed", "Install it, for example with `apt install openssh-client`.")
        }
        _ => Failure::usage(format!("cannot start OpenSSH: {error}"), "Check that `ssh` runs on its own."),
    }
}

pub fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display())
}

pub fn unusable(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::usage(
        format!("cannot use {}: {error}", path.display()),
        "Check the file's owner and permissions, and free disk space.",
    )
}

/// A line of `known_hosts` under the one name.
fn aliased(line: &str) -> Option<String> {
    match line.strip_prefix(AUTHORITY) {
        Some(rest) => rest.split_once(' ').map(|(_, key)| format!("{AUTHORITY}{ALIAS} {key}\n")),
        None => line.split_once(' ').map(|(_, key)| format!("{ALIAS} {key}\n")),
    }
}

fn way(answer: &SshCertificate) -> Result<SshRoute, Failure> {
    let parsed = answer.address.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let Some((host, port)) = parsed else {
        let detail = format!("the server returned an invalid gateway address: {}", answer.address);
        return Err(Failure::new(Class::Server, detail, "Contact the platform operators."));
    };
    let host = host.trim_matches(['[', ']']).to_owned();
    Ok(SshRoute { login: answer.login.clone(), host, port, expires_at: answer.expires_at })
}
