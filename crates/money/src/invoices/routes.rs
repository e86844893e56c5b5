//! Showing invoices, to those who bought and to staff.

use contract::{
    Page, Raw,
    id::{InvoiceId, OrganizationId},
    invoices::{
        AllInvoicesFilter, DownloadAnyInvoiceCsv, DownloadAnyInvoicePdf, DownloadInvoiceCsv, DownloadInvoicePdf,
        GetAnyInvoice, GetInvoice, Invoice, InvoiceSummary, ListAllInvoices, ListInvoices,
    },
};

use super::{csv, store};
use crate::MoneyArea;
use platform::http::{Call, Failure, Handle, Request};

impl Handle<ListInvoices> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<ListInvoices>) -> Result<Page<InvoiceSummary>, Failure> {
        let query = request.query;
        let filter = AllInvoicesFilter {
            organization_id: Some(call.organization()),
            month: query.month,
            cursor: query.cursor,
            limit: query.limit,
        };
        let rows = store::list(&mut call.tx, &filter).await?;
        Ok(Page::cut(rows, filter.limit, |it| it.id.uuid()))
    }
}

impl Handle<ListAllInvoices> for MoneyArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<ListAllInvoices>,
    ) -> Result<Page<InvoiceSummary>, Failure> {
        let rows = store::list(&mut call.tx, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<GetInvoice> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<GetInvoice>) -> Result<Invoice, Failure> {
        own(call, request.path.invoice_id).await
    }
}

impl Handle<GetAnyInvoice> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<GetAnyInvoice>) -> Result<Invoice, Failure> {
        any(call, request.path.invoice_id).await
    }
}

impl Handle<DownloadInvoicePdf> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<DownloadInvoicePdf>) -> Result<Raw, Failure> {
        let invoice = own(call, request.path.invoice_id).await?;
        pdf(call, &invoice).await
    }
}

impl Handle<DownloadAnyInvoicePdf> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<DownloadAnyInvoicePdf>) -> Result<Raw, Failure> {
        let invoice = any(call, request.path.invoice_id).await?;
        pdf(call, &invoice).await
    }
}

impl Handle<DownloadInvoiceCsv> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<DownloadInvoiceCsv>) -> Result<Raw, Failure> {
        Ok(table(&own(call, request.path.invoice_id).await?))
    }
}

impl Handle<DownloadAnyInvoiceCsv> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<DownloadAnyInvoiceCsv>) -> Result<Raw, Failure> {
        Ok(table(&any(call, request.path.invoice_id).await?))
    }
}

async fn own(call: &mut Call, id: InvoiceId) -> Result<Invoice, Failure> {
    let organization = call.organization();
    found(call, id, Some(organization)).await
}

async fn any(call: &mut Call, id: InvoiceId) -> Result<Invoice, Failure> {
    let invoice = found(call, id, None).await?;
    call.about_organization(invoice.organization_id);
    Ok(invoice)
}

async fn found(call: &mut Call, id: InvoiceId, organization: Option<OrganizationId>) -> Result<Invoice, Failure> {
    store::get(&mut call.tx, id, organization).await?.ok_or_else(|| Failure::not_found("invoice"))
}

async fn pdf(call: &mut Call, invoice: &Invoice) -> Result<Raw, Failure> {
    let bytes = store::pdf(&mut call.tx, invoice.id).await?;
    Ok(Raw { bytes, file_name: format!("invoice-{}.pdf", invoice.number) })
}

fn table(invoice: &Invoice) -> Raw {
    Raw { bytes: csv::table(invoice).into_bytes(), file_name: format!("invoice-{}.csv", invoice.number) }
}
