//! `gpuaas invitations`: how people join an organization.

use clap::Subcommand;
use contract::{
    Email, Nothing, Role,
    id::InvitationId,
    invitations::{
        AcceptInvitation, CreateInvitation, Invitation, InvitationFilter, InvitationPath, InvitationSpec,
        InvitationState, InvitationToken, ListInvitations, RevokeInvitation,
    },
};

use super::organizations::ACT_IN_IT;
use crate::{
    arguments::{self, Once, Paging},
    context::Context,
    failure::Done,
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas invitations create you@example.com --role member
  gpuaas invitations list --state pending
  gpuaas invitations accept
  gpuaas invitations accept --token-stdin < token.txt";

/// Invitations: how people join an organization
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Invitations {
    /// Invite somebody; prints a token for those who have an account, and mails one to those who have none
    Create {
        /// Address of the person, who must sign in with it
        #[arg(value_parser = arguments::text::<Email>)]
        email: Email,
        /// What they will be in the organization
        #[arg(long, value_parser = arguments::word::<Role>())]
        role: Role,
        #[command(flatten)]
        once: Once,
    },
    /// List invitations
    List {
        /// Only those in this state
        #[arg(long, value_parser = arguments::word::<InvitationState>())]
        state: Option<InvitationState>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Take an invitation back
    Revoke {
        /// Id of the invitation
        #[arg(value_name = "ID")]
        invitation: InvitationId,
    },
    /// Accept an invitation that was made for your email address
    Accept {
        /// Read the token from standard input instead of asking
        #[arg(long)]
        token_stdin: bool,
    },
}

const COLUMNS: Columns = columns!(Invitation: id, email, role, state, created_at, expires_at);

impl Invitations {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Invitations::Create { email, role, once } => {
                let path = context.organization().await?;
                let spec = InvitationSpec { email: email.clone(), role };
                let answer = context.create::<CreateInvitation>(&once, path, spec).await?;
                context.output.item_with_secret(&answer, "invitation", "token")?;
                context.output.hint(format!(
                    "The token is shown this once. If {email} has an account, hand it to them: `gpuaas invitations accept` asks for it.\nWithout an account they get a mail with a token of their own, which creates one."
                ));
                Ok(())
            }
            Invitations::List { state, paging } => {
                let path = context.organization().await?;
                let query = InvitationFilter { state, limit: paging.page(), ..InvitationFilter::default() };
                context.list::<ListInvitations>(path, query, paging, COLUMNS).await
            }
            Invitations::Revoke { invitation } => {
                let organization_id = context.organization().await?.organization_id;
                let path = InvitationPath { organization_id, invitation_id: invitation };
                context.output.item(&context.ask::<RevokeInvitation>(path).await?)
            }
            Invitations::Accept { token_stdin } => {
                let token = prompt::token(token_stdin, "Token of the invitation").await?;
                let answer = context.send::<AcceptInvitation>(Nothing {}, InvitationToken { token }).await?;
                context.output.item(&answer)?;
                context.output.hint(ACT_IN_IT);
                Ok(())
            }
        }
    }
}
