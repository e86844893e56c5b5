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

/// Invite people to an organization
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Invitations {
    /// Invite a person; prints a token for existing users and emails one to new users
    Create {
        /// Email address of the person, who must sign in with it
        #[arg(value_parser = arguments::text::<Email>)]
        email: Email,
        /// Role in the organization
        #[arg(long, value_parser = arguments::word::<Role>())]
        role: Role,
        #[command(flatten)]
        once: Once,
    },
    /// List invitations
    List {
        /// Filter by state
        #[arg(long, value_parser = arguments::word::<InvitationState>())]
        state: Option<InvitationState>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Revoke an invitation
    Revoke {
        /// ID of the invitation
        #[arg(value_name = "ID")]
        invitation: InvitationId,
    },
    /// Accept an invitation sent to your email address
    Accept {
        /// Read the token from standard input instead of prompting
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
                    "Save the token now; it is not shown again. If {email} has an account, send it to them to use with `gpuaas invitations accept`.\nOtherwise they receive an email with their own token, which creates an account."
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
                let token = prompt::token(token_stdin, "Invitation token").await?;
                let answer = context.send::<AcceptInvitation>(Nothing {}, InvitationToken { token }).await?;
                context.output.item(&answer)?;
                context.output.hint(ACT_IN_IT);
                Ok(())
            }
        }
    }
}
