//! `gpuaasd dev`: the whole platform on one machine, in one process, with a
//! PostgreSQL of its own and a demo organization.

mod demo_fleet;
mod gateway;
pub mod postgres;
mod reset;
mod seed;
mod sim;
mod store;

use std::{path::PathBuf, sync::Arc};

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    control_plane::{ControlPlane, StartError},
    gateway_role, migrations,
    roles::{self, Listeners, Role},
};
use platform::config::Config;
use postgres::{Cluster, ClusterOptions};

#[derive(Debug, Clone)]
pub struct Options {
    pub data_dir: PathBuf,
    pub listen: Option<String>,
    pub seed: bool,
    /// How many simulated nodes run beside it.
    pub sim_nodes: u16,
    /// Deletes what earlier runs stored, before it starts.
    pub reset: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum DevError {
    #[error("the private PostgreSQL cannot run")]
    Postgres(#[from] postgres::DevError),
    #[error("preparing the database failed")]
    Database(#[from] sqlx::Error),
    #[error("migrating the database failed")]
    Migrate(#[source] migrations::MigrateError),
    #[error(
        "the data in {path} is from a pre-release build, and its schema cannot be upgraded; to delete it and start over, add --reset: `make dev ARGS=--reset`"
    )]
    PreRelease { path: PathBuf },
    #[error("starting failed")]
    Start(#[from] StartError),
    #[error("cannot listen on {address}: choose another with --listen")]
    Listen {
        address: String,
        #[source]
        source: std::io::Error,
    },
    #[error("cannot use the data folder {path}")]
    Folder {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Ended(#[from] roles::BackgroundTaskPanicked),
    #[error("the simulated nodes cannot run")]
    Sim(#[source] sim::SimError),
    #[error("the identity of the gateway cannot be read")]
    Gateway(#[source] ::gateway::identity::IdentityError),
    #[error("seeding the demo organization failed")]
    Seed(#[source] seed::SeedError),
}

/// Runs until `stop` is canceled, and leaves nothing running.
pub async fn run(mut config: Config, options: Options, stop: CancellationToken) -> Result<(), DevError> {
    let folder = |source| DevError::Folder { path: options.data_dir.clone(), source };
    std::fs::create_dir_all(&options.data_dir).map_err(folder)?;
    let cluster = Cluster::start(ClusterOptions::durable(options.data_dir.join("postgres"))).await?;
    let served = serve(&mut config, &options, &cluster, stop).await;
    cluster.stop().await?;
    served
}

async fn serve(
    config: &mut Config,
    options: &Options,
    cluster: &Cluster,
    stop: CancellationToken,
) -> Result<(), DevError> {
    if options.reset {
        reset::reset(cluster, &options.data_dir).await?;
    }
    prepare(cluster).await?;
    config.database.url = cluster.url_as(USER, DATABASE);
    if config.secrets.keys.is_none() && config.secrets.key_file.is_none() {
        config.secrets.key_file = Some(options.data_dir.join("secrets.key"));
    }
    let address = options.listen.clone().unwrap_or_else(|| config.http.listen.clone());
    let cannot = |source| DevError::Listen { address: address.clone(), source };
    let listener = TcpListener::bind(&address).await.map_err(cannot)?;
    let local = listener.local_addr().map_err(cannot)?;
    let base = format!("http://{local}");
    config.http.listen = local.to_string();
    let node = listen_for_nodes(config).await?;
    let bound = gateway::bind(config, options, &base).await?;
    if config.recordings.folder.is_none() {
        config.recordings.folder = Some(options.data_dir.join("recordings"));
    }
    if config.mail.url.is_none() && config.mail.folder.is_none() {
        config.mail.folder = Some(options.data_dir.join("mails"));
    }
    config.mail.public_url.get_or_insert_with(|| base.clone());
    config.stripe.return_url.get_or_insert_with(|| base.clone());
    // One issuer whatever the port: tokens outlive a restart on another one.
    config.identity.issuer = "http://gpuaas.localhost".into();
    migrations::up(&config.database.url).await.map_err(|error| match error {
        migrations::MigrateError::PreRelease(_) => DevError::PreRelease { path: options.data_dir.clone() },
        other => DevError::Migrate(other),
    })?;
    let control_plane = ControlPlane::start(config.clone(), stop.clone()).await?;
    if options.seed {
        let seeded = seed::seed(&control_plane, &options.data_dir, &base).await.map_err(DevError::Seed)?;
        announce(&base, options, config, Some(&seeded));
    } else {
        announce(&base, options, config, None);
    }
    let nodes = match options.seed && options.sim_nodes > 0 {
        true => Some(sim::start(&control_plane, options, &stop).await.map_err(DevError::Sim)?),
        false => None,
    };
    let as_gateway = Arc::new(gateway::seed(&control_plane).await?);
    let beside = async {
        if let Err(error) = gateway_role::run(as_gateway, bound, stop.clone()).await {
            tracing::error!(error = complete(&error), "the gateway ended; terminals are unavailable");
        }
    };
    let listeners = Listeners { api: Some(listener), ops: None, node: Some(node) };
    let (ended, ()) = tokio::join!(roles::run(control_plane, &Role::ALL, listeners), beside);
    if let Some(nodes) = nodes {
        nodes.stop().await;
    }
    Ok(ended?)
}

/// Listens for hosts where the configuration says, or anywhere if that place is
/// taken: a second installation on this machine has no hosts that know the place.
async fn listen_for_nodes(config: &mut Config) -> Result<TcpListener, DevError> {
    let address = config.node.listen.clone();
    let cannot = |source| DevError::Listen { address: address.clone(), source };
    let listener = listen_or_anywhere(&address).await?;
    let local = listener.local_addr().map_err(cannot)?;
    (config.node.listen, config.node.url) = (local.to_string(), format!("https://{local}"));
    Ok(listener)
}

async fn listen_or_anywhere(address: &str) -> Result<TcpListener, DevError> {
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(listener),
        Err(_) => {
            let bound = TcpListener::bind("127.0.0.1:0").await;
            bound.map_err(|source| DevError::Listen { address: address.to_owned(), source })
        }
    }
}

/// An error with everything that led to it.
fn complete(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}

pub use store::make_role_and_database;

const USER: &str = "gpuaas";
const DATABASE: &str = "gpuaas";

/// Makes the platform's own role and database, as the cluster's superuser.
pub async fn prepare(cluster: &Cluster) -> Result<(), DevError> {
    store::make_role_and_database(|database| cluster.url(database), USER, DATABASE).await?;
    Ok(())
}

fn announce(base: &str, options: &Options, config: &Config, seeded: Option<&seed::Seeded>) {
    println!("gpuaas is ready at {base}\n");
    if let Some(seeded) = seeded {
        println!("  owner     {}  password {}", seed::OWNER, seeded.owner_password);
        println!("  operator  {}  password {}", seed::OPERATOR, seeded.operator_password);
        println!(
            "\n  source {}    sets GPUAAS_URL, GPUAAS_TOKEN and the demo project",
            options.data_dir.join("dev.env").display()
        );
        println!(
            "  gpuaas demo                take a tour: launch, terminal, release, bill\n  gpuaas capacity list\n  gpuaas allocations create --sku h200-slice --gpus 2 --wait\n  gpuaas terminal ALLOCATION"
        );
        println!("\n  These tokens are API keys. To manage an account (keys, password), run `gpuaas login`.");
    }
    println!("\n  Terminals and web services connect through ws://{}", config.gateway.listen);
    if let Some(folder) = &config.mail.folder {
        println!("  Emails are written to {}", folder.display());
    }
    println!("\nCtrl-C stops everything.");
}
