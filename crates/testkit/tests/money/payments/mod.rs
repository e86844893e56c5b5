//! Payments through Stripe: against a scripted one, with signatures made by
//! Stripe's own library.

mod command_line;
mod comparing;
mod flow;
mod killed;
mod localstripe;
mod refunds;
mod signatures;
mod stand;
