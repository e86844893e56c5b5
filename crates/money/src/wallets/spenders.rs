//! What other areas have that costs money: it ends when there is none, and counts
//! against budgets before it runs.

use std::sync::Arc;

use contract::{
    Timestamp,
    id::{ProjectId, SkuId},
    prices::PriceKind,
};
use kernel::{Tx, bus::BoxFuture, lifecycle::TransitionError, money::Currency};
use platform::registry::Meter;
use uuid::Uuid;

use crate::metering::SubjectId;

/// What a subject may use from now on.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    pub subject: Uuid,
    pub meter: &'static Meter,
    pub sku: SkuId,
    pub price_kind: PriceKind,
    pub quantity: i64,
    /// When it ends at the latest, if that is known already.
    pub ends_at: Option<Timestamp>,
    /// How long it lasts at most once it runs.
    pub minutes: Option<i32>,
}

/// A kind of subjects that spend money.
pub trait Spender: Send + Sync {
    /// The noun of its subjects.
    fn subject(&self) -> &'static str;

    /// Ends these, in this order, because the money for them ran out. Says how many there were to end.
    fn out_of_funds<'a>(&'a self, tx: &'a mut Tx, ids: &'a [Uuid]) -> BoxFuture<'a, Result<u64, TransitionError>>;

    /// What is live in a project and charged in this currency.
    fn expected<'a>(
        &'a self,
        tx: &'a mut Tx,
        project: ProjectId,
        currency: Currency,
    ) -> BoxFuture<'a, sqlx::Result<Vec<Expected>>>;
}

/// Every kind, as the program connects them.
pub struct Spenders(pub Vec<Arc<dyn Spender>>);

impl Spenders {
    /// Ends these in this order, those of one kind that follow one another together.
    pub async fn out_of_funds(&self, tx: &mut Tx, subjects: &[&SubjectId]) -> Result<u64, TransitionError> {
        let mut ended = 0;
        for chunk in subjects.chunk_by(|a, b| a.kind == b.kind) {
            let Some(spender) = self.0.iter().find(|it| it.subject() == chunk[0].kind) else { continue };
            let ids: Vec<Uuid> = chunk.iter().map(|it| it.id).collect();
            ended += spender.out_of_funds(tx, &ids).await?;
        }
        Ok(ended)
    }

    pub async fn expected(&self, tx: &mut Tx, project: ProjectId, currency: Currency) -> sqlx::Result<Vec<Expected>> {
        let mut all = Vec::new();
        for spender in &self.0 {
            all.extend(spender.expected(tx, project, currency).await?);
        }
        Ok(all)
    }
}
