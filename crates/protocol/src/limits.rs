//! The bounds that both sides keep, so that neither can fill the other's memory.

/// The largest body either side sends or reads.
pub const MAX_BODY_BYTES: usize = 1024 * 1024; // bound: a poll with everything in it stays far below
/// The largest agent binary that is served and downloaded.
pub const MAX_AGENT_BYTES: usize = 128 * 1024 * 1024; // bound: five times what the binary weighs
pub const MAX_TASKS_PER_POLL: usize = 64; // bound: the next poll follows at once
pub const MAX_REPORTS_PER_POLL: usize = 64; // bound: the next poll follows at once
pub const MAX_HEALTH_PER_POLL: usize = 64; // bound: a broken host must not drown the others
pub const MAX_SAMPLES_PER_POLL: usize = 64; // bound: an outage is not filled in later beyond this
pub const MAX_GPUS_PER_NODE: usize = 64; // bound: four times the largest host sold
pub const MAX_KEYS_PER_LOGIN: usize = 64; // bound: sshd reads them one by one
pub const MAX_KEY_BYTES: usize = 16 * 1024; // bound: sshd's own limit of a line is above
pub const MAX_TASK_BYTES: usize = 256 * 1024; // bound: a login with a few hundred usual keys
pub const MAX_TEXT_BYTES: usize = 4096; // bound: details and names in reports, health and inventory
/// How long a poll may be held.
pub const MAX_WAIT_MS: u32 = 60_000; // bound: proxies close silent connections after a minute

/// Cuts a text to [`MAX_TEXT_BYTES`] at a character's border.
pub fn bounded_text(text: impl Into<String>) -> String {
    let mut text = text.into();
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(bounded_text("short"), "short");
        let long = bounded_text("é".repeat(MAX_TEXT_BYTES));
        assert_eq!(long.len(), MAX_TEXT_BYTES);
        assert!(long.chars().all(|letter| letter == 'é'));
    }
}
