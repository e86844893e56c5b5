//! `reach.toml`: why an endpoint has no command, or no page in the console.

use std::collections::BTreeMap;

use crate::tidy::File;

pub const PATH: &str = "reach.toml";

/// The reasons of one face, by group, in the order of the names.
#[derive(Default)]
pub struct Reasons(BTreeMap<String, BTreeMap<String, String>>);

impl Reasons {
    /// Those of the face with this name.
    pub fn of(files: &[File], face: &str) -> Result<Self, String> {
        let Some(file) = files.iter().find(|it| it.path == PATH) else { return Ok(Self::default()) };
        let mut table: toml::Table = file.text.parse().map_err(|error| format!("cannot be read: {error}"))?;
        match table.remove(face) {
            Some(groups) => groups.try_into().map(Self).map_err(|error| format!("[{face}] cannot be read: {error}")),
            None => Ok(Self::default()),
        }
    }

    /// The group and the reason of an operation.
    pub fn why(&self, operation: &str) -> Option<(&str, &str)> {
        self.all().find(|(_, name, _)| *name == operation).map(|(group, _, why)| (group, why))
    }

    /// Every reason as group, operation and text.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let groups = self.0.iter();
        groups.flat_map(|(group, reasons)| {
            reasons.iter().map(move |(name, why)| (group.as_str(), name.as_str(), why.as_str()))
        })
    }
}

/// Where a reason stands.
pub fn line_of(files: &[File], face: &str, operation: &str) -> usize {
    let Some(file) = files.iter().find(|it| it.path == PATH) else { return 1 };
    let mut is_face = false;
    for (at, line) in file.text.lines().enumerate() {
        if line.starts_with('[') {
            is_face = line.starts_with(&format!("[{face}."));
        } else if is_face && line.split('=').next().is_some_and(|it| it.trim() == operation) {
            return at + 1;
        }
    }
    1
}
