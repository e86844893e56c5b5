//! `gpuaas sessions`: where a person is signed in.

use clap::Subcommand;
use client::Request;
use contract::{
    Nothing,
    id::SessionId,
    sessions::{GetJwks, ListSessions, RevokeSession, Session, SessionFilter, SessionPath, SignOutEverywhere},
};

use crate::{
    arguments::{Consent, Paging},
    context::Context,
    exact::Exact,
    failure::Done,
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas sessions list
  gpuaas sessions revoke sess-01k9z8y7x6w5v4t3s2r1q0p9n8
  gpuaas sessions revoke-all --yes
  gpuaas sessions signing-keys > jwks.json";

/// Manage your sign-in sessions
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Sessions {
    /// List your sessions
    List {
        #[command(flatten)]
        paging: Paging,
    },
    /// End a session, effective within a second
    Revoke {
        /// ID of the session
        #[arg(value_name = "ID")]
        session: SessionId,
    },
    /// End all of your sessions, including the current one
    RevokeAll {
        #[command(flatten)]
        consent: Consent,
    },
    /// Print the public keys that sign access tokens, as a JWK set
    SigningKeys,
}

const COLUMNS: Columns = columns!(Session: id, current, created_at, last_used_at, expires_at);

impl Sessions {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Sessions::List { paging } => {
                let query = SessionFilter { limit: paging.page(), ..SessionFilter::default() };
                context.list::<ListSessions>(Nothing {}, query, paging, COLUMNS).await
            }
            Sessions::Revoke { session } => {
                let answer = context.ask::<RevokeSession>(SessionPath { session_id: session }).await?;
                context.output.done(&answer, format!("Ended {session}."))
            }
            Sessions::RevokeAll { consent } => {
                prompt::confirm(consent, "ends all of your sessions, including the current one", "all").await?;
                let answer = context.ask::<SignOutEverywhere>(Nothing {}).await?;
                context.output.done(&answer, "Ended all of your sessions. Sign in again with `gpuaas login`.")
            }
            Sessions::SigningKeys => {
                let request = Request::<Exact<GetJwks>>::new(Nothing {}, Nothing {}, Nothing {});
                context.output.document(&context.stranger()?.send(&request).await?)
            }
        }
    }
}
