//! Copies the outbox into the stream, in order. Any number of replicas may
//! run it: each waits for the server to have a message before it sends the
//! next, the server drops what two of them send, and one of them moves on.

use std::time::{Duration, Instant};

use async_nats::jetstream::stream::LastRawMessageErrorKind::NoMessageFound;
use kernel::{
    Access, Tx,
    bus::readers,
    outbox::{Message, Position},
};
use tokio_util::sync::CancellationToken;

use super::{Nats, NatsError, SUBJECTS, envelope, subject_of};

/// The relay's name among the readers of the outbox.
pub const READER: &str = "relay.nats";
// bound: how late the stream learns of a changed policy
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// When and on which connection the stream was last found in order.
struct Checked {
    life: u64,
    at: Instant,
}

enum Pass {
    More,
    Done,
}

pub async fn run(nats: Nats, stop: CancellationToken) {
    let mut ear = nats.db.bell.ear(&[kernel::bell::EVENTS]);
    let mut checked: Option<Checked> = None;
    let mut failures = 0;
    while !stop.is_cancelled() {
        let rest = if !nats.connection.is_up() {
            checked = None;
            nats.settings().poll
        } else {
            match turn(&nats, &mut checked, &stop).await {
                Ok(Pass::More) => {
                    failures = 0;
                    continue;
                }
                Ok(Pass::Done) => {
                    failures = 0;
                    nats.settings().poll
                }
                Err(error) => {
                    failures += 1;
                    checked = None;
                    metrics::counter!("gpuaas_relay_failures_total").increment(1);
                    let rest = nats.rest(failures);
                    tracing::warn!(error = %chain(&error), ?rest, "events could not be published to NATS; trying again");
                    tokio::select! {
                        () = stop.cancelled() => return,
                        () = tokio::time::sleep(rest) => continue,
                    }
                }
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = ear.wait(rest) => (),
        }
    }
}

async fn turn(nats: &Nats, checked: &mut Option<Checked>, stop: &CancellationToken) -> Result<Pass, NatsError> {
    let life = nats.connection.life();
    if !checked.as_ref().is_some_and(|it| it.life == life && it.at.elapsed() < LOOK_AGAIN) {
        rewind_if_the_stream_is_behind(nats).await?;
        *checked = Some(Checked { life, at: Instant::now() });
    }
    let most = nats.settings().batch;
    let (reader, batch) = readers::batch(&nats.db, READER, most).await?;
    let full = batch.len() as i64 == most;
    let mut reached = reader.position;
    let mut outcome = Ok(());
    for (place, message) in batch {
        if stop.is_cancelled() {
            break;
        }
        outcome = publish(nats, place, &message).await;
        if outcome.is_err() {
            break;
        }
        reached = place;
    }
    let mut is_ours = true;
    if reached != reader.position {
        is_ours = advance(nats, reader.position, reached).await?;
    }
    outcome?;
    Ok(if full && is_ours { Pass::More } else { Pass::Done })
}

/// Returns once the server has the message on disk.
async fn publish(nats: &Nats, place: Position, message: &Message) -> Result<(), NatsError> {
    let headers = envelope::headers(message, place, nats.db.epoch());
    let payload = serde_json::to_vec(message)?.into();
    nats.connection.jetstream.publish_with_headers(subject_of(message), headers, payload).await?.await?;
    metrics::counter!("gpuaas_relay_published_total").increment(1);
    Ok(())
}

async fn advance(nats: &Nats, from: Position, to: Position) -> sqlx::Result<bool> {
    let mut tx = Tx::system(&nats.db, READER, Access::Write).await?;
    let moved = readers::advance(&mut tx, READER, from, to).await?;
    tx.commit().await?;
    Ok(moved)
}

/// A server may come back without what it had: a lost disk, a crash before
/// its cache was written, another server. And a database may be restored to a
/// time before what the consumers acknowledged. Either way what is missing is
/// published again; consumers drop what they have seen.
async fn rewind_if_the_stream_is_behind(nats: &Nats) -> Result<(), NatsError> {
    let stream = nats.stream().await?;
    let newest = match stream.get_last_raw_message_by_subject(SUBJECTS).await {
        Ok(message) => envelope::origin(&message.headers),
        Err(error) if error.kind() == NoMessageFound => None,
        Err(error) => return Err(error.into()),
    };
    let floor = match newest {
        Some(origin) if origin.epoch == nats.db.epoch() => origin.position,
        Some(_) | None => Position::START,
    };
    let (reader, _) = readers::batch(&nats.db, READER, 0).await?;
    if reader.position > floor {
        tracing::warn!(from = %reader.position, to = %floor, "NATS lost events; publishing them again");
        advance(nats, reader.position, floor).await?;
    }
    Ok(())
}

pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}
