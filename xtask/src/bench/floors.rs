//! What every figure must reach: goals of a whole run on the release build, and
//! floors of the short run, which a debug build on a busy machine must hold. This
//! is the one place to change when a cost is intended; the commit says why.

use super::figure::Bar::{self, AtLeast, AtMost};
use super::part::Part;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Floor {
    pub part: Part,
    pub figure: &'static str,
    pub bar: Bar,
}

const fn floor(part: Part, figure: &'static str, bar: Bar) -> Floor {
    Floor { part, figure, bar }
}

const GOALS: &[Floor] = &[
    floor(Part::Idle, "idle_memory_mib", AtMost(45.0)),
    floor(Part::Idle, "start_to_ready_s", AtMost(2.0)),
    floor(Part::Writes, "writes.ratio", AtLeast(0.65)),
    floor(Part::Reads, "reads.ratio", AtLeast(0.7)),
    floor(Part::Allocations, "allocations_active_per_second", AtLeast(400.0)),
    floor(Part::Allocations, "request_to_active_p50_ms", AtMost(25.0)),
    floor(Part::Allocations, "request_to_active_p99_ms", AtMost(250.0)),
    floor(Part::Money, "accrual_100000_s", AtMost(10.0)),
    floor(Part::Money, "accrual_ratio", AtLeast(0.3)),
    floor(Part::Money, "prove_1000000_s", AtMost(60.0)),
    floor(Part::Money, "balance_at_1000000_entries_p99_ms", AtMost(5.0)),
    floor(Part::Planner, "planner_decisions_per_second", AtLeast(2000.0)),
    floor(Part::Planner, "planner_p999_ms", AtMost(20.0)),
    floor(Part::Planner, "planner_search_p999_ms", AtMost(20.0)),
    floor(Part::Large, "large_fleet_request_to_placed_p50_ms", AtMost(60.0)),
    floor(Part::Agents, "agents_1000_cores", AtMost(1.0)),
    floor(Part::Agents, "agents_1000_memory_mib", AtMost(500.0)),
    floor(Part::Agents, "agents_5000_cores", AtMost(1.0)),
    floor(Part::Agents, "agents_5000_memory_mib", AtMost(500.0)),
    floor(Part::Access, "terminal_of_raw", AtLeast(0.5)),
    floor(Part::Access, "terminal_of_terminado", AtLeast(2.5)),
    floor(Part::Access, "terminal_recorded_of_raw", AtLeast(0.2)),
    floor(Part::Access, "echo_p99_ms", AtMost(50.0)),
    floor(Part::Access, "gateway_kib_per_idle_session", AtMost(100.0)),
];

/// Ratios that even an unoptimized build reaches, so that only a real mistake, such
/// as a query without its index or a connection for every request, misses them.
const SHORT: &[Floor] =
    &[floor(Part::Writes, "writes.ratio", AtLeast(0.08)), floor(Part::Reads, "reads.ratio", AtLeast(0.04))];

/// The same in both: what one allocation costs does not depend on the machine. About a third
/// above what is measured, because heartbeats and looks of the idle are counted too.
const COUNTS: &[Floor] = &[
    floor(Part::Counts, "allocation.round_trips", AtMost(210.0)),
    floor(Part::Counts, "allocation.statements", AtMost(280.0)),
    floor(Part::Counts, "allocation.rows", AtMost(60.0)),
    floor(Part::Counts, "allocation.wakes", AtMost(5.0)),
    floor(Part::Counts, "allocation.visits", AtMost(5.0)),
];

/// The bars of a run.
pub fn of(is_short: bool) -> impl Iterator<Item = Floor> {
    let own = if is_short { SHORT } else { GOALS };
    own.iter().chain(COUNTS).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floor_of_a_figure_stands_once() {
        for is_short in [false, true] {
            let mut names: Vec<&str> = of(is_short).map(|it| it.figure).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }
}
