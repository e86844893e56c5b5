//! Reading and setting billing profiles. Who buys says what is printed about
//! them; how they are taxed is for staff to say.

use contract::{
    Code,
    billing_profiles::{
        BillingProfile, BillingProfileSpec, GetAnyBillingProfile, GetBillingProfile, GetSellerProfile,
        SetAnyBillingProfile, SetBillingProfile, SetSellerProfile,
    },
};

use super::store;
use crate::{MoneyArea, invoices, ledger};
use platform::http::{Call, Failure, Handle, ProblemBuilder, Request};

impl Handle<GetBillingProfile> for MoneyArea {
    async fn handle(&self, call: &mut Call, _: Request<GetBillingProfile>) -> Result<BillingProfile, Failure> {
        let organization = call.organization();
        found(store::of(&mut call.tx, organization).await?)
    }
}

impl Handle<SetBillingProfile> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<SetBillingProfile>) -> Result<BillingProfile, Failure> {
        let (organization, spec) = (call.organization(), request.body.into());
        check(&spec)?;
        Ok(store::set(&mut call.tx, Some(organization), &spec, true).await?)
    }
}

impl Handle<GetAnyBillingProfile> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<GetAnyBillingProfile>) -> Result<BillingProfile, Failure> {
        let organization = ledger::existing(call, request.path.organization_id).await?;
        found(store::of(&mut call.tx, organization).await?)
    }
}

impl Handle<SetAnyBillingProfile> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<SetAnyBillingProfile>) -> Result<BillingProfile, Failure> {
        check(&request.body)?;
        let organization = ledger::existing(call, request.path.organization_id).await?;
        Ok(store::set(&mut call.tx, Some(organization), &request.body, false).await?)
    }
}

impl Handle<GetSellerProfile> for MoneyArea {
    async fn handle(&self, call: &mut Call, _: Request<GetSellerProfile>) -> Result<BillingProfile, Failure> {
        found(store::seller(&mut call.tx).await?)
    }
}

impl Handle<SetSellerProfile> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<SetSellerProfile>) -> Result<BillingProfile, Failure> {
        check(&request.body)?;
        Ok(store::set(&mut call.tx, None, &request.body, false).await?)
    }
}

fn found(profile: Option<BillingProfile>) -> Result<BillingProfile, Failure> {
    profile.ok_or_else(|| Failure::not_found("billing profile"))
}

// bound: lines that have room on an invoice
const MOST_LINES: usize = 6;

/// Refuses now what could not be printed later.
fn check(spec: &BillingProfileSpec) -> Result<(), Failure> {
    if spec.address.len() > MOST_LINES {
        return Err(ProblemBuilder::new(Code::InvalidValue, "an address has at most 6 lines").at("address").into());
    }
    let tax = spec.tax.iter().flat_map(|it| [Some(&it.name), it.note.as_ref()]);
    let mut lines = vec![("legal_name", Some(&spec.legal_name)), ("tax_id", spec.tax_id.as_ref())];
    lines.extend(spec.address.iter().map(|it| ("address", Some(it))));
    lines.extend(tax.map(|it| ("tax", it)));
    for (field, line) in lines {
        let missing = line.and_then(|it| invoices::unprintable(it.as_str()));
        if let Some(letter) = missing {
            let detail = format!("`{letter}` cannot be printed on an invoice: use Latin, Greek or Cyrillic letters");
            return Err(ProblemBuilder::new(Code::InvalidValue, detail).at(field).into());
        }
    }
    Ok(())
}
