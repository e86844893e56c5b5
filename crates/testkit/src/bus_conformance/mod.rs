//! What every bus must do, whatever carries the messages. Each check takes a
//! [`Stand`] for one bus; `tests/platform/bus.rs` runs all of them on all buses.

mod crashes;
mod dead_letters;
mod delivery;
mod order;
mod recorder;
mod stand;

pub use crashes::*;
pub use dead_letters::*;
pub use delivery::*;
pub use order::*;
pub use recorder::{Effect, Recorder};
pub use stand::{Running, Stand};

/// Calls `$run!(check)` for every check.
#[macro_export]
macro_rules! for_each_bus_check {
    ($run:ident) => {
        $run! { every_committed_event_reaches_every_consumer_that_wants_it_once }
        $run! { a_transaction_that_was_taken_back_says_nothing }
        $run! { a_new_consumer_sees_what_is_retained }
        $run! { a_restart_resumes_where_the_consumer_stood }
        $run! { the_correlation_and_the_trace_of_a_change_go_on_to_its_effects }
        $run! { changes_of_one_resource_come_in_the_order_of_their_versions }
        $run! { a_change_made_late_by_an_early_transaction_comes_late }
        $run! { events_of_a_transaction_that_commits_late_are_not_skipped }
        $run! { a_failing_message_becomes_a_dead_letter_and_only_its_resource_waits }
        $run! { a_panicking_consumer_goes_on_with_the_next_message }
        $run! { a_dead_letter_is_delivered_again_a_bounded_number_of_times_and_then_on_request }
        $run! { a_redelivery_that_fails_leaves_only_the_record_of_its_failure }
        $run! { discarding_a_dead_letter_frees_what_waits_behind_it }
        $run! { an_effect_that_was_not_acknowledged_is_not_doubled }
        $run! { consumers_killed_at_any_moment_lose_and_double_nothing }
        $run! { two_replicas_of_a_consumer_do_not_double_effects }
    };
}
