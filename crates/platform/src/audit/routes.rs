//! Listing entries, listing seals, and checking seals against entries.

use contract::{
    Page,
    audit::{AuditEntry, ListAudit, ListPlatformAudit, ListSeals, Seal, SealFinding, SealReport, Seals, VerifySeals},
};
use kernel::seals;

use super::store;
use crate::{
    Platform,
    http::{Call, Failure, Handle, Request},
    policies::settings,
};

impl Handle<ListAudit> for Platform {
    async fn handle(&self, call: &mut Call, request: Request<ListAudit>) -> Result<Page<AuditEntry>, Failure> {
        let organization = call.organization();
        let rows = store::list(&mut call.tx, Some(organization), &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<ListPlatformAudit> for Platform {
    async fn handle(&self, call: &mut Call, request: Request<ListPlatformAudit>) -> Result<Page<AuditEntry>, Failure> {
        let rows = store::list(&mut call.tx, None, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<ListSeals> for Platform {
    async fn handle(&self, call: &mut Call, request: Request<ListSeals>) -> Result<Seals, Failure> {
        let limit = request.query.limit;
        let mut rows = seals::list(&mut call.tx, request.query.after, limit.probe()).await?;
        let more = rows.len() > limit.rows();
        rows.truncate(limit.rows());
        let next_after = if more { rows.last().map(|it| it.number) } else { None };
        let newest_root = seals::newest(&mut call.tx).await?.map(|it| hex(&it.root));
        Ok(Seals { items: rows.into_iter().map(seal).collect(), next_after, newest_root })
    }
}

impl Handle<VerifySeals> for Platform {
    async fn handle(&self, call: &mut Call, request: Request<VerifySeals>) -> Result<SealReport, Failure> {
        let rows = request.query.limit.rows() as i64;
        let retention = settings::days(settings::AUDIT_DAYS.least());
        let report = seals::verify(&mut call.tx, request.query.after, rows, retention).await?;
        call.note("findings", report.findings.len());
        let finding =
            |it: seals::Finding| SealFinding { seal: it.seal, entry: it.entry.map(Into::into), what: it.what };
        Ok(SealReport {
            seals_checked: report.seals,
            entries_checked: report.entries,
            findings: report.findings.into_iter().map(finding).collect(),
            roots: report.roots.iter().map(|it| hex(it)).collect(),
            next_after: report.next_after,
            unsealed: report.unsealed,
        })
    }
}

fn seal(seal: seals::Seal) -> Seal {
    Seal {
        number: seal.number,
        entries: seal.entries,
        entries_root: hex(&seal.entries_root),
        root: hex(&seal.root),
        key_id: seal.key_id,
        signature: hex(&seal.signature),
        sealed_at: seal.sealed_at,
        expired_at: seal.expired_at,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}
