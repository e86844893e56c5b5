//! Wallets: an organization's money in one currency, and whether it lasts.

use crate::{Open, Timestamp, event, id::WalletId, prices::CurrencyCode, words};

words! {
    /// The state of a wallet.
    WalletState {
        /// The balance is sufficient.
        Funded = "funded",
        /// The balance is low.
        Low = "low",
        /// The balance is used up; allocations end after the grace period.
        Grace = "grace",
        /// The grace period is over: allocations were ended.
        Depleted = "depleted",
    }
}

event! {
    /// The balance of a wallet is low.
    WalletBalanceLow = "wallet.balance_low", staff: PlatformLedgerRead {
        id: WalletId,
        from: Open<WalletState>,
        to: Open<WalletState>,
        version: i64,
        currency: CurrencyCode,
        /// The balance, formatted for people.
        balance: String,
        /// When it runs out at the current rate; absent when nothing runs.
        until: Option<Timestamp>,
    }
}
event! {
    /// A wallet is used up; allocations end after the grace period.
    WalletGraceStarted = "wallet.grace_started", staff: PlatformLedgerRead {
        id: WalletId,
        from: Open<WalletState>,
        to: Open<WalletState>,
        version: i64,
        currency: CurrencyCode,
        /// The balance, formatted for people.
        balance: String,
        /// When the grace period ends.
        until: Option<Timestamp>,
    }
}
event! {
    /// The grace period is over; allocations end, newest first.
    WalletDepleted = "wallet.depleted", staff: PlatformLedgerRead {
        id: WalletId,
        from: Open<WalletState>,
        to: Open<WalletState>,
        version: i64,
        currency: CurrencyCode,
        /// The balance, formatted for people.
        balance: String,
        /// When it runs out at the current rate; absent when nothing runs.
        until: Option<Timestamp>,
    }
}
event! {
    /// The balance of a wallet is sufficient again.
    WalletFunded = "wallet.funded", staff: PlatformLedgerRead {
        id: WalletId,
        from: Open<WalletState>,
        to: Open<WalletState>,
        version: i64,
        currency: CurrencyCode,
        /// The balance, formatted for people.
        balance: String,
        /// When it runs out at the current rate; absent when nothing runs.
        until: Option<Timestamp>,
    }
}
