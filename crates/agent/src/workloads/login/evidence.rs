//! What was seen when something was cleaned.

use crate::driver::Steps;
use protocol::Done;

pub(crate) struct Seen {
    pub processes_killed: u32,
    pub gone: Gone,
    pub gpu_processes_left: u32,
}

/// What was looked for and not found.
pub(crate) struct Gone {
    pub user: bool,
    pub home: bool,
}

pub(crate) fn of(steps: &mut Steps, seen: Seen) -> Done {
    Done::Evidence {
        stages: steps.finish(),
        processes_killed: seen.processes_killed,
        home_removed: seen.gone.home,
        user_removed: seen.gone.user,
        gpu_processes_left: seen.gpu_processes_left,
    }
}

/// There was no such user.
pub(crate) fn of_nothing(steps: &mut Steps, gpu_processes_left: u32) -> Done {
    of(steps, Seen { processes_killed: 0, gone: Gone { user: true, home: true }, gpu_processes_left })
}
