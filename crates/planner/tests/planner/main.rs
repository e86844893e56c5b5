//! Placement: each rule alone, what holds for every fleet, and how it compares with first fit.

mod explanations;
mod first_fit;
mod properties;
mod resources;
mod rules;
mod support;
mod waiting;
