//! A gateway between a scripted control plane and scripted hosts, over real sockets.

#![allow(clippy::unwrap_used)]

mod burdens;
mod forwards;
mod hosts;
mod listeners;
mod recordings;
mod ssh;
mod stage;
mod terminals;
mod web;
