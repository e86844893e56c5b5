//! `migrate status|up|down`.

use clap::Subcommand;
use gpuaasd::migrations::{self, State};

use super::AnyError;

#[derive(Subcommand)]
pub enum Action {
    /// List the steps and which were taken.
    Status,
    /// Take every step that is missing; safe to run in several places at once.
    Up,
    /// Take steps back, with the data that only they knew.
    Down {
        /// The step that stays the newest; 0 takes all back.
        #[arg(long)]
        to: i64,
    },
}

pub async fn run(url: &str, action: Action) -> Result<(), AnyError> {
    match action {
        Action::Up => migrations::up(url).await?,
        Action::Down { to } => migrations::down(url, to).await?,
        Action::Status => (),
    }
    for step in migrations::status(url).await? {
        let state = match step.state {
            State::Applied => "applied",
            State::Missing => "missing",
            State::FromLater => "of a later release",
        };
        println!("{:>4}  {:<19} {}", step.version, state, step.name);
    }
    Ok(())
}
