//! Who can stop the platform for others: silent connections, requests that
//! stall or repeat, refusals by the thousand, and outside work that hangs.

mod connections;
mod mail;
mod outside_work;
mod pool;
mod recordings;
mod refusals;
mod requests;
