//! `gpuaas organizations`: the tenants, for their members and for platform staff.

use clap::Subcommand;
use contract::{
    Name, Nothing, Reason,
    allocations::{AllAllocationsFilter, ListAllAllocations},
    members::LeaveOrganization,
    organizations::{
        Because, CloseOrganization, CreateOrganization, GetOrganization, ListAllOrganizations, ListOrganizations,
        Organization, OrganizationFilter, OrganizationPath, OrganizationSpec, OrganizationState,
        PreviewOrganizationClosing, RenameOrganization, ResumeOrganization, SuspendOrganization,
    },
    projects::EndingPreview,
};

use crate::{
    arguments::{self, Consent, Once, Paging},
    context::Context,
    endings, exact,
    failure::{Done, Failure},
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas organizations create acme
  gpuaas organizations list
  gpuaas organizations get
  gpuaas organizations rename acme \"Acme Research\"
  gpuaas organizations close acme
  gpuaas organizations close --yes
  gpuaas organizations leave acme

For platform staff:
  gpuaas organizations list --all --state suspended
  gpuaas organizations suspend acme --reason \"invoice overdue\"
  gpuaas organizations resume acme --reason \"invoice paid\"";

/// Manage organizations
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Organizations {
    /// Create an organization and become its owner
    Create {
        /// Name of the organization
        #[arg(value_parser = arguments::text::<Name>)]
        name: Name,
        #[command(flatten)]
        once: Once,
    },
    /// List the organizations you are a member of
    List {
        /// Include every organization (platform staff)
        #[arg(long)]
        all: bool,
        /// Filter by state
        #[arg(long, value_parser = arguments::word::<OrganizationState>())]
        state: Option<OrganizationState>,
        /// Filter by name
        #[arg(long, value_parser = arguments::text::<Name>)]
        name: Option<Name>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show an organization
    Get {
        /// ID or name of the organization [default: the active one]
        #[arg(value_name = "ORGANIZATION")]
        wanted: Option<String>,
    },
    /// Rename an organization
    Rename {
        /// ID or name of the organization
        #[arg(value_name = "ORGANIZATION")]
        wanted: String,
        /// New name
        #[arg(value_parser = arguments::text::<Name>)]
        name: Name,
    },
    /// Close an organization permanently, deleting its projects and ending their allocations
    Close {
        /// ID or name of the organization [default: the active one]
        #[arg(value_name = "ORGANIZATION")]
        wanted: Option<String>,
        #[command(flatten)]
        consent: Consent,
    },
    /// Leave an organization; its last owner cannot leave
    Leave {
        /// ID or name of the organization
        #[arg(value_name = "ORGANIZATION")]
        wanted: String,
        #[command(flatten)]
        consent: Consent,
    },
    /// Suspend an organization: stop its allocations and block new ones (platform staff)
    Suspend {
        #[command(flatten)]
        decision: Decision,
        #[command(flatten)]
        consent: Consent,
    },
    /// Lift the suspension of an organization (platform staff)
    Resume(Decision),
}

#[derive(Debug, clap::Args)]
pub struct Decision {
    /// ID or name of the organization
    #[arg(value_name = "ORGANIZATION")]
    wanted: String,
    /// Reason, recorded in the audit log
    #[arg(long, value_parser = arguments::text::<Reason>)]
    reason: Reason,
}

/// Said when somebody has a new organization.
pub const ACT_IN_IT: &str =
    "\nUse it with --organization NAME, or make it the default with `gpuaas context set --organization NAME`.";

const COLUMNS: Columns = columns!(Organization: id, name, state, role, created_at);

impl Organizations {
    pub async fn run(self, context: &Context) -> Done {
        let answer = match self {
            Organizations::Create { name, once } => {
                let answer = context.create::<CreateOrganization>(&once, Nothing {}, OrganizationSpec { name }).await?;
                context.output.item(&answer)?;
                context.output.hint(ACT_IN_IT);
                return Ok(());
            }
            Organizations::List { all, state, name, paging } => {
                let query = OrganizationFilter { state, name, limit: paging.page(), ..OrganizationFilter::default() };
                return if all {
                    context.list::<ListAllOrganizations>(Nothing {}, query, paging, COLUMNS).await
                } else {
                    context.list::<ListOrganizations>(Nothing {}, query, paging, COLUMNS).await
                };
            }
            Organizations::Get { wanted } => {
                let path = match wanted {
                    Some(wanted) => context.organization_named(&wanted).await?,
                    None => context.organization().await?,
                };
                context.ask::<GetOrganization>(path).await?
            }
            Organizations::Rename { wanted, name } => {
                let path = context.organization_named(&wanted).await?;
                context.send::<RenameOrganization>(path, OrganizationSpec { name }).await?
            }
            Organizations::Close { wanted, consent } => {
                let path = match wanted {
                    Some(wanted) => context.organization_named(&wanted).await?,
                    None => context.organization().await?,
                };
                let name = name_of(context, &path).await?;
                let ends: EndingPreview = exact::read(&context.ask::<PreviewOrganizationClosing>(path.clone()).await?)?;
                endings::show(context, &ends);
                let ending = endings::summary(&ends);
                let what =
                    format!("permanently closes the organization `{name}`, deletes its projects and ends {ending}");
                prompt::confirm(consent, &what, name.as_str()).await?;
                context.ask::<CloseOrganization>(path).await?
            }
            Organizations::Leave { wanted, consent } => {
                let path = context.organization_named(&wanted).await?;
                let name = name_of(context, &path).await?;
                prompt::confirm(consent, &format!("ends your membership in `{name}`"), name.as_str()).await?;
                let answer = context.ask::<LeaveOrganization>(path).await?;
                return context.output.done(&answer, format!("Left the organization {name}."));
            }
            Organizations::Suspend { decision: Decision { wanted, reason }, consent } => {
                let path = context.any_organization_named(&wanted).await?;
                let filter = AllAllocationsFilter {
                    organization_id: Some(path.organization_id),
                    ..AllAllocationsFilter::default()
                };
                let live = context.all::<ListAllAllocations>(Nothing {}, filter).await?;
                let stops = endings::stopped(&live);
                endings::show_stops(context, &stops);
                let ending = endings::count(&stops);
                let what = format!("suspends the organization `{wanted}`, stops {ending} and blocks new allocations");
                prompt::confirm(consent, &what, &wanted).await?;
                context.send::<SuspendOrganization>(path, Because { reason }).await?
            }
            Organizations::Resume(Decision { wanted, reason }) => {
                let path = context.any_organization_named(&wanted).await?;
                context.send::<ResumeOrganization>(path, Because { reason }).await?
            }
        };
        context.output.item(&answer)
    }
}

async fn name_of(context: &Context, path: &OrganizationPath) -> Result<Name, Failure> {
    let answer = context.ask::<GetOrganization>(path.clone()).await?;
    Ok(exact::read::<Organization>(&answer)?.name)
}
