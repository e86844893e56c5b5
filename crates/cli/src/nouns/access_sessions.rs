//! `gpuaas access-sessions`: who is inside which allocation.

use clap::Subcommand;
use contract::{
    Reason, Timestamp,
    access_sessions::{
        AccessSession, AccessSessionFilter, AccessSessionPath, AccessSessionState, AllAccessSessionsFilter,
        AnyAccessSessionPath, EndAccessSession, EndAnyAccessSession, GetAccessSession, ListAccessSessions,
        ListAllAccessSessions,
    },
    id::{AccessSessionId, AllocationId, UserId},
    organizations::Because,
};

use crate::{
    arguments::{self, Consent, Paging},
    context::Context,
    failure::Done,
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas access-sessions list
  gpuaas access-sessions list --state ended --since 7d
  gpuaas access-sessions list --all
  gpuaas access-sessions end access-01k9z8y7x6w5v4t3s2r1q0p9n8 --yes";

/// Manage access sessions: open terminals, port forwards and web services
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum AccessSessions {
    /// List access sessions; without --state, only open and waiting ones
    List {
        /// Filter by state
        #[arg(long, value_parser = arguments::word::<AccessSessionState>())]
        state: Option<AccessSessionState>,
        /// Filter by allocation
        #[arg(long, value_name = "ID")]
        allocation: Option<AllocationId>,
        /// Filter by user
        #[arg(long, value_name = "ID")]
        user: Option<UserId>,
        /// Only sessions started since this time: a timestamp, or an age such as 7d
        #[arg(long, value_parser = arguments::past)]
        since: Option<Timestamp>,
        /// Include every organization (platform staff)
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show an access session
    Get {
        /// ID of the session
        #[arg(value_name = "SESSION")]
        id: AccessSessionId,
    },
    /// End an access session and its shell
    End {
        /// ID of the session
        #[arg(value_name = "SESSION")]
        id: AccessSessionId,
        /// End a session of any organization and record this reason in the audit log (platform staff)
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Option<Reason>,
        #[command(flatten)]
        consent: Consent,
    },
}

const COLUMNS: Columns =
    columns!(AccessSession: id, allocation_id, kind, opened_by, address, state, bytes_in, bytes_out, created_at);

impl AccessSessions {
    pub async fn run(self, context: &Context) -> Done {
        let answer = match self {
            AccessSessions::List { state, allocation, user, since, all: true, paging } => {
                let query = AllAccessSessionsFilter {
                    state,
                    allocation_id: allocation,
                    user_id: user,
                    since,
                    limit: paging.page(),
                    ..Default::default()
                };
                return context.list::<ListAllAccessSessions>(contract::Nothing {}, query, paging, COLUMNS).await;
            }
            AccessSessions::List { state, allocation, user, since, all: false, paging } => {
                let query = AccessSessionFilter {
                    state,
                    allocation_id: allocation,
                    user_id: user,
                    since,
                    limit: paging.page(),
                    ..Default::default()
                };
                let path = context.organization().await?;
                return context.list::<ListAccessSessions>(path, query, paging, COLUMNS).await;
            }
            AccessSessions::Get { id } => {
                let organization_id = context.organization().await?.organization_id;
                context.ask::<GetAccessSession>(AccessSessionPath { organization_id, access_session_id: id }).await?
            }
            AccessSessions::End { id, reason, consent } => {
                prompt::confirm(consent, "ends the session and everything running in its shell", &id.to_string())
                    .await?;
                match reason {
                    Some(reason) => {
                        let path = AnyAccessSessionPath { access_session_id: id };
                        context.send::<EndAnyAccessSession>(path, Because { reason }).await?
                    }
                    None => {
                        let organization_id = context.organization().await?.organization_id;
                        let path = AccessSessionPath { organization_id, access_session_id: id };
                        context.send::<EndAccessSession>(path, contract::Nothing {}).await?
                    }
                }
            }
        };
        context.output.item(&answer)
    }
}
