//! Asking for refunds, and looking at them.

use contract::{
    Code, Page,
    refunds::{CreateRefund, ListRefunds, Refund, RefundCreated},
};
use kernel::{machine::Machine, money::Money, work};

use super::{
    lifecycle::Lifecycle,
    store::{self, New},
};
use crate::{
    app::App,
    events::emit,
    http::{Call, Failure, Handle, Request, Trouble},
    payments,
};

impl Handle<CreateRefund> for App {
    async fn handle(&self, call: &mut Call, request: Request<CreateRefund>) -> Result<Refund, Failure> {
        let provider = payments::provider(&self.payments)?;
        // Of several at once each sees what the others take: they take turns.
        let held = payments::lock(&mut call.tx, request.path.payment_id.uuid()).await?;
        let held = held.ok_or_else(|| Failure::not_found("payment"))?;
        let (payment, left) = (&held.payment, held.refundable());
        call.about_organization(payment.organization_id);
        if payment.received_micros == 0 {
            return Err(Failure::new(Code::Conflict, "nothing was paid that could be given back"));
        }
        let micros = request.body.amount_micros.unwrap_or(left);
        let shown = |micros| Money::from_micros(micros, held.amount.currency());
        if micros > left || micros <= 0 {
            let detail = format!(
                "at most {} of it can be given back: {} arrived, less what was given back, is on its way back, or is disputed",
                shown(left.max(0)),
                shown(payment.received_micros)
            );
            return Err(Trouble::new(Code::InvalidValue, detail).at("amount_micros").into());
        }
        if let Err(error) = provider.accepts(shown(micros)) {
            return Err(Trouble::new(Code::InvalidValue, error).at("amount_micros").into());
        }
        let actor = call.caller.actor();
        let new = New { payment, micros, reason: request.body.reason.as_str(), actor: actor.as_str() };
        let refund = store::insert(&mut call.tx, new).await?.refund;
        call.note("refund", refund.id.to_string());
        call.note("amount_micros", micros);
        call.note("reason", refund.reason.as_str());
        let event = RefundCreated {
            id: refund.id,
            payment_id: payment.id,
            currency: refund.currency.clone(),
            amount_micros: micros,
        };
        emit(&mut call.tx, Some(payment.organization_id), refund.id, &event);
        work::wake(&mut call.tx, Lifecycle::NAME, refund.id.uuid());
        Ok(refund)
    }
}

impl Handle<ListRefunds> for App {
    async fn handle(&self, call: &mut Call, request: Request<ListRefunds>) -> Result<Page<Refund>, Failure> {
        let payment = request.path.payment_id;
        let held = payments::get(&mut call.tx, payment.uuid()).await?.ok_or_else(|| Failure::not_found("payment"))?;
        call.about_organization(held.payment.organization_id);
        let rows = store::list(&mut call.tx, payment, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}
