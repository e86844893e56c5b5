//! Corrections: what staff change in an organization's books by hand. Where
//! policy asks for four eyes, one person proposes and another one posts.

pub mod lifecycle;
mod reconcile;
mod routes;
mod store;

pub use reconcile::CorrectionReconciler;
