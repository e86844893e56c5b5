//! `gpuaas corrections`: what staff changed in the books by hand, and who agreed.

use clap::Subcommand;
use contract::{
    Nothing, Reason,
    corrections::{
        ApproveCorrection, Correction, CorrectionFilter, CorrectionPath, CorrectionState, GetCorrection,
        ListCorrections, RejectCorrection,
    },
    id::CorrectionId,
    organizations::Because,
};

use crate::{
    arguments::{self, Paging},
    context::Context,
    failure::Done,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas corrections list --state proposed
  gpuaas corrections approve correction-01k9z8y7x6w5v4t3s2r1q0p9n8
  gpuaas corrections reject correction-01k9z8y7x6w5v4t3s2r1q0p9n8 --reason \"wrong customer\"

`gpuaas ledger credit`, `adjust` and `reverse` create corrections. While the policy
billing.four_eyes is on, each one needs approval by a second person, as do
`gpuaas payments refund`, `gpuaas prices set` and turning that policy off.";

/// Review ledger corrections and other changes that need a second person (platform staff)
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Corrections {
    /// List corrections, newest first
    List {
        /// Filter by state
        #[arg(long, value_parser = arguments::word::<CorrectionState>())]
        state: Option<CorrectionState>,
        /// Filter by organization, by ID or name
        #[arg(long, value_name = "ORGANIZATION")]
        for_organization: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a correction and its result
    Get {
        /// ID of the correction
        #[arg(value_name = "ID")]
        correction: CorrectionId,
    },
    /// Approve a correction proposed by someone else
    Approve {
        /// ID of the correction
        #[arg(value_name = "ID")]
        correction: CorrectionId,
    },
    /// Reject a correction, or withdraw your own
    Reject {
        /// ID of the correction
        #[arg(value_name = "ID")]
        correction: CorrectionId,
        /// Reason, stored with the correction
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Reason,
    },
}

const COLUMNS: Columns = columns!(Correction: id, organization_id, kind, state, amount_micros, currency, reverses, summary, proposed_by, reason);

impl Corrections {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Corrections::List { state, for_organization, paging } => {
                let organization_id = match for_organization {
                    Some(name) => Some(context.any_organization_named(&name).await?.organization_id),
                    None => None,
                };
                let query = CorrectionFilter { state, organization_id, cursor: None, limit: paging.page() };
                context.list::<ListCorrections>(Nothing {}, query, paging, COLUMNS).await
            }
            Corrections::Get { correction } => {
                context.output.item(&context.ask::<GetCorrection>(CorrectionPath { correction_id: correction }).await?)
            }
            Corrections::Approve { correction } => {
                let path = CorrectionPath { correction_id: correction };
                context.output.item(&context.send::<ApproveCorrection>(path, Nothing {}).await?)
            }
            Corrections::Reject { correction, reason } => {
                let path = CorrectionPath { correction_id: correction };
                context.output.item(&context.send::<RejectCorrection>(path, Because { reason }).await?)
            }
        }
    }
}
