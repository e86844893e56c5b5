//! Invoices: what a month came to, numbered without gaps and never changed.
//! What turns out wrong later is corrected by a credit note with its own number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Label, Open, Page, Raw, Timestamp,
    billing_profiles::{Party, Tax},
    endpoint, event,
    id::{InvoiceId, OrganizationId, ProjectId, SkuId},
    ledger::Month,
    list_query,
    organizations::OrganizationPath,
    prices::{CurrencyCode, PriceKind, PriceUnit},
    words,
};

endpoint! {
    /// List the organization's invoices and credit notes, newest first.
    ListInvoices = GET "/v1/organizations/{organization_id}/invoices" {
        path: OrganizationPath,
        query: InvoiceFilter,
        returns: 200 Page<InvoiceSummary>,
        auth: Organization(LedgerRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Read one invoice with its lines.
    GetInvoice = GET "/v1/organizations/{organization_id}/invoices/{invoice_id}" {
        path: InvoicePath,
        returns: 200 Invoice,
        auth: Organization(LedgerRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Download one invoice as it was issued, for people.
    DownloadInvoicePdf = GET "/v1/organizations/{organization_id}/invoices/{invoice_id}/pdf" {
        path: InvoicePath,
        returns: 200 Raw as "application/pdf",
        auth: Organization(LedgerRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Download the lines of one invoice as a table.
    DownloadInvoiceCsv = GET "/v1/organizations/{organization_id}/invoices/{invoice_id}/csv" {
        path: InvoicePath,
        returns: 200 Raw as "text/csv",
        auth: Organization(LedgerRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// List everybody's invoices and credit notes, newest first.
    ListAllInvoices = GET "/v1/platform/invoices" {
        query: AllInvoicesFilter,
        returns: 200 Page<InvoiceSummary>,
        auth: Platform(PlatformLedgerRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.invoices.list"),
        problems: [],
    }
}

endpoint! {
    /// Read one invoice of any organization.
    GetAnyInvoice = GET "/v1/platform/invoices/{invoice_id}" {
        path: AnyInvoicePath,
        returns: 200 Invoice,
        auth: Platform(PlatformLedgerRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.invoice.read"),
        problems: [NotFound],
    }
}

endpoint! {
    /// Download one invoice of any organization as it was issued.
    DownloadAnyInvoicePdf = GET "/v1/platform/invoices/{invoice_id}/pdf" {
        path: AnyInvoicePath,
        returns: 200 Raw as "application/pdf",
        auth: Platform(PlatformLedgerRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.invoice.download"),
        problems: [NotFound],
    }
}

endpoint! {
    /// Download the lines of one invoice of any organization as a table.
    DownloadAnyInvoiceCsv = GET "/v1/platform/invoices/{invoice_id}/csv" {
        path: AnyInvoicePath,
        returns: 200 Raw as "text/csv",
        auth: Platform(PlatformLedgerRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.invoice.export"),
        problems: [NotFound],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct InvoicePath {
    pub organization_id: OrganizationId,
    pub invoice_id: InvoiceId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AnyInvoicePath {
    pub invoice_id: InvoiceId,
}

list_query! {
    InvoiceFilter {
        /// Only those about this month.
        month: Month,
    }
}

list_query! {
    AllInvoicesFilter {
        /// Only those of this organization.
        organization_id: OrganizationId,
        /// Only those about this month.
        month: Month,
    }
}

words! {
    InvoiceKind {
        Invoice = "invoice",
        /// Corrects a part of an invoice.
        CreditNote = "credit_note",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InvoiceSummary {
    pub id: InvoiceId,
    pub organization_id: OrganizationId,
    /// The seller's numbers have no gaps: `2026-000123`.
    pub number: String,
    pub kind: Open<InvoiceKind>,
    pub month: Month,
    pub currency: CurrencyCode,
    /// With tax; negative on a credit note.
    pub total_micros: i64,
    /// What the balance did not cover when it was issued.
    pub due_micros: i64,
    pub issued_at: Timestamp,
}

/// An invoice as it was issued. Amounts are millionths of the currency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Invoice {
    pub id: InvoiceId,
    pub organization_id: OrganizationId,
    /// The seller's numbers have no gaps: `2026-000123`.
    pub number: String,
    pub kind: Open<InvoiceKind>,
    /// The number of the invoice that a credit note corrects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrects: Option<String>,
    pub month: Month,
    pub period_start: Timestamp,
    /// The end of the period, which is not part of it.
    pub period_end: Timestamp,
    pub issued_at: Timestamp,
    pub currency: CurrencyCode,
    pub seller: Party,
    pub buyer: Party,
    /// The tag that breaks down the lines: the policy `billing.invoice_tag` at the time of issue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag_key: Option<Label>,
    pub lines: Vec<InvoiceLine>,
    /// The sum of the lines, and the ledger's charges.
    pub subtotal_micros: i64,
    /// What rounding to whole minor units adds.
    pub rounding_micros: i64,
    pub net_micros: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax: Option<Tax>,
    pub tax_micros: i64,
    pub total_micros: i64,
    /// What the prepaid balance covered.
    pub paid_micros: i64,
    /// The rest.
    pub due_micros: i64,
    /// The journal that posted rounding and tax.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<i64>,
    /// Of the PDF, hexadecimal.
    pub pdf_sha256: String,
}

/// Usage in one project, of one SKU, at one price, with one value of the invoice's tag.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InvoiceLine {
    pub project_id: ProjectId,
    pub project: String,
    pub sku_id: SkuId,
    pub sku: String,
    /// The value of the invoice's tag: empty for usage without the tag, `(other)` for everything beyond the
    /// 500 largest; absent when lines are not broken down by a tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    pub unit: Open<PriceUnit>,
    pub price_kind: Open<PriceKind>,
    /// What is priced: the counted quantity, or quantity times microseconds where it is measured over time.
    pub consumed: i64,
    pub price_micros: i64,
    /// How many units the price is for.
    pub per_units: i64,
    pub amount_micros: i64,
}

event! {
    /// An invoice or a credit note was issued.
    InvoiceIssued = "invoice.issued", staff: PlatformLedgerRead {
        id: InvoiceId,
        /// The seller's numbers have no gaps.
        number: String,
        kind: Open<InvoiceKind>,
        month: Month,
        currency: CurrencyCode,
        total_micros: i64,
        due_micros: i64,
    }
}
