//! What a transaction writes just before its commit.

use std::borrow::Cow;

use sqlx::Postgres;
use uuid::Uuid;

use crate::{
    Tx, audit,
    bell::{self, Topic},
    idempotency, outbox, work,
};

#[derive(Default)]
pub(crate) struct Pending {
    pub events: Vec<outbox::Row>,
    pub entries: Vec<audit::Row>,
    pub wakes: Vec<work::Wake>,
    pub unless_queued: Vec<work::Unqueued>,
    pub together: Vec<(&'static str, Uuid)>,
    pub answer: Option<idempotency::Answer>,
}

impl Pending {
    /// What the bell rings about once it is committed.
    pub fn topics(&self) -> impl Iterator<Item = Topic> {
        let events = (!self.events.is_empty()).then_some(Cow::Borrowed(bell::EVENTS));
        let together = self.together.iter().map(|(kind, _)| Cow::Borrowed(*kind));
        self.wakes.iter().map(work::Wake::topic).chain(together).chain(events)
    }

    /// Writes events, audit entries, wakes and the idempotent answer with one statement.
    pub async fn write(self, tx: &mut Tx) -> sqlx::Result<()> {
        let Pending { events, entries, wakes, unless_queued, together, answer } = self;
        let mut statement = sqlx::QueryBuilder::<Postgres>::new("");
        let mut parts = 0;
        let epoch = tx.epoch();
        let (cause, trace) = (tx.cause.clone(), tx.trace.clone());
        let actor = tx.actor.clone();
        let mut next = |statement: &mut sqlx::QueryBuilder<Postgres>, name: &str| {
            statement.push(if parts == 0 { "WITH " } else { ", " }).push(name).push(" AS (");
            parts += 1;
        };
        if !events.is_empty() {
            next(&mut statement, "events");
            outbox::push(&mut statement, epoch, &cause, trace.as_ref(), events);
            statement.push(")");
        }
        if !entries.is_empty() {
            next(&mut statement, "entries");
            audit::push(&mut statement, epoch, &actor, &cause, entries);
            statement.push(")");
        }
        if !wakes.is_empty() {
            next(&mut statement, "wakes");
            work::push(&mut statement, wakes);
            statement.push(")");
        }
        if !unless_queued.is_empty() {
            next(&mut statement, "unless_queued");
            work::push_unless_queued(&mut statement, unless_queued);
            statement.push(")");
        }
        if let Some(answer) = answer {
            next(&mut statement, "answer");
            idempotency::push(&mut statement, answer);
            statement.push(")");
        }
        if !together.is_empty() {
            work::push_together(&mut statement, together);
        } else if parts > 0 {
            statement.push(" SELECT 1");
        } else {
            return Ok(());
        }
        statement.build().execute(tx.conn()).await?;
        Ok(())
    }
}
