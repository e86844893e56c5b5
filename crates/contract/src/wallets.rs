//! Wallets: an organization's money in one currency, and whether it lasts.

use crate::{Open, Timestamp, event, id::WalletId, prices::CurrencyCode, words};

words! {
    /// Whether the money of a wallet lasts.
    WalletState {
        /// For long enough.
        Funded = "funded",
        /// Not for long.
        Low = "low",
        /// What runs cannot be paid for any longer, and ends when the grace does.
        Grace = "grace",
        /// The grace is over: allocations were ended for lack of money.
        Depleted = "depleted",
    }
}

event! {
    /// The money will not last long.
    WalletBalanceLow = "wallet.balance_low" {
        id: WalletId,
        from: Open<WalletState>,
        to: Open<WalletState>,
        version: i64,
        currency: CurrencyCode,
        /// What there is, for people.
        balance: String,
        /// Until when it lasts at the present use; absent when nothing runs.
        until: Option<Timestamp>,
    }
}
event! {
    /// What runs cannot be paid for any longer; it ends when the grace is over.
    WalletGraceStarted = "wallet.grace_started" {
        id: WalletId,
        from: Open<WalletState>,
        to: Open<WalletState>,
        version: i64,
        currency: CurrencyCode,
        /// What there is, for people.
        balance: String,
        /// When the grace is over.
        until: Option<Timestamp>,
    }
}
event! {
    /// The grace is over, and allocations end, the newest first.
    WalletDepleted = "wallet.depleted" {
        id: WalletId,
        from: Open<WalletState>,
        to: Open<WalletState>,
        version: i64,
        currency: CurrencyCode,
        /// What there is, for people.
        balance: String,
        /// Until when it lasts at the present use; absent when nothing runs.
        until: Option<Timestamp>,
    }
}
event! {
    /// There is enough money again.
    WalletFunded = "wallet.funded" {
        id: WalletId,
        from: Open<WalletState>,
        to: Open<WalletState>,
        version: i64,
        currency: CurrencyCode,
        /// What there is, for people.
        balance: String,
        /// Until when it lasts at the present use; absent when nothing runs.
        until: Option<Timestamp>,
    }
}
