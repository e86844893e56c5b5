//! `gpuaas audit`: who did what, and whether the log was tampered with.

use std::{fs::OpenOptions, io::Write, path::PathBuf};

use clap::{Args, Subcommand};
use client::Request;
use contract::{
    Limit, Nothing,
    audit::{AuditEntry, AuditFilter, ListAudit, ListPlatformAudit, ListSeals, Seal, SealRange},
};
use serde_json::{Value, json};

use crate::{
    arguments::Paging,
    context::Context,
    exact::Exact,
    failure::{Done, Failure},
    seal_check::{self, ExpectedRoots},
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas audit list --action project.create
  gpuaas audit list --resource proj-01k9z8y7x6w5v4t3s2r1q0p9n8 -o json

For platform staff:
  gpuaas audit list --platform --limit 20
  gpuaas audit seals --limit 5
  gpuaas audit seals --export roots.txt
  gpuaas audit verify
  gpuaas audit verify --roots-file roots.txt

Store exported roots where the platform's operators cannot change them: a root
that later goes missing proves that the log was truncated or rewritten.";

/// Inspect and verify the tamper-evident audit log
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Audit {
    /// List audit entries, newest first
    List(ListArguments),
    /// List audit log seals, oldest first (platform staff)
    Seals {
        /// Only seals after this sequence number
        #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
        after: i64,
        /// Write every root to a new file, one per line: number, root, time
        #[arg(long, value_name = "FILE")]
        export: Option<PathBuf>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Verify the audit log: recompute every seal and report tampering (platform staff)
    ///
    /// Exits with code 1 if verification fails.
    Verify {
        /// Root from an independent copy that must be in the log; repeatable
        #[arg(long = "root", value_name = "ROOT")]
        roots: Vec<String>,
        /// File written by `audit seals --export` whose roots must be in the log
        #[arg(long = "roots-file", value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub struct ListArguments {
    /// Include the whole platform (platform staff)
    #[arg(long, conflicts_with = "organization")]
    platform: bool,
    /// Filter by action, such as project.create
    #[arg(long)]
    action: Option<String>,
    /// Filter by resource ID
    #[arg(long)]
    resource: Option<String>,
    /// Filter by actor, as shown in an entry
    #[arg(long)]
    actor: Option<String>,
    /// Filter by correlation ID
    #[arg(long)]
    correlation_id: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

const COLUMNS: Columns = columns!(AuditEntry: at, action, resource, actor, outcome, id);
const SEAL_COLUMNS: Columns = columns!(Seal: number, entries, root, sealed_at, expired_at);

impl Audit {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Audit::List(arguments) => arguments.list(context).await,
            Audit::Seals { after, export: None, paging } => {
                let mut shown = seals(context, after, paging.rows() + 1).await?;
                if shown.len() > paging.rows() {
                    shown.truncate(paging.rows());
                    context
                        .output
                        .warn(format!("Showing the first {}. Use --limit or --after to see more.", paging.rows()));
                }
                context.output.list(shown, SEAL_COLUMNS)
            }
            Audit::Seals { after, export: Some(file), .. } => {
                let all = seals(context, after, usize::MAX).await?;
                write_roots(&file, &all)?;
                let answer = json!({ "file": file, "roots": all.len() });
                let text =
                    format!("Wrote {} roots to {}. Store the file outside the platform.", all.len(), file.display());
                context.output.done(&answer, text)
            }
            Audit::Verify { roots, file } => {
                let mut wanted = ExpectedRoots::new(roots);
                if let Some(file) = &file {
                    wanted.add_file(file)?;
                }
                seal_check::run(context, wanted).await
            }
        }
    }
}

impl ListArguments {
    async fn list(self, context: &Context) -> Done {
        let paging = self.paging;
        let query = AuditFilter {
            action: self.action,
            resource: self.resource,
            actor: self.actor,
            correlation_id: self.correlation_id,
            cursor: None,
            limit: paging.page(),
        };
        if self.platform {
            return context.list::<ListPlatformAudit>(Nothing {}, query, paging, COLUMNS).await;
        }
        context.list::<ListAudit>(context.organization().await?, query, paging, COLUMNS).await
    }
}

/// Seals after a number, at least `most` of them or all there are.
async fn seals(context: &Context, after: i64, most: usize) -> Result<Vec<Value>, Failure> {
    let mut all = Vec::new();
    let mut after = after;
    while all.len() < most {
        let range = SealRange { after, limit: Limit::new(Limit::MAX).unwrap_or_default() };
        let request = Request::<Exact<ListSeals>>::new(Nothing {}, range, Nothing {});
        let mut page = context.send_request(&request).await?;
        if let Value::Array(items) = page["items"].take() {
            all.extend(items);
        }
        match page["next_after"].as_i64() {
            Some(next) if next > after => after = next,
            _ => break,
        }
    }
    Ok(all)
}

/// Never over an older export: that one may be the evidence.
fn write_roots(path: &PathBuf, seals: &[Value]) -> Done {
    let text_of = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let line = |it: &Value| format!("{} {} {}\n", it["number"], text_of(&it["root"]), text_of(&it["sealed_at"]));
    let lines: String = seals.iter().map(line).collect();
    let write = || OpenOptions::new().create_new(true).write(true).open(path)?.write_all(lines.as_bytes());
    write().map_err(|error: std::io::Error| {
        Failure::usage(format!("cannot write {}: {error}", path.display()), "Choose a file that does not exist.")
    })
}
