//! From the outbox to consumers. Delivery is at least once and in order per
//! resource; a consumer's effect commits with the note that it happened, so
//! effects happen once. Two buses carry the messages: the embedded one in this
//! module, and others outside the kernel that call [`deliver`] too.

pub mod embedded;
mod panics;
pub mod readers;

use std::{collections::BTreeSet, pin::Pin, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    dead_letters,
    outbox::{Message, Position},
    tx::{Access, Actor, Db, Scope, Tx},
};

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something that reacts to events, durably. Its effect goes into `tx` only.
pub trait Consumer: Send + Sync + 'static {
    /// Names its position and its dead letters; never change it.
    fn name(&self) -> &'static str;
    fn wants(&self, subject: &str) -> bool;
    fn handle<'a>(&'a self, tx: &'a mut Tx, message: &'a Message) -> BoxFuture<'a, Result<(), ConsumeError>>;

    /// Which messages of a batch that was just read it must be handed, by their
    /// ids. A consumer that has nothing to do for most of what it wants can say
    /// so here, once for all of them; it may still be handed any of the others.
    fn concerned<'a>(
        &'a self,
        _: &'a Db,
        batch: &'a [(Position, Message)],
    ) -> BoxFuture<'a, sqlx::Result<BTreeSet<Uuid>>> {
        let wanted = batch.iter().map(|(_, it)| it).filter(|it| self.wants(&it.subject)).map(|it| it.id).collect();
        Box::pin(async move { Ok(wanted) })
    }
}

/// Why a consumer could not do its part.
#[derive(Debug, thiserror::Error)]
pub enum ConsumeError {
    #[error("{0}")]
    Failed(String),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

/// Carries messages to consumers until stopped.
pub trait Bus: Send + Sync {
    fn run(&self, consumers: Vec<Arc<dyn Consumer>>, stop: CancellationToken) -> BoxFuture<'_, ()>;
}

#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// The longest time without looking when no bell rings.
    pub poll: Duration,
    pub batch: i64,
    /// How often a message is tried before it becomes a dead letter.
    pub attempts: i32,
    pub first_retry: Duration,
    pub slowest_retry: Duration,
    /// How long a dead letter rests before it is delivered again.
    pub redeliver_after: Duration,
}

impl Settings {
    pub fn backoff(&self, attempts: i32) -> Duration {
        let doublings = u32::try_from(attempts.saturating_sub(1)).unwrap_or(0).min(16);
        self.first_retry.saturating_mul(1 << doublings).min(self.slowest_retry)
    }
}

/// The settings as they are now; asked for each round.
pub type LiveSettings = Arc<dyn Fn() -> Settings + Send + Sync>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The effect is committed now, or was before, or the message became a dead letter.
    Settled,
    /// Not settled: try again after the time given.
    Retry { after: Duration, error: String },
    /// The bookkeeping that commits with the effect was refused; read it anew.
    Overtaken,
}

/// A reader's step that commits with the effect, or takes it back if another
/// replica took the step first.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub from: Position,
    pub to: Position,
}

/// Hands one message to one consumer, once. `attempt` counts from one.
pub async fn deliver(
    db: &Db,
    consumer: &dyn Consumer,
    message: &Message,
    attempt: i32,
    settings: &Settings,
    step: Option<Step>,
) -> sqlx::Result<Outcome> {
    let mut tx = begin(db, consumer, message).await?;
    let known = dead_letters::known(&mut tx, consumer.name(), message).await?;
    if known.is_blocked && !known.is_settled {
        let error = "waits behind an earlier dead letter of the same resource";
        dead_letters::store(&mut tx, consumer.name(), message, error, settings.redeliver_after).await?;
    } else if !known.is_settled
        && message.subject != dead_letters::STORED
        && let Err(error) = consume(&mut tx, consumer, message).await
    {
        tx.rollback().await?;
        let error = describe(&error);
        if attempt < settings.attempts {
            return Ok(Outcome::Retry { after: settings.backoff(attempt), error });
        }
        tracing::error!(consumer = consumer.name(), message = %message.id, subject = message.subject, error,
            "a message became a dead letter: see `gpuaas dead-letters list`");
        tx = begin(db, consumer, message).await?;
        dead_letters::store(&mut tx, consumer.name(), message, &error, settings.redeliver_after).await?;
    }
    if let Some(Step { from, to }) = step
        && !readers::advance(&mut tx, consumer.name(), from, to).await?
    {
        tx.rollback().await?;
        return Ok(Outcome::Overtaken);
    }
    tx.commit().await?;
    Ok(Outcome::Settled)
}

/// The consumer's effect and the note that it happened, in the caller's transaction.
pub async fn consume(tx: &mut Tx, consumer: &dyn Consumer, message: &Message) -> Result<(), ConsumeError> {
    let first = sqlx::query("INSERT INTO consumed (consumer, message_id) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        .bind(consumer.name())
        .bind(message.id)
        .execute(tx.conn())
        .await?
        .rows_affected();
    if first == 0 {
        return Ok(());
    }
    panics::caught(consumer.handle(tx, message)).await.unwrap_or_else(|what| Err(ConsumeError::Failed(what)))
}

/// Like [`consume`], but a failure takes back only what the consumer did: the
/// caller goes on in the same transaction and can record the failure.
pub async fn attempt(tx: &mut Tx, consumer: &dyn Consumer, message: &Message) -> sqlx::Result<Result<(), String>> {
    let mark = tx.mark().await?;
    match consume(tx, consumer, message).await {
        Ok(()) => {
            tx.keep(mark).await?;
            Ok(Ok(()))
        }
        Err(error) => {
            tx.go_back(mark).await?;
            Ok(Err(describe(&error)))
        }
    }
}

/// The effect carries on the correlation and the trace of what caused it.
async fn begin(db: &Db, consumer: &dyn Consumer, message: &Message) -> sqlx::Result<Tx> {
    let (actor, cause) = (Actor::system(consumer.name()), message.correlation_id.as_str().into());
    let mut tx = Tx::begin(db, Scope::System, Access::Write, actor, cause).await?;
    tx.trace = message.traceparent.as_deref().map(Into::into);
    Ok(tx)
}

fn describe(error: &ConsumeError) -> String {
    match error {
        ConsumeError::Failed(text) => text.clone(),
        ConsumeError::Database(cause) => format!("{error}: {cause}"),
    }
}
