//! Webhooks, with a receiver on a real socket: what arrives, what is tried
//! again, what is given up, and where nothing may ever be sent.

mod safety;
mod sending;
mod stand;
mod upkeep;
