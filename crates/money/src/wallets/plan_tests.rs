//! The plan for a wallet, moment by moment.

use std::slice::from_ref;

use contract::{Timestamp, wallets::WalletState};
use jiff::SignedDuration;
use kernel::money::{Currency, Money, Rate};

use super::{
    lifecycle::Event,
    plan::{Charge, Limits, Plan, Step, WalletSnapshot, plan},
};
use crate::{ledger::Balance, metering::SubjectId};

const DOLLAR: i64 = 1_000_000;
const LIMITS: Limits = Limits {
    window: SignedDuration::from_mins(60),
    low: SignedDuration::from_mins(120),
    grace: SignedDuration::from_mins(30),
};

fn at(minutes: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
}

/// One that runs since the beginning for a dollar an hour.
fn runs(held_to: Option<i64>, lease: Option<i64>) -> Charge {
    Charge {
        subject: SubjectId { kind: "allocation".to_owned(), id: uuid::Uuid::now_v7(), meter: "gpu_time".to_owned() },
        rate: Rate::from_micros_per_hour(DOLLAR, Currency::USD),
        started_at: Some(at(0)),
        held_to: held_to.map(at),
        waits_for: SignedDuration::ZERO,
        ends_at: lease.map(at),
    }
}

/// So much in hand, of which so much is available, while that many run for a dollar an hour.
fn has(in_hand: i64, available: i64, running: i64) -> Balance {
    let money = |micros| Money::from_micros(micros, Currency::USD);
    Balance {
        posted: money(in_hand),
        accrued: money(0),
        held: money(in_hand - available),
        available: money(available),
        burn: Rate::from_micros_per_hour(running * DOLLAR, Currency::USD),
    }
}

fn is(state: WalletState) -> WalletSnapshot {
    WalletSnapshot { state, grace_ends_at: None, last_notified_micros: None }
}

fn planned(now: i64, wallet: WalletSnapshot, balance: &Balance, charges: &[Charge]) -> Plan {
    plan(at(now), wallet, balance, charges, &LIMITS).unwrap()
}

#[test]
fn a_hold_is_renewed_once_it_is_past_half_and_not_past_its_lease() {
    let rich = has(100 * DOLLAR, 99 * DOLLAR, 1);
    let one = runs(Some(60), None);
    let early = planned(29, is(WalletState::Funded), &rich, from_ref(&one));
    assert_eq!((early.renew, early.look_at), (vec![], Some(at(30))));
    let due = planned(30, is(WalletState::Funded), &rich, from_ref(&one));
    assert_eq!((due.renew, due.look_at), (vec![(one.subject.clone(), at(120))], Some(at(90))));
    let lapsed = planned(300, is(WalletState::Funded), &rich, from_ref(&one));
    assert_eq!(lapsed.renew, [(one.subject.clone(), at(360))], "from now on, not from when it lapsed");
    let leased = runs(Some(60), Some(80));
    let last = planned(40, is(WalletState::Funded), &rich, from_ref(&leased));
    assert_eq!(last.renew, [(leased.subject.clone(), at(80))]);
    let whole = runs(Some(80), Some(80));
    assert_eq!(planned(79, is(WalletState::Funded), &rich, from_ref(&whole)).renew, [], "its lease is paid for");
    let unheld = runs(None, None);
    assert_eq!(planned(5, is(WalletState::Funded), &rich, from_ref(&unheld)).renew, [(unheld.subject.clone(), at(65))]);
}

#[test]
fn low_balance_is_foreseen_announced_once_and_forgotten_when_there_is_enough() {
    let one = runs(Some(60), None);
    // Five hours are left; low is at two.
    let plan = planned(0, is(WalletState::Funded), &has(5 * DOLLAR, 4 * DOLLAR, 1), &[runs(Some(6000), None)]);
    assert_eq!((plan.step, plan.look_at), (Step::Stay, Some(at(180))));
    let less = has(2 * DOLLAR - 1, DOLLAR, 1);
    assert_eq!(planned(0, is(WalletState::Funded), &less, from_ref(&one)).step, Step::Move(Event::BalanceLow));
    assert_eq!(planned(0, is(WalletState::Low), &less, from_ref(&one)).step, Step::Stay, "they know");
    let a_bit = has(3 * DOLLAR, 2 * DOLLAR, 1);
    assert_eq!(planned(0, is(WalletState::Low), &a_bit, from_ref(&one)).step, Step::Stay, "no to and fro");
    let enough = has(4 * DOLLAR, 3 * DOLLAR, 1);
    assert_eq!(planned(0, is(WalletState::Low), &enough, from_ref(&one)).step, Step::Move(Event::Funded));
    // Jobs that come and go: while nothing runs, only money changes what was told.
    let told = WalletSnapshot { last_notified_micros: Some(DOLLAR), ..is(WalletState::Low) };
    assert_eq!(planned(0, told, &has(DOLLAR, DOLLAR, 0), &[]).step, Step::Stay);
    assert_eq!(planned(0, told, &has(DOLLAR + 1, DOLLAR + 1, 0), &[]).step, Step::Move(Event::Funded));
}

#[test]
fn hold_that_cannot_be_renewed_has_a_grace_and_then_the_newest_ends() {
    let (old, new) = (runs(Some(60), None), runs(Some(60), None));
    let both = [old.clone(), new.clone()];
    // At half, each needs another dollar and one is left.
    let poor = has(2 * DOLLAR, DOLLAR, 2);
    let plan = planned(30, is(WalletState::Low), &poor, &both);
    assert_eq!((plan.step, &plan.renew[..]), (Step::Move(Event::GraceStarted), &[(old.subject.clone(), at(120))][..]));
    let grace = WalletSnapshot { grace_ends_at: Some(at(60)), ..is(WalletState::Grace) };
    let poorer = has(2 * DOLLAR, 0, 2);
    let plan = planned(31, grace, &poorer, &[runs(Some(120), None), new]);
    assert_eq!((plan.step, plan.look_at), (Step::Stay, Some(at(60))));
    assert_eq!(planned(60, grace, &poorer, &both).step, Step::Move(Event::Depleted));
    let over = WalletSnapshot { grace_ends_at: Some(at(60)), ..is(WalletState::Depleted) };
    assert_eq!(planned(60, over, &poorer, &both).step, Step::End(2), "nothing is left for either");
    let for_one = has(2 * DOLLAR, DOLLAR, 2);
    assert_eq!(planned(60, over, &for_one, &both).step, Step::End(1), "the newest");
    let enough_for_one = has(2 * DOLLAR, DOLLAR, 1);
    assert_eq!(planned(60, over, &enough_for_one, from_ref(&old)).step, Step::Settle, "no more than needed");
    assert_eq!(
        planned(90, is(WalletState::Depleted), &has(0, 0, 1), from_ref(&old)).step,
        Step::Move(Event::GraceStarted),
        "what was left has a grace of its own"
    );
}

#[test]
fn money_in_the_grace_stops_it() {
    let one = runs(Some(60), None);
    let grace = WalletSnapshot { grace_ends_at: Some(at(60)), last_notified_micros: Some(0), ..is(WalletState::Grace) };
    assert_eq!(planned(40, grace, &has(9 * DOLLAR, 8 * DOLLAR, 1), from_ref(&one)).step, Step::Move(Event::Funded));
    let little = planned(40, grace, &has(DOLLAR + DOLLAR / 2, DOLLAR + DOLLAR / 6, 1), from_ref(&one));
    assert_eq!((little.step, little.renew.len()), (Step::Move(Event::BalanceLow), 1));
    let gone = planned(40, grace, &has(-DOLLAR, -DOLLAR, 0), &[]);
    assert_eq!(gone.step, Step::Move(Event::BalanceLow), "nothing runs, so nothing is about to end");
}

#[test]
fn a_balance_that_does_not_cover_its_holds_is_short() {
    let one = runs(Some(600), None);
    let taken_back = has(DOLLAR, -5 * DOLLAR, 1);
    assert_eq!(planned(5, is(WalletState::Funded), &taken_back, from_ref(&one)).step, Step::Move(Event::GraceStarted));
    let a_second = has(3 * DOLLAR, -300, 1);
    let plan = planned(5, is(WalletState::Funded), &a_second, from_ref(&one));
    assert_eq!((plan.step, plan.look_at), (Step::Stay, Some(at(6))), "an end takes a moment");
}

#[test]
fn as_many_end_as_must_and_no_more_than_may_at_once() {
    let over = WalletSnapshot { grace_ends_at: Some(at(60)), ..is(WalletState::Depleted) };
    let ends = |available: i64, charges: &[Charge]| {
        let running = charges.iter().filter(|it| it.started_at.is_some()).count() as i64;
        planned(60, over, &has(100 * DOLLAR, available, running), charges).step
    };
    // Each needs a dollar for another hour; what ends frees nothing, since its hold is used up.
    let ten: Vec<Charge> = (0..10).map(|_| runs(Some(60), None)).collect();
    assert_eq!(ends(7 * DOLLAR, &ten), Step::End(3));
    assert_eq!(ends(0, &ten), Step::End(10));
    let many: Vec<Charge> = (0..200).map(|_| runs(Some(60), None)).collect();
    assert_eq!(ends(0, &many), Step::End(50), "the rest with the next visit");
    // The newest is paid for half an hour more, which is what the oldest lacks.
    let mut held = vec![runs(Some(60), Some(90)), runs(Some(90), Some(90))];
    assert_eq!(ends(0, &held), Step::End(1));
    // A request that waits gives up what is held for it.
    let waits =
        Charge { started_at: None, held_to: None, waits_for: SignedDuration::from_mins(60), ..runs(None, None) };
    held = vec![runs(Some(60), None), waits.clone(), waits];
    assert_eq!(ends(0, &held), Step::End(1), "one hold is what another hour costs");
}
