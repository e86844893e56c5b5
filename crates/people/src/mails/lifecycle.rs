//! Which moves a mail may make.

use contract::{
    Word,
    id::MailId,
    mails::MailState::{self, Exhausted, Pending, Refused, Sent, Withdrawn},
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

pub struct MailLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Sent,
    Refused,
    Exhausted,
    Withdrawn,
}

impl Lifecycle for MailLifecycle {
    const NAME: &'static str = "mail";
    const TABLE: &'static str = "mails";
    type State = MailState;
    type Event = Event;
    const STATES: &'static [MailState] = MailState::ALL;
    const EVENTS: &'static [Event] = &[Event::Sent, Event::Refused, Event::Exhausted, Event::Withdrawn];
    const INITIAL: MailState = Pending;
    const PARENT_END: ParentEnd = ParentEnd::Stays("recipients are still notified of the end");
    const ON_MOVE: Option<OnMove<Self::State>> = None;

    fn is_driven(state: MailState) -> bool {
        match state {
            Pending => true,
            Sent | Refused | Exhausted | Withdrawn => false,
        }
    }

    fn next(from: MailState, event: Event) -> Option<MailState> {
        match (from, event) {
            (Pending, Event::Sent) => Some(Sent),
            (Pending, Event::Refused) => Some(Refused),
            (Pending, Event::Exhausted) => Some(Exhausted),
            (Pending, Event::Withdrawn) => Some(Withdrawn),
            (
                Sent | Refused | Exhausted | Withdrawn,
                Event::Sent | Event::Refused | Event::Exhausted | Event::Withdrawn,
            ) => None,
        }
    }

    fn label(state: MailState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::Sent => "sent",
            Event::Refused => "refused",
            Event::Exhausted => "exhausted",
            Event::Withdrawn => "withdrawn",
        }
    }

    fn text_id(id: Uuid) -> String {
        MailId::from(id).to_string()
    }
}
