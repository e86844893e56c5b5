//! Starting payments and looking at them.

use contract::{
    Code, Page,
    payments::{
        CreatePayment, GetPayment, ListAllPayments, ListPaymentDrift, ListPaymentEvents, ListPayments, Payment,
        PaymentCreated, PaymentDrift, PaymentEvent, PaymentSpec,
    },
};
use kernel::{
    lifecycle::Lifecycle,
    money::{Currency, MICROS_PER_UNIT, Money},
    work,
};

use super::{
    lifecycle::PaymentLifecycle,
    provider,
    store::{self, New, PaymentSelector},
};
use crate::MoneyArea;
use platform::{
    events::emit,
    http::{Call, Failure, Handle, ProblemBuilder, Request},
    policies::{self, settings},
    ports::payments::{AmountError, PaymentProvider},
};

impl Handle<CreatePayment> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<CreatePayment>) -> Result<Payment, Failure> {
        let provider = provider(&self.payments)?;
        let organization = call.organization();
        let amount = amount(provider.as_ref(), &request.body)?;
        self.check_size(amount)?;
        let most =
            policies::number_in(&mut call.tx, settings::PAYMENTS_OPEN_MAX, Some(organization.uuid()), None).await?;
        let open = store::open(&mut call.tx, organization).await?;
        if u64::try_from(open).unwrap_or(0) >= most {
            let detail = format!("the organization has reached its limit of {open} unpaid payments; pay one of them");
            return Err(Failure::new(Code::LimitReached, detail));
        }
        let actor = call.caller.actor();
        let new = New { organization, amount, provider: provider.name(), actor: actor.as_str() };
        let payment = store::insert(&mut call.tx, new).await?.payment;
        call.about(payment.id);
        call.note("amount_micros", payment.amount_micros);
        call.note("currency", payment.currency.as_str());
        let (id, currency) = (payment.id, payment.currency.clone());
        let event = PaymentCreated { id, currency, amount_micros: payment.amount_micros };
        emit(&mut call.tx, Some(organization), payment.id, &event);
        work::wake(&mut call.tx, PaymentLifecycle::NAME, payment.id.uuid());
        Ok(payment)
    }
}

impl MoneyArea {
    fn check_size(&self, amount: Money) -> Result<(), Failure> {
        let units = |key| i64::try_from(self.policies.number(key)).unwrap_or(i64::MAX);
        let (least, most) = (units(settings::PAYMENTS_LEAST), units(settings::PAYMENTS_MOST));
        let (least_micros, most_micros) = (least.saturating_mul(MICROS_PER_UNIT), most.saturating_mul(MICROS_PER_UNIT));
        if (least_micros..=most_micros).contains(&amount.micros()) {
            return Ok(());
        }
        let detail = format!("a payment must be between {least} and {most} {}", amount.currency());
        Err(ProblemBuilder::new(Code::InvalidValue, detail).at("amount_micros").into())
    }
}

fn amount(provider: &dyn PaymentProvider, spec: &PaymentSpec) -> Result<Money, Failure> {
    let wrong = |field: &str, detail: String| Failure::from(ProblemBuilder::new(Code::InvalidValue, detail).at(field));
    let currency: Currency = spec.currency.as_str().parse().map_err(|error| wrong("currency", format!("{error}")))?;
    let amount = Money::from_micros(spec.amount_micros, currency);
    match provider.accepts(amount) {
        Ok(()) => Ok(amount),
        Err(error @ AmountError::Currency) => Err(wrong("currency", error.to_string())),
        Err(error @ (AmountError::Fraction | AmountError::TooLarge)) => Err(wrong("amount_micros", error.to_string())),
    }
}

impl Handle<ListPayments> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<ListPayments>) -> Result<Page<Payment>, Failure> {
        let query = &request.query;
        let which = PaymentSelector {
            organization: Some(call.organization().uuid()),
            state: query.state,
            before: query.cursor.map(|it| it.0),
            limit: query.limit.probe(),
        };
        let rows = store::list(&mut call.tx, which).await?;
        Ok(Page::cut(rows, query.limit, |it| it.id.uuid()))
    }
}

impl Handle<ListAllPayments> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<ListAllPayments>) -> Result<Page<Payment>, Failure> {
        let query = &request.query;
        let which = PaymentSelector {
            organization: query.organization_id.map(|it| it.uuid()),
            state: query.state,
            before: query.cursor.map(|it| it.0),
            limit: query.limit.probe(),
        };
        let rows = store::list(&mut call.tx, which).await?;
        Ok(Page::cut(rows, query.limit, |it| it.id.uuid()))
    }
}

impl Handle<GetPayment> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<GetPayment>) -> Result<Payment, Failure> {
        let found = store::get(&mut call.tx, request.path.payment_id.uuid()).await?;
        Ok(found.ok_or_else(|| Failure::not_found("payment"))?.payment)
    }
}

impl Handle<ListPaymentEvents> for MoneyArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<ListPaymentEvents>,
    ) -> Result<Page<PaymentEvent>, Failure> {
        let rows = store::list_events(&mut call.tx, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<ListPaymentDrift> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<ListPaymentDrift>) -> Result<Page<PaymentDrift>, Failure> {
        let rows = store::list_drift(&mut call.tx, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}
