//! Metering: the only writer of usage. What starts, stops or is counted becomes a
//! mark with the price that is in force, in the transaction in which it happens.
//! Resources call it from the hook of their moves (`kernel::lifecycle::OnMove`),
//! so that no code that moves them can forget it; the database refuses a
//! commit that did.

mod store;

use std::collections::BTreeSet;

use contract::{
    Timestamp,
    id::{OrganizationId, ProjectId, SkuId},
    prices::PriceKind,
};
use kernel::{Scope, Tx, lifecycle::ParentEnd, money::Currency, work};
use platform::{
    policies::{self, settings},
    registry::{Meter, Registry, Retention},
};
use serde_json::Value;
use uuid::Uuid;

use crate::MoneyArea;

/// The kinds of work that usage wakes. They are here because those who do it read what
/// metering writes, and not the other way round.
pub const BOOKS: &str = "books";
pub const BUDGET: &str = "budget";
pub const WALLET: &str = "wallet";

pub fn register(registry: &mut Registry<MoneyArea>) {
    registry.table("usage", ParentEnd::Stays("the record of money"));
    registry.table("open_intervals", ParentEnd::EndsToo("with its subject, which ends first"));
    registry.retention(&["usage"], Retention::Forever("the record of money"));
    registry.retention(&["open_intervals"], Retention::Removed("`metering::stop`"));
}

/// What is metered: a row of some resource, by one of its meters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subject {
    pub organization: OrganizationId,
    pub id: Uuid,
    pub meter: &'static Meter,
}

/// A subject and meter as rows name them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubjectId {
    pub kind: String,
    pub id: Uuid,
    pub meter: String,
}

/// What a subject belongs to, so that a bill can be divided any way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parents {
    pub allocation: Option<Uuid>,
    pub volume: Option<Uuid>,
    pub app_instance: Option<Uuid>,
    pub deployment: Option<Uuid>,
    pub component: Option<String>,
    pub operating_mode: Option<String>,
}

/// Usage that is priced from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used {
    pub subject: Subject,
    pub project: ProjectId,
    pub parents: Parents,
    pub sku: SkuId,
    pub price_kind: PriceKind,
    /// At once where it is measured over time, else counted now.
    pub quantity: i64,
    pub currency: Currency,
    pub tags: Value,
    /// The nodes that it runs on.
    pub nodes: Vec<Uuid>,
    /// When it ends at the latest, such as the end of a lease.
    pub ends_at: Option<Timestamp>,
    /// Why it begins, such as the state that the subject moved to.
    pub cause: &'static str,
}

/// Usage that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    pub subject: Subject,
    /// It ended then if that is earlier than now: when a lost host was last heard.
    pub no_later_than: Option<Timestamp>,
    /// Whether its hold stays, because it may start again.
    pub keeps_hold: bool,
    pub cause: &'static str,
}

/// The text of a subject's id.
pub fn subject_text(kind: &str, id: Uuid) -> String {
    contract::id::text_of(kind, id).unwrap_or_else(|| id.to_string())
}

// bound: an organization's first posting after a pause waits this long, so that
// what starts together is posted together
const FIRST_POSTING: std::time::Duration = std::time::Duration::from_secs(10);

/// Starts intervals of meters that measure over time. From then on their holds
/// are consumed.
pub async fn start(tx: &mut Tx, used: &[Used]) -> sqlx::Result<()> {
    if used.is_empty() {
        return Ok(());
    }
    debug_assert!(used.iter().all(|it| it.subject.meter.unit.is_rate()), "a counted meter cannot be started");
    let scope = enter_system(tx).await?;
    store::lock(tx, &organizations(used), &skus(used), &[]).await?;
    let woken = store::start(tx, used, false).await?;
    wake(tx, &organizations(used), woken).await?;
    leave_system(tx, scope).await
}

/// Ends intervals and, with them, holds. What has no open interval gives up its
/// hold only.
pub async fn stop(tx: &mut Tx, stops: &[Stop]) -> sqlx::Result<()> {
    if stops.is_empty() {
        return Ok(());
    }
    let scope = enter_system(tx).await?;
    let organizations: Vec<Uuid> = distinct(stops.iter().map(|it| it.subject.organization.uuid()));
    store::lock(tx, &organizations, &[], &[]).await?;
    let woken = store::stop(tx, stops).await?;
    if !woken.is_empty() {
        wake(tx, &organizations, woken).await?;
    }
    leave_system(tx, scope).await
}

/// Goes on with another quantity, SKU or price, without a gap: ends the open
/// intervals and starts others at the same moment.
pub async fn change(tx: &mut Tx, used: &[Used]) -> sqlx::Result<()> {
    if used.is_empty() {
        return Ok(());
    }
    let scope = enter_system(tx).await?;
    store::lock(tx, &organizations(used), &skus(used), &[]).await?;
    let stops: Vec<Stop> = used
        .iter()
        .map(|it| Stop { subject: it.subject, no_later_than: None, keeps_hold: true, cause: it.cause })
        .collect();
    let mut woken = store::stop(tx, &stops).await?;
    woken.extend(store::start(tx, used, true).await?);
    wake(tx, &organizations(used), woken).await?;
    leave_system(tx, scope).await
}

/// Counts quantities of meters that count; each subject and meter once.
pub async fn count(tx: &mut Tx, used: &[Used]) -> sqlx::Result<()> {
    if used.is_empty() {
        return Ok(());
    }
    debug_assert!(
        used.iter().all(|it| !it.subject.meter.unit.is_rate()),
        "a meter measured over time cannot be counted"
    );
    let scope = enter_system(tx).await?;
    let subjects: Vec<Uuid> = distinct(used.iter().map(|it| it.subject.id));
    store::lock(tx, &organizations(used), &skus(used), &subjects).await?;
    let woken = store::count(tx, used).await?;
    wake(tx, &organizations(used), woken).await?;
    leave_system(tx, scope).await
}

/// What a mark concerns, by id.
enum Affected {
    Wallet(Uuid),
    Budget(Uuid),
}

/// Wakes those who follow usage: the books of the organizations, wallets whose
/// money lasts for another time, budgets that reach their thresholds at another.
async fn wake(tx: &mut Tx, organizations: &[Uuid], woken: Vec<Affected>) -> sqlx::Result<()> {
    for organization in organizations {
        // A posting that finds nothing to come back for leaves the queue while it holds the
        // books alone: this cannot be lost between the two.
        work::wake_unless_queued(tx, BOOKS, *organization, FIRST_POSTING);
    }
    // Where usage needs no money, nothing has to be foreseen. Switching it on wakes every wallet.
    let is_wallet = |it: &Affected| matches!(it, Affected::Wallet(_));
    let needs_money = woken.iter().any(is_wallet) && policies::flag_in(tx, settings::BILLING_REQUIRED).await?;
    for woken in woken {
        match woken {
            Affected::Wallet(id) if needs_money => work::wake_together(tx, WALLET, id),
            Affected::Wallet(_) => (),
            Affected::Budget(id) => work::wake(tx, BUDGET, id),
        }
    }
    Ok(())
}

/// No other scope writes usage; those who move something are in their own.
async fn enter_system(tx: &mut Tx) -> sqlx::Result<Scope> {
    let scope = tx.scope();
    if scope != Scope::System {
        tx.enter(Scope::System).await?;
    }
    Ok(scope)
}

async fn leave_system(tx: &mut Tx, scope: Scope) -> sqlx::Result<()> {
    if scope != Scope::System {
        tx.enter(scope).await?;
    }
    Ok(())
}

fn organizations(used: &[Used]) -> Vec<Uuid> {
    distinct(used.iter().map(|it| it.subject.organization.uuid()))
}

fn skus(used: &[Used]) -> Vec<Uuid> {
    distinct(used.iter().map(|it| it.sku.uuid()))
}

fn distinct(ids: impl Iterator<Item = Uuid>) -> Vec<Uuid> {
    ids.collect::<BTreeSet<_>>().into_iter().collect()
}
