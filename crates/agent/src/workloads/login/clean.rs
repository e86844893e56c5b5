//! Whether a host is clean: looked at, never believed.

use super::files::{homes_below, left_in_shared};
use super::processes;
use super::users;
use crate::config::Config;
use crate::steps::{Failure, Result};

const SHOWN: usize = 8; // bound: of each kind in a report

/// Fails with what is still there of any login.
pub(crate) fn inspect(config: &Config) -> Result<()> {
    let ids = vec![config.first_uid..=config.last_uid];
    let alive = processes::alive_of(&ids).iter().map(i32::to_string).collect();
    let keys = std::fs::read_dir(&config.keys_root).into_iter().flatten().flatten();
    let keys = keys.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let files = left_in_shared(config, &ids)
        .map_err(|error| Failure::lasting("not_clean", format!("shared folders cannot be searched: {error}")))?;
    let files = files.iter().map(|path| path.display().to_string()).collect();
    let found: [(&str, Vec<String>); 5] = [
        ("users", users::made_below(&config.home_root)),
        ("homes", homes_below(&config.home_root)),
        ("processes", alive),
        ("key files", keys),
        ("files in shared folders", files),
    ];
    let left: Vec<String> = found.iter().filter(|(_, names)| !names.is_empty()).map(listed).collect();
    if left.is_empty() {
        return Ok(());
    }
    let advice = "make the wipe script remove them, or attest the wipe manually";
    Err(Failure::lasting("not_clean", format!("after the wipe, the host still has {}; {advice}", left.join("; "))))
}

fn listed((kind, names): &(&str, Vec<String>)) -> String {
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    format!("{kind} {}{more}", shown.join(", "))
}
