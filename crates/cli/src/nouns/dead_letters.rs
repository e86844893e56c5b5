//! `gpuaas dead-letters`: events that a consumer kept failing on.

use clap::Subcommand;
use contract::{
    Nothing, Reason,
    dead_letters::{
        DeadLetter, DeadLetterFilter, DeadLetterPath, DeadLetterState, DiscardDeadLetter, GetDeadLetter,
        ListDeadLetters, ReplayDeadLetter,
    },
    id::DeadLetterId,
    organizations::Because,
};

use crate::{
    arguments::{self, Consent, Paging},
    context::Context,
    failure::Done,
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas dead-letters list --state exhausted
  gpuaas dead-letters show dead-01k9z8y7x6w5v4t3s2r1q0p9n8
  gpuaas dead-letters replay dead-01k9z8y7x6w5v4t3s2r1q0p9n8
  gpuaas dead-letters discard dead-01k9z8y7x6w5v4t3s2r1q0p9n8 --reason \"superseded\" --yes";

/// Manage dead letters: events that a consumer repeatedly failed to process (platform staff)
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum DeadLetters {
    /// List dead letters
    List {
        /// Filter by state
        #[arg(long, value_parser = arguments::word::<DeadLetterState>())]
        state: Option<DeadLetterState>,
        /// Filter by consumer
        #[arg(long)]
        consumer: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a dead letter and its message
    Show {
        /// ID of the dead letter
        #[arg(value_name = "ID")]
        letter: DeadLetterId,
    },
    /// Deliver a dead letter again
    Replay {
        /// ID of the dead letter
        #[arg(value_name = "ID")]
        letter: DeadLetterId,
    },
    /// Discard a dead letter
    Discard {
        /// ID of the dead letter
        #[arg(value_name = "ID")]
        letter: DeadLetterId,
        /// Reason, recorded in the audit log
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Reason,
        #[command(flatten)]
        consent: Consent,
    },
}

const COLUMNS: Columns = columns!(DeadLetter: id, consumer, subject, state, attempts, created_at, redeliver_at, error);

impl DeadLetters {
    pub async fn run(self, context: &Context) -> Done {
        let answer = match self {
            DeadLetters::List { state, consumer, paging } => {
                let query = DeadLetterFilter { state, consumer, limit: paging.page(), ..DeadLetterFilter::default() };
                return context.list::<ListDeadLetters>(Nothing {}, query, paging, COLUMNS).await;
            }
            DeadLetters::Show { letter } => context.ask::<GetDeadLetter>(path(letter)).await?,
            DeadLetters::Replay { letter } => context.ask::<ReplayDeadLetter>(path(letter)).await?,
            DeadLetters::Discard { letter, reason, consent } => {
                let id = letter.to_string();
                prompt::confirm(consent, &format!("discards {id}: its consumer will never process the event"), &id)
                    .await?;
                context.send::<DiscardDeadLetter>(path(letter), Because { reason }).await?
            }
        };
        context.output.item(&answer)
    }
}

fn path(dead_letter_id: DeadLetterId) -> DeadLetterPath {
    DeadLetterPath { dead_letter_id }
}
