//! What ends with its project or organization, what a suspension stops, what a
//! stopped allocation may keep, and what a lost host costs.

mod back;
mod declared;
mod lost;
mod organizations;
mod projects;
mod stand;
mod starting;
mod stopped;
