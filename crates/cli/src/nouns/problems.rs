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

A refusal prints its code below its detail.";

/// Problems: what the codes of refusals mean
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Problems {
    /// Say what a code means and what to do about it
    Get {
        /// The code, like `forbidden`
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
    failure.with_advice("Give a code as a refusal prints it; docs/generated/errors.md lists them all.")
}
