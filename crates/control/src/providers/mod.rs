//! Providers: the MAAS servers that supply bare machines to pools. Which of
//! their machines are used, and how each is handed over, is for `machines`.

pub mod lifecycle;
mod reconcile;
mod routes;
mod store;

pub use reconcile::ProviderReconciler;
pub use store::{API_KEYS, Supply, supply};
