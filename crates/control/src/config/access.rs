//! Settings of the gateway and of where recordings are kept.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use kernel::clock::Clock;
use serde::Deserialize;

use super::ConfigError;
use crate::{
    adapters::{
        recording_folder::RecordingFolder,
        s3::{S3, S3Access},
    },
    ports::recording_store::RecordingStore,
};

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
    /// For people: terminals, forwards and apps. `public_url` leads here.
    pub listen: String,
    /// For SSH clients, where they are served; `ssh_address` leads here.
    pub ssh_listen: Option<String>,
    /// Certificate and key of `listen`, in PEM; without them a proxy does TLS.
    pub tls_certificate: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    /// Origins of web pages that may open terminals, as `https://console.example`.
    pub origins: Vec<String>,
    /// As the gateway was created with; without it there are no apps.
    pub app_domain: Option<String>,
    /// Whether browsers reach apps over https, so that their cookies say `Secure`.
    pub apps_over_https: bool,
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
            app_domain: None,
            apps_over_https: true,
            trusted_proxies: Vec::new(),
            max_connections: 10_000,
            connections_per_address: 512,
            spool_bytes: 4 << 30,
        }
    }
}

impl Recordings {
    /// What keeps recordings. The clock dates what is asked of a store elsewhere.
    pub fn store(&self, clock: &Clock) -> Result<Option<Arc<dyn RecordingStore>>, ConfigError> {
        let wrong = |name, what: &str| ConfigError::Value { name, what: what.to_owned() };
        match (&self.folder, &self.s3_url) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err(wrong("recordings.folder", "give either it or `recordings.s3_url`")),
            (Some(folder), None) => Ok(Some(Arc::new(RecordingFolder::open(folder.clone())))),
            (None, Some(url)) => {
                let is_safe = crate::identity::oidc::is_safe(url);
                let parsed = url::Url::parse(url).ok().filter(|it| is_safe && it.path() != "/");
                let expected = "expected `https://host/bucket`; plain `http` only on this machine";
                let url = parsed.ok_or_else(|| wrong("recordings.s3_url", expected))?;
                let access_key = self.s3_access_key.clone();
                let access_key = access_key.ok_or_else(|| wrong("recordings.s3_access_key", "the store needs one"))?;
                let secret = match (&self.s3_secret_key, &self.s3_secret_key_file) {
                    (Some(secret), _) => secret.clone(),
                    (None, Some(path)) => read(path)?.trim().to_owned(),
                    (None, None) => return Err(wrong("recordings.s3_secret_key", "the store needs one")),
                };
                let region = self.s3_region.clone().unwrap_or_else(|| "us-east-1".into());
                let access = S3Access { url, region, access_key, secret_key: secret.into() };
                Ok(Some(Arc::new(S3::new(access, clock.clone()))))
            }
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

fn read(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })
}
