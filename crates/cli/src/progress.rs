//! Waits for an allocation and shows each stage as it is reached: a live line
//! on a terminal, a line per stage elsewhere.

use std::{
    io::{IsTerminal, Write},
    time::Duration,
};

use contract::{
    Open,
    allocations::{Allocation, AllocationPath, AllocationState, GetAllocation},
};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::{
    context::Context,
    exact,
    failure::{Class, Failure},
};

// bound: how often the server is asked
const EVERY: Duration = Duration::from_millis(200);
// bound: nobody waits longer in front of a terminal; what is asked for stays asked for
const LONGEST: Duration = Duration::from_secs(24 * 3600);

pub async fn until_active(context: &Context, path: AllocationPath) -> Result<Value, Failure> {
    until(context, path, |_, state| match state {
        AllocationState::Active => Some(Ok(())),
        AllocationState::Released | AllocationState::Failed | AllocationState::ReleaseFailed => Some(Err(())),
        AllocationState::Requested
        | AllocationState::Provisioning
        | AllocationState::Stopping
        | AllocationState::Stopped
        | AllocationState::Starting
        | AllocationState::Releasing => None,
    })
    .await
}

pub async fn until_over(context: &Context, path: AllocationPath) -> Result<Value, Failure> {
    until(context, path, |_, state| match state {
        AllocationState::Released | AllocationState::Failed => Some(Ok(())),
        AllocationState::ReleaseFailed => Some(Err(())),
        AllocationState::Requested
        | AllocationState::Provisioning
        | AllocationState::Active
        | AllocationState::Stopping
        | AllocationState::Stopped
        | AllocationState::Starting
        | AllocationState::Releasing => None,
    })
    .await
}

pub async fn until_stopped(context: &Context, path: AllocationPath) -> Result<Value, Failure> {
    until(context, path, |allocation, state| match state {
        AllocationState::Stopped => Some(Ok(())),
        // Its hosts could not stop it, and a person has to look.
        AllocationState::Stopping if allocation.needs_attention => Some(Err(())),
        AllocationState::Stopping => None,
        AllocationState::Requested
        | AllocationState::Provisioning
        | AllocationState::Active
        | AllocationState::Starting
        | AllocationState::Releasing
        | AllocationState::Released
        | AllocationState::Failed
        | AllocationState::ReleaseFailed => Some(Err(())),
    })
    .await
}

pub async fn until_started(context: &Context, path: AllocationPath) -> Result<Value, Failure> {
    until(context, path, |_, state| match state {
        AllocationState::Active => Some(Ok(())),
        AllocationState::Starting => None,
        // A start that fails is stopped again.
        AllocationState::Stopping
        | AllocationState::Stopped
        | AllocationState::Requested
        | AllocationState::Provisioning
        | AllocationState::Releasing
        | AllocationState::Released
        | AllocationState::Failed
        | AllocationState::ReleaseFailed => Some(Err(())),
    })
    .await
}

async fn until(
    context: &Context,
    path: AllocationPath,
    is_over: impl Fn(&Allocation, AllocationState) -> Option<Result<(), ()>>,
) -> Result<Value, Failure> {
    let started = Instant::now();
    let mut line = Line::new(context);
    while started.elapsed() < LONGEST {
        let answer = context.ask::<GetAllocation>(path.clone()).await?;
        let allocation: Allocation = exact::read(&answer)?;
        line.show(started.elapsed(), &stage(&allocation));
        let over = match &allocation.state {
            Open::Known(state) => is_over(&allocation, *state),
            Open::Unknown(_) => None,
        };
        match over {
            None => sleep(EVERY).await,
            Some(Ok(())) => {
                line.end();
                return Ok(answer);
            }
            Some(Err(())) => {
                line.end();
                let reason = allocation.reason.unwrap_or_else(|| "no reason given".into());
                return Err(Failure::new(
                    Class::Conflict,
                    format!("the allocation is {}: {reason}", allocation.state.as_str()),
                    format!("See `gpuaas why {}` for details.", allocation.id),
                ));
            }
        }
    }
    line.end();
    Err(Failure::new(
        Class::Unavailable,
        "timed out after waiting for a day",
        format!("See `gpuaas why {}` for what it is waiting for.", path.allocation_id),
    ))
}

/// What is going on, in a few words.
fn stage(allocation: &Allocation) -> String {
    let mut text = allocation.state.as_str().to_owned();
    if !allocation.parts.is_empty() {
        let gpus: usize = allocation.parts.iter().map(|it| it.gpus.len()).sum();
        let nodes = allocation.parts.len();
        text += &format!(", {gpus} GPU{} on {nodes} node{}", plural(gpus), plural(nodes));
    }
    if let Some(stage) = allocation.parts.iter().filter_map(|it| it.stage.as_deref()).next_back() {
        text += &format!(", last stage {stage}");
    }
    if let Some(reason) = &allocation.reason {
        text += &format!(" ({})", crate::table::harmless(reason));
    }
    text
}

struct Line {
    is_shown: bool,
    is_live: bool,
    last: String,
}

impl Line {
    fn new(context: &Context) -> Self {
        let is_shown = context.output.is_for_people() && !context.output.quiet;
        Self { is_shown, is_live: std::io::stderr().is_terminal(), last: String::new() }
    }

    /// A stage that was not reached before gets a line of its own.
    fn show(&mut self, after: Duration, stage: &str) {
        if !self.is_shown {
            return;
        }
        let is_new = self.last != stage;
        let clock = format!("{:>6.1} s  {stage}", after.as_secs_f64());
        let mut out = std::io::stderr().lock();
        // A terminal that went away takes the progress with it, not the command.
        let _ = match (self.is_live, is_new) {
            (true, true) if !self.last.is_empty() => write!(out, "\n\r\x1b[K{clock}"),
            (true, _) => write!(out, "\r\x1b[K{clock}"),
            (false, true) => writeln!(out, "{clock}"),
            (false, false) => Ok(()),
        };
        let _ = out.flush();
        self.last = stage.to_owned();
    }

    fn end(&self) {
        if self.is_shown && self.is_live {
            eprintln!();
        }
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
