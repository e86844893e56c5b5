//! `gpuaas diff`: what `apply` would do.

use std::path::PathBuf;

use clap::Args;

use crate::{
    context::Context,
    declare::{self, ApplyOptions},
    failure::Done,
};

const EXAMPLES: &str = "\
Examples:
  gpuaas diff -f stack.yaml
  gpuaas diff -f stack.yaml --prune -o json

Exits with code 0 if everything matches the files, and with 1 if not.";

/// Preview what `apply` would change; exits with code 1 if there are changes
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Diff {
    /// YAML or JSON file, or - for standard input; repeatable
    #[arg(short, long = "file", value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Plan to delete and recreate resources that cannot be updated in place
    #[arg(long)]
    replace: bool,
    /// Include the stack's allocations that are no longer in the files
    #[arg(long)]
    prune: bool,
}

impl Diff {
    pub async fn run(self, context: &Context) -> Done {
        let Self { files, replace, prune } = self;
        declare::diff(context, &ApplyOptions { files, replace, prune }).await
    }
}
