//! `gpuaas problems`: what the codes of refusals mean.

use clap::Subcommand;
use client::Request;
use contract::{
    Nothing,
    problems::{DescribeProblem, ProblemPath},
};

use crate::{
    context::Context,
    exact::Exact,
    failure::{Class, Done, Failure},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas problems get forbidden
  gpuaas problems get idempotency_key_reused -o json

Every API error prints its code below the message.";

/// Look up error codes of the API
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Problems {
    /// Explain an error code and how to resolve it
    Get {
        /// Error code, such as `forbidden`
        code: String,
    },
}

impl Problems {
    pub async fn run(self, context: &Context) -> Done {
        let Problems::Get { code } = self;
        // Nobody has to sign in to understand why they cannot.
        let request = Request::<Exact<DescribeProblem>>::new(ProblemPath { code }, Nothing {}, Nothing {});
        let answer = context.stranger()?.send(&request).await.map_err(|error| unknown(error.into()))?;
        context.output.item_known_by(&answer, "/advice")
    }
}

/// The server's advice on what is not there is about ids.
fn unknown(failure: Failure) -> Failure {
    if failure.class != Class::NotFound {
        return failure;
    }
    failure.with_advice("Pass a code printed by an error. docs/generated/errors.md lists all of them.")
}
