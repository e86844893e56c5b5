//! `gpuaas members`: the people in an organization and their roles.

use clap::Subcommand;
use contract::{
    Email, Role,
    members::{ChangeMember, ListMembers, Member, MemberFilter, MemberPath, MemberSpec, RemoveMember},
    organizations::OrganizationPath,
};

use crate::{
    arguments::{self, Consent, Paging},
    context::Context,
    failure::{Done, Failure},
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas members list
  gpuaas members list --role owner
  gpuaas members change you@example.com --role admin
  gpuaas members remove you@example.com --yes

New members join by invitation; see `gpuaas invitations create --help`.";

/// Manage members of an organization
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Members {
    /// List members of the organization
    List {
        /// Filter by role
        #[arg(long, value_parser = arguments::word::<Role>())]
        role: Option<Role>,
        /// Filter by email address
        #[arg(long, value_parser = arguments::text::<Email>)]
        email: Option<Email>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Change a member's role
    Change {
        /// ID or email address of the member
        member: String,
        /// New role
        #[arg(long, value_parser = arguments::word::<Role>())]
        role: Role,
    },
    /// Remove a member, effective within a second
    Remove {
        /// ID or email address of the member
        member: String,
        #[command(flatten)]
        consent: Consent,
    },
}

const COLUMNS: Columns = columns!(Member: user_id, email, name, role, joined_at);

impl Members {
    pub async fn run(self, context: &Context) -> Done {
        let organization = context.organization().await?;
        match self {
            Members::List { role, email, paging } => {
                let query = MemberFilter { role, email, limit: paging.page(), ..MemberFilter::default() };
                context.list::<ListMembers>(organization, query, paging, COLUMNS).await
            }
            Members::Change { member, role } => {
                let path = path(context, &organization, &member).await?;
                let answer = context.send::<ChangeMember>(path, MemberSpec { role }).await?;
                context.output.item_known_by(&answer, "/user_id")
            }
            Members::Remove { member, consent } => {
                let path = path(context, &organization, &member).await?;
                prompt::confirm(consent, &format!("removes {member} from the organization"), &member).await?;
                let answer = context.ask::<RemoveMember>(path).await?;
                context.output.done(&answer, format!("{member} is no longer a member."))
            }
        }
    }
}

async fn path(context: &Context, organization: &OrganizationPath, member: &str) -> Result<MemberPath, Failure> {
    let user_id = context.member_named(organization, member).await?;
    Ok(MemberPath { organization_id: organization.organization_id, user_id })
}
