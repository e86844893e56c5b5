//! `gpuaas work`: what the reconcilers are busy with or stuck on.

use clap::Subcommand;
use contract::{
    Id, Nothing,
    id::{Kind, Resource},
    work::{ListWork, RetryWork, WorkFilter, WorkItem, WorkPath},
};
use uuid::Uuid;

use crate::{
    arguments::Paging,
    context::Context,
    failure::Done,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas work list
  gpuaas work list --stuck --kind project
  gpuaas work retry project proj-01k9z8y7x6w5v4t3s2r1q0p9n8";

/// Inspect the work queue of the platform (platform staff)
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Work {
    /// List queued work, stuck items first
    List {
        /// Filter by kind of work
        #[arg(long)]
        kind: Option<String>,
        /// Only stuck items, which need an operator
        #[arg(long)]
        stuck: bool,
        #[command(flatten)]
        paging: Paging,
    },
    /// Retry a stuck item now
    Retry {
        /// Kind of work; see `work list`
        kind: String,
        /// ID of the item in `work list`, or of its resource
        #[arg(value_parser = any_id)]
        id: Uuid,
    },
}

/// Work is stored under bare ids; people have those with a prefix.
fn any_id(text: &str) -> Result<Uuid, String> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let digits = text.split_once('-').map(|(_, digits)| digits).unwrap_or_default();
    let id: Result<Id<Resource>, _> = format!("{}-{digits}", Resource::PREFIX).parse();
    id.map(Id::uuid).map_err(|_| "expected an ID from `gpuaas work list` or the ID of a resource".to_owned())
}

const COLUMNS: Columns = columns!(WorkItem: kind, id, due_at, attempts, needs_attention, last_error);

impl Work {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Work::List { kind, stuck, paging } => {
                let needs_attention = stuck.then_some(true);
                let query = WorkFilter { kind, needs_attention, limit: paging.page(), ..WorkFilter::default() };
                context.list::<ListWork>(Nothing {}, query, paging, COLUMNS).await
            }
            Work::Retry { kind, id } => {
                let answer = context.ask::<RetryWork>(WorkPath { kind, id }).await?;
                context.output.item(&answer)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use contract::id::ProjectId;

    use super::*;

    #[test]
    fn work_is_found_by_its_resource_id() {
        let id = ProjectId::generate();
        assert_eq!(any_id(&id.to_string()).unwrap(), id.uuid());
        assert_eq!(any_id(&id.uuid().to_string()).unwrap(), id.uuid());
        assert!(any_id("proj-1").is_err() && any_id("").is_err());
    }
}
