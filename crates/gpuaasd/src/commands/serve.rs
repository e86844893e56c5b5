//! `serve` and `dev`: run until a signal, then stop in order.

use std::{path::Path, sync::Arc};

use gpuaasd::{
    control_plane::ControlPlane,
    dev::{self, DevError},
    gateway_role::{self, Bound},
    roles::{self, Listeners, Role},
};
use platform::{
    config::{Config, LogFormat},
    telemetry,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{AnyError, prompt};

pub async fn dev(mut config: Config, options: dev::Options) -> Result<(), AnyError> {
    if std::env::var_os("GPUAAS_LOG").is_none() {
        config.telemetry.log = "warn".into();
        config.telemetry.format = LogFormat::Text;
    }
    install(&config)?;
    let stop = stop_on_signal();
    let mut outcome = dev::run(config.clone(), options.clone(), stop.clone()).await;
    if let Err(DevError::PreRelease { path }) = &outcome
        && prompt::yes_or_no(&start_afresh(path))? == Some(true)
        && !stop.is_cancelled()
    {
        outcome = dev::run(config, dev::Options { reset: true, ..options }, stop).await;
    }
    telemetry::flush();
    Ok(outcome?)
}

fn start_afresh(path: &Path) -> String {
    format!(
        "The data in {} is from a pre-release build, and its schema cannot be upgraded.\n\
         Delete it and start over? [y/n] ",
        path.display()
    )
}

pub async fn serve(config: Config, roles: Vec<Role>) -> Result<(), AnyError> {
    install(&config)?;
    let roles = if roles.is_empty() { Role::ALL.to_vec() } else { roles };
    let stop = stop_on_signal();
    if roles == [Role::Gateway] {
        let outcome = serve_gateway(config, stop).await;
        telemetry::flush();
        return outcome;
    }
    let gateway = match roles.contains(&Role::Gateway) {
        true => Some(bind_gateway(&config, None).await?),
        false => None,
    };
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
    let control_plane: Arc<ControlPlane> = ControlPlane::start(config, stop.clone()).await?;
    tracing::info!(?roles, "ready");
    let beside = async {
        match gateway {
            // It ends with the others, and the others with it.
            Some(bound) => {
                let outcome = gateway_role::run(Arc::new(control_plane.config.clone()), bound, stop.clone()).await;
                stop.cancel();
                outcome
            }
            None => Ok(()),
        }
    };
    let (ended, outcome) =
        tokio::join!(roles::run(control_plane.clone(), &roles, Listeners { api, ops, node }), beside);
    telemetry::flush();
    ended?;
    Ok(outcome?)
}

/// A gateway alone: no database, no keys that sign.
async fn serve_gateway(config: Config, stop: CancellationToken) -> Result<(), AnyError> {
    let ops = match &config.http.ops_listen {
        Some(address) => Some(listen("http.ops_listen", address).await?),
        None => None,
    };
    let bound = bind_gateway(&config, ops).await?;
    tracing::info!("ready");
    let drained = tokio::spawn(telemetry::drain(stop.clone()));
    let outcome = gateway_role::run(Arc::new(config), bound, stop.clone()).await;
    stop.cancel();
    // It only counts; there is nothing to say about its end.
    let _ = drained.await;
    Ok(outcome?)
}

async fn bind_gateway(config: &Config, ops: Option<TcpListener>) -> Result<Bound, AnyError> {
    let ssh = match &config.gateway.ssh_listen {
        Some(address) => Some(listen("gateway.ssh_listen", address).await?),
        None => None,
    };
    Ok(Bound {
        agents: listen("gateway.agent_listen", &config.gateway.agent_listen).await?,
        public: listen("gateway.listen", &config.gateway.listen).await?,
        ssh,
        ops,
    })
}

async fn listen(setting: &str, address: &str) -> Result<TcpListener, AnyError> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| format!("cannot listen on {address}: {error}; choose another `{setting}`").into())
}

fn install(config: &Config) -> Result<(), AnyError> {
    let telemetry = &config.telemetry;
    Ok(telemetry::install(&telemetry.log, telemetry.format, telemetry.otlp_endpoint.as_deref())?)
}

/// Canceled by Ctrl-C or SIGTERM; a second one ends the process at once.
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
