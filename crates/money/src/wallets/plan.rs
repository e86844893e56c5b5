//! What becomes of a wallet now, and when to look again. Pure: the same
//! situation always gives the same plan.

use contract::{Timestamp, wallets::WalletState};
use jiff::SignedDuration;
use kernel::money::{Money, MoneyError, Rate};

use super::lifecycle::Event;
use crate::{ledger::Balance, metering::SubjectId};

/// What something costs, or may cost once it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Charge {
    pub subject: SubjectId,
    pub rate: Rate,
    /// Since when it runs; nothing while it does not.
    pub started_at: Option<Timestamp>,
    /// Until when it is paid for; nothing when nothing is held.
    pub held_to: Option<Timestamp>,
    /// For how long it is held for while it does not run.
    pub waits_for: SignedDuration,
    /// When it ends at the latest, such as the end of a lease.
    pub ends_at: Option<Timestamp>,
}

/// A wallet as it was when its row was locked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WalletSnapshot {
    pub state: WalletState,
    pub grace_ends_at: Option<Timestamp>,
    /// What there was when somebody was told that it is little.
    pub last_notified_micros: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// By how much a hold is renewed.
    pub window: SignedDuration,
    /// What lasts shorter is low.
    pub low: SignedDuration,
    pub grace: SignedDuration,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Until when each of these is paid for from now on.
    pub renew: Vec<(SubjectId, Timestamp)>,
    pub step: Step,
    /// When something changes by itself.
    pub look_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Stay,
    Move(Event),
    /// Depletion has ended enough.
    Settle,
    /// So many of the newest end, for lack of money.
    End(usize),
}

// bound: what runs on past its hold until its end is done is not worth a grace
const SLACK: SignedDuration = SignedDuration::from_secs(60);
// bound: how much longer than low it must last to be called enough, so that it does not go to and fro
const ENOUGH: i32 = 2;

// bound: so many end in one transaction; whoever waits for one of them waits for all
const ENDS_AT_ONCE: usize = 50;

/// What is to be done. Charges come oldest first.
pub fn plan(
    now: Timestamp,
    wallet: WalletSnapshot,
    balance: &Balance,
    charges: &[Charge],
    limits: &Limits,
) -> Result<Plan, MoneyError> {
    let renewal = renew(now, balance, charges, limits)?;
    let lasts = balance.lasts_until(now).map(|it| it.duration_since(now));
    let in_hand = balance.in_hand().micros();
    let is_low = lasts.map_or(in_hand <= 0, |it| it < limits.low);
    // While nothing runs, only money that came in tells whether there is enough.
    let is_enough = match lasts {
        Some(lasts) => lasts >= limits.low * ENOUGH,
        None => in_hand > 0 && wallet.last_notified_micros.is_none_or(|it| in_hand > it),
    };
    let step = match (wallet.state, renewal.is_short) {
        (WalletState::Funded | WalletState::Low, true) => Step::Move(Event::GraceStarted),
        (WalletState::Grace, true) if wallet.grace_ends_at.is_none_or(|it| it <= now) => Step::Move(Event::Depleted),
        (WalletState::Grace, true) => Step::Stay,
        (WalletState::Depleted, true) if wallet.grace_ends_at.is_none() => Step::Move(Event::GraceStarted),
        (WalletState::Depleted, true) if charges.is_empty() => Step::Stay,
        (WalletState::Depleted, true) => Step::End(endings(now, *balance, charges, limits)?),
        (WalletState::Funded, false) if is_low => Step::Move(Event::BalanceLow),
        (WalletState::Funded, false) => Step::Stay,
        (WalletState::Low, false) if is_enough => Step::Move(Event::Funded),
        (WalletState::Low, false) => Step::Stay,
        (WalletState::Grace, false) if is_low => Step::Move(Event::BalanceLow),
        (WalletState::Grace, false) => Step::Move(Event::Funded),
        (WalletState::Depleted, false) if is_enough => Step::Move(Event::Funded),
        (WalletState::Depleted, false) if wallet.grace_ends_at.is_some() => Step::Settle,
        (WalletState::Depleted, false) => Step::Stay,
    };
    let grace_ends = wallet.grace_ends_at.filter(|_| wallet.state == WalletState::Grace && renewal.is_short);
    let low_at = lasts.and_then(|it| now.checked_add(it - limits.low).ok());
    let low_at = low_at.filter(|_| wallet.state == WalletState::Funded && !is_low);
    let look_at = [renewal.look_at, grace_ends, low_at].into_iter().flatten().min();
    Ok(Plan { renew: renewal.made, step, look_at })
}

/// How many of the newest must end so that the rest can be renewed, or as many
/// as may at once. What ends later than now frees less, so that it is never too many.
fn endings(now: Timestamp, mut balance: Balance, charges: &[Charge], limits: &Limits) -> Result<usize, MoneyError> {
    let most = charges.len().min(ENDS_AT_ONCE);
    for count in 1..most {
        let (left, ended) = charges.split_at(charges.len() - count);
        let last = &ended[0];
        balance.available = balance.available.checked_add(freed(now, last)?)?;
        if last.started_at.is_some() {
            let burn = balance.burn.micros_per_hour().saturating_sub(last.rate.micros_per_hour());
            balance.burn = Rate::from_micros_per_hour(burn, balance.available.currency());
        }
        if !renew(now, &balance, left, limits)?.is_short {
            return Ok(count);
        }
    }
    Ok(most)
}

/// What is no longer held once it ended.
fn freed(now: Timestamp, charge: &Charge) -> Result<Money, MoneyError> {
    let amount =
        |it: SignedDuration| charge.rate.amount(i64::try_from(it.as_micros()).map_err(|_| MoneyError::Overflow)?);
    match (charge.started_at, charge.held_to) {
        (None, _) => amount(charge.waits_for),
        (Some(start), Some(held_to)) if held_to > now => {
            amount(held_to.duration_since(start))?.checked_sub(amount(now.duration_since(start))?)
        }
        (Some(_), _) => Ok(Money::zero(charge.rate.currency())),
    }
}

struct Renewal {
    made: Vec<(SubjectId, Timestamp)>,
    /// Something that runs can no longer be paid for.
    is_short: bool,
    look_at: Option<Timestamp>,
}

/// Holds that are past half are held for another window, the oldest first, and
/// never past the end of their lease.
fn renew(now: Timestamp, balance: &Balance, charges: &[Charge], limits: &Limits) -> Result<Renewal, MoneyError> {
    let mut left = balance.available.micros();
    let slack = balance.burn.amount(i64::try_from(SLACK.as_micros()).unwrap_or(0))?.micros();
    let mut found = Renewal { made: Vec::new(), is_short: left < -slack && !charges.is_empty(), look_at: None };
    let half = limits.window / 2;
    let mut moments = Vec::new();
    if left < 0 && !found.is_short && !charges.is_empty() {
        moments.push(now + SLACK);
    }
    for charge in charges {
        let Some(started_at) = charge.started_at else { continue };
        let held_to = charge.held_to.unwrap_or(now).max(started_at);
        let ends_at = charge.ends_at.unwrap_or(Timestamp::MAX);
        if held_to >= ends_at {
            continue;
        }
        if charge.held_to.is_some() && held_to - half > now {
            moments.push(held_to - half);
            continue;
        }
        let from = held_to.max(now);
        let to = from.checked_add(limits.window).unwrap_or(Timestamp::MAX).min(ends_at);
        if to <= from {
            continue;
        }
        let until = |moment: Timestamp| elapsed(started_at, moment).and_then(|it| charge.rate.amount(it));
        let needed = until(to)?.checked_sub(until(from)?)?.micros();
        if found.is_short || left < needed {
            found.is_short = true;
            continue;
        }
        left -= needed;
        found.made.push((charge.subject.clone(), to));
        if to < ends_at {
            moments.push(to - half);
        }
    }
    found.look_at = moments.into_iter().min();
    Ok(found)
}

fn elapsed(from: Timestamp, to: Timestamp) -> Result<i64, MoneyError> {
    i64::try_from(to.duration_since(from).as_micros()).map_err(|_| MoneyError::Overflow)
}
