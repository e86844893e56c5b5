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
  gpuaas ledger balance --for-organization acme
  gpuaas ledger statement --for-organization acme
  gpuaas ledger credit acme 100 --currency USD --reason welcome
  gpuaas ledger adjust acme -12.50 --currency USD --reason \"charged to the wrong account\"
  gpuaas ledger reverse acme journal-01k9z8y7x6w5v4t3s2r1q0p9n8 --reason \"entered twice\"
  gpuaas ledger prove --for-organization acme --month 2026-11
  gpuaas ledger prove --platform

`prove` recomputes every posted line from usage and price versions and compares
them to the millionth. It exits with code 1 at the first difference.";

/// Show balances and statements, and verify the books
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Ledger {
    /// Show the balance, the current spend rate and when funds run out
    Balance {
        #[command(flatten)]
        whose: OwnerArguments,
    },
    /// List journals and their effect on the wallets, newest first
    Statement {
        /// Filter by journal kind, such as usage
        #[arg(long, value_parser = arguments::text::<Label>)]
        kind: Option<Label>,
        /// Start of the time range: a timestamp, or an age such as 30d
        #[arg(long, value_parser = arguments::past)]
        since: Option<Timestamp>,
        /// End of the time range: a timestamp, or an age
        #[arg(long, value_parser = arguments::past)]
        until: Option<Timestamp>,
        #[command(flatten)]
        whose: OwnerArguments,
        #[command(flatten)]
        paging: Paging,
    },
    /// Grant promotional credit to an organization (platform staff)
    Credit(Correction),
    /// Adjust the balance of an organization up or down (platform staff)
    Adjust(Correction),
    /// Reverse a journal (platform staff)
    Reverse {
        /// ID or name of the organization
        #[arg(value_name = "ORGANIZATION")]
        holder: String,
        /// ID of the journal; see `ledger statement`
        #[arg(value_name = "JOURNAL", value_parser = arguments::text::<JournalId>)]
        journal_id: JournalId,
        /// Reason, stored in the journal
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Reason,
        #[command(flatten)]
        once: Once,
    },
    /// Verify the books against usage and prices
    ///
    /// Exits with code 1 at the first difference.
    Prove {
        /// Only journals of this month, such as 2026-11
        #[arg(long, value_parser = arguments::text::<Month>)]
        month: Option<Month>,
        /// Verify the books of every organization (platform staff)
        #[arg(long, conflicts_with = "for_organization")]
        platform: bool,
        #[command(flatten)]
        whose: OwnerArguments,
    },
}

#[derive(Debug, Args)]
pub struct Correction {
    /// ID or name of the organization
    #[arg(value_name = "ORGANIZATION")]
    holder: String,
    /// Amount, with at most six decimals
    #[arg(value_name = "AMOUNT", allow_hyphen_values = true, value_parser = arguments::signed_micros)]
    amount: i64,
    /// ISO 4217 currency code, such as USD
    #[arg(long, value_parser = arguments::text::<CurrencyCode>)]
    currency: CurrencyCode,
    /// Reason, stored in the journal
    #[arg(long, value_parser = arguments::text::<Reason>)]
    reason: Reason,
    #[command(flatten)]
    once: Once,
}

#[derive(Debug, Args)]
pub struct OwnerArguments {
    /// Act on another organization, by ID or name (platform staff)
    #[arg(long, value_name = "ORGANIZATION")]
    for_organization: Option<String>,
}

const BALANCES: Columns = columns!(Balance: currency, state, available_micros, posted_micros, accrued_micros, held_micros, burn_micros_per_hour, lasts_until);
const JOURNALS: Columns = columns!(Journal: number, kind, at, wallets, actor, reason, id);

impl Ledger {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Ledger::Balance { whose } => {
                let answer = match whose.for_organization {
                    None => context.ask::<GetBalance>(context.organization().await?).await?,
                    Some(name) => context.ask::<GetAnyBalance>(context.any_organization_named(&name).await?).await?,
                };
                if !context.output.is_for_people() {
                    return context.output.document(&answer);
                }
                context.output.list(answer["items"].as_array().cloned().unwrap_or_default(), BALANCES)
            }
            Ledger::Statement { kind, since, until, whose, paging } => {
                let query = JournalFilter { kind, since, until, cursor: None, limit: paging.page() };
                match whose.for_organization {
                    None => context.list::<ListJournals>(context.organization().await?, query, paging, JOURNALS).await,
                    Some(name) => {
                        let path = context.any_organization_named(&name).await?;
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
                let books = match whose.for_organization {
                    Some(name) => Books::Any(Some(context.any_organization_named(&name).await?.organization_id)),
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
        context.output.hint(format!("Not posted yet. A second person must run `gpuaas corrections approve {id}`."));
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
