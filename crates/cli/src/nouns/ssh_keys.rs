//! `gpuaas ssh-keys`: the caller's public keys, which their allocations let in.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use clap::Subcommand;
use contract::{
    Name, Nothing,
    ssh_keys::{AddSshKey, ListSshKeys, PublicKey, RemoveSshKey, SshKey, SshKeyFilter, SshKeySpec, SshSignature},
};

use crate::{
    arguments::{self, Once, Paging},
    context::Context,
    failure::{Done, Failure},
    key_proof,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas ssh-keys add laptop ~/.ssh/id_ed25519.pub
  gpuaas ssh-keys add robot - < robot.pub
  gpuaas ssh-keys add token token.pub --proof token.sig
  gpuaas ssh-keys list
  gpuaas ssh-keys remove laptop

Adding a key requires proof that you hold its private key. `ssh-keygen` signs with
the private key next to the file or in the SSH agent. To sign elsewhere, pass --proof:
  printf %s \"$(gpuaas whoami -q)\" | ssh-keygen -Y sign -n gpuaas-ssh-key -f token > token.sig

Adding and removing keys requires a session: run `gpuaas login`.";

/// Manage the SSH keys that your allocations accept
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum SshKeys {
    /// Add an SSH public key
    Add {
        /// Name of the key
        #[arg(value_parser = arguments::text::<Name>)]
        name: Name,
        /// Public key file, such as ~/.ssh/id_ed25519.pub, or - for standard input
        file: PathBuf,
        /// Signature file created elsewhere with `ssh-keygen -Y sign`
        #[arg(long, value_name = "FILE")]
        proof: Option<PathBuf>,
        #[command(flatten)]
        once: Once,
    },
    /// List your SSH keys
    List {
        /// Filter by name
        #[arg(long, value_parser = arguments::text::<Name>)]
        name: Option<Name>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Remove an SSH key; hosts stop accepting it within seconds
    Remove {
        /// ID or name of the key
        key: String,
    },
}

const COLUMNS: Columns = columns!(SshKey: id, name, fingerprint, created_at);

impl SshKeys {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            SshKeys::Add { name, file, proof, once } => {
                let public_key = read(&file)?;
                let proof = match proof {
                    Some(made) => signature(&made)?,
                    None => {
                        let own = Some(file.as_path()).filter(|it| *it != Path::new("-"));
                        key_proof::prove(context, &public_key, own).await?
                    }
                };
                let spec = SshKeySpec { name, public_key, proof };
                context.output.item(&context.create::<AddSshKey>(&once, Nothing {}, spec).await?)
            }
            SshKeys::List { name, paging } => {
                let query = SshKeyFilter { name, limit: paging.page(), ..SshKeyFilter::default() };
                context.list::<ListSshKeys>(Nothing {}, query, paging, COLUMNS).await
            }
            SshKeys::Remove { key } => {
                let path = context.ssh_key_named(&key).await?;
                let answer = context.ask::<RemoveSshKey>(path).await?;
                context.output.done(&answer, format!("Removed `{key}`."))
            }
        }
    }
}

/// More than any file of one public key has.
const LARGEST_FILE_BYTES: u64 = 16 * 1024;

fn read(file: &Path) -> Result<PublicKey, Failure> {
    let mut text = String::new();
    let read = if file == Path::new("-") {
        io::stdin().lock().take(LARGEST_FILE_BYTES).read_to_string(&mut text)
    } else {
        File::open(file).and_then(|it| it.take(LARGEST_FILE_BYTES).read_to_string(&mut text))
    };
    read.map_err(|error| {
        let detail = format!("cannot read {}: {error}", file.display());
        Failure::usage(detail, "Create a key with `ssh-keygen -t ed25519` and pass its .pub file.")
    })?;
    public_key(&text).map_err(|detail| Failure::usage(format!("{}: {detail}", file.display()), ""))
}

fn signature(file: &Path) -> Result<SshSignature, Failure> {
    let mut text = String::new();
    File::open(file).and_then(|it| it.take(LARGEST_FILE_BYTES).read_to_string(&mut text)).map_err(|error| {
        let detail = format!("cannot read {}: {error}", file.display());
        Failure::usage(detail, "Pass the file written by `ssh-keygen -Y sign`.")
    })?;
    arguments::text(text.trim()).map_err(|detail| Failure::usage(format!("{}: {detail}", file.display()), ""))
}

/// A private key must not leave the machine, not even to be refused.
fn public_key(text: &str) -> Result<PublicKey, String> {
    if text.contains("PRIVATE KEY") {
        return Err("this is a private key; pass the public key file, which ends in .pub".into());
    }
    arguments::text(text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_key_is_refused_before_it_is_sent() {
        let line = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPLEyFsEd9Z8SsZUCWIDcMdAyTHyRQWbo3uI4wm3mzM me@host";
        assert_eq!(public_key(&format!("{line}\n")).unwrap().as_str(), line);
        let private = "-----BEGIN OPENSSH PRIVATE KEY-----"; // secret-scan: allow
        assert!(public_key(private).unwrap_err().contains(".pub"));
        assert!(public_key("").is_err() && public_key(&format!("{line}\n{line}")).is_err());
    }
}
