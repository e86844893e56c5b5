//! Configuration: defaults, then a file, then the environment, then flags.
//! `gpuaasd config check` says what is wrong with it before anything starts.

mod access;
mod addresses;
mod renamed;
#[cfg(test)]
mod tests;

pub use access::{Gateway, Recordings, read};
pub use addresses::is_safe;

use std::{net::IpAddr, path::PathBuf, time::Duration};

use kernel::{
    secrets::{Keyring, SecretsError},
    tx::DbSettings,
};
use listen::Limits;
use serde::Deserialize;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub database: Database,
    pub http: Http,
    pub node: Node,
    pub identity: Identity,
    pub secrets: Secrets,
    pub redis: Redis,
    pub nats: Nats,
    pub telemetry: Telemetry,
    pub mail: Mail,
    pub stripe: Stripe,
    pub recordings: Recordings,
    pub gateway: Gateway,
    pub oidc: Option<Oidc>,
}

#[derive(Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Database {
    /// Used by the roles; may own the tables, but works as roles that do not.
    pub url: String,
    pub max_connections: usize,
    pub acquire_timeout_ms: u64,
    pub statement_timeout_ms: u64,
    pub lock_timeout_ms: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    pub listen: String,
    /// Health and metrics; on the main listener when absent, where metrics are
    /// for this machine alone.
    pub ops_listen: Option<String>,
    pub max_connections: usize,
    /// Connections of one address, or of one /64 of IPv6.
    pub connections_per_address: usize,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpAddr>,
}

/// Where hosts connect to.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Node {
    pub listen: String,
    /// The address that agents are given; it leads to `listen`.
    pub url: String,
    /// The names and addresses that the listener's certificate is for.
    pub names: Vec<String>,
    pub max_connections: usize,
    /// Where agent binaries are, as `version/target/gpuaas-node`.
    pub agents_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Identity {
    /// The `iss` of access tokens; the public address of this installation.
    pub issuer: String,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Secrets {
    /// `id:base64` entries; the first seals, all open.
    pub keys: Option<String>,
    pub key_file: Option<PathBuf>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Redis {
    pub url: Option<String>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Nats {
    pub url: Option<String>,
}

/// How people are told by mail; without `url` or `folder`, they are not.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mail {
    /// `smtps://user:password@host`, or `smtp://` for STARTTLS.
    pub url: Option<String>,
    /// The sender, as in `gpuaas <no-reply@example.com>`.
    pub from: Option<String>,
    /// Where people reach this installation; `identity.issuer` when absent.
    pub public_url: Option<String>,
    /// Write mails into this folder instead of sending them.
    pub folder: Option<PathBuf>,
}

/// How people pay; without a secret key they do not, and operators give credit.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stripe {
    /// `sk_…` or `rk_…`, or the file that holds it.
    pub secret_key: Option<String>,
    pub secret_key_file: Option<PathBuf>,
    /// `whsec_…`; two while one is replaced. Or the file that holds them, one a line.
    pub webhook_secrets: Vec<String>,
    pub webhook_secrets_file: Option<PathBuf>,
    /// Where payers come back to; `identity.issuer` when absent.
    pub return_url: Option<String>,
    /// Another address than Stripe's own, for tests.
    pub url: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Telemetry {
    pub log: String,
    pub format: LogFormat,
    pub otlp_endpoint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    Json,
    Text,
}

/// An external issuer that people may sign in through.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oidc {
    pub issuer: String,
    pub client_id: String,
    #[serde(default)]
    pub client_secret: Option<String>,
    /// Where the issuer may send people back to. `http://127.0.0.1` stands for
    /// every port and path there, for programs that listen while they sign in.
    #[serde(default)]
    pub redirect_uris: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read the configuration file {path}")]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the configuration file {path} is not valid: {source}")]
    Malformed {
        path: PathBuf,
        #[source]
        source: Box<toml::de::Error>,
    },
    #[error("the configuration file {path} has `{old}`, which was renamed to `{new}`")]
    RenamedSetting { path: PathBuf, old: &'static str, new: &'static str },
    #[error("the environment has {old}, which was renamed to {new}")]
    RenamedVariable { old: &'static str, new: &'static str },
    #[error("{name} is not valid: {what}")]
    Value { name: &'static str, what: String },
}

impl Default for Database {
    fn default() -> Self {
        Self {
            url: "postgres://localhost/gpuaas".into(),
            max_connections: 32,
            acquire_timeout_ms: 3_000,
            statement_timeout_ms: 20_000,
            lock_timeout_ms: 5_000,
        }
    }
}

impl Default for Http {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8080".into(),
            ops_listen: None,
            max_connections: 4096,
            connections_per_address: 512,
            trusted_proxies: Vec::new(),
        }
    }
}

impl Http {
    /// What a listener bears, and of whom.
    pub fn limits(&self) -> Limits {
        Limits {
            most: self.max_connections,
            per_peer: self.connections_per_address,
            exempt: self.trusted_proxies.clone(),
        }
    }
}

impl Default for Node {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8443".into(),
            url: "https://127.0.0.1:8443".into(),
            names: vec!["localhost".into(), "127.0.0.1".into()],
            max_connections: 16_384,
            agents_dir: None,
        }
    }
}

impl Default for Identity {
    fn default() -> Self {
        Self { issuer: "http://127.0.0.1:8080".into() }
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        Self { log: "info".into(), format: LogFormat::Json, otlp_endpoint: None }
    }
}

/// Environment variables, by the setting that they replace.
pub const VARIABLES: &[(&str, &str)] = &[
    ("GPUAAS_DATABASE_URL", "database.url"),
    ("GPUAAS_DATABASE_CONNECTIONS", "database.max_connections"),
    ("GPUAAS_LISTEN", "http.listen"),
    ("GPUAAS_OPS_LISTEN", "http.ops_listen"),
    ("GPUAAS_NODE_LISTEN", "node.listen"),
    ("GPUAAS_NODE_URL", "node.url"),
    ("GPUAAS_NODE_NAMES", "node.names"),
    ("GPUAAS_AGENTS_DIR", "node.agents_dir"),
    ("GPUAAS_ISSUER", "identity.issuer"),
    ("GPUAAS_SECRETS_KEYS", "secrets.keys"),
    ("GPUAAS_SECRETS_KEY_FILE", "secrets.key_file"),
    ("GPUAAS_REDIS_URL", "redis.url"),
    ("GPUAAS_NATS_URL", "nats.url"),
    ("GPUAAS_LOG", "telemetry.log"),
    ("GPUAAS_LOG_FORMAT", "telemetry.format"),
    ("GPUAAS_OTLP_ENDPOINT", "telemetry.otlp_endpoint"),
    ("GPUAAS_MAIL_URL", "mail.url"),
    ("GPUAAS_MAIL_FROM", "mail.from"),
    ("GPUAAS_MAIL_PUBLIC_URL", "mail.public_url"),
    ("GPUAAS_MAIL_FOLDER", "mail.folder"),
    ("GPUAAS_STRIPE_SECRET_KEY", "stripe.secret_key"),
    ("GPUAAS_STRIPE_SECRET_KEY_FILE", "stripe.secret_key_file"),
    ("GPUAAS_STRIPE_WEBHOOK_SECRETS", "stripe.webhook_secrets"),
    ("GPUAAS_STRIPE_WEBHOOK_SECRETS_FILE", "stripe.webhook_secrets_file"),
    ("GPUAAS_STRIPE_RETURN_URL", "stripe.return_url"),
    ("GPUAAS_STRIPE_URL", "stripe.url"),
    ("GPUAAS_RECORDINGS_FOLDER", "recordings.folder"),
    ("GPUAAS_RECORDINGS_S3_URL", "recordings.s3_url"),
    ("GPUAAS_RECORDINGS_S3_REGION", "recordings.s3_region"),
    ("GPUAAS_RECORDINGS_S3_ACCESS_KEY", "recordings.s3_access_key"),
    ("GPUAAS_RECORDINGS_S3_SECRET_KEY", "recordings.s3_secret_key"),
    ("GPUAAS_RECORDINGS_S3_SECRET_KEY_FILE", "recordings.s3_secret_key_file"),
    ("GPUAAS_GATEWAY_CONTROL_URL", "gateway.control_url"),
    ("GPUAAS_GATEWAY_JOIN_TOKEN", "gateway.join_token"),
    ("GPUAAS_GATEWAY_JOIN_TOKEN_FILE", "gateway.join_token_file"),
    ("GPUAAS_GATEWAY_CA_FILE", "gateway.ca_file"),
    ("GPUAAS_GATEWAY_CA_FINGERPRINT", "gateway.ca_fingerprint"),
    ("GPUAAS_GATEWAY_FOLDER", "gateway.folder"),
    ("GPUAAS_GATEWAY_AGENT_LISTEN", "gateway.agent_listen"),
    ("GPUAAS_GATEWAY_LISTEN", "gateway.listen"),
    ("GPUAAS_GATEWAY_SSH_LISTEN", "gateway.ssh_listen"),
    ("GPUAAS_GATEWAY_ORIGINS", "gateway.origins"),
    ("GPUAAS_GATEWAY_WEB_DOMAIN", "gateway.web_domain"),
    ("GPUAAS_GATEWAY_WEB_OVER_HTTPS", "gateway.web_over_https"),
    ("GPUAAS_OIDC_ISSUER", "oidc.issuer"),
    ("GPUAAS_OIDC_CLIENT_ID", "oidc.client_id"),
    ("GPUAAS_OIDC_CLIENT_SECRET", "oidc.client_secret"),
    ("GPUAAS_OIDC_REDIRECT_URIS", "oidc.redirect_uris"),
];

impl Config {
    /// Defaults, then the file, then the environment.
    pub fn load(file: Option<&PathBuf>, environment: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut table = match file {
            None => toml::Table::new(),
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|source| ConfigError::Unreadable { path: path.clone(), source })?;
                let table = text
                    .parse()
                    .map_err(|source| ConfigError::Malformed { path: path.clone(), source: Box::new(source) })?;
                renamed::refuse_settings(path, &table)?;
                table
            }
        };
        renamed::refuse_variables(&environment)?;
        for (variable, setting) in VARIABLES {
            if let Some(value) = environment(variable) {
                let (section, name) = setting.split_once('.').expect("settings are `section.name`");
                let section = table.entry(section).or_insert_with(|| toml::Table::new().into());
                if let Some(section) = section.as_table_mut() {
                    section.insert(name.to_owned(), typed(setting, value));
                }
            }
        }
        let path = file.cloned().unwrap_or_else(|| PathBuf::from("(environment)"));
        let config: Config =
            table.try_into().map_err(|source| ConfigError::Malformed { path, source: Box::new(source) })?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let wrong = |name, what: String| Err(ConfigError::Value { name, what });
        if self.database.url.parse::<sqlx::postgres::PgConnectOptions>().is_err() {
            return wrong("database.url", "expected `postgres://user@host/database`".into());
        }
        if !(2..=1000).contains(&self.database.max_connections) {
            return wrong("database.max_connections", "expected 2 to 1000".into());
        }
        if self.http.max_connections == 0 || self.http.connections_per_address == 0 {
            return wrong(
                "http.connections_per_address",
                "expected at least 1 for this and for `http.max_connections`".into(),
            );
        }
        for (name, listen) in [
            ("http.listen", Some(&self.http.listen)),
            ("http.ops_listen", self.http.ops_listen.as_ref()),
            ("node.listen", Some(&self.node.listen)),
        ] {
            if listen.is_some_and(|it| it.parse::<std::net::SocketAddr>().is_err()) {
                return wrong(name, "expected an address such as `127.0.0.1:8080`".into());
            }
        }
        if !self.node.url.starts_with("https://") {
            return wrong("node.url", "expected a URL such as `https://nodes.example.com:8443`".into());
        }
        if let Some(name) =
            self.node.names.iter().find(|it| rustls::pki_types::ServerName::try_from(it.as_str()).is_err())
        {
            return wrong("node.names", format!("`{name}` is not a DNS name or IP address"));
        }
        if self.node.names.is_empty() {
            return wrong("node.names", "expected at least the host in `node.url`".into());
        }
        if let Some(oidc) = &self.oidc
            && !is_safe(&oidc.issuer)
        {
            return wrong(
                "oidc.issuer",
                "expected a URL such as `https://login.example.com`; `http` is allowed only for localhost".into(),
            );
        }
        Ok(())
    }

    pub fn keyring(&self) -> Result<Keyring, SecretsError> {
        match (&self.secrets.keys, &self.secrets.key_file) {
            (Some(keys), _) => Keyring::parse(keys),
            (None, Some(file)) => Keyring::load_or_generate(file),
            (None, None) => Keyring::parse(""),
        }
    }

    pub fn db_settings(&self) -> DbSettings {
        let database = &self.database;
        DbSettings {
            url: database.url.clone(),
            max_connections: database.max_connections,
            acquire_timeout: Duration::from_millis(database.acquire_timeout_ms),
            statement_timeout: Duration::from_millis(database.statement_timeout_ms),
            lock_timeout: Duration::from_millis(database.lock_timeout_ms),
        }
    }
}

/// A variable's text as the setting's type; lists are parted by commas.
fn typed(setting: &str, value: String) -> toml::Value {
    match setting {
        "gateway.web_over_https" => value.parse().map_or_else(|_| value.into(), toml::Value::Boolean),
        "database.max_connections" => value.parse().map_or_else(|_| value.into(), toml::Value::Integer),
        "oidc.redirect_uris" | "node.names" | "stripe.webhook_secrets" | "gateway.origins" => {
            value.split(',').map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect::<Vec<_>>().into()
        }
        _ => value.into(),
    }
}

// Addresses carry passwords: they are configuration that must not be printed.
macro_rules! hidden {
    ($($type:ident),+) => { $(
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($type), " [hidden]"))
            }
        }
    )+ };
}
hidden!(Database, Secrets, Redis, Nats, Mail, Stripe, Oidc, Recordings, Gateway);
