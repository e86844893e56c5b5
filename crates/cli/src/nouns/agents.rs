//! `gpuaas agents`: the agents that nodes can be given.

use clap::Subcommand;
use contract::{
    Nothing,
    agents::{Agent, ListAgents},
};
use serde_json::Value;

use crate::{
    context::Context,
    failure::Done,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples (platform staff):
  gpuaas agents list
  gpuaas agents list -o json

Roll out a version with `gpuaas nodes update` or `gpuaas pools update`.";

/// Show the agent versions available to nodes (platform staff)
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Agents {
    /// List available agent versions, newest first
    List,
}

const COLUMNS: Columns = columns!(Agent: version, target, size_bytes, sha256);

impl Agents {
    pub async fn run(self, context: &Context) -> Done {
        let Agents::List = self;
        let mut answer = context.ask::<ListAgents>(Nothing {}).await?;
        let items = match answer["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        context.output.list(items, COLUMNS)
    }
}
