//! Balances, statements and proofs, for an organization's own people and for staff.

use contract::{
    Code, Page,
    id::OrganizationId,
    ledger::{
        Balance, Balances, GetAnyBalance, GetBalance, Journal, ListAnyJournals, ListJournals, Proof, ProveBooks,
        ProveLedger,
    },
};
use kernel::{Tx, clock, money::Currency};

use super::{
    balance,
    prove::{self, ProveError, Range},
    store,
};
use crate::{MoneyArea, wallets};
use people::organizations;
use platform::{
    http::{Call, Failure, Handle, ProblemBuilder, Request},
    policies::settings,
};

impl Handle<GetBalance> for MoneyArea {
    async fn handle(&self, call: &mut Call, _: Request<GetBalance>) -> Result<Balances, Failure> {
        let organization = call.organization();
        Ok(balances(&mut call.tx, organization, self.policies.currency(settings::BILLING_CURRENCY)).await?)
    }
}

impl Handle<GetAnyBalance> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<GetAnyBalance>) -> Result<Balances, Failure> {
        let organization = existing(call, request.path.organization_id).await?;
        Ok(balances(&mut call.tx, organization, self.policies.currency(settings::BILLING_CURRENCY)).await?)
    }
}

impl Handle<ListJournals> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<ListJournals>) -> Result<Page<Journal>, Failure> {
        let organization = call.organization();
        let rows = store::list(&mut call.tx, organization, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| store::position(it.number)))
    }
}

impl Handle<ListAnyJournals> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<ListAnyJournals>) -> Result<Page<Journal>, Failure> {
        let organization = existing(call, request.path.organization_id).await?;
        let rows = store::list(&mut call.tx, organization, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| store::position(it.number)))
    }
}

impl Handle<ProveBooks> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<ProveBooks>) -> Result<Proof, Failure> {
        let (organization, query) = (Some(call.organization()), request.query);
        proven(call, Range { organization, month: query.month, after: query.after }).await
    }
}

impl Handle<ProveLedger> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<ProveLedger>) -> Result<Proof, Failure> {
        let query = request.query;
        proven(call, Range { organization: query.organization_id, month: query.month, after: query.after }).await
    }
}

pub async fn existing(call: &mut Call, organization: OrganizationId) -> Result<OrganizationId, Failure> {
    match organizations::get(&mut call.tx, organization).await? {
        Some(_) => {
            call.about_organization(organization);
            Ok(organization)
        }
        None => Err(Failure::not_found("organization")),
    }
}

async fn proven(call: &mut Call, range: Range) -> Result<Proof, Failure> {
    let proof = match prove::prove(&mut call.tx, &range).await {
        Ok(proof) => proof,
        Err(ProveError::Database(error)) => return Err(error.into()),
        Err(error @ ProveError::BadPlace) => {
            return Err(ProblemBuilder::new(Code::InvalidValue, error.to_string()).at("after").into());
        }
        Err(error @ ProveError::BadMonth) => {
            return Err(ProblemBuilder::new(Code::InvalidValue, error.to_string()).at("month").into());
        }
    };
    if let Some(difference) = &proof.difference {
        call.note("difference", difference.what.as_str());
        tracing::error!(organization = %difference.organization_id, journal = difference.journal,
            what = difference.what, "the ledger proof failed: see docs/runbooks/ledger-proof-failed.md");
    }
    Ok(proof)
}

async fn balances(tx: &mut Tx, organization: OrganizationId, usual: Currency) -> sqlx::Result<Balances> {
    let at = clock::now(tx).await?;
    let mut currencies = store::currencies(tx, organization).await?;
    if currencies.is_empty() {
        currencies.push(usual);
    }
    let mut items = Vec::with_capacity(currencies.len());
    for currency in currencies {
        let found = balance(tx, organization, currency).await?;
        let wallet = wallets::status(tx, organization, currency).await?;
        items.push(Balance {
            currency: platform::rows::text(currency.as_str())?,
            state: wallet.state.into(),
            posted_micros: found.posted.micros(),
            accrued_micros: found.accrued.micros(),
            held_micros: found.held.micros(),
            available_micros: found.available.micros(),
            burn_micros_per_hour: found.burn.micros_per_hour(),
            lasts_until: found.lasts_until(at),
            grace_ends_at: wallet.grace_ends_at,
        });
    }
    Ok(Balances { organization_id: organization, at, items })
}
