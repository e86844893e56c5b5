//! `gpuaas-node`: the command line of the agent.

mod commands;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    commands::main(commands::Arguments::parse())
}
