//! `gpuaas maintenance-windows`: when nodes are out of service by plan.

use clap::Subcommand;
use contract::{
    Nothing, Reason, Timestamp,
    id::MaintenanceWindowId,
    maintenance_windows::{
        AnnouncedWindow, AnnouncedWindowFilter, CancelMaintenanceWindow, CreateMaintenanceWindow, ListAnnouncedWindows,
        ListMaintenanceWindows, MaintenanceWindow, MaintenanceWindowFilter, MaintenanceWindowPath,
        MaintenanceWindowSpec, MaintenanceWindowState,
    },
    organizations::Because,
};

use crate::{
    arguments::{self, Once, Paging},
    context::Context,
    failure::Done,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas maintenance-windows list

For platform staff:
  gpuaas maintenance-windows list --all --state planned
  gpuaas maintenance-windows create --node gpu-01 --starts 2d --ends 50h --reason \"new driver\"
  gpuaas maintenance-windows create --pool hosts --starts 2026-12-24T08:00:00Z --ends 2026-12-24T12:00:00Z --reason \"power\"
  gpuaas maintenance-windows cancel maint-01k9z8y7x6w5v4t3s2r1q0p9n8 --reason \"not needed\"";

/// Manage maintenance windows: planned downtime of nodes
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum MaintenanceWindows {
    /// List maintenance windows that affect the organization
    List {
        /// Filter by state
        #[arg(long, value_parser = arguments::word::<MaintenanceWindowState>())]
        state: Option<MaintenanceWindowState>,
        /// Include the whole platform (platform staff)
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        paging: Paging,
    },
    /// Schedule a maintenance window for a node or a pool (platform staff)
    Create {
        /// Node to take out of service, by ID or name
        #[arg(long, required_unless_present = "pool", conflicts_with = "pool")]
        node: Option<String>,
        /// Pool to take out of service, by ID or name
        #[arg(long)]
        pool: Option<String>,
        /// Start: a timestamp, or a duration from now such as 2d; allocations there are released at this time
        #[arg(long, value_parser = arguments::moment)]
        starts: Timestamp,
        /// End: a timestamp, or a duration from now
        #[arg(long, value_parser = arguments::moment)]
        ends: Timestamp,
        /// Reason, sent to the affected projects
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Reason,
        #[command(flatten)]
        once: Once,
    },
    /// Cancel a maintenance window and return drained nodes to service (platform staff)
    Cancel {
        /// ID of the maintenance window
        #[arg(value_name = "WINDOW")]
        id: MaintenanceWindowId,
        /// Reason, recorded in the audit log
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Reason,
    },
}

const ALL: Columns = columns!(MaintenanceWindow: id, state, node_id, pool_id, starts_at, ends_at, reason);
const ANNOUNCED: Columns = columns!(AnnouncedWindow: id, state, starts_at, ends_at, project_ids, reason);

impl MaintenanceWindows {
    pub async fn run(self, context: &Context) -> Done {
        let answer = match self {
            MaintenanceWindows::List { state, all: true, paging } => {
                let query = MaintenanceWindowFilter { state, limit: paging.page(), ..Default::default() };
                return context.list::<ListMaintenanceWindows>(Nothing {}, query, paging, ALL).await;
            }
            MaintenanceWindows::List { state, all: false, paging } => {
                let query = AnnouncedWindowFilter { state, limit: paging.page(), ..Default::default() };
                let path = context.organization().await?;
                return context.list::<ListAnnouncedWindows>(path, query, paging, ANNOUNCED).await;
            }
            MaintenanceWindows::Create { node, pool, starts, ends, reason, once } => {
                let node_id = match node {
                    Some(text) => Some(context.node_named(&text).await?.node_id),
                    None => None,
                };
                let pool_id = match pool {
                    Some(text) => Some(context.pool_named(&text).await?.pool_id),
                    None => None,
                };
                let spec = MaintenanceWindowSpec { node_id, pool_id, starts_at: starts, ends_at: ends, reason };
                context.create::<CreateMaintenanceWindow>(&once, Nothing {}, spec).await?
            }
            MaintenanceWindows::Cancel { id, reason } => {
                let path = MaintenanceWindowPath { maintenance_window_id: id };
                context.send::<CancelMaintenanceWindow>(path, Because { reason }).await?
            }
        };
        context.output.item(&answer)
    }
}
