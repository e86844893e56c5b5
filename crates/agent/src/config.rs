//! What the operator of a host decides about its agent, in `agent.toml` of the
//! state folder. Everything has a default; the file may be missing.

use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{path} cannot be read")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} has an entry that is not understood: {detail}")]
    Invalid { path: PathBuf, detail: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Cleans the whole host; runs as root without arguments.
    pub wipe_script: Option<PathBuf>,
    /// Where homes of logins are made.
    pub home_root: PathBuf,
    /// Names the network in which hosts are close to each other.
    pub fabric_domain: Option<String>,
    /// Pretended GPUs, for trying everything out on a machine that has none.
    pub simulated_gpus: u32,
    pub simulated_model: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            wipe_script: None,
            home_root: "/home".into(),
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
        let invalid =
            |error: toml::de::Error| ConfigError::Invalid { path: path.to_owned(), detail: error.message().to_owned() };
        toml::from_str(&text).map_err(invalid)
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
}
