//! `gpuaas diff`: what `apply` would do.

use std::path::PathBuf;

use clap::Args;

use crate::{
    context::Context,
    declare::{self, Wish},
    failure::Done,
};

const EXAMPLES: &str = "\
Examples:
  gpuaas diff -f stack.yaml
  gpuaas diff -f stack.yaml --prune -o json

Ends with code 0 when everything is as the files say, and with 1 when not.";

/// Show what `apply` would do, and end with code 1 if that is anything
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Diff {
    /// A file of YAML or JSON documents; - for standard input; may be repeated
    #[arg(short, long = "file", value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// As if what cannot be changed in place were made anew
    #[arg(long)]
    replace: bool,
    /// Also allocations of the stack that are not in the files any more
    #[arg(long)]
    prune: bool,
}

impl Diff {
    pub async fn run(self, context: &Context) -> Done {
        let Self { files, replace, prune } = self;
        declare::diff(context, &Wish { files, replace, prune }).await
    }
}
