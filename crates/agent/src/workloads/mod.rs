//! What can run on a host for an allocation, one folder each.

pub(crate) mod login;
