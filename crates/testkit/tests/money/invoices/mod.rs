//! Invoices: what a month came to, to the millionth, numbered without gaps,
//! whoever is killed while issuing them.

mod corrected;
mod downloads;
mod exported;
mod focus;
mod focus_rules;
mod issued;
mod numbered;
mod shop;
mod tagged;
mod units;
