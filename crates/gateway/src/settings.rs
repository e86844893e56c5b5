//! What an operator says about a gateway.

use listen::Limits;
use std::net::IpAddr;
use std::path::PathBuf;
use tokio::net::TcpListener;

#[derive(Clone, Debug)]
pub struct Settings {
    /// Where it keeps who it is, and recordings that are on their way.
    pub folder: PathBuf,
    /// The release, as beats tell it.
    pub version: String,
    /// The origins of web pages that may open terminals and forwards, as browsers
    /// say them: `https://console.example`.
    pub origins: Vec<String>,
    /// Certificate and key of the public listener; without them it speaks plainly,
    /// behind a proxy that does TLS or in development.
    pub tls: Option<TlsFiles>,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpAddr>,
    /// The domain below which every web service has a name of its own; without it there are no web services.
    pub web_domain: Option<String>,
    /// Whether browsers reach web services over https, so that cookies say `Secure`.
    pub is_web_secure: bool,
    /// How many connections the public listener bears.
    pub max_connections: usize,
    /// How many connections of one peer on which nobody has shown a ticket or a key yet.
    pub connections_per_address: usize,
    /// How many hosts may be connected.
    pub max_nodes: usize,
    /// Writes the Prometheus page, where there is a listener for it.
    pub metrics: Option<fn() -> String>,
    /// How much of recordings may wait on disk for the control plane, all together.
    pub spool_bytes: u64,
}

impl Settings {
    pub fn new(folder: impl Into<PathBuf>, version: impl Into<String>) -> Self {
        Self {
            folder: folder.into(),
            version: version.into(),
            origins: Vec::new(),
            tls: None,
            trusted_proxies: Vec::new(),
            web_domain: None,
            is_web_secure: true,
            max_connections: 10_000,
            connections_per_address: 512,
            max_nodes: 10_000,
            metrics: None,
            spool_bytes: 4 << 30,
        }
    }
}

impl Settings {
    /// What a listener for people bears, and of whom.
    pub fn limits(&self) -> Limits {
        Limits {
            most: self.max_connections,
            per_peer: self.connections_per_address,
            exempt: self.trusted_proxies.clone(),
        }
    }
}

/// PEM files; a change of them is noticed and used.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Where the gateway is reached, bound by the caller.
pub struct Listeners {
    /// For hosts.
    pub agents: TcpListener,
    /// For people: WebSockets and web services.
    pub public: TcpListener,
    /// For SSH clients, where they are served.
    pub ssh: Option<TcpListener>,
    /// For those who watch over it.
    pub ops: Option<TcpListener>,
}
