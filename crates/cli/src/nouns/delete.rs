//! `gpuaas delete`: remove what files declare.

use std::path::PathBuf;

use clap::Args;

use crate::{arguments::Consent, context::Context, declare, failure::Done};

const EXAMPLES: &str = "\
Examples:
  gpuaas delete -f stack.yaml
  gpuaas delete -f stack.yaml --yes

A project goes with everything in it. Prices stay, and SKUs are taken off offer
for good.";

/// Remove what files declare, in the order in which nothing is in the way
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Delete {
    /// A file of YAML or JSON documents; - for standard input; may be repeated
    #[arg(short, long = "file", value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    consent: Consent,
}

impl Delete {
    pub async fn run(self, context: &Context) -> Done {
        declare::delete(context, &self.files, self.consent).await
    }
}
