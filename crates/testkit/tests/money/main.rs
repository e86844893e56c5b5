//! Usage, the ledger, wallets, payments and invoices.

mod invoices;
mod ledger;
mod payments;
mod wallets;
