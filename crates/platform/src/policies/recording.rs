//! What the policy `access.recording` says.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordingMode {
    Off,
    On,
    Required,
}

impl RecordingMode {
    pub fn parse(word: &str) -> Self {
        match word {
            "required" => RecordingMode::Required,
            "on" => RecordingMode::On,
            _ => RecordingMode::Off,
        }
    }
}
