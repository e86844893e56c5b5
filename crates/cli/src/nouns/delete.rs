//! `gpuaas delete`: remove what files declare.

use std::path::PathBuf;

use clap::Args;

use crate::{arguments::Consent, context::Context, declare, failure::Done};

const EXAMPLES: &str = "\
Examples:
  gpuaas delete -f stack.yaml
  gpuaas delete -f stack.yaml --yes

Deleting a project deletes everything in it. Prices remain. SKUs are retired
permanently.";

/// Delete the resources declared in files, in dependency order
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Delete {
    /// YAML or JSON file, or - for standard input; repeatable
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
