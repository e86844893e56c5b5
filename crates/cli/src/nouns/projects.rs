//! `gpuaas projects`: what an organization groups its work under.

use clap::Subcommand;
use contract::{
    Name,
    projects::{
        CreateProject, DeleteProject, EndingPreview, GetProject, ListProjects, PreviewProjectDeletion, Project,
        ProjectFilter, ProjectSpec, ProjectState, RenameProject,
    },
};

use crate::{
    arguments::{self, Consent, Once, Paging},
    context::Context,
    endings, exact,
    failure::Done,
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas projects create training
  gpuaas projects list --state active
  gpuaas projects get training
  gpuaas projects rename training \"training 2\"
  gpuaas projects delete training --yes
  gpuaas projects create nightly --idempotency-key run-42 --quiet";

/// Manage projects of an organization
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Projects {
    /// Create a project
    Create {
        /// Name of the project
        #[arg(value_parser = arguments::text::<Name>)]
        name: Name,
        #[command(flatten)]
        once: Once,
    },
    /// List the projects of the organization
    List {
        /// Filter by state
        #[arg(long, value_parser = arguments::word::<ProjectState>())]
        state: Option<ProjectState>,
        /// Filter by name
        #[arg(long, value_parser = arguments::text::<Name>)]
        name: Option<Name>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a project
    Get {
        /// ID or name of the project [default: the active one]
        #[arg(value_name = "PROJECT")]
        wanted: Option<String>,
    },
    /// Rename a project
    Rename {
        /// ID or name of the project
        #[arg(value_name = "PROJECT")]
        wanted: String,
        /// New name
        #[arg(value_parser = arguments::text::<Name>)]
        name: Name,
    },
    /// Delete a project and end everything in it, after listing what that affects
    Delete {
        /// ID or name of the project
        #[arg(value_name = "PROJECT")]
        wanted: String,
        #[command(flatten)]
        consent: Consent,
    },
}

const COLUMNS: Columns = columns!(Project: id, name, state, created_at);

impl Projects {
    pub async fn run(self, context: &Context) -> Done {
        let answer = match self {
            Projects::Create { name, once } => {
                let path = context.organization().await?;
                context.create::<CreateProject>(&once, path, ProjectSpec { name }).await?
            }
            Projects::List { state, name, paging } => {
                let path = context.organization().await?;
                let query = ProjectFilter { state, name, limit: paging.page(), ..ProjectFilter::default() };
                return context.list::<ListProjects>(path, query, paging, COLUMNS).await;
            }
            Projects::Get { wanted } => {
                let path = match wanted {
                    Some(wanted) => context.project_named(&wanted).await?,
                    None => context.project().await?,
                };
                context.ask::<GetProject>(path).await?
            }
            Projects::Rename { wanted, name } => {
                let path = context.project_named(&wanted).await?;
                context.send::<RenameProject>(path, ProjectSpec { name }).await?
            }
            Projects::Delete { wanted, consent } => {
                let path = context.project_named(&wanted).await?;
                let project: Project = exact::read(&context.ask::<GetProject>(path.clone()).await?)?;
                let ends: EndingPreview = exact::read(&context.ask::<PreviewProjectDeletion>(path.clone()).await?)?;
                endings::show(context, &ends);
                let what = format!("deletes the project `{}` and ends {}", project.name, endings::summary(&ends));
                prompt::confirm(consent, &what, project.name.as_str()).await?;
                context.ask::<DeleteProject>(path).await?
            }
        };
        context.output.item(&answer)
    }
}
