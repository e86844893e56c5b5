//! Settings of the gateway and of where recordings are kept.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::ConfigError;

/// Where recordings are kept; without `folder` or `s3_url`, nothing is recorded.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recordings {
    /// On this machine, or one that every server mounts.
    pub folder: Option<PathBuf>,
    /// A bucket of an S3-compatible store, as `https://host/bucket`.
    pub s3_url: Option<String>,
    /// `us-east-1` when absent.
    pub s3_region: Option<String>,
    pub s3_access_key: Option<String>,
    /// The secret key, or the file that holds it.
    pub s3_secret_key: Option<String>,
    pub s3_secret_key_file: Option<PathBuf>,
}

/// A gateway in this process. It needs no database.
#[derive(Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gateway {
    /// The node listener of the control plane; `node.url` when absent.
    pub control_url: Option<String>,
    /// What `gpuaas gateways create` showed; used once. Or the file that holds it.
    pub join_token: Option<String>,
    pub join_token_file: Option<PathBuf>,
    /// The root certificate to trust at first, in PEM; or its SHA-256 in hex.
    pub ca_file: Option<PathBuf>,
    pub ca_fingerprint: Option<String>,
    /// Where it keeps who it is, and recordings that are on their way.
    pub folder: PathBuf,
    /// For hosts; `agent_url` of the gateway leads here.
    pub agent_listen: String,
    /// For people: terminals, forwards and web services. `public_url` leads here.
    pub listen: String,
    /// For SSH clients, where they are served; `ssh_address` leads here.
    pub ssh_listen: Option<String>,
    /// Certificate and key of `listen`, in PEM; without them a proxy does TLS.
    pub tls_certificate: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    /// Origins of web pages that may open terminals, as `https://console.example`.
    pub origins: Vec<String>,
    /// As the gateway was created with; without it there are no web services.
    pub web_domain: Option<String>,
    /// Whether browsers reach web services over https, so that their cookies say `Secure`.
    pub web_over_https: bool,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpAddr>,
    pub max_connections: usize,
    /// Connections of one address, or of one /64 of IPv6, on which nobody has shown a ticket or a key yet.
    pub connections_per_address: usize,
    /// What may wait on disk for the control plane, of all recordings together.
    pub spool_bytes: u64,
}

impl Default for Gateway {
    fn default() -> Self {
        Self {
            control_url: None,
            join_token: None,
            join_token_file: None,
            ca_file: None,
            ca_fingerprint: None,
            folder: "gateway-data".into(),
            agent_listen: "127.0.0.1:8444".into(),
            listen: "127.0.0.1:8081".into(),
            ssh_listen: None,
            tls_certificate: None,
            tls_key: None,
            origins: Vec::new(),
            web_domain: None,
            web_over_https: true,
            trusted_proxies: Vec::new(),
            max_connections: 10_000,
            connections_per_address: 512,
            spool_bytes: 4 << 30,
        }
    }
}

impl Gateway {
    /// The token to join with, if one is given.
    pub fn token(&self) -> Result<Option<String>, ConfigError> {
        let text = match (&self.join_token, &self.join_token_file) {
            (Some(token), _) => Some(token.clone()),
            (None, Some(path)) => Some(read(path)?),
            (None, None) => None,
        };
        Ok(text.map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()))
    }
}

/// The text of a file that a setting names.
pub fn read(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })
}
