//! Rolls samples up to minutes and hours and forgets what is past its time.
//! Whole minutes are computed anew from what is there, while nobody writes:
//! doing it twice, or in two processes, changes nothing.

use std::{sync::Arc, time::Duration};

use contract::Timestamp;
use kernel::{Access, Tx};
use tokio_util::sync::CancellationToken;

use super::store::{self, Span};
use crate::FleetArea;
use platform::policies::settings;

// bound: how often a keeper looks
const EVERY: Duration = Duration::from_secs(10);
// bound: minutes and hours that one look rolls up; the next look goes on
const STEPS: usize = 120;
// bound: samples ride on polls that are held for up to a minute; later ones are added when they come
const SETTLED: Duration = Duration::from_secs(90);
// bound: rows that one statement deletes
const BITE: i64 = 20_000;

pub async fn run(area: Arc<FleetArea>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        match keep(&area).await {
            Ok(true) => continue,
            Ok(false) => (),
            Err(error) => tracing::warn!(%error, "samples could not be rolled up; trying again"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(EVERY) => (),
        }
    }
}

/// Does what is due, in short transactions; whether there may be more.
pub async fn keep(area: &FleetArea) -> sqlx::Result<bool> {
    let mut steps = 0;
    while steps < STEPS && roll_minute(area).await? {
        steps += 1;
    }
    let late = roll_late(area).await?;
    while steps < STEPS && roll_hour(area).await? {
        steps += 1;
    }
    let gone = forget(area).await?;
    Ok(steps >= STEPS || late >= store::LATE_AT_ONCE || gone >= BITE as u64)
}

/// The next minute of the whole fleet; whether there was one.
async fn roll_minute(area: &FleetArea) -> sqlx::Result<bool> {
    let mut tx = alone(area).await?;
    let minute = store::next_minute(&mut tx, SETTLED).await?;
    match minute {
        Some(minute) => {
            store::roll(&mut tx, Span::Minute, minute, None).await?;
            store::done_until(&mut tx, Span::Minute, minute + Span::Minute.length()).await?;
        }
        None => store::minutes_done(&mut tx, SETTLED).await?,
    }
    tx.commit().await?;
    Ok(minute.is_some())
}

/// Minutes that got samples after they were rolled up, and their hours.
async fn roll_late(area: &FleetArea) -> sqlx::Result<usize> {
    let mut tx = alone(area).await?;
    let late = store::late(&mut tx).await?;
    let hours_until = store::until(&mut tx, Span::Hour).await?;
    for (minute, nodes) in &late {
        store::roll(&mut tx, Span::Minute, *minute, Some(nodes)).await?;
        let hour = start_of_hour(*minute);
        if hours_until.is_some_and(|until| hour < until) {
            store::roll(&mut tx, Span::Hour, hour, Some(nodes)).await?;
        }
        store::no_longer_late(&mut tx, *minute, nodes).await?;
    }
    tx.commit().await?;
    Ok(late.len())
}

async fn roll_hour(area: &FleetArea) -> sqlx::Result<bool> {
    let mut tx = alone(area).await?;
    let hour = store::next_hour(&mut tx).await?;
    if let Some(hour) = hour {
        store::roll(&mut tx, Span::Hour, hour, None).await?;
        store::done_until(&mut tx, Span::Hour, hour + Span::Hour.length()).await?;
    }
    tx.commit().await?;
    Ok(hour.is_some())
}

/// Says first from when on samples are kept, so that none is taken which would
/// stand alone for its minute; then deletes.
async fn forget(area: &FleetArea) -> sqlx::Result<u64> {
    let mut tx = alone(area).await?;
    store::forget_samples_before(&mut tx, settings::hours(area.policies.number(settings::TELEMETRY_RAW_HOURS))).await?;
    tx.commit().await?;
    let minutes = settings::days(area.policies.number(settings::TELEMETRY_MINUTE_DAYS));
    let hours = settings::days(area.policies.number(settings::TELEMETRY_HOUR_DAYS));
    let mut tx = Tx::system(&area.db, "keeper", Access::Write).await?;
    let gone = store::delete_old(&mut tx, minutes, hours, BITE).await?;
    tx.commit().await?;
    Ok(gone)
}

/// A transaction beside which nobody writes samples or rolls them up.
async fn alone(area: &FleetArea) -> sqlx::Result<Tx> {
    let mut tx = Tx::system(&area.db, "keeper", Access::Write).await?;
    store::lock_out_writers(&mut tx).await?;
    Ok(tx)
}

fn start_of_hour(at: Timestamp) -> Timestamp {
    let seconds = at.as_second();
    Timestamp::from_second(seconds - seconds.rem_euclid(3_600)).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_starts_with_its_first_minute() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        assert_eq!(start_of_hour(at("2026-03-01T10:59:00Z")), at("2026-03-01T10:00:00Z"));
        assert_eq!(start_of_hour(at("2026-03-01T11:00:00Z")), at("2026-03-01T11:00:00Z"));
    }
}
