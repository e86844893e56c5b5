//! `gpuaasd`: the control plane's daemon and its own upkeep.

mod commands;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use gpuaasd::roles::Role;

/// The control plane of a GPU cloud that you own.
#[derive(Parser)]
#[command(name = "gpuaasd", version, after_help = EXAMPLES)]
struct Arguments {
    /// Configuration file (TOML); the environment goes before it.
    #[arg(long, global = true, env = "GPUAAS_CONFIG_FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  gpuaasd dev                                everything on this machine, with a demo organization
  gpuaasd config check --connect             what is wrong with the configuration
  gpuaasd migrate up && gpuaasd serve        one server
  gpuaasd serve --roles api                  one of many
  gpuaasd serve --roles gateway              where people come in; needs no database
  gpuaasd backup monday.backup               the whole database in one file
  gpuaasd ca export-root root.pem --remove   keep the CA's root elsewhere
  gpuaasd keys revoke task                   a signing key leaked: trust it no longer";

#[derive(Subcommand)]
enum Command {
    /// Run the whole platform on this machine, with a PostgreSQL of its own.
    Dev {
        /// Where everything is kept.
        #[arg(long, default_value = "dev-data", env = "GPUAAS_DATA_DIR")]
        data_dir: PathBuf,
        /// Address to listen on; port 0 chooses a free one.
        #[arg(long)]
        listen: Option<String>,
        /// Do not make the demo organization.
        #[arg(long)]
        no_seed: bool,
        /// How many simulated nodes with 8 GPUs each to run
        #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(0..=1000))]
        sim_nodes: u16,
        /// Delete the database and files of earlier runs and start afresh.
        #[arg(long)]
        reset: bool,
    },
    /// Run roles: against a database that was migrated, or a gateway without one.
    Serve {
        /// Which roles; all but the gateway when not said.
        #[arg(long, value_enum, value_delimiter = ',')]
        roles: Vec<Role>,
    },
    /// Look at the configuration.
    Config {
        #[command(subcommand)]
        action: commands::config::Action,
    },
    /// Change the schema of the database.
    Migrate {
        #[command(subcommand)]
        action: commands::migrate::Action,
    },
    /// Write the database to a file. The secrets key is not in it: keep that apart.
    Backup {
        /// Where to; must not exist yet.
        file: PathBuf,
    },
    /// Fill an empty database from a backup.
    Restore {
        /// A file that `gpuaasd backup` wrote.
        file: PathBuf,
    },
    /// Do what needs no account, because it makes the first one.
    Admin {
        #[command(subcommand)]
        action: commands::admin::Action,
    },
    /// Look after the CA that nodes are known by.
    Ca {
        #[command(subcommand)]
        action: commands::ca::Action,
    },
    /// Take back the platform's own keys in an emergency.
    Keys {
        #[command(subcommand)]
        action: commands::keys::Action,
    },
    /// Look after the keys that seal secrets.
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
