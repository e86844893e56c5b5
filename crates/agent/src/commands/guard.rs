//! `guard`: asked of the agent before an update, by the service manager, each time
//! it starts the new one. It brings itself back when that has failed too often.

use super::{DataFolder, Outcome};
use agent::state::StateFolder;
use agent::update::{Guard, StartOutcome};
use std::process::ExitCode;

pub fn run(place: &DataFolder) -> Outcome {
    let folder = StateFolder::open(&place.data_dir)?;
    if let StartOutcome::RolledBack(binary) = Guard::begin(&folder)? {
        eprintln!("the updated agent did not start; rolled back to {}", binary.display());
    }
    Ok(ExitCode::SUCCESS)
}
