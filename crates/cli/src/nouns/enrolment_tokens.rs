//! `gpuaas enrolment-tokens`: what new hosts show once to become nodes.

use clap::Subcommand;
use contract::{
    Nothing,
    enrolment_tokens::{
        CreateEnrolmentToken, EnrolmentToken, EnrolmentTokenFilter, EnrolmentTokenPath, EnrolmentTokenSpec,
        EnrolmentTokenStatus, ListEnrolmentTokens, RevokeEnrolmentToken,
    },
    id::EnrolmentTokenId,
};

use crate::{
    arguments::{self, Consent, Once, Paging},
    context::Context,
    failure::Done,
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas enrolment-tokens create --pool hall-a
  gpuaas enrolment-tokens create --pool hall-a --lifetime 15 --quiet
  gpuaas enrolment-tokens list --status unused
  gpuaas enrolment-tokens revoke enrol-01k9z8y7x6w5v4t3s2r1q0p9n8 --yes";

/// Enrolment tokens: what new hosts show once to become nodes (platform staff)
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum EnrolmentTokens {
    /// Make a token that enrols one host into a pool; prints its secret once
    Create {
        /// Id or name of the pool
        #[arg(long)]
        pool: String,
        /// For how many minutes it can be used; a policy says when not given
        #[arg(long, value_name = "MINUTES", allow_negative_numbers = true)]
        lifetime: Option<contract::Within<1, 10080>>,
        #[command(flatten)]
        once: Once,
    },
    /// List enrolment tokens
    List {
        /// Only those in this condition
        #[arg(long, value_parser = arguments::word::<EnrolmentTokenStatus>())]
        status: Option<EnrolmentTokenStatus>,
        /// Only those for this pool, by id or name
        #[arg(long)]
        pool: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Revoke a token that was not used
    Revoke {
        /// Id of the token
        #[arg(value_name = "ID")]
        id: EnrolmentTokenId,
        #[command(flatten)]
        consent: Consent,
    },
}

const COLUMNS: Columns = columns!(EnrolmentToken: id, pool_id, status, created_at, expires_at, node_id);

impl EnrolmentTokens {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            EnrolmentTokens::Create { pool, lifetime, once } => {
                let pool_id = context.pool_named(&pool).await?.pool_id;
                let spec = EnrolmentTokenSpec { pool_id, lifetime_minutes: lifetime };
                let answer = context.create::<CreateEnrolmentToken>(&once, Nothing {}, spec).await?;
                context.output.item_with_secret(&answer, "token", "secret")?;
                let text = |name: &str| answer.get(name).and_then(|it| it.as_str()).unwrap_or_default().to_owned();
                context.output.hint(format!(
                    "\nThe secret is shown this once. On the host, as root, with the secret in GPUAAS_NODE_TOKEN:\n  gpuaas-node enroll --url {} --ca-fingerprint {}",
                    text("node_url"),
                    text("ca_fingerprint")
                ));
                Ok(())
            }
            EnrolmentTokens::List { status, pool, paging } => {
                let pool_id = match pool {
                    Some(text) => Some(context.pool_named(&text).await?.pool_id),
                    None => None,
                };
                let query = EnrolmentTokenFilter { status, pool_id, limit: paging.page(), ..Default::default() };
                context.list::<ListEnrolmentTokens>(Nothing {}, query, paging, COLUMNS).await
            }
            EnrolmentTokens::Revoke { id, consent } => {
                let text = id.to_string();
                prompt::confirm(consent, &format!("revokes {text} for good"), &text).await?;
                let path = EnrolmentTokenPath { enrolment_token_id: id };
                let answer = context.ask::<RevokeEnrolmentToken>(path).await?;
                context.output.done(&answer, format!("{text} is revoked."))
            }
        }
    }
}
