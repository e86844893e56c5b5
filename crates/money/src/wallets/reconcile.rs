//! Looks after wallets: renews holds, tells when money runs low, and ends what
//! cannot be paid for. It sleeps until the moment that it foresees; what
//! starts, ends, is paid or corrected wakes it earlier.

use std::time::Duration;

use contract::{Timestamp, id::WalletId, wallets::WalletState};
use jiff::SignedDuration;
use kernel::{
    Tx, clock,
    lifecycle::{Lifecycle, TransitionError, transition_telling},
    money::MoneyError,
    work::{self, Next, Reconciler},
};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    Spenders,
    lifecycle::{Event, WalletLifecycle},
    plan::{Charge, Limits, Plan, Step, plan},
    store::{self, LockedWallet},
};
use crate::ledger::{self, Balance};
use platform::policies::{self, settings};

pub struct WalletReconciler;

// bound: a visit comes after the moment that it is for, not a hair before it
const AFTER: Duration = Duration::from_millis(1);

#[derive(Debug, thiserror::Error)]
pub enum WalletError {
    #[error(transparent)]
    Transition(#[from] TransitionError),
    #[error(transparent)]
    Money(#[from] MoneyError),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

impl Reconciler for WalletReconciler {
    const KIND: &'static str = WalletLifecycle::NAME;
    const LANE: kernel::work::Lane = platform::lanes::DATABASE;
    type Snapshot = WalletId;
    type Observation = ();
    type Verdict = ();
    type Error = WalletError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<WalletId>, WalletError> {
        // Marks wake it together, so that those of an organization do not wait for each other.
        work::wait_for_wakers(tx, Self::KIND, id).await?;
        Ok(Some(id.into()))
    }

    async fn act(&self, _: &WalletId) -> Result<(), WalletError> {
        Ok(())
    }

    // What is decided depends on what others hold, who take turns: it is decided under the lock.
    fn decide(&self, _: &WalletId, (): ()) {}

    async fn apply(&self, tx: &mut Tx, id: WalletId, (): ()) -> Result<Next, WalletError> {
        let Some(wallet) = store::lock(tx, id).await? else { return Ok(Next::Done) };
        let now = clock::now(tx).await?;
        if !policies::flag_in(tx, settings::BILLING_REQUIRED).await? {
            return at_rest(tx, &wallet, now).await;
        }
        let balance = ledger::balance(tx, wallet.organization, wallet.currency).await?;
        let limits = limits(tx).await?;
        let charges = store::charges(tx, wallet.organization, wallet.currency).await?;
        let plan = plan(now, wallet.snapshot, &balance, &charges, &limits)?;
        // Not while allocations end: those who end several at once hold locks of both kinds.
        if !plan.renew.is_empty() && !matches!(plan.step, Step::End(_)) {
            store::renew(tx, wallet.organization, wallet.currency, limits.window, &plan.renew).await?;
        }
        take(tx, &wallet, now, &balance, &limits, &charges, plan).await
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::overdue(tx, limit).await
    }
}

/// Where nothing needs money, none is short: what was about to happen does not.
async fn at_rest(tx: &mut Tx, wallet: &LockedWallet, now: Timestamp) -> Result<Next, WalletError> {
    if wallet.snapshot.state != WalletState::Funded {
        let balance = ledger::balance(tx, wallet.organization, wallet.currency).await?;
        let until = balance.lasts_until(now);
        go(tx, wallet, Event::Funded, "no allocation needs funds", &balance, until).await?;
        store::note(tx, wallet.id, None, None).await?;
    }
    Ok(Next::Done)
}

async fn take(
    tx: &mut Tx,
    wallet: &LockedWallet,
    now: Timestamp,
    balance: &Balance,
    limits: &Limits,
    charges: &[Charge],
    plan: Plan,
) -> Result<Next, WalletError> {
    let (told, lasts) = (Some(balance.in_hand().micros()), balance.lasts_until(now));
    let at_once = Next::After(Duration::ZERO);
    match plan.step {
        Step::Stay => Ok(sleep(now, plan.look_at)),
        Step::Settle => {
            store::note(tx, wallet.id, None, told).await?;
            Ok(sleep(now, plan.look_at))
        }
        Step::End(count) => {
            let newest: Vec<_> = charges.iter().rev().take(count).map(|it| &it.subject).collect();
            let ended = tx.hook::<Spenders>().out_of_funds(tx, &newest).await?;
            metrics::counter!("gpuaas_wallet_endings_total").increment(ended);
            Ok(at_once)
        }
        Step::Move(event) => {
            let ends = wallet.snapshot.grace_ends_at;
            let (reason, ends, told, until) = match event {
                Event::GraceStarted => {
                    let ends = now.checked_add(limits.grace).unwrap_or(Timestamp::MAX);
                    ("a hold cannot be renewed", Some(ends), wallet.snapshot.last_notified_micros.or(told), Some(ends))
                }
                // What ends now is what this grace was for.
                Event::Depleted => ("the grace period is over", ends.or(Some(now)), told, lasts),
                Event::BalanceLow => ("the balance will not last long", None, told, lasts),
                Event::Funded => ("the balance is sufficient again", None, None, lasts),
            };
            go(tx, wallet, event, reason, balance, until).await?;
            store::note(tx, wallet.id, ends, told).await?;
            Ok(at_once)
        }
    }
}

async fn go(
    tx: &mut Tx,
    wallet: &LockedWallet,
    event: Event,
    reason: &str,
    balance: &Balance,
    until: Option<Timestamp>,
) -> Result<(), WalletError> {
    let facts: [(&str, Value); 3] = [
        ("currency", json!(wallet.currency)),
        ("balance", json!(balance.in_hand().round_to_minor_units()?.amount.to_string())),
        ("until", json!(until)),
    ];
    let facts: Map<String, Value> = facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect();
    transition_telling::<WalletLifecycle>(tx, wallet.row(), event, reason, facts).await?;
    Ok(())
}

fn sleep(now: Timestamp, until: Option<Timestamp>) -> Next {
    let rest = |it: Timestamp| Duration::try_from(it.duration_since(now)).unwrap_or_default();
    until.map_or(Next::Done, |it| Next::After(rest(it) + AFTER))
}

/// Read in the transaction: who changes them wakes every wallet, and the visit must know what they are.
async fn limits(tx: &mut Tx) -> sqlx::Result<Limits> {
    let mut minutes = [SignedDuration::ZERO; 3];
    let all = [settings::BILLING_HOLD_MINUTES, settings::BILLING_LOW_BALANCE_MINUTES, settings::BILLING_GRACE_MINUTES];
    for (at, key) in minutes.iter_mut().zip(all) {
        let number = policies::number_in(tx, key, None, None).await?;
        *at = SignedDuration::from_mins(i64::try_from(number).unwrap_or(0));
    }
    let [window, low, grace] = minutes;
    Ok(Limits { window, low, grace })
}
