//! Wallets: holds that are renewed, money that runs low, grace, depletion, and
//! who is told of it. Time is moved; hosts are not needed.

mod depletion;
mod killed;
mod life;
mod mailing;
mod prices;
mod stand;
mod together;
