//! Balances, statements and proofs, for an organization's own people and for staff.

use contract::{
    Code, Page,
    id::OrganizationId,
    ledger::{
        Balance, Balances, GetAnyBalance, GetBalance, Journal, ListAnyJournals, ListJournals, Proof, ProveBooks,
        ProveLedger,
    },
};
use jiff::{SignedDuration, Timestamp};
use kernel::{Tx, clock, money::Currency};

use super::{
    balance,
    prove::{self, ProveError, Range},
    store,
};
use crate::{
    app::App,
    http::{Call, Failure, Handle, Request, Trouble},
    organizations,
};

impl Handle<GetBalance> for App {
    async fn handle(&self, call: &mut Call, _: Request<GetBalance>) -> Result<Balances, Failure> {
        let organization = call.organization();
        Ok(balances(&mut call.tx, organization).await?)
    }
}

impl Handle<GetAnyBalance> for App {
    async fn handle(&self, call: &mut Call, request: Request<GetAnyBalance>) -> Result<Balances, Failure> {
        let organization = existing(call, request.path.organization_id).await?;
        Ok(balances(&mut call.tx, organization).await?)
    }
}

impl Handle<ListJournals> for App {
    async fn handle(&self, call: &mut Call, request: Request<ListJournals>) -> Result<Page<Journal>, Failure> {
        let organization = call.organization();
        let rows = store::list(&mut call.tx, organization, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| store::position(it.number)))
    }
}

impl Handle<ListAnyJournals> for App {
    async fn handle(&self, call: &mut Call, request: Request<ListAnyJournals>) -> Result<Page<Journal>, Failure> {
        let organization = existing(call, request.path.organization_id).await?;
        let rows = store::list(&mut call.tx, organization, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| store::position(it.number)))
    }
}

impl Handle<ProveBooks> for App {
    async fn handle(&self, call: &mut Call, request: Request<ProveBooks>) -> Result<Proof, Failure> {
        let (organization, query) = (Some(call.organization()), request.query);
        proven(call, Range { organization, month: query.month, after: query.after }).await
    }
}

impl Handle<ProveLedger> for App {
    async fn handle(&self, call: &mut Call, request: Request<ProveLedger>) -> Result<Proof, Failure> {
        let query = request.query;
        proven(call, Range { organization: query.organization_id, month: query.month, after: query.after }).await
    }
}

async fn existing(call: &mut Call, organization: OrganizationId) -> Result<OrganizationId, Failure> {
    match organizations::store::get(&mut call.tx, organization).await? {
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
            return Err(Trouble::new(Code::InvalidValue, error.to_string()).at("after").into());
        }
        Err(error @ ProveError::BadMonth) => {
            return Err(Trouble::new(Code::InvalidValue, error.to_string()).at("month").into());
        }
    };
    if let Some(difference) = &proof.difference {
        call.note("difference", difference.what.as_str());
        tracing::error!(organization = %difference.organization_id, journal = difference.journal,
            what = difference.what, "the books do not prove: see docs/runbooks/books-differ.md");
    }
    Ok(proof)
}

async fn balances(tx: &mut Tx, organization: OrganizationId) -> sqlx::Result<Balances> {
    let at = clock::now(tx).await?;
    let mut currencies = store::currencies(tx, organization).await?;
    if currencies.is_empty() {
        currencies.push(Currency::USD);
    }
    let mut items = Vec::with_capacity(currencies.len());
    for currency in currencies {
        let found = balance(tx, organization, currency).await?;
        items.push(Balance {
            currency: crate::rows::text(currency.as_str())?,
            posted_micros: found.posted.micros(),
            accrued_micros: found.accrued.micros(),
            held_micros: found.held.micros(),
            available_micros: found.available.micros(),
            burn_micros_per_hour: found.burn.micros_per_hour(),
            lasts_until: lasts_until(
                at,
                found.posted.micros().saturating_sub(found.accrued.micros()),
                found.burn.micros_per_hour(),
            ),
        });
    }
    Ok(Balances { organization_id: organization, at, items })
}

/// When an amount is gone that so much of is spent in an hour.
fn lasts_until(now: Timestamp, available: i64, per_hour: i64) -> Option<Timestamp> {
    if per_hour <= 0 {
        return None;
    }
    let left_us = i128::from(available.max(0)) * 3_600_000_000 / i128::from(per_hour);
    now.checked_add(SignedDuration::from_micros(i64::try_from(left_us).ok()?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_is_the_moment_at_which_nothing_is_left() {
        let now = Timestamp::UNIX_EPOCH;
        let after = |seconds| Some(now + SignedDuration::from_secs(seconds));
        assert_eq!(lasts_until(now, 5_000_000, 2_500_000), after(7200));
        assert_eq!(lasts_until(now, -1, 2_500_000), after(0), "it is gone already");
        assert_eq!(lasts_until(now, 5, 0), None, "nothing runs");
        assert_eq!(lasts_until(now, i64::MAX, 1), None, "beyond all calendars");
    }
}
