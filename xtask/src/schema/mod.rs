//! The schema as the migrations describe it: tables, who may see their rows, and
//! the triggers that guard them. No database is needed to read it.

mod page;
mod statements;

use std::collections::{BTreeMap, BTreeSet};

pub use page::{PAGE, document};
pub use statements::read;

/// Everything that the page and the rule need of all migrations together.
#[derive(Debug, Default)]
pub struct Schema {
    pub areas: Vec<Area>,
    pub tables: Vec<Table>,
    pub trigger_functions: Vec<Function>,
}

/// One migration: its file, and the comment that it begins with.
#[derive(Debug)]
pub struct Area {
    pub path: String,
    pub about: String,
}

#[derive(Debug)]
pub struct Table {
    pub name: String,
    /// Where it is created.
    pub path: String,
    pub line: usize,
    pub purpose: Option<String>,
    /// Why it is open to every role that has a grant.
    pub not_tenant_data: Option<String>,
    /// The commands for which each role has a policy.
    pub policies: BTreeMap<String, BTreeSet<String>>,
    pub triggers: Vec<Trigger>,
}

#[derive(Debug)]
pub struct Trigger {
    pub name: String,
    /// Such as `before update or delete`.
    pub moment: String,
    pub function: String,
    pub argument: Option<String>,
}

/// A function that triggers run.
#[derive(Debug)]
pub struct Function {
    pub name: String,
    pub path: String,
    pub line: usize,
    pub purpose: Option<String>,
}
