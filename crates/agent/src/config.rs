//! What the operator of a host decides about its agent, in `agent.toml` of the
//! state folder. Everything has a default; the file may be missing.

use serde::Deserialize;
use std::io;
use std::path::{Component, Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {path}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} is not valid: {detail}")]
    Invalid { path: PathBuf, detail: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Cleans the whole host; runs as root without arguments.
    pub wipe_script: Option<PathBuf>,
    /// Where homes of logins are made.
    pub home_root: PathBuf,
    /// Where sshd finds the keys of logins, a file for each; nobody but root writes there.
    pub keys_root: PathBuf,
    /// Where device files are.
    pub device_root: PathBuf,
    /// The user ids that logins get, each once until the host is sanitized.
    pub first_uid: u32,
    pub last_uid: u32,
    /// Folders, besides those of every host, where logins may write: files of a login
    /// are removed there with it.
    pub shared_folders: Vec<PathBuf>,
    /// Names the network in which hosts are close to each other.
    pub fabric_domain: Option<String>,
    /// Pretended GPUs, for trying everything out on a machine that has none.
    pub simulated_gpus: u32,
    pub simulated_model: String,
}

const MAX_SHARED_FOLDERS: usize = 32; // bound: each is walked through at every release

/// Nothing that leads elsewhere, and not the whole host.
fn is_plain_folder(path: &Path) -> bool {
    let mut parts = path.components();
    parts.next() == Some(Component::RootDir)
        && path.file_name().is_some()
        && parts.all(|part| matches!(part, Component::Normal(_)))
}

impl Default for Config {
    fn default() -> Self {
        Self {
            wipe_script: None,
            home_root: "/home".into(),
            keys_root: "/etc/gpuaas/keys".into(),
            device_root: "/dev".into(),
            first_uid: 20_000,
            last_uid: 59_999,
            shared_folders: Vec::new(),
            fabric_domain: None,
            simulated_gpus: 0,
            simulated_model: "Simulated GPU".into(),
        }
    }
}

impl Config {
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(ConfigError::Io { path: path.to_owned(), source }),
        };
        let invalid = |detail: String| ConfigError::Invalid { path: path.to_owned(), detail };
        let config: Self =
            toml::from_str(&text).map_err(|error: toml::de::Error| invalid(error.message().to_owned()))?;
        config.check().map_err(invalid)?;
        Ok(config)
    }

    fn check(&self) -> Result<(), String> {
        if self.shared_folders.len() > MAX_SHARED_FOLDERS {
            return Err(format!("shared_folders has more than {MAX_SHARED_FOLDERS} entries"));
        }
        match self.shared_folders.iter().find(|folder| !is_plain_folder(folder)) {
            Some(bad) => Err(format!("shared_folders: {bad:?} is not an absolute path of a folder below /")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_the_default_and_a_typing_error_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.toml");
        assert_eq!(Config::load(&path).unwrap(), Config::default());
        std::fs::write(&path, "wipe_script = \"/usr/local/sbin/wipe\"\nsimulated_gpus = 2\n").unwrap();
        let config = Config::load(&path).unwrap();
        assert_eq!((config.wipe_script.unwrap().to_str(), config.simulated_gpus), (Some("/usr/local/sbin/wipe"), 2));
        std::fs::write(&path, "whipe_script = \"/a\"\n").unwrap();
        let error = Config::load(&path).unwrap_err().to_string();
        assert!(error.contains("whipe_script"), "{error}");
    }

    #[test]
    fn shared_folders_are_absolute_and_few() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.toml");
        let load = |text: String| {
            std::fs::write(&path, text).unwrap();
            Config::load(&path)
        };
        let good = load("shared_folders = [\"/scratch\", \"/data/all/\"]\n".into()).unwrap();
        assert_eq!(good.shared_folders, [Path::new("/scratch"), Path::new("/data/all")]);
        for bad in ["scratch", "", "/", "/a/../..", "./a"] {
            let error = load(format!("shared_folders = [{bad:?}]\n")).unwrap_err().to_string();
            assert!(error.contains("shared_folders"), "{bad:?}: {error}");
        }
        let many: Vec<String> = (0..=MAX_SHARED_FOLDERS).map(|number| format!("\"/{number}\"")).collect();
        assert!(load(format!("shared_folders = [{}]\n", many.join(","))).is_err());
    }
}
