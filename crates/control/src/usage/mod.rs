//! Usage as people ask for it: how long GPUs ran and what it came to, in any
//! period and cut any way. The marks themselves are written by the database.

mod cost;
mod export;
mod others;
mod routes;
mod store;
