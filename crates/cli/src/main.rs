//! `gpuaas`: the API for people and scripts. Each noun is one file in `nouns/`;
//! everything else is shared by all of them.

mod arguments;
mod config;
mod context;
mod declare;
mod demo;
mod endings;
mod exact;
mod explain;
mod failure;
mod focus;
mod forward;
mod key_proof;
mod moments;
mod names;
mod notification_watch;
mod nouns;
mod oidc;
mod output;
mod playback;
mod progress;
mod prompt;
mod proof;
mod renamed;
mod seal_check;
mod second_factor;
mod session;
mod settings;
mod ssh;
mod table;
mod telemetry;
mod terminal;
mod top;
mod watch;
mod yaml;

use std::process::exit;

use clap::{CommandFactory, FromArgMatches, Parser};

use crate::{arguments::Flags, context::Context, failure::Class, nouns::Noun};

/// Manage GPU allocations from the command line.
///
/// Sign in with `gpuaas login --url https://gpu.example.com`. Commands are a noun
/// and a verb, such as `gpuaas projects list`.
#[derive(Debug, Parser)]
#[command(name = "gpuaas", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(subcommand)]
    noun: Noun,
}

/// What a shell gives to a process that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// The arguments, with the exit codes explained below their help.
pub fn command() -> clap::Command {
    let codes: Vec<String> = Class::ALL.iter().map(|it| format!("  {:>2}  {}", it.code(), it.meaning())).collect();
    let help = format!(
        "Exit codes:\n   0  success\n{}\n\nEnvironment variables:\n  GPUAAS_URL           server URL\n  GPUAAS_TOKEN         API key or access token\n  GPUAAS_ORGANIZATION  organization\n  GPUAAS_PROJECT       project\n  GPUAAS_CONFIG        configuration file\n\nFlags override environment variables, which override the context.",
        codes.join("\n")
    );
    Cli::command().after_help(help)
}

fn main() {
    let matches = command().try_get_matches().unwrap_or_else(|error| renamed::explain(error, &command()).exit());
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start: {error}");
            exit(i32::from(Class::Usage.code()));
        }
    };
    let code = runtime.block_on(run(cli));
    // Dropping it would wait for a question that nobody answers any more.
    runtime.shutdown_background();
    exit(code)
}

async fn run(cli: Cli) -> i32 {
    let context = Context::new(cli.flags);
    let hears_interrupts = cli.noun.hears_interrupts();
    let done = tokio::select! {
        done = cli.noun.run(&context) => done,
        // Dropping the command restores the terminal.
        _ = tokio::signal::ctrl_c(), if !hears_interrupts => return INTERRUPTED,
    };
    match done {
        Ok(()) => 0,
        Err(failure) => {
            if !failure.is_unheard() {
                context.output.failure(&failure);
            }
            i32::from(failure.exit_code())
        }
    }
}
