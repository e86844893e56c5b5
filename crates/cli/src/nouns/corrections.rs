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
  gpuaas corrections reject correction-01k9z8y7x6w5v4t3s2r1q0p9n8 --reason \"that was another customer\"

`gpuaas ledger credit`, `adjust` and `reverse` make them. With the policy
billing.four_eyes each one waits for somebody else than who proposed it, and so
do `gpuaas payments refund`, `gpuaas prices set` and switching that policy off.";

/// Corrections, and what else waits for a second person (platform staff)
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Corrections {
    /// List corrections, newest first
    List {
        /// Only those in this state
        #[arg(long, value_parser = arguments::word::<CorrectionState>())]
        state: Option<CorrectionState>,
        /// Only those of this organization, by id or name
        #[arg(long, value_name = "ORGANIZATION")]
        of: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a correction and what it came to
    Get {
        /// Id of the correction
        #[arg(value_name = "ID")]
        correction: CorrectionId,
    },
    /// Agree to what somebody else proposed: it is posted, or done
    Approve {
        /// Id of the correction
        #[arg(value_name = "ID")]
        correction: CorrectionId,
    },
    /// Turn a correction down, or take back your own
    Reject {
        /// Id of the correction
        #[arg(value_name = "ID")]
        correction: CorrectionId,
        /// Why; it is kept with the correction
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Reason,
    },
}

const COLUMNS: Columns = columns!(Correction: id, organization_id, kind, state, amount_micros, currency, reverses, summary, proposed_by, reason);

impl Corrections {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Corrections::List { state, of, paging } => {
                let organization_id = match of {
                    Some(of) => Some(context.any_organization_named(&of).await?.organization_id),
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
