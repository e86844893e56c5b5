//! `gpuaas invoices`: what months came to, as issued.

use std::{fs::OpenOptions, io::Write, path::PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use contract::{
    Nothing, Raw,
    id::InvoiceId,
    invoices::{
        AllInvoicesFilter, AnyInvoicePath, DownloadAnyInvoiceCsv, DownloadAnyInvoicePdf, DownloadInvoiceCsv,
        DownloadInvoicePdf, GetAnyInvoice, GetInvoice, InvoiceFilter, InvoicePath, InvoiceSummary, ListAllInvoices,
        ListInvoices,
    },
    ledger::Month,
};

use crate::{
    arguments::{self, Paging},
    context::Context,
    failure::{Done, Failure},
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas invoices list
  gpuaas invoices list --month 2026-11 -o json
  gpuaas invoices get invoice-01k9z8y7x6w5v4t3s2r1q0p9n8
  gpuaas invoices download invoice-01k9z8y7x6w5v4t3s2r1q0p9n8
  gpuaas invoices download invoice-01k9z8y7x6w5v4t3s2r1q0p9n8 --format csv --output-file - | column -s, -t

For platform staff:
  gpuaas invoices list --platform
  gpuaas invoices list --for-organization acme
  gpuaas invoices download --platform invoice-01k9z8y7x6w5v4t3s2r1q0p9n8

A month is invoiced after it ends (UTC) and all of its usage has been posted.";

/// List, show and download invoices
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Invoices {
    /// List invoices and credit notes, newest first
    List {
        /// Filter by month, such as 2026-11
        #[arg(long, value_parser = arguments::text::<Month>)]
        month: Option<Month>,
        /// Act on another organization, by ID or name (platform staff)
        #[arg(long, value_name = "ORGANIZATION", conflicts_with = "platform")]
        for_organization: Option<String>,
        /// Include every organization (platform staff)
        #[arg(long)]
        platform: bool,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show an invoice and its lines
    Get {
        #[command(flatten)]
        which: InvoiceArguments,
    },
    /// Download an invoice as a file
    Download {
        #[command(flatten)]
        which: InvoiceArguments,
        /// File format
        #[arg(long, default_value = "pdf")]
        format: FileFormat,
        /// File to write, or - for standard output [default: named after the invoice]
        #[arg(long, value_name = "FILE")]
        output_file: Option<PathBuf>,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum FileFormat {
    /// The invoice as issued
    Pdf,
    /// Invoice lines, for spreadsheets
    Csv,
}

#[derive(Debug, Args)]
pub struct InvoiceArguments {
    /// ID of the invoice
    #[arg(value_name = "INVOICE", value_parser = arguments::text::<InvoiceId>)]
    invoice_id: InvoiceId,
    /// Access an invoice of any organization (platform staff)
    #[arg(long)]
    platform: bool,
}

const COLUMNS: Columns =
    columns!(InvoiceSummary: number, kind, month, total_micros, due_micros, currency, issued_at, id);

impl Invoices {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Invoices::List { month, for_organization: None, platform: false, paging } => {
                let query = InvoiceFilter { month, cursor: None, limit: paging.page() };
                context.list::<ListInvoices>(context.organization().await?, query, paging, COLUMNS).await
            }
            Invoices::List { month, for_organization, paging, .. } => {
                let organization_id = match for_organization {
                    Some(name) => Some(context.any_organization_named(&name).await?.organization_id),
                    None => None,
                };
                let query = AllInvoicesFilter { organization_id, month, cursor: None, limit: paging.page() };
                context.list::<ListAllInvoices>(Nothing {}, query, paging, COLUMNS).await
            }
            Invoices::Get { which } => {
                let answer = if which.platform {
                    context.ask::<GetAnyInvoice>(which.any()).await?
                } else {
                    context.ask::<GetInvoice>(which.own(context).await?).await?
                };
                context.output.item(&answer)
            }
            Invoices::Download { which, format, output_file } => {
                let document = which.download(context, format).await?;
                save(context, document, output_file)
            }
        }
    }
}

impl InvoiceArguments {
    fn any(&self) -> AnyInvoicePath {
        AnyInvoicePath { invoice_id: self.invoice_id }
    }

    async fn own(&self, context: &Context) -> Result<InvoicePath, Failure> {
        let organization_id = context.organization().await?.organization_id;
        Ok(InvoicePath { organization_id, invoice_id: self.invoice_id })
    }

    async fn download(&self, context: &Context, format: FileFormat) -> Result<Raw, Failure> {
        match (format, self.platform) {
            (FileFormat::Pdf, true) => context.download::<DownloadAnyInvoicePdf>(self.any()).await,
            (FileFormat::Csv, true) => context.download::<DownloadAnyInvoiceCsv>(self.any()).await,
            (FileFormat::Pdf, false) => context.download::<DownloadInvoicePdf>(self.own(context).await?).await,
            (FileFormat::Csv, false) => context.download::<DownloadInvoiceCsv>(self.own(context).await?).await,
        }
    }
}

fn save(context: &Context, document: Raw, to: Option<PathBuf>) -> Done {
    let path = match to {
        Some(path) if path.as_os_str() == "-" => return context.output.bytes(&document.bytes),
        Some(path) => path,
        None if document.file_name.is_empty() => {
            return Err(Failure::usage("the server did not send a file name", "Choose one with --output-file."));
        }
        None => PathBuf::from(&document.file_name),
    };
    let written =
        OpenOptions::new().write(true).create_new(true).open(&path).and_then(|mut it| it.write_all(&document.bytes));
    if let Err(error) = written {
        let advice = "Choose another file with --output-file.";
        return Err(Failure::usage(format!("cannot write {}: {error}", path.display()), advice));
    }
    context.output.line(path.display().to_string())
}
