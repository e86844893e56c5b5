//! The lanes of the work queue. What waits for the same outside party shares
//! slots; what must go on while that party hangs has slots of its own.

use kernel::work::Lane;

/// Waits for nobody outside the platform.
pub const DATABASE: Lane = Lane { name: "database", slots: 8, batch: 1 }; // bound: visits at once
/// Allocations, which wait for nobody outside either. Many change at once, and share transactions:
/// few slots, so that what comes meanwhile gathers.
pub const ALLOCATIONS: Lane = Lane { name: "allocations", slots: 2, batch: 64 }; // bound: 64 are placed in one transaction
/// Payments, their events, their comparison, and refunds.
pub const MONEY: Lane = Lane { name: "money", slots: 8, batch: 1 }; // bound: calls to the payment provider at once
/// Mail, whose server the operator chose.
pub const MAIL: Lane = Lane { name: "mail", slots: 8, batch: 1 }; // bound: visits; fewer connections are opened
/// Mail that guards accounts: it goes on while other mail waits.
pub const SECURITY_MAIL: Lane = Lane { name: "security_mail", slots: 4, batch: 1 }; // bound: visits; fewer connections are opened
/// Calls to customers' receivers, shared among organizations by `webhook_deliveries::send`.
pub const WEBHOOKS: Lane = Lane { name: "webhooks", slots: 64, batch: 1 }; // bound: calls at once
/// Suppliers of bare machines, and the machines themselves.
pub const MACHINES: Lane = Lane { name: "machines", slots: 8, batch: 1 }; // bound: calls to MAAS at once
/// The store of recordings.
pub const RECORDINGS: Lane = Lane { name: "recordings", slots: 8, batch: 1 }; // bound: visits at once
