//! Which moves a payment may make. What the provider says now wins over what
//! it seemed to be: money that arrives late is money.

use contract::{
    Word,
    id::PaymentId,
    payments::PaymentState::{self, Canceled, ChargedBack, Created, Disputed, Failed, Pending, Succeeded},
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

pub struct PaymentLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Opened,
    Succeeded,
    Failed,
    Canceled,
    DisputeOpened,
    DisputeWon,
    DisputeLost,
}

impl Lifecycle for PaymentLifecycle {
    const NAME: &'static str = "payment";
    const TABLE: &'static str = "payments";
    type State = PaymentState;
    type Event = Event;
    const STATES: &'static [PaymentState] = PaymentState::ALL;
    const EVENTS: &'static [Event] = &[
        Event::Opened,
        Event::Succeeded,
        Event::Failed,
        Event::Canceled,
        Event::DisputeOpened,
        Event::DisputeWon,
        Event::DisputeLost,
    ];
    const INITIAL: PaymentState = Created;
    const PARENT_END: ParentEnd = ParentEnd::Stays("the record of money");
    const ON_MOVE: Option<OnMove<Self::State>> = None;

    fn is_driven(state: PaymentState) -> bool {
        match state {
            Created | Pending => true,
            Succeeded | Failed | Canceled | Disputed | ChargedBack => false,
        }
    }

    fn next(from: PaymentState, event: Event) -> Option<PaymentState> {
        match (from, event) {
            (Created, Event::Opened) => Some(Pending),
            (Created | Pending | Failed | Canceled, Event::Succeeded) => Some(Succeeded),
            (Created | Pending, Event::Failed) => Some(Failed),
            (Created | Pending, Event::Canceled) => Some(Canceled),
            (Succeeded | ChargedBack, Event::DisputeOpened) => Some(Disputed),
            (Disputed, Event::DisputeWon) => Some(Succeeded),
            (Disputed, Event::DisputeLost) => Some(ChargedBack),
            (Pending | Succeeded | Failed | Canceled | Disputed | ChargedBack, Event::Opened) => None,
            (Succeeded | Disputed | ChargedBack, Event::Succeeded) => None,
            (Succeeded | Failed | Canceled | Disputed | ChargedBack, Event::Failed | Event::Canceled) => None,
            (Created | Pending | Failed | Canceled | Disputed, Event::DisputeOpened) => None,
            (
                Created | Pending | Succeeded | Failed | Canceled | ChargedBack,
                Event::DisputeWon | Event::DisputeLost,
            ) => None,
        }
    }

    fn label(state: PaymentState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::Opened => "opened",
            Event::Succeeded => "succeeded",
            Event::Failed => "failed",
            Event::Canceled => "canceled",
            Event::DisputeOpened => "dispute_opened",
            Event::DisputeWon => "dispute_won",
            Event::DisputeLost => "dispute_lost",
        }
    }

    fn text_id(id: Uuid) -> String {
        PaymentId::from(id).to_string()
    }
}
