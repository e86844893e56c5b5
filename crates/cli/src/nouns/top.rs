//! `gpuaas top`: the fleet, or a project, as it is now.

use std::time::Duration;

use clap::Args;
use contract::Timestamp;

use crate::{
    context::Context,
    failure::{Class, Done, Failure},
    top::{Input, Picture, Screen, Size, TopScope, draw},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas top
  gpuaas top --project training
  gpuaas top --once

Platform staff see the fleet; other users see their project's allocations. Both
see capacity. Press q to quit.";

/// Monitor nodes, allocations and capacity
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Top {
    /// Print once and exit
    #[arg(long)]
    once: bool,
}

// bound: how often the server is asked
const EVERY: Duration = Duration::from_secs(2);
// bound: how often the same picture is drawn again
const TICK: Duration = Duration::from_secs(1);
/// Without a terminal nothing is cut.
const ENDLESS: Size = Size { columns: usize::MAX, lines: usize::MAX };

impl Top {
    pub async fn run(self, context: &Context) -> Done {
        let whose = TopScope::of(context).await?;
        let picture = whose.look(context, 0).await?;
        if self.once || !Screen::is_possible() {
            if !context.output.is_for_people() {
                return context.output.document(&picture.for_programs());
            }
            let lines = draw(&picture, None, Timestamp::now(), ENDLESS);
            return context.output.line(lines.join("\n"));
        }
        live(context, &whose, picture).await
    }
}

async fn live(context: &Context, whose: &TopScope, mut picture: Picture) -> Done {
    let mut screen = Screen::open().map_err(|error| lost(&error))?;
    let mut error = None;
    for round in 1.. {
        let next = async {
            tokio::time::sleep(EVERY).await;
            whose.look(context, round).await
        };
        let Some(seen) = show(&mut screen, &picture, error.as_deref(), next).await? else { break };
        // What was seen last stays while the server does not answer.
        error = match seen {
            Ok(seen) => {
                picture.renew(seen);
                None
            }
            Err(failure) if failure.class == Class::SignedOut => return Err(failure),
            Err(failure) => Some(failure.detail().to_owned()),
        };
    }
    Ok(())
}

/// Shows a picture until the next one comes, however long that takes; nothing
/// when a person wants to end it.
async fn show<T>(
    screen: &mut Screen,
    picture: &Picture,
    error: Option<&str>,
    next: impl Future<Output = T>,
) -> Result<Option<T>, Failure> {
    tokio::pin!(next);
    loop {
        let lines = draw(picture, error, Timestamp::now(), screen.size());
        screen.show(&lines).map_err(|error| lost(&error))?;
        tokio::select! {
            next = &mut next => return Ok(Some(next)),
            input = screen.input() => match input {
                Input::Quit => return Ok(None),
                Input::Resized => (),
            },
            // The age of the picture goes on.
            () = tokio::time::sleep(TICK) => (),
        }
    }
}

fn lost(error: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot use the terminal: {error}"), "Pass --once to print plain text.")
}
