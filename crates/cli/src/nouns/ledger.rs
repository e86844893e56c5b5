//! `gpuaas ledger`: what an organization has and was charged, and the proof of it.

use clap::{Args, Subcommand};
use contract::{
    Label, Timestamp,
    ledger::{Balance, GetAnyBalance, GetBalance, Journal, JournalFilter, ListAnyJournals, ListJournals, Month},
};

use crate::{
    arguments::{self, Paging},
    context::Context,
    failure::Done,
    proof::{self, Books},
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas ledger balance
  gpuaas ledger statement --since 30d
  gpuaas ledger statement --kind usage -o json
  gpuaas ledger prove
  gpuaas ledger prove --month 2026-11

For platform staff:
  gpuaas ledger balance --of acme
  gpuaas ledger statement --of acme
  gpuaas ledger prove --of acme --month 2026-11
  gpuaas ledger prove --platform

A proof folds usage and price versions again and compares them with every line
that was posted, to the millionth. Exit code 1 at the first difference.";

/// Ledger: what the organization has, what it was charged, and the proof of it
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Ledger {
    /// Show what the organization has, what runs now costs, and until when it lasts
    Balance {
        #[command(flatten)]
        whose: Whose,
    },
    /// List journals and what each did to the wallets, newest first
    Statement {
        /// Only journals of this kind, like usage
        #[arg(long, value_parser = arguments::text::<Label>)]
        kind: Option<Label>,
        /// From when on: a time, or how long ago like 30d
        #[arg(long, value_parser = arguments::past)]
        since: Option<Timestamp>,
        /// Until when: a time, or how long ago
        #[arg(long, value_parser = arguments::past)]
        until: Option<Timestamp>,
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        paging: Paging,
    },
    /// Prove the books from usage and prices
    ///
    /// Exit code 1 at the first difference.
    Prove {
        /// Only journals of this month, like 2026-11
        #[arg(long, value_parser = arguments::text::<Month>)]
        month: Option<Month>,
        /// Everybody's books (platform staff)
        #[arg(long, conflicts_with = "of")]
        platform: bool,
        #[command(flatten)]
        whose: Whose,
    },
}

#[derive(Debug, Args)]
pub struct Whose {
    /// Another organization, by id or name (platform staff)
    #[arg(long, value_name = "ORGANIZATION")]
    of: Option<String>,
}

const BALANCES: Columns =
    columns!(Balance: currency, available_micros, posted_micros, accrued_micros, burn_micros_per_hour, lasts_until);
const JOURNALS: Columns = columns!(Journal: number, kind, at, wallets, actor, reason);

impl Ledger {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Ledger::Balance { whose } => {
                let answer = match whose.of {
                    None => context.ask::<GetBalance>(context.organization().await?).await?,
                    Some(of) => context.ask::<GetAnyBalance>(context.any_organization_named(&of).await?).await?,
                };
                if !context.output.is_for_people() {
                    return context.output.document(&answer);
                }
                context.output.list(answer["items"].as_array().cloned().unwrap_or_default(), BALANCES)
            }
            Ledger::Statement { kind, since, until, whose, paging } => {
                let query = JournalFilter { kind, since, until, cursor: None, limit: paging.page() };
                match whose.of {
                    None => context.list::<ListJournals>(context.organization().await?, query, paging, JOURNALS).await,
                    Some(of) => {
                        let path = context.any_organization_named(&of).await?;
                        context.list::<ListAnyJournals>(path, query, paging, JOURNALS).await
                    }
                }
            }
            Ledger::Prove { month, platform, whose } => {
                let books = match whose.of {
                    Some(of) => Books::Any(Some(context.any_organization_named(&of).await?.organization_id)),
                    None if platform => Books::Any(None),
                    None => Books::Own(context.organization().await?),
                };
                proof::run(context, books, month).await
            }
        }
    }
}
