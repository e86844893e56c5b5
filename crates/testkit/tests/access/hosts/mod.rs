//! Shells on a real host, through gateways that are processes of their own: what
//! survives whose death, what a reader who stalls costs, and what a browser sees.

mod browser;
mod deaths;
mod gateways;
mod site;
mod ssh;
mod ssh_limits;
mod ssh_requests;
mod stalls;
mod web;
