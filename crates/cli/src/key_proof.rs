//! Proof that the caller holds an SSH key: their own id, signed by `ssh-keygen`, which
//! finds the private half beside the public one, or in the agent.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use contract::{
    Nothing,
    ssh_keys::{PROOF_NAMESPACE, PublicKey, SshSignature},
    users::WhoAmI,
};
use tokio::{io::AsyncWriteExt, process::Command};

use crate::{
    context::Context,
    failure::{Class, Failure},
    ssh::{missing, unusable},
};

/// Signs with the key of a file, or with the one that the agent or `~/.ssh` has.
pub async fn prove(context: &Context, key: &PublicKey, file: Option<&Path>) -> Result<SshSignature, Failure> {
    let answer = context.ask::<WhoAmI>(Nothing {}).await?;
    let Some(user) = answer["user"]["id"].as_str() else {
        return Err(Failure::usage("service accounts cannot have SSH keys", "Sign in as a user: `gpuaas login`."));
    };
    let given = file.map(Path::to_owned).or_else(|| in_home(key));
    // The agent finds the private half by the public one, wherever that lies.
    let folder = tempfile::tempdir().map_err(|error| unusable(&std::env::temp_dir(), error))?;
    let file = match given {
        Some(file) => file,
        None => {
            let file = folder.path().join("key.pub");
            fs::write(&file, format!("{key}\n")).map_err(|error| unusable(&file, error))?;
            file
        }
    };
    let text = sign(&file, user).await?;
    text.trim()
        .parse()
        .map_err(|_| Failure::new(Class::Server, "`ssh-keygen` returned an unsupported signature format", ADVICE))
}

const ADVICE: &str = "Add the key to the SSH agent with `ssh-add`, or sign elsewhere and pass the file with --proof.";

async fn sign(file: &Path, user: &str) -> Result<String, Failure> {
    let mut command = Command::new("ssh-keygen");
    command.args(["-Y", "sign", "-q", "-n", PROOF_NAMESPACE, "-f"]).arg(file);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| missing(&error))?;
    if let Some(mut input) = child.stdin.take() {
        // Where it ended early, its exit status says so.
        let _ = input.write_all(user.as_bytes()).await;
    }
    let output = child.wait_with_output().await.map_err(|error| missing(&error))?;
    if !output.status.success() {
        let detail = format!("`ssh-keygen` could not sign with {}: the private key is not available", file.display());
        return Err(Failure::usage(detail, ADVICE));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The file of `~/.ssh` that holds the same public key.
fn in_home(key: &PublicKey) -> Option<PathBuf> {
    let essence = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let wanted = essence(key.as_str());
    let folder = PathBuf::from(std::env::var_os("HOME")?).join(".ssh");
    let files = fs::read_dir(folder).ok()?.flatten().map(|it| it.path());
    let mut public = files.filter(|it| it.extension().is_some_and(|it| it == "pub"));
    public.find(|it| fs::read_to_string(it).is_ok_and(|text| essence(text.trim()) == wanted))
}
