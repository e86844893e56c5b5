//! Where each setting came from, for `gpuaasd config check`. Values that can
//! hold a secret are not shown.

use std::{fmt, path::Path};

use platform::config::{
    Config, Database, Gateway, Http, Identity, LogFormat, Mail, Nats, Node, Oidc, Recordings, Redis, Secrets, Stripe,
    Telemetry, VARIABLES,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub name: &'static str,
    pub value: String,
    pub source: Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Default,
    File,
    Environment(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => f.write_str("default"),
            Source::File => f.write_str("file"),
            Source::Environment(name) => f.write_str(name),
        }
    }
}

const HIDDEN: &str = "(hidden)";
const NOT_SET: &str = "(not set)";

/// Every setting; `in_environment` says whether a variable is set.
pub fn report(config: &Config, file: Option<&Path>, in_environment: impl Fn(&str) -> bool) -> Vec<Setting> {
    // Loaded a moment ago, so it can be read; a file that changed since shows as empty.
    let table = file.and_then(|it| std::fs::read_to_string(it).ok()).and_then(|it| it.parse::<toml::Table>().ok());
    let in_file = |name: &str| {
        let (section, key) = name.split_once('.')?;
        table.as_ref()?.get(section)?.as_table()?.get(key).map(|_| ())
    };
    let source = |name: &'static str| {
        let variable = VARIABLES.iter().find(|(variable, it)| *it == name && in_environment(variable));
        match (variable, in_file(name)) {
            (Some((variable, _)), _) => Source::Environment(variable),
            (None, Some(())) => Source::File,
            (None, None) => Source::Default,
        }
    };
    values(config).into_iter().map(|(name, value)| Setting { name, value, source: source(name) }).collect()
}

/// Taken apart field by field, so that a new setting cannot be forgotten here.
fn values(config: &Config) -> Vec<(&'static str, String)> {
    let Config {
        database,
        http,
        node,
        identity,
        secrets,
        redis,
        nats,
        telemetry,
        mail,
        stripe,
        recordings,
        gateway,
        oidc,
    } = config;
    let Database { url: _, max_connections, acquire_timeout_ms, statement_timeout_ms, lock_timeout_ms } = database;
    let Http { listen, ops_listen, max_connections: http_connections, connections_per_address, trusted_proxies } = http;
    let Node { listen: node_listen, url: node_url, names, max_connections: node_connections, agents_dir } = node;
    let Identity { issuer } = identity;
    let Secrets { keys, key_file } = secrets;
    let (Redis { url: redis }, Nats { url: nats }) = (redis, nats);
    let Telemetry { log, format, otlp_endpoint } = telemetry;
    let Mail { url: mail_url, from, public_url, folder } = mail;
    let Stripe { secret_key, secret_key_file, webhook_secrets, webhook_secrets_file, return_url, url: stripe_url } =
        stripe;
    let shown = |it: &Option<String>| it.clone().unwrap_or_else(|| NOT_SET.into());
    let mut all = vec![
        ("database.url", HIDDEN.into()),
        ("database.max_connections", max_connections.to_string()),
        ("database.acquire_timeout_ms", acquire_timeout_ms.to_string()),
        ("database.statement_timeout_ms", statement_timeout_ms.to_string()),
        ("database.lock_timeout_ms", lock_timeout_ms.to_string()),
        ("http.listen", listen.clone()),
        ("http.ops_listen", shown(ops_listen)),
        ("http.max_connections", http_connections.to_string()),
        ("http.connections_per_address", connections_per_address.to_string()),
        ("http.trusted_proxies", list(trusted_proxies)),
        ("node.listen", node_listen.clone()),
        ("node.url", node_url.clone()),
        ("node.names", list(names)),
        ("node.max_connections", node_connections.to_string()),
        ("node.agents_dir", path(agents_dir)),
        ("identity.issuer", issuer.clone()),
        ("secrets.keys", hidden(keys)),
        ("secrets.key_file", path(key_file)),
        ("redis.url", hidden(redis)),
        ("nats.url", hidden(nats)),
        ("telemetry.log", log.clone()),
        (
            "telemetry.format",
            match format {
                LogFormat::Json => "json".into(),
                LogFormat::Text => "text".into(),
            },
        ),
        ("telemetry.otlp_endpoint", hidden(otlp_endpoint)),
        ("mail.url", hidden(mail_url)),
        ("mail.from", shown(from)),
        ("mail.public_url", shown(public_url)),
        ("mail.folder", path(folder)),
        ("stripe.secret_key", hidden(secret_key)),
        ("stripe.secret_key_file", path(secret_key_file)),
        ("stripe.webhook_secrets", hidden(&webhook_secrets.first())),
        ("stripe.webhook_secrets_file", path(webhook_secrets_file)),
        ("stripe.return_url", shown(return_url)),
        ("stripe.url", shown(stripe_url)),
    ];
    all.extend(of_access(recordings, gateway));
    if let Some(Oidc { issuer, client_id, client_secret, redirect_uris }) = oidc {
        all.push(("oidc.issuer", issuer.clone()));
        all.push(("oidc.client_id", client_id.clone()));
        all.push(("oidc.client_secret", hidden(client_secret)));
        all.push(("oidc.redirect_uris", list(redirect_uris)));
    }
    all
}

fn of_access(recordings: &Recordings, gateway: &Gateway) -> Vec<(&'static str, String)> {
    let Recordings { folder, s3_url, s3_region, s3_access_key, s3_secret_key, s3_secret_key_file } = recordings;
    let Gateway {
        control_url,
        join_token,
        join_token_file,
        ca_file,
        ca_fingerprint,
        folder: gateway_folder,
        agent_listen,
        listen,
        ssh_listen,
        tls_certificate,
        tls_key,
        origins,
        web_domain,
        web_over_https,
        trusted_proxies,
        max_connections,
        connections_per_address,
        spool_bytes,
    } = gateway;
    let shown = |it: &Option<String>| it.clone().unwrap_or_else(|| NOT_SET.into());
    vec![
        ("recordings.folder", path(folder)),
        ("recordings.s3_url", shown(s3_url)),
        ("recordings.s3_region", shown(s3_region)),
        ("recordings.s3_access_key", hidden(s3_access_key)),
        ("recordings.s3_secret_key", hidden(s3_secret_key)),
        ("recordings.s3_secret_key_file", path(s3_secret_key_file)),
        ("gateway.control_url", shown(control_url)),
        ("gateway.join_token", hidden(join_token)),
        ("gateway.join_token_file", path(join_token_file)),
        ("gateway.ca_file", path(ca_file)),
        ("gateway.ca_fingerprint", shown(ca_fingerprint)),
        ("gateway.folder", gateway_folder.display().to_string()),
        ("gateway.agent_listen", agent_listen.clone()),
        ("gateway.listen", listen.clone()),
        ("gateway.ssh_listen", shown(ssh_listen)),
        ("gateway.tls_certificate", path(tls_certificate)),
        ("gateway.tls_key", path(tls_key)),
        ("gateway.origins", list(origins)),
        ("gateway.web_domain", shown(web_domain)),
        ("gateway.web_over_https", web_over_https.to_string()),
        ("gateway.trusted_proxies", list(trusted_proxies)),
        ("gateway.max_connections", max_connections.to_string()),
        ("gateway.connections_per_address", connections_per_address.to_string()),
        ("gateway.spool_bytes", spool_bytes.to_string()),
    ]
}

fn hidden<T>(value: &Option<T>) -> String {
    if value.is_some() { HIDDEN.into() } else { NOT_SET.into() }
}

fn path(value: &Option<std::path::PathBuf>) -> String {
    value.as_ref().map_or_else(|| NOT_SET.into(), |it| it.display().to_string())
}

fn list<T: ToString>(items: &[T]) -> String {
    if items.is_empty() { NOT_SET.into() } else { items.iter().map(T::to_string).collect::<Vec<_>>().join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_says_where_it_came_from_and_secrets_stay_hidden() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "[database]\nurl = \"postgres://gp:hunter2@localhost/x\"\n[http]\nlisten = \"127.0.0.1:1\""; // secret-scan: allow
        std::fs::write(file.path(), text).unwrap();
        let environment = |name: &str| (name == "GPUAAS_LISTEN").then(|| "127.0.0.1:2".to_owned());
        let config = Config::load(Some(&file.path().to_path_buf()), environment).unwrap();
        let report = report(&config, Some(file.path()), |it| it == "GPUAAS_LISTEN");
        let of = |name: &str| report.iter().find(|it| it.name == name).unwrap().clone();
        assert_eq!((of("database.url").value.as_str(), of("database.url").source), (HIDDEN, Source::File));
        assert_eq!(of("http.listen").source, Source::Environment("GPUAAS_LISTEN"));
        assert_eq!((of("http.listen").value.as_str(), of("redis.url").source), ("127.0.0.1:2", Source::Default));
        assert!(!format!("{report:?}").contains("hunter2"));
    }

    #[test]
    fn every_variable_belongs_to_a_setting() {
        let oidc =
            Oidc { issuer: String::new(), client_id: String::new(), client_secret: None, redirect_uris: Vec::new() };
        let config = Config { oidc: Some(oidc), ..Config::default() };
        let known: Vec<_> = values(&config).into_iter().map(|(name, _)| name).collect();
        for (variable, setting) in VARIABLES {
            assert!(known.contains(setting), "{variable}");
        }
    }
}
