//! `guard`: asked of the agent before an update, by the service manager, each time
//! it starts the new one. It brings itself back when that has failed too often.

use super::{Outcome, Place};
use agent::state::StateFolder;
use agent::update::{Began, Guard};
use std::process::ExitCode;

pub fn run(place: &Place) -> Outcome {
    let folder = StateFolder::open(&place.data_dir)?;
    if let Began::RolledBack(binary) = Guard::begin(&folder)? {
        eprintln!("the updated agent did not start; rolled back to {}", binary.display());
    }
    Ok(ExitCode::SUCCESS)
}
