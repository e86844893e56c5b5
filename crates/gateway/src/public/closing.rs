//! With which code a WebSocket is closed, and what a person reads there.

use crate::agents::codes;
use crate::control::ControlError;
use crate::sessions::OpenError;
use http::StatusCode;
use protocol::stream::{Closing, refusals};
use protocol::{Problem, gateway};

/// A close code, the words beside it, and under what it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloseReason {
    pub code: u16,
    pub text: &'static str,
    pub reason: &'static str,
}

const fn farewell(code: u16, reason: &'static str, text: &'static str) -> CloseReason {
    CloseReason { code, text, reason }
}

pub const NORMAL: CloseReason = farewell(1000, "exit", "");
pub const BAD_FRAME: CloseReason = farewell(4400, "bad_frame", "malformed message");
pub const TICKET: CloseReason = farewell(4401, "ticket", "the ticket is invalid or expired; request a new one");
pub const POLICY: CloseReason = farewell(4403, "policy", "a policy does not allow this access");
pub const HOST_REFUSED: CloseReason =
    farewell(4403, "host_refused", "the host refused the connection; request a new ticket");
pub const UNRECORDED: CloseReason = farewell(4403, "unrecorded", "the session must be recorded, but cannot be");
pub const GONE: CloseReason = farewell(4404, "gone", "the allocation or its session no longer exists");
pub const HOST_GONE: CloseReason = farewell(4404, "host_gone", "the host cannot be reached; try again in a moment");
pub const TIME_LIMIT: CloseReason = farewell(4408, "time_limit", "the session reached its time limit");
pub const IDLE: CloseReason = farewell(4408, "idle", "the session was idle for too long");
pub const TAKEN_OVER: CloseReason = farewell(4409, "taken_over", "the session was continued from another connection");
pub const ENDED: CloseReason = farewell(4410, "ended", "the session was ended");
pub const TOO_MANY: CloseReason =
    farewell(4429, "too_many", "too many connections; wait a minute or close another one");
pub const TOO_MANY_SESSIONS: CloseReason = farewell(
    4429,
    "too_many_sessions",
    "the allocation has reached its session limit; end one (gpuaas access-sessions list)",
);
pub const TOO_MANY_STREAMS: CloseReason = farewell(
    4429,
    "too_many_streams",
    "the host has reached its connection limit at this gateway; close one, or try again in a moment",
);
pub const AWAY: CloseReason = farewell(4503, "going_away", "this gateway is shutting down; connect again");
pub const CONTROL_AWAY: CloseReason =
    farewell(4503, "control_away", "the control plane is unavailable; try again in a moment");

/// For a session that closes.
pub fn of(closing: Closing) -> CloseReason {
    match closing {
        Closing::TakenOver => TAKEN_OVER,
        Closing::TimeLimit => TIME_LIMIT,
        Closing::Idle => IDLE,
        Closing::AllocationEnded => GONE,
        Closing::Ended => ENDED,
        Closing::BadFrame => BAD_FRAME,
        Closing::GoingAway => AWAY,
        Closing::HostGone => HOST_GONE,
        Closing::Unrecorded => UNRECORDED,
    }
}

/// For a ticket that the control plane did not take. What is wrong with a ticket
/// is not told: who has a good one needs no help, and who guesses gets none.
pub fn of_control(error: &ControlError) -> CloseReason {
    match error {
        ControlError::Refused { status, problem } => match *status {
            StatusCode::FORBIDDEN => POLICY,
            StatusCode::NOT_FOUND | StatusCode::CONFLICT => GONE,
            StatusCode::TOO_MANY_REQUESTS if problem.code == gateway::refusals::TOO_MANY => TOO_MANY_SESSIONS,
            StatusCode::TOO_MANY_REQUESTS => TOO_MANY,
            status if status.is_server_error() => CONTROL_AWAY,
            _ => TICKET,
        },
        _ => CONTROL_AWAY,
    }
}

/// For a stream that a host did not open.
pub fn of_host(problem: &Problem) -> CloseReason {
    match problem.code.as_str() {
        codes::HOST_GONE | codes::HOST_SILENT => HOST_GONE,
        refusals::NO_ALLOCATION | refusals::NO_SESSION => GONE,
        refusals::TOO_MANY => TOO_MANY_SESSIONS,
        refusals::TOO_MANY_STREAMS => TOO_MANY_STREAMS,
        _ => HOST_REFUSED,
    }
}

pub fn of_open(error: &OpenError) -> CloseReason {
    match error {
        OpenError::Control(error) => of_control(error),
        OpenError::Host(problem) => of_host(problem),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16) -> CloseReason {
        let status = StatusCode::from_u16(status).unwrap();
        of_control(&ControlError::Refused { status, problem: Box::default() })
    }

    #[test]
    fn every_bad_ticket_gets_the_same_answer() {
        for status in [400, 401, 410, 422] {
            assert_eq!(refused(status), TICKET);
        }
        assert_eq!(
            (refused(403).code, refused(404).code, refused(429).code, refused(503).code),
            (4403, 4404, 4429, 4503)
        );
        assert_eq!(of_control(&ControlError::Unreachable(String::new())).code, 4503);
        let problem = Box::new(Problem { code: gateway::refusals::TOO_MANY.into(), ..Problem::default() });
        let full = ControlError::Refused { status: StatusCode::TOO_MANY_REQUESTS, problem };
        assert_eq!(of_control(&full), TOO_MANY_SESSIONS);
    }

    #[test]
    fn a_reason_fits_into_a_close_frame() {
        for farewell in [
            BAD_FRAME,
            TICKET,
            POLICY,
            HOST_REFUSED,
            UNRECORDED,
            GONE,
            HOST_GONE,
            TOO_MANY,
            TOO_MANY_SESSIONS,
            TOO_MANY_STREAMS,
            CONTROL_AWAY,
        ] {
            assert!(farewell.text.len() <= 123 && !farewell.text.is_empty());
        }
    }
}
