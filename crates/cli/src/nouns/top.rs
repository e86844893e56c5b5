//! `gpuaas top`: the fleet, or a project, as it is now.

use std::time::Duration;

use clap::Args;
use contract::Timestamp;

use crate::{
    context::Context,
    failure::{Class, Done, Failure},
    top::{Key, Picture, Screen, Size, Whose, draw},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas top
  gpuaas top --project training
  gpuaas top --once

Platform staff see the fleet; others see the allocations of their project. Both
see capacity. q ends it.";

/// Watch nodes, allocations and capacity
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Top {
    /// Print it once and end, as without a terminal
    #[arg(long)]
    once: bool,
}

// bound: how often the server is asked
const EVERY: Duration = Duration::from_secs(2);
/// Without a terminal nothing is cut.
const ENDLESS: Size = Size { columns: usize::MAX, lines: usize::MAX };

impl Top {
    pub async fn run(self, context: &Context) -> Done {
        let whose = Whose::of(context).await?;
        let mut picture = Picture::default();
        whose.look(context, &mut picture, 0).await?;
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

async fn live(context: &Context, whose: &Whose, mut picture: Picture) -> Done {
    let mut screen = Screen::open().map_err(|error| lost(&error))?;
    let mut trouble = None;
    for round in 1.. {
        let lines = draw(&picture, trouble.as_deref(), Timestamp::now(), screen.size());
        screen.show(&lines).map_err(|error| lost(&error))?;
        if screen.key(EVERY).await == Some(Key::Quit) {
            break;
        }
        // What was seen last stays while the server does not answer.
        trouble = match whose.look(context, &mut picture, round).await {
            Ok(()) => None,
            Err(failure) if failure.class == Class::SignedOut => return Err(failure),
            Err(failure) => Some(failure.detail().to_owned()),
        };
    }
    Ok(())
}

fn lost(error: &std::io::Error) -> Failure {
    Failure::usage(format!("the terminal cannot be used: {error}"), "Add --once to print it as text.")
}
