//! `gpuaasd`: the control plane's daemon and its own upkeep.

mod commands;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use gpuaasd::roles::Role;

/// Run and maintain the control plane of your GPU cloud.
#[derive(Parser)]
#[command(name = "gpuaasd", version, after_help = EXAMPLES)]
struct Arguments {
    /// Configuration file (TOML); environment variables override it
    #[arg(long, global = true, env = "GPUAAS_CONFIG_FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  gpuaasd dev                                run everything locally, with a demo organization
  gpuaasd config check --connect             validate the configuration
  gpuaasd migrate up && gpuaasd serve        run a single server
  gpuaasd serve --roles api                  run one role of several
  gpuaasd serve --roles gateway              run a gateway; needs no database
  gpuaasd backup monday.backup               back up the database to a file
  gpuaasd ca export-root root.pem --remove   move the CA's root key offline
  gpuaasd keys revoke task                   revoke a leaked signing key";

#[derive(Subcommand)]
enum Command {
    /// Run the whole platform on this machine, with its own PostgreSQL
    Dev {
        /// Directory for all data
        #[arg(long, default_value = "dev-data", env = "GPUAAS_DATA_DIR")]
        data_dir: PathBuf,
        /// Address to listen on; port 0 picks a free one
        #[arg(long)]
        listen: Option<String>,
        /// Skip creating the demo organization
        #[arg(long)]
        no_seed: bool,
        /// Number of simulated nodes, with 8 GPUs each
        #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(0..=1000))]
        sim_nodes: u16,
        /// Delete the database and files of earlier runs and start afresh.
        #[arg(long)]
        reset: bool,
    },
    /// Run server roles; all except the gateway need a migrated database
    Serve {
        /// Roles to run, comma-separated [default: all except gateway]
        #[arg(long, value_enum, value_delimiter = ',')]
        roles: Vec<Role>,
    },
    /// Inspect the configuration
    Config {
        #[command(subcommand)]
        action: commands::config::Action,
    },
    /// Migrate the database schema
    Migrate {
        #[command(subcommand)]
        action: commands::migrate::Action,
    },
    /// Back up the database to a file, without the secrets key
    Backup {
        /// File to create
        file: PathBuf,
    },
    /// Restore a backup into an empty database
    Restore {
        /// File written by `gpuaasd backup`
        file: PathBuf,
    },
    /// Manage accounts without signing in, such as the first operator
    Admin {
        #[command(subcommand)]
        action: commands::admin::Action,
    },
    /// Manage the CA that identifies nodes
    Ca {
        #[command(subcommand)]
        action: commands::ca::Action,
    },
    /// List the platform's keys, and revoke leaked ones
    Keys {
        #[command(subcommand)]
        action: commands::keys::Action,
    },
    /// Manage the keys that seal secrets
    Secrets {
        #[command(subcommand)]
        action: commands::secrets::Action,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.expect("the operating system gives threads");
    match runtime.block_on(run(arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprint!("gpuaasd: {error}");
            let mut source = error.source();
            while let Some(cause) = source {
                eprint!(": {cause}");
                source = cause.source();
            }
            eprintln!();
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), commands::AnyError> {
    let file = arguments.config;
    let config = gpuaasd::configure(file.as_ref(), |name| std::env::var(name).ok())?;
    match arguments.command {
        Command::Dev { data_dir, listen, no_seed, sim_nodes, reset } => {
            let options = gpuaasd::dev::Options { data_dir, listen, seed: !no_seed, sim_nodes, reset };
            commands::serve::dev(config, options).await
        }
        Command::Serve { roles } => commands::serve::serve(config, roles).await,
        Command::Config { action } => commands::config::run(&config, file.as_deref(), action).await,
        Command::Migrate { action } => commands::migrate::run(&config.database.url, action).await,
        Command::Backup { file } => commands::backup::back_up(&config.database.url, &file).await,
        Command::Restore { file } => commands::backup::restore(&config.database.url, &file).await,
        Command::Admin { action } => commands::admin::run(&config, action).await,
        Command::Ca { action } => commands::ca::run(&config, action).await,
        Command::Keys { action } => commands::keys::run(&config, action).await,
        Command::Secrets { action } => commands::secrets::run(&config, action).await,
    }
}
