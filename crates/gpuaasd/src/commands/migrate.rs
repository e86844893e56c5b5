//! `migrate status|up|down`.

use clap::Subcommand;
use gpuaasd::migrations::{self, State};

use super::AnyError;

#[derive(Subcommand)]
pub enum Action {
    /// List migrations and their status
    Status,
    /// Apply all pending migrations; safe to run concurrently
    Up,
    /// Roll back migrations, deleting the data they added
    Down {
        /// Version to roll back to; 0 rolls back everything
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
            State::FromLater => "later release",
        };
        println!("{:>4}  {:<19} {}", step.version, state, step.name);
    }
    Ok(())
}
