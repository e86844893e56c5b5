//! SSH certificates: the platform's own authority for people who log in with
//! `ssh`. A certificate names one allocation and who asked for it; whether they
//! may come in is judged when they do.

mod authority;
mod known_hosts;
mod routes;

pub use authority::{Bearer, read};
