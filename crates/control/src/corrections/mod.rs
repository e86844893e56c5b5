//! Corrections: what staff change in an organization's books by hand. Where
//! policy asks for four eyes, one person proposes and another one posts; so are
//! refunds, prices and switching that policy off.

pub mod lifecycle;
mod reconcile;
mod routes;
mod second_person;
mod store;

pub use reconcile::CorrectionReconciler;
pub use second_person::{Asked, Proposal, second_person};
