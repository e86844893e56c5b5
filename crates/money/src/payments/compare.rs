//! Compares what the provider has of ours with the ledger, now and then. What
//! was missed is looked at again, by the same way as if the provider had told
//! it; nothing is edited. What stays different is shown to people.

use std::{collections::HashMap, sync::Arc};

use contract::{Timestamp, id::PaymentId, payments::PaymentDriftKind};
use jiff::SignedDuration;
use kernel::{
    Tx,
    lifecycle::Lifecycle,
    work::{self, Next, ReconcileError, Reconciler},
};
use uuid::Uuid;

use super::{
    in_full,
    lifecycle::PaymentLifecycle,
    store::{self, PostedAmount, PostedPayment},
};
use platform::{
    policies::{Policies, settings},
    ports::payments::{DisputeStanding, IntentStatus, PaymentProvider, RefundStatus, Statement},
};

pub const KIND: &str = "payment_comparison";

/// There is one comparison, whoever makes it.
pub const ID: Uuid = Uuid::nil();

pub struct PaymentComparison {
    pub provider: Option<Arc<dyn PaymentProvider>>,
    pub policies: Policies,
}

/// Something that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentMismatch {
    pub object: String,
    pub kind: PaymentDriftKind,
    pub payment: Option<Uuid>,
    pub currency: Option<String>,
    pub there: i64,
    pub here: i64,
}

pub enum ProviderAnswer {
    NobodyToAsk,
    Statement(Statement),
    Failed(String),
}

// bound: clocks, theirs and ours, are that close, and a payer takes that long to begin
const SLACK: SignedDuration = SignedDuration::from_hours(1);

impl Reconciler for PaymentComparison {
    const KIND: &'static str = KIND;
    const LANE: kernel::work::Lane = platform::lanes::MONEY;
    type Snapshot = Timestamp;
    type Observation = ProviderAnswer;
    type Verdict = ProviderAnswer;
    type Error = ReconcileError;

    async fn load(&self, tx: &mut Tx, _: Uuid) -> Result<Option<Timestamp>, ReconcileError> {
        let back = settings::days(self.policies.number(settings::PAYMENTS_COMPARE_DAYS));
        let now = kernel::clock::now(tx).await?;
        Ok(Some(now.checked_sub(back).unwrap_or(Timestamp::UNIX_EPOCH)))
    }

    async fn act(&self, since: &Timestamp) -> Result<ProviderAnswer, ReconcileError> {
        let Some(provider) = &self.provider else { return Ok(ProviderAnswer::NobodyToAsk) };
        Ok(match provider.since(*since).await {
            Ok(statement) => ProviderAnswer::Statement(statement),
            Err(error) => ProviderAnswer::Failed(in_full(&error)),
        })
    }

    fn decide(&self, _: &Timestamp, heard: ProviderAnswer) -> ProviderAnswer {
        heard
    }

    async fn apply(&self, tx: &mut Tx, since: Timestamp, heard: ProviderAnswer) -> Result<Next, ReconcileError> {
        let usual = settings::minutes(self.policies.number(settings::PAYMENTS_COMPARE_MINUTES));
        let soon = settings::seconds(self.policies.number(settings::PAYMENTS_RETRY_SECONDS));
        let statement = match heard {
            ProviderAnswer::NobodyToAsk => return Ok(Next::Done),
            ProviderAnswer::Failed(why) => {
                tracing::warn!(why, "the provider's payments cannot be compared; trying again");
                return Ok(Next::After(soon));
            }
            ProviderAnswer::Statement(statement) => statement,
        };
        let provider = self.provider.as_ref().map_or("", |it| it.name());
        let found = compare(tx, provider, &statement, since).await?;
        if statement.is_cut {
            tracing::error!("the provider has more payments than can be compared: lower `payments.compare_days`");
        }
        let is_news = store::record(tx, provider, &found).await?;
        for payment in found.iter().filter_map(|it| it.payment) {
            work::wake(tx, PaymentLifecycle::NAME, payment);
        }
        for it in &found {
            tracing::warn!(object = it.object, kind = ?it.kind, there = it.there, here = it.here,
                "the provider and the ledger differ: see docs/runbooks/payments-differ.md");
        }
        Ok(Next::After(if is_news { soon } else { usual }))
    }

    async fn overdue(&self, _: &mut Tx, _: i64) -> sqlx::Result<Vec<Uuid>> {
        Ok(self.provider.as_ref().map(|_| ID).into_iter().collect())
    }
}

async fn compare(
    tx: &mut Tx,
    provider: &str,
    said: &Statement,
    since: Timestamp,
) -> sqlx::Result<Vec<PaymentMismatch>> {
    let name = |it: &Option<String>| it.as_ref().and_then(|it| it.parse::<PaymentId>().ok()).map(|it| it.uuid());
    let arrived = said.intents.iter().filter(|it| it.status == IntentStatus::Succeeded);
    let asked: Vec<_> = arrived.clone().map(|it| (it.id.clone(), name(&it.payment))).collect();
    let known = by_object(store::of_intents(tx, provider, &asked).await?);
    let mut found = Vec::new();
    for intent in arrived {
        let (there, currency) = (intent.received.micros(), intent.received.currency().to_string());
        match known.get(&intent.id) {
            Some(here) => found.extend(differs(here, there)),
            // Without our name it is another use of the same account.
            None if intent.payment.is_none() => (),
            None => found.push(PaymentMismatch {
                object: intent.id.clone(),
                kind: PaymentDriftKind::UnknownHere,
                payment: None,
                currency: Some(currency),
                there,
                here: 0,
            }),
        }
    }
    let refunds = said.refunds.iter().filter_map(|it| {
        let there = if it.status == RefundStatus::Succeeded { -it.amount.micros() } else { 0 };
        Some((it.id.clone(), it.intent.clone()?, there))
    });
    let disputes = said.disputes.iter().filter_map(|it| {
        let is_taken = matches!(it.standing, DisputeStanding::Open | DisputeStanding::Lost);
        Some((it.id.clone(), it.intent.clone()?, if is_taken { -it.amount.micros() } else { 0 }))
    });
    let parts: Vec<_> = refunds.chain(disputes).collect();
    let asked: Vec<_> = parts.iter().map(|(object, intent, _)| (object.clone(), intent.clone())).collect();
    let known_parts = by_object(store::of_parts(tx, provider, &asked).await?);
    found.extend(parts.iter().filter_map(|(object, _, there)| differs(known_parts.get(object)?, *there)));
    if !said.is_cut {
        let ours = store::since(tx, provider, since.saturating_add(SLACK).unwrap_or(since)).await?;
        found.extend(missing(said, ours));
    }
    Ok(found)
}

fn by_object(rows: Vec<PostedAmount>) -> HashMap<String, PostedAmount> {
    rows.into_iter().map(|it| (it.object.clone(), it)).collect()
}

fn differs(here: &PostedAmount, there: i64) -> Option<PaymentMismatch> {
    if here.micros == there {
        return None;
    }
    let kind = if here.micros == 0 { PaymentDriftKind::NotPosted } else { PaymentDriftKind::AmountDiffers };
    Some(PaymentMismatch {
        object: here.object.clone(),
        kind,
        payment: Some(here.payment_id),
        currency: Some(here.currency.clone()),
        there,
        here: here.micros,
    })
}

/// What the ledger has and the provider does not.
fn missing(said: &Statement, ours: Vec<PostedPayment>) -> impl Iterator<Item = PaymentMismatch> {
    ours.into_iter().filter(|it| !said.intents.iter().any(|there| there.id == it.intent_id)).map(|it| PaymentMismatch {
        object: it.intent_id,
        kind: PaymentDriftKind::MissingThere,
        payment: Some(it.payment_id),
        currency: Some(it.currency),
        there: 0,
        here: it.received,
    })
}
