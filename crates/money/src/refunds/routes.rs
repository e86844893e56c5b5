//! Asking for refunds, and looking at them.

use contract::{
    Code, Page,
    id::PaymentId,
    refunds::{CreateRefund, ListRefunds, Refund, RefundCreated},
};
use kernel::{lifecycle::Lifecycle, money::Money, work};

use super::{
    lifecycle::RefundLifecycle,
    store::{self, New},
};
use crate::{MoneyArea, payments};
use platform::{
    events::emit,
    four_eyes::{CorrectionRequest, Proposal, second_person},
    http::{Call, Failure, Handle, ProblemBuilder, Request},
};

impl Handle<CreateRefund> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<CreateRefund>) -> Result<Refund, Failure> {
        let payment_id = request.path.payment_id;
        let (held, amount) = locked(self, call, payment_id, request.body.amount_micros).await?;
        let reason = request.body.reason.as_str();
        call.note("amount_micros", amount.micros());
        call.note("reason", reason);
        let asked = CorrectionRequest {
            proposal: Proposal::Refund { payment_id, amount_micros: amount.micros() },
            organization: Some(held.payment.organization_id),
            summary: format!("refund {amount} of {payment_id}"),
            reason,
        };
        second_person(self, call, asked).await?;
        let actor = call.caller.actor();
        add(call, &held, amount, By { actor: actor.as_str(), reason }).await
    }
}

/// Who asked for a refund, and why.
#[derive(Debug, Clone, Copy)]
pub struct By<'a> {
    pub actor: &'a str,
    pub reason: &'a str,
}

/// Gives so much of a payment back, if that is left of it.
pub async fn create(
    area: &MoneyArea,
    call: &mut Call,
    payment: PaymentId,
    micros: i64,
    by: By<'_>,
) -> Result<Refund, Failure> {
    let (held, amount) = locked(area, call, payment, Some(micros)).await?;
    add(call, &held, amount, by).await
}

/// A payment that nobody else gives back meanwhile, and how much of it goes
/// back: all that is left where nothing is said.
async fn locked(
    area: &MoneyArea,
    call: &mut Call,
    id: PaymentId,
    micros: Option<i64>,
) -> Result<(payments::StoredPayment, Money), Failure> {
    let provider = payments::provider(&area.payments)?;
    // Of several at once each sees what the others take: they take turns.
    let held = payments::lock(&mut call.tx, id.uuid()).await?;
    let held = held.ok_or_else(|| Failure::not_found("payment"))?;
    let (payment, left) = (&held.payment, held.refundable());
    call.about_organization(payment.organization_id);
    if payment.received_micros == 0 {
        return Err(Failure::new(Code::Conflict, "the payment has nothing to refund"));
    }
    let micros = micros.unwrap_or(left);
    let shown = |micros| Money::from_micros(micros, held.amount.currency());
    if micros > left || micros <= 0 {
        let detail = format!(
            "at most {} can be refunded: {} was paid, minus completed and pending refunds and disputed amounts",
            shown(left.max(0)),
            shown(payment.received_micros)
        );
        return Err(ProblemBuilder::new(Code::InvalidValue, detail).at("amount_micros").into());
    }
    if let Err(error) = provider.accepts(shown(micros)) {
        return Err(ProblemBuilder::new(Code::InvalidValue, error).at("amount_micros").into());
    }
    let amount = shown(micros);
    Ok((held, amount))
}

async fn add(call: &mut Call, held: &payments::StoredPayment, amount: Money, by: By<'_>) -> Result<Refund, Failure> {
    let payment = &held.payment;
    let new = New { payment, micros: amount.micros(), reason: by.reason, actor: by.actor };
    let refund = store::insert(&mut call.tx, new).await?.refund;
    call.note("refund", refund.id.to_string());
    let event = RefundCreated {
        id: refund.id,
        payment_id: payment.id,
        currency: refund.currency.clone(),
        amount_micros: amount.micros(),
    };
    emit(&mut call.tx, Some(payment.organization_id), refund.id, &event);
    work::wake(&mut call.tx, RefundLifecycle::NAME, refund.id.uuid());
    Ok(refund)
}

impl Handle<ListRefunds> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<ListRefunds>) -> Result<Page<Refund>, Failure> {
        let payment = request.path.payment_id;
        let held = payments::get(&mut call.tx, payment.uuid()).await?.ok_or_else(|| Failure::not_found("payment"))?;
        call.about_organization(held.payment.organization_id);
        let rows = store::list(&mut call.tx, payment, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}
