//! `serve` and `dev`: run until a signal, then stop in order.

use std::sync::Arc;

use control::{
    app::App,
    config::{Config, LogFormat},
    dev,
    roles::{self, Listeners, Role},
    telemetry,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::AnyError;

pub async fn dev(mut config: Config, options: dev::Options) -> Result<(), AnyError> {
    if std::env::var_os("GPUAAS_LOG").is_none() {
        config.telemetry.log = "warn".into();
        config.telemetry.format = LogFormat::Text;
    }
    install(&config)?;
    let stop = stop_on_signal();
    let outcome = dev::run(config, options, stop).await;
    telemetry::flush();
    Ok(outcome?)
}

pub async fn serve(config: Config, roles: Vec<Role>) -> Result<(), AnyError> {
    install(&config)?;
    let roles = if roles.is_empty() { Role::ALL.to_vec() } else { roles };
    let stop = stop_on_signal();
    let api = match roles.contains(&Role::Api) {
        true => Some(listen("http.listen", &config.http.listen).await?),
        false => None,
    };
    let ops = match &config.http.ops_listen {
        Some(address) => Some(listen("http.ops_listen", address).await?),
        None => None,
    };
    let node = match roles.contains(&Role::Nodes) {
        true => Some(listen("node.listen", &config.node.listen).await?),
        false => None,
    };
    let app: Arc<App> = App::start(config, stop).await?;
    tracing::info!(?roles, "ready");
    roles::run(app, &roles, Listeners { api, ops, node }).await;
    telemetry::flush();
    Ok(())
}

async fn listen(setting: &str, address: &str) -> Result<TcpListener, AnyError> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| format!("cannot listen on {address}: {error}; choose another `{setting}`").into())
}

fn install(config: &Config) -> Result<(), AnyError> {
    let telemetry = &config.telemetry;
    Ok(telemetry::install(&telemetry.log, telemetry.format, telemetry.otlp_endpoint.as_deref())?)
}

/// Cancelled by Ctrl-C or SIGTERM; a second one ends the process at once.
fn stop_on_signal() -> CancellationToken {
    use tokio::signal::unix::{SignalKind, signal};
    let stop = CancellationToken::new();
    let token = stop.clone();
    let mut interrupt = signal(SignalKind::interrupt()).expect("signal handlers can be set");
    let mut terminate = signal(SignalKind::terminate()).expect("signal handlers can be set");
    tokio::spawn(async move {
        for round in 0..2 {
            tokio::select! {
                _ = interrupt.recv() => (),
                _ = terminate.recv() => (),
            }
            if round == 0 {
                token.cancel();
            } else {
                std::process::exit(130);
            }
        }
    });
    stop
}
