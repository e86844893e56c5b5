//! `gpuaas apply`: make what there is as files say.

use std::path::PathBuf;

use clap::Args;

use crate::{
    arguments::Consent,
    context::Context,
    declare::{self, ApplyOptions},
    failure::Done,
};

const EXAMPLES: &str = "\
Examples:
  gpuaas apply -f stack.yaml
  gpuaas apply -f team.yaml -f jobs.yaml --yes
  gpuaas apply -f stack.yaml --prune --yes
  gpuaas apply -f - --yes < stack.yaml

The plan is shown first: + create, ~ update, -+ replace, - delete, ! not possible.
See docs/guides/declare.md for the supported kinds.";

/// Create or update resources from declarative YAML or JSON files
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Apply {
    /// YAML or JSON file, or - for standard input; repeatable
    #[arg(short, long = "file", value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Delete and recreate resources that cannot be updated in place
    #[arg(long)]
    replace: bool,
    /// Release the stack's allocations that are no longer in the files
    #[arg(long)]
    prune: bool,
    #[command(flatten)]
    consent: Consent,
}

impl Apply {
    pub async fn run(self, context: &Context) -> Done {
        let Self { files, replace, prune, consent } = self;
        declare::apply(context, &ApplyOptions { files, replace, prune }, consent).await
    }
}
