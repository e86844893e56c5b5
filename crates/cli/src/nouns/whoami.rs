//! `gpuaas whoami`: who the server takes the caller for.

use clap::Args;
use contract::{Nothing, users::WhoAmI};

use crate::{context::Context, failure::Done};

const EXAMPLES: &str = "\
Examples:
  gpuaas whoami
  gpuaas whoami -o json";

/// Show the current user and what the credential permits
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Whoami {}

impl Whoami {
    pub async fn run(self, context: &Context) -> Done {
        let answer = context.ask::<WhoAmI>(Nothing {}).await?;
        let id = if answer["user"].is_null() { "/service_account/id" } else { "/user/id" };
        context.output.item_known_by(&answer, id)
    }
}
