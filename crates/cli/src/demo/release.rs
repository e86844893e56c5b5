//! Giving back what a tour took that did not come to its end, and saying what is
//! left where that cannot be done.

use std::time::Duration;

use contract::{
    allocations::{Allocation, AllocationPath, AllocationState, GetAllocation},
    id::AllocationId,
};
use tokio::time::{Instant, sleep, timeout};

use super::{LEASE_MINUTES, Tour, TourProgress, signals::Signals};
use crate::{
    exact,
    failure::{Class, Failure},
    progress,
};

// bound: how long a request may still be under way whose answer nobody waited for
const UNDER_WAY: Duration = Duration::from_secs(5);
// bound: how long a server may be away before somebody else has to clean up
const AWAY: Duration = Duration::from_secs(20);
const EVERY: Duration = Duration::from_millis(500);
// bound: what was refused twice will be refused again
const TRIES: usize = 2;

pub async fn clean_up(tour: &Tour<'_>, signals: &mut Signals) {
    if matches!(tour.taken.get(), TourProgress::Nothing | TourProgress::Released) {
        return;
    }
    let output = tour.context.output;
    output.warn(format!("\nThe tour was interrupted. Releasing {} if it exists …", tour.name));
    let is_clean = tokio::select! {
        is_clean = release(tour) => is_clean,
        () = signals.next() => Ok(false),
    };
    match is_clean {
        Ok(true) => output.warn("Nothing is left running."),
        Ok(false) => output.warn(left(tour)),
        Err(failure) => {
            output.failure(&failure);
            output.warn(left(tour));
        }
    }
}

/// Whether nothing is left.
async fn release(tour: &Tour<'_>) -> Result<bool, Failure> {
    for _ in 0..TRIES {
        let Some(id) = find(tour).await? else { return Ok(true) };
        let path = AllocationPath { project_id: tour.project_id, allocation_id: id };
        let found: Allocation = exact::read(&tour.context.ask::<GetAllocation>(path.clone()).await?)?;
        if found.state == AllocationState::Releasing {
            // A second release would be refused; what is left to do is to wait.
            let over = timeout(tour.wishes.timeout, progress::until_over(tour.context, path)).await;
            return over.map_or(Ok(false), |it| it.map(|_| true));
        }
        let line = tour.in_project(&format!("allocations release {id} --wait --yes"));
        tour.context.output.warn(format!("$ {line}"));
        match line.run_apart(tour.wishes.timeout).await {
            Ok(()) => return Ok(true),
            Err(ended) if ended.is_late() => return Err(ended.into()),
            // Somebody else may have been faster.
            Err(ended) if ended.is_answer() => (),
            Err(_) => return Ok(false),
        }
    }
    Ok(false)
}

/// The allocation, if it is or comes to be there.
async fn find(tour: &Tour<'_>) -> Result<Option<AllocationId>, Failure> {
    let began = Instant::now();
    let expect_for = if tour.taken.get() == TourProgress::Perhaps { UNDER_WAY } else { Duration::ZERO };
    loop {
        match tour.context.allocation_by_name(tour.project_id, &tour.name).await {
            Ok(id) => return Ok(Some(id)),
            Err(failure) if failure.class == Class::NotFound => {
                if began.elapsed() >= expect_for {
                    return Ok(None);
                }
            }
            Err(failure) if passes(failure.class) && began.elapsed() < AWAY => (),
            Err(failure) => return Err(failure),
        }
        sleep(EVERY).await;
    }
}

fn passes(class: Class) -> bool {
    matches!(class, Class::Unavailable | Class::Limited | Class::Server)
}

fn left(tour: &Tour<'_>) -> String {
    format!(
        "The allocation {} at {} may still exist. Release it with\n  {}\n\
         It ends automatically {LEASE_MINUTES} minutes after it started.",
        tour.name,
        tour.url,
        tour.release_line(),
    )
}
