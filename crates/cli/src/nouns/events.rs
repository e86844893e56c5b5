//! `gpuaas events`: what happened in an organization or on the platform, read back or watched.

use clap::Subcommand;
use contract::{
    Nothing,
    events::{EventFilter, ListEvents, ListPlatformEvents, PlatformEventFilter, RecordedEvent, WatchFilter},
};

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
  gpuaas events watch --subject project.deleted --count 1

For platform staff:
  gpuaas events list --platform --resource node-01k9z8y7x6w5v4t3s2r1q0p9n8
  gpuaas events watch --platform --subject node.";

/// List and watch events
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Events {
    /// List events, newest first
    List {
        /// Filter by subject prefix, such as project.
        #[arg(long)]
        subject: Option<String>,
        /// Filter by resource ID
        #[arg(long)]
        resource: Option<String>,
        /// Include the whole platform (platform staff)
        #[arg(long)]
        platform: bool,
        #[command(flatten)]
        paging: Paging,
    },
    /// Stream events until Ctrl-C; -o json prints one object per line
    ///
    /// After a lost connection, it reconnects and prints the events that were missed.
    Watch {
        /// Filter by subject prefix, such as project.
        #[arg(long)]
        subject: Option<String>,
        /// Exit after this many events
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
        count: Option<u64>,
        /// Include the whole platform (platform staff)
        #[arg(long)]
        platform: bool,
    },
}

const COLUMNS: Columns = columns!(RecordedEvent: id, at, subject, resource, correlation_id);

impl Events {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Events::List { subject, resource, platform: true, paging } => {
                let limit = paging.page();
                let query = PlatformEventFilter { subject, resource, limit, ..PlatformEventFilter::default() };
                context.list::<ListPlatformEvents>(Nothing {}, query, paging, COLUMNS).await
            }
            Events::List { subject, resource, platform: false, paging } => {
                let path = context.organization().await?;
                let query = EventFilter { subject, resource, limit: paging.page(), ..EventFilter::default() };
                context.list::<ListEvents>(path, query, paging, COLUMNS).await
            }
            Events::Watch { subject, count, platform } => {
                let filter = WatchFilter { subject, after: None };
                if platform {
                    return watch::run(context, watch::Platform, filter, count).await;
                }
                watch::run(context, context.organization().await?, filter, count).await
            }
        }
    }
}
