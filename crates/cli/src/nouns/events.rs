//! `gpuaas events`: what happened in an organization, read back or watched.

use clap::Subcommand;
use contract::events::{EventFilter, ListEvents, RecordedEvent, WatchFilter};

use crate::{
    arguments::Paging,
    context::Context,
    failure::Done,
    table::{Columns, columns},
    watch,
};

const EXAMPLES: &str = "\
Examples:
  gpuaas events list --limit 20
  gpuaas events list --subject project.
  gpuaas events watch
  gpuaas events watch --subject project. -o json | jq .data
  gpuaas events watch --subject project.deleted --count 1";

/// Events: what happened in an organization
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Events {
    /// List events, newest first
    List {
        /// Only subjects that start so, like project.
        #[arg(long)]
        subject: Option<String>,
        /// Only events of this resource, by id
        #[arg(long)]
        resource: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Print events as they happen, until Ctrl-C; with -o json one object per line
    ///
    /// A lost connection is made again, and what was missed meanwhile is read back.
    Watch {
        /// Only subjects that start so, like project.
        #[arg(long)]
        subject: Option<String>,
        /// Stop after so many events
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
        count: Option<u64>,
    },
}

const COLUMNS: Columns = columns!(RecordedEvent: id, at, subject, resource, correlation_id);

impl Events {
    pub async fn run(self, context: &Context) -> Done {
        let path = context.organization().await?;
        match self {
            Events::List { subject, resource, paging } => {
                let query = EventFilter { subject, resource, limit: paging.page(), ..EventFilter::default() };
                context.list::<ListEvents>(path, query, paging, COLUMNS).await
            }
            Events::Watch { subject, count } => watch::run(context, path, WatchFilter { subject }, count).await,
        }
    }
}
