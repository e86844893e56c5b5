//! Which moves a wallet may make.

use contract::{
    Word,
    id::WalletId,
    wallets::WalletState::{self, Depleted, Funded, Grace, Low},
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

pub struct WalletLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// What there is will not last long.
    BalanceLow,
    /// What runs cannot be paid for any longer.
    GraceStarted,
    /// The grace is over.
    Depleted,
    /// There is enough again.
    Funded,
}

impl Lifecycle for WalletLifecycle {
    const NAME: &'static str = crate::metering::WALLET;
    const TABLE: &'static str = "wallets";
    type State = WalletState;
    type Event = Event;
    const STATES: &'static [WalletState] = WalletState::ALL;
    const EVENTS: &'static [Event] = &[Event::BalanceLow, Event::GraceStarted, Event::Depleted, Event::Funded];
    const INITIAL: WalletState = Funded;
    const PARENT_END: ParentEnd = ParentEnd::Stays("the record of money");
    const ON_MOVE: Option<OnMove<Self::State>> = None;

    fn is_driven(state: WalletState) -> bool {
        match state {
            // Allocations end one after the other.
            Depleted => true,
            // It sleeps until the moment that it foresees.
            Funded | Low | Grace => false,
        }
    }

    fn next(from: WalletState, event: Event) -> Option<WalletState> {
        match (from, event) {
            // Money that came in the grace may be little.
            (Funded | Grace, Event::BalanceLow) => Some(Low),
            (Low | Depleted, Event::BalanceLow) => None,
            // What depletion left running may come to the same end later.
            (Funded | Low | Depleted, Event::GraceStarted) => Some(Grace),
            (Grace, Event::GraceStarted) => None,
            (Grace, Event::Depleted) => Some(Depleted),
            (Funded | Low | Depleted, Event::Depleted) => None,
            (Low | Grace | Depleted, Event::Funded) => Some(Funded),
            (Funded, Event::Funded) => None,
        }
    }

    fn label(state: WalletState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::BalanceLow => "balance_low",
            Event::GraceStarted => "grace_started",
            Event::Depleted => "depleted",
            Event::Funded => "funded",
        }
    }

    fn text_id(id: Uuid) -> String {
        WalletId::from(id).to_string()
    }
}
