//! The role `gateway`: a gateway in this process. It needs no database; also beside
//! other roles it speaks to the control plane by its certificate.

use std::{sync::Arc, time::Duration};

use gateway::{
    GatewayError, Settings, TlsFiles,
    identity::{Folder, Identity, IdentityError, JoinError, join},
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use trust::{Trust, TrustError};

use platform::config::{Config, ConfigError};

#[derive(Debug, thiserror::Error)]
pub enum RoleError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error("cannot read the trusted roots: check `gateway.ca_file` and `gateway.ca_fingerprint`")]
    Trust(#[from] TrustError),
    #[error("this gateway has not joined yet: set `gateway.join_token` to the token from `gpuaas gateways create`")]
    NoToken,
    #[error("no trusted root is set: set `gateway.ca_fingerprint` from `gpuaas gateways create`, or `gateway.ca_file`")]
    NoTrust,
    #[error("the control plane refused this gateway")]
    Join(#[source] Box<JoinError>),
    #[error("the gateway cannot run")]
    Run(#[from] GatewayError),
}

/// Where a gateway is reached.
pub struct Bound {
    pub agents: TcpListener,
    pub public: TcpListener,
    pub ssh: Option<TcpListener>,
    pub ops: Option<TcpListener>,
}

// bound: how often a control plane that is away is asked again
const AGAIN: Duration = Duration::from_secs(1);

/// Joins if that did not happen yet, and serves until stopped.
pub async fn run(config: Arc<Config>, bound: Bound, stop: CancellationToken) -> Result<(), RoleError> {
    let folder = Folder::open(&config.gateway.folder)?;
    if !become_somebody(&config, &folder, &stop).await? {
        return Ok(());
    }
    let listeners = gateway::Listeners { agents: bound.agents, public: bound.public, ssh: bound.ssh, ops: bound.ops };
    Ok(gateway::run(settings(&config), listeners, stop).await?)
}

/// Whether there is an identity now; none when it was stopped before.
async fn become_somebody(config: &Config, folder: &Folder, stop: &CancellationToken) -> Result<bool, RoleError> {
    let url = config.gateway.control_url.as_ref().unwrap_or(&config.node.url);
    if let Some(known) = folder.identity()? {
        // The control plane may have moved since.
        if known.url != *url {
            folder.save_identity(&Identity { url: url.clone(), ..known })?;
        }
        return Ok(true);
    }
    let token = config.gateway.token()?.ok_or(RoleError::NoToken)?;
    let trust = trust(config)?;
    loop {
        match join(url, &token, &trust, env!("CARGO_PKG_VERSION"), folder.asked()?).await {
            Ok(identity) => {
                folder.save_identity(&identity)?;
                tracing::info!(gateway = identity.gateway_id, "joined");
                return Ok(true);
            }
            Err(JoinError::Control(error)) if !error.is_refusal() => {
                tracing::warn!(%error, "the control plane cannot be joined yet; trying again");
            }
            Err(error) => return Err(RoleError::Join(Box::new(error))),
        }
        tokio::select! {
            () = stop.cancelled() => return Ok(false),
            () = tokio::time::sleep(AGAIN) => (),
        }
    }
}

fn trust(config: &Config) -> Result<Trust, RoleError> {
    let it = &config.gateway;
    match (&it.ca_file, &it.ca_fingerprint) {
        (Some(path), _) => {
            let pem = std::fs::read_to_string(path)
                .map_err(|source| ConfigError::Unreadable { path: path.clone(), source })?;
            Ok(Trust::in_roots(&pem)?)
        }
        (None, Some(fingerprint)) => Ok(Trust::in_fingerprint(fingerprint)?),
        (None, None) => Err(RoleError::NoTrust),
    }
}

fn settings(config: &Config) -> Settings {
    let it = &config.gateway;
    let tls = it.tls_certificate.clone().zip(it.tls_key.clone());
    Settings {
        origins: it.origins.clone(),
        tls: tls.map(|(certificate, key)| TlsFiles { certificate, key }),
        trusted_proxies: it.trusted_proxies.clone(),
        web_domain: it.web_domain.clone(),
        is_web_secure: it.web_over_https,
        max_connections: it.max_connections,
        connections_per_address: it.connections_per_address,
        metrics: Some(platform::telemetry::metrics_page),
        spool_bytes: it.spool_bytes,
        ..Settings::new(&it.folder, env!("CARGO_PKG_VERSION"))
    }
}
