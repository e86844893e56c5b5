//! `gpuaas apply`: make what there is as files say.

use std::path::PathBuf;

use clap::Args;

use crate::{
    arguments::Consent,
    context::Context,
    declare::{self, Wish},
    failure::Done,
};

const EXAMPLES: &str = "\
Examples:
  gpuaas apply -f stack.yaml
  gpuaas apply -f team.yaml -f jobs.yaml --yes
  gpuaas apply -f stack.yaml --prune --yes
  gpuaas apply -f - --yes < stack.yaml

The plan is shown first: + is created, ~ is changed, -+ is removed and made
anew, - is deleted, ! cannot be done. docs/guides/declare.md lists the kinds.";

/// Make projects, keys, policies, webhooks, SKUs, prices, budgets and allocations as files say
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Apply {
    /// A file of YAML or JSON documents; - for standard input; may be repeated
    #[arg(short, long = "file", value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Remove and make anew what cannot be changed in place
    #[arg(long)]
    replace: bool,
    /// Release allocations of the stack that are not in the files any more
    #[arg(long)]
    prune: bool,
    #[command(flatten)]
    consent: Consent,
}

impl Apply {
    pub async fn run(self, context: &Context) -> Done {
        let Self { files, replace, prune, consent } = self;
        declare::apply(context, &Wish { files, replace, prune }, consent).await
    }
}
