//! A durable consumer of the stream for each partition of each consumer of ours,
//! shared by all replicas. The server hands out one message of a partition at a
//! time, so the order per resource is kept while other partitions go on; it is
//! acknowledged after the effect is committed, and the note that commits with
//! the effect makes a repetition harmless. A replica that dies holds up its
//! partitions for the acknowledgment wait and no others.

use std::{sync::Arc, time::Duration};

use async_nats::jetstream::{
    AckKind, Message as Delivery,
    consumer::{AckPolicy, DeliverPolicy, ReplayPolicy, pull},
};
use futures_util::StreamExt;
use kernel::{
    bus::{Consumer, Outcome, deliver},
    outbox::Message,
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{Nats, NatsError, envelope, relay::chain, subjects_of};
use platform::telemetry::{self, TraceParent};

// bound: how long one request for messages stays open at the server
const FETCH: Duration = Duration::from_secs(5);

pub async fn run(nats: Nats, consumer: Arc<dyn Consumer>, partition: u32, stop: CancellationToken) {
    let mut failures = 0;
    while !stop.is_cancelled() {
        let rest = if nats.connection.is_up() {
            let Err(error) = read(&nats, &*consumer, partition, &stop, &mut failures).await else { return };
            failures += 1;
            tracing::warn!(consumer = consumer.name(), error = %chain(&error), "reading from NATS failed; trying again");
            nats.rest(failures)
        } else {
            nats.settings().poll
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(rest) => (),
        }
    }
}

/// Reads until stopped; `failures` starts anew with every message that comes.
async fn read(
    nats: &Nats,
    consumer: &dyn Consumer,
    partition: u32,
    stop: &CancellationToken,
    failures: &mut i32,
) -> Result<(), NatsError> {
    let config = config(nats, consumer.name(), partition);
    let durable = async { Ok::<_, NatsError>(nats.stream().await?.create_consumer(config).await?) };
    let durable = tokio::select! {
        () = stop.cancelled() => return Ok(()),
        durable = durable => durable?,
    };
    let batch = usize::try_from(nats.settings().batch).unwrap_or(1);
    while !stop.is_cancelled() {
        let request = durable.batch().max_messages(batch).expires(FETCH).messages();
        let mut messages = request.await.map_err(|error| NatsError::Fetch(error.into()))?;
        loop {
            let next = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                next = messages.next() => next,
            };
            let Some(delivery) = next else { break };
            let delivery = delivery.map_err(NatsError::Fetch)?;
            *failures = 0;
            let answer = handle(nats, consumer, partition, &delivery).await;
            // An answer that is lost costs a repetition, which is harmless.
            if let Err(error) = delivery.ack_with(answer).await {
                tracing::debug!(consumer = consumer.name(), %error, "an acknowledgment was not sent");
            }
        }
        if !nats.connection.is_up() {
            return Err(NatsError::Fetch("the connection was lost".into()));
        }
    }
    Ok(())
}

fn config(nats: &Nats, name: &str, partition: u32) -> pull::Config {
    pull::Config {
        // Dots mean something else in the server's names.
        durable_name: Some(format!("{}-{partition}", name.replace('.', "-"))),
        filter_subject: subjects_of(partition),
        deliver_policy: DeliverPolicy::All,
        ack_policy: AckPolicy::Explicit,
        replay_policy: ReplayPolicy::Instant,
        ack_wait: nats.ack_wait,
        // After `Settings::attempts` it is a dead letter of ours, not the server's.
        max_deliver: -1,
        max_ack_pending: 1,
        ..pull::Config::default()
    }
}

async fn handle(nats: &Nats, consumer: &dyn Consumer, partition: u32, delivery: &Delivery) -> AckKind {
    let (attempt, behind) = delivery.info().map_or((1, 0), |it| (it.delivered, it.pending));
    let labels = [("consumer", consumer.name().to_owned()), ("partition", partition.to_string())];
    metrics::gauge!("gpuaas_bus_pending", &labels).set(behind as f64);
    let epoch = delivery.headers.as_ref().and_then(envelope::origin).map(|it| it.epoch);
    if epoch != Some(nats.db.epoch()) {
        // From before a restore: what is still true of it is published again.
        return AckKind::Ack;
    }
    let message: Message = match serde_json::from_slice(&delivery.payload) {
        Ok(message) => message,
        Err(error) => {
            tracing::error!(subject = %delivery.subject, %error, "a message in the stream is not an event; dropping it");
            return AckKind::Term;
        }
    };
    if !consumer.wants(&message.subject) {
        return AckKind::Ack;
    }
    let span = tracing::info_span!("consume", consumer = consumer.name(), correlation_id = message.correlation_id);
    telemetry::follow(&span, message.traceparent.as_deref().and_then(TraceParent::parse));
    let attempt = i32::try_from(attempt).unwrap_or(i32::MAX);
    let settings = nats.settings();
    let work = async {
        // While it waits for its turn the message stays ours.
        let _turn = nats.turns.acquire().await.expect("never closed");
        deliver(&nats.db, consumer, &message, attempt, &settings, None).await
    };
    let work = work.instrument(span);
    match keep_waiting(nats, delivery, work).await {
        Ok(Outcome::Settled) => AckKind::Ack,
        Ok(Outcome::Retry { after, error }) => {
            let (consumer, subject) = (consumer.name(), &message.subject);
            tracing::warn!(consumer, subject, error, "a consumer failed; trying again");
            AckKind::Nak(Some(after))
        }
        Ok(Outcome::Overtaken) => AckKind::Nak(Some(settings.poll)),
        Err(error) => {
            tracing::warn!(consumer = consumer.name(), %error, "the database failed a consumer; trying again");
            AckKind::Nak(Some(settings.poll))
        }
    }
}

/// Tells the server now and then that the message is still being worked on.
async fn keep_waiting<T>(nats: &Nats, delivery: &Delivery, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            outcome = &mut work => return outcome,
            () = tokio::time::sleep(nats.ack_wait / 3) => {
                let _ = delivery.ack_with(AckKind::Progress).await;
            }
        }
    }
}
