//! The embedded bus: durable consumers that read the outbox themselves. The
//! position advances in the transaction of the effect, so two replicas that
//! run the same consumer cannot both commit it.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{
    BoxFuture, Bus, Consumer, LiveSettings, Outcome, Settings, Step, deliver,
    readers::{self, Reader},
};
use crate::{
    bell,
    outbox::Position,
    tx::{Access, Db, Tx},
};

// bound: between two passes of a consumer under load; each reads what came meanwhile
const PASS_PAUSE: Duration = Duration::from_millis(100);

pub struct Embedded {
    pub db: Db,
    pub settings: LiveSettings,
}

impl Bus for Embedded {
    fn run(&self, consumers: Vec<Arc<dyn Consumer>>, stop: CancellationToken) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut running = JoinSet::new();
            for consumer in consumers {
                running.spawn(run(self.db.clone(), consumer, self.settings.clone(), stop.clone()));
            }
            while running.join_next().await.is_some() {}
        })
    }
}

async fn run(db: Db, consumer: Arc<dyn Consumer>, settings: LiveSettings, stop: CancellationToken) {
    let mut ear = db.bell.ear(&[bell::EVENTS]).with_pause(PASS_PAUSE);
    while !stop.is_cancelled() {
        let settings = settings();
        let rest = match pass(&db, &*consumer, &settings, &stop).await {
            Ok(Pass::More) => continue,
            Ok(Pass::Rest(rest)) => rest,
            Err(error) => {
                tracing::warn!(consumer = consumer.name(), %error, "reading events failed; trying again");
                settings.poll
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = ear.wait(rest) => (),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    More,
    Rest(Duration),
}

/// Reads one batch and delivers it.
pub async fn pass(
    db: &Db,
    consumer: &dyn Consumer,
    settings: &Settings,
    stop: &CancellationToken,
) -> sqlx::Result<Pass> {
    let (mut reader, batch) = readers::batch(db, consumer.name(), settings.batch).await?;
    if !reader.rest.is_zero() {
        return Ok(Pass::Rest(reader.rest.min(settings.poll)));
    }
    let full = batch.len() as i64 == settings.batch;
    let concerned = if batch.is_empty() { BTreeSet::new() } else { consumer.concerned(db, &batch).await? };
    let mut skipped: Option<Position> = None;
    for (place, message) in batch {
        if stop.is_cancelled() {
            break;
        }
        if !concerned.contains(&message.id) {
            skipped = Some(place);
            continue;
        }
        let step = Some(Step { from: reader.position, to: place });
        match deliver(db, consumer, &message, reader.attempts + 1, settings, step).await? {
            Outcome::Settled => {
                reader = Reader { position: place, attempts: 0, rest: Duration::ZERO };
                skipped = None;
            }
            Outcome::Overtaken => return Ok(Pass::Rest(settings.poll)),
            Outcome::Retry { after, error } => {
                tracing::warn!(
                    consumer = consumer.name(),
                    subject = message.subject,
                    error,
                    "a consumer failed; trying again"
                );
                readers::postpone(db, consumer.name(), &reader, after).await?;
                return Ok(Pass::Rest(after.min(settings.poll)));
            }
        }
    }
    if let Some(place) = skipped {
        let mut tx = Tx::system(db, consumer.name(), Access::Write).await?;
        readers::advance(&mut tx, consumer.name(), reader.position, place).await?;
        tx.commit().await?;
    }
    Ok(if full { Pass::More } else { Pass::Rest(settings.poll) })
}
