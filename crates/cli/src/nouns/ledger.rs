//! `gpuaas ledger`: what an organization has and was charged, and the proof of it.

use clap::{Args, Subcommand};
use contract::{
    Label, Reason, Timestamp,
    corrections::{AdjustBalance, CorrectionSpec, GrantCredit, JournalPath, ReverseJournal},
    id::JournalId,
    ledger::{Balance, GetAnyBalance, GetBalance, Journal, JournalFilter, ListAnyJournals, ListJournals, Month},
    organizations::{Because, OrganizationPath},
    prices::CurrencyCode,
};

use crate::{
    arguments::{self, Once, Paging},
    context::Context,
    failure::{Done, Failure},
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
  gpuaas ledger credit acme 100 --currency USD --reason welcome
  gpuaas ledger adjust acme -12.50 --currency USD --reason \"charged to the wrong account\"
  gpuaas ledger reverse acme journal-01k9z8y7x6w5v4t3s2r1q0p9n8 --reason \"entered twice\"
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
    /// Give an organization promotional credit (platform staff)
    Credit(Correction),
    /// Correct what an organization has, up or down (platform staff)
    Adjust(Correction),
    /// Take a journal back by its opposite (platform staff)
    Reverse {
        /// Id or name of the organization
        #[arg(value_name = "ORGANIZATION")]
        holder: String,
        /// Id of the journal, as `statement` shows it
        #[arg(value_name = "JOURNAL", value_parser = arguments::text::<JournalId>)]
        journal_id: JournalId,
        /// Why; it is part of the journal
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Reason,
        #[command(flatten)]
        once: Once,
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
pub struct Correction {
    /// Id or name of the organization
    #[arg(value_name = "ORGANIZATION")]
    holder: String,
    /// With at most six decimals
    #[arg(value_name = "AMOUNT", allow_hyphen_values = true, value_parser = arguments::signed_micros)]
    amount: i64,
    /// Three capital letters, like USD
    #[arg(long, value_parser = arguments::text::<CurrencyCode>)]
    currency: CurrencyCode,
    /// Why; it is part of the journal
    #[arg(long, value_parser = arguments::text::<Reason>)]
    reason: Reason,
    #[command(flatten)]
    once: Once,
}

#[derive(Debug, Args)]
pub struct Whose {
    /// Another organization, by id or name (platform staff)
    #[arg(long, value_name = "ORGANIZATION")]
    of: Option<String>,
}

const BALANCES: Columns = columns!(Balance: currency, state, available_micros, posted_micros, accrued_micros, held_micros, burn_micros_per_hour, lasts_until);
const JOURNALS: Columns = columns!(Journal: number, kind, at, wallets, actor, reason, id);

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
            Ledger::Credit(it) => {
                let (path, spec) = it.spec(context).await?;
                corrected(context, &context.create::<GrantCredit>(&it.once, path, spec).await?)
            }
            Ledger::Adjust(it) => {
                let (path, spec) = it.spec(context).await?;
                corrected(context, &context.create::<AdjustBalance>(&it.once, path, spec).await?)
            }
            Ledger::Reverse { holder, journal_id, reason, once } => {
                let organization_id = context.any_organization_named(&holder).await?.organization_id;
                let path = JournalPath { organization_id, journal_id };
                corrected(context, &context.create::<ReverseJournal>(&once, path, Because { reason }).await?)
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

/// Shows what was corrected, or what has to happen before it is.
fn corrected(context: &Context, answer: &serde_json::Value) -> Done {
    context.output.item(answer)?;
    if answer["state"] == "proposed" {
        let id = answer["id"].as_str().unwrap_or_default();
        context.output.hint(format!("Not posted yet: another member of staff runs `gpuaas corrections approve {id}`."));
    }
    Ok(())
}

impl Correction {
    async fn spec(&self, context: &Context) -> Result<(OrganizationPath, CorrectionSpec), Failure> {
        let path = context.any_organization_named(&self.holder).await?;
        let (currency, reason) = (self.currency.clone(), self.reason.clone());
        Ok((path, CorrectionSpec { currency, amount_micros: self.amount, reason }))
    }
}
