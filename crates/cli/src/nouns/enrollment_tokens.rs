//! `gpuaas enrollment-tokens`: what new hosts show once to become nodes.

use clap::Subcommand;
use contract::{
    Nothing,
    enrollment_tokens::{
        CreateEnrollmentToken, EnrollmentToken, EnrollmentTokenFilter, EnrollmentTokenPath, EnrollmentTokenSpec,
        EnrollmentTokenStatus, ListEnrollmentTokens, RevokeEnrollmentToken,
    },
    id::EnrollmentTokenId,
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
  gpuaas enrollment-tokens create --pool hall-a
  gpuaas enrollment-tokens create --pool hall-a --lifetime 15 --quiet
  gpuaas enrollment-tokens list --status unused
  gpuaas enrollment-tokens revoke enroll-01k9z8y7x6w5v4t3s2r1q0p9n8 --yes";

/// Manage enrollment tokens: one-time secrets that turn hosts into nodes (platform staff)
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum EnrollmentTokens {
    /// Create a token that enrolls one host into a pool; its secret is printed once
    Create {
        /// ID or name of the pool
        #[arg(long)]
        pool: String,
        /// Minutes until the token expires [default: set by policy]
        #[arg(long, value_name = "MINUTES", allow_negative_numbers = true)]
        lifetime: Option<contract::Within<1, 10080>>,
        #[command(flatten)]
        once: Once,
    },
    /// List enrollment tokens
    List {
        /// Filter by status
        #[arg(long, value_parser = arguments::word::<EnrollmentTokenStatus>())]
        status: Option<EnrollmentTokenStatus>,
        /// Filter by pool, by ID or name
        #[arg(long)]
        pool: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Revoke an unused token
    Revoke {
        /// ID of the token
        #[arg(value_name = "ID")]
        id: EnrollmentTokenId,
        #[command(flatten)]
        consent: Consent,
    },
}

const COLUMNS: Columns = columns!(EnrollmentToken: id, pool_id, status, created_at, expires_at, node_id);

impl EnrollmentTokens {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            EnrollmentTokens::Create { pool, lifetime, once } => {
                let pool_id = context.pool_named(&pool).await?.pool_id;
                let spec = EnrollmentTokenSpec { pool_id, lifetime_minutes: lifetime };
                let answer = context.create::<CreateEnrollmentToken>(&once, Nothing {}, spec).await?;
                context.output.item_with_secret(&answer, "token", "secret")?;
                let text = |name: &str| answer.get(name).and_then(|it| it.as_str()).unwrap_or_default().to_owned();
                context.output.hint(format!(
                    "\nSave the secret now; it is not shown again. On the host, set GPUAAS_NODE_TOKEN to it and run as root:\n  gpuaas-node enroll --url {} --ca-fingerprint {}",
                    text("node_url"),
                    text("ca_fingerprint")
                ));
                Ok(())
            }
            EnrollmentTokens::List { status, pool, paging } => {
                let pool_id = match pool {
                    Some(text) => Some(context.pool_named(&text).await?.pool_id),
                    None => None,
                };
                let query = EnrollmentTokenFilter { status, pool_id, limit: paging.page(), ..Default::default() };
                context.list::<ListEnrollmentTokens>(Nothing {}, query, paging, COLUMNS).await
            }
            EnrollmentTokens::Revoke { id, consent } => {
                let text = id.to_string();
                prompt::confirm(consent, &format!("permanently revokes {text}"), &text).await?;
                let path = EnrollmentTokenPath { enrollment_token_id: id };
                let answer = context.ask::<RevokeEnrollmentToken>(path).await?;
                context.output.done(&answer, format!("Revoked {text}."))
            }
        }
    }
}
