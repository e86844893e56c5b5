//! Where a resource says everything about itself that the program must know:
//! its lifecycle, reconcilers and consumers, what is removed when it is old, what
//! is measured, what is cached, what is sealed, and what the end of its project
//! or organization does to it. Each folder of an area has one `register`.

use std::sync::Arc;

use contract::prices::{PriceKind, PriceUnit};
use kernel::{
    Tx,
    bus::{BoxFuture, Consumer},
    lifecycle::{Lifecycle, LifecycleInfo, ParentEnd},
    sealed::SealedColumn,
    work::{Reconciler, Workers},
};

use crate::{Platform, forget::Forget};

/// Removes so many rows at most that are past their time; how many went.
type Expire<A> = fn(Arc<A>, i64) -> BoxFuture<'static, sqlx::Result<u64>>;
type Measure = for<'a> fn(&'a mut Tx) -> BoxFuture<'a, sqlx::Result<i64>>;
type AddWorker<A> = Box<dyn Fn(&A, &mut Workers) + Send + Sync>;
type MakeConsumer<A> = fn(&A) -> Arc<dyn Consumer>;
type ForgetCache<A> = Box<dyn Fn(&A) + Send + Sync>;
/// The nouns of the events that make a cache stale.
type Nouns = &'static [&'static str];

/// A number that should be small; alert rules watch it.
#[derive(Clone, Copy)]
pub struct Gauge {
    pub name: &'static str,
    pub measure: Measure,
}

/// How long the rows of a table stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// A registered expiry removes what is past its time.
    Expires,
    /// Something other than time removes them, as this says.
    Removed(&'static str),
    /// They stay, and this says why.
    Forever(&'static str),
}

/// Something about a subject that is measured or counted, and charged for where
/// its SKU has a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meter {
    pub name: &'static str,
    /// What its prices are for one of.
    pub unit: PriceUnit,
    /// Which prices it charges.
    pub kinds: &'static [PriceKind],
    /// The noun of what is metered: the kind of its subjects.
    pub subject: &'static str,
    /// What it measures, for the generated page of meters.
    pub about: &'static str,
}

/// What is known of an area's resources before anything runs.
#[derive(Default)]
pub struct Declared {
    pub lifecycles: Vec<LifecycleInfo>,
    /// Tables with an organization or a project and without a lifecycle.
    pub tables: Vec<(&'static str, ParentEnd)>,
    /// How long the rows of each table stay.
    pub retention: Vec<(&'static str, Retention)>,
    pub gauges: Vec<Gauge>,
    pub meters: Vec<&'static Meter>,
    pub secrets: Vec<&'static SealedColumn>,
    /// The kinds of work that a reconciler visits.
    pub kinds: Vec<&'static str>,
}

/// What the resources of an area, whose context is `A`, register.
pub struct Registry<A> {
    pub declared: Declared,
    workers: Vec<AddWorker<A>>,
    consumers: Vec<MakeConsumer<A>>,
    expiries: Vec<Expire<A>>,
    caches: Vec<(Nouns, ForgetCache<A>)>,
}

impl<A> Default for Registry<A> {
    fn default() -> Self {
        Self {
            declared: Declared::default(),
            workers: Vec::new(),
            consumers: Vec::new(),
            expiries: Vec::new(),
            caches: Vec::new(),
        }
    }
}

impl<A: Send + Sync + 'static> Registry<A> {
    pub fn lifecycle<L: Lifecycle>(&mut self) {
        self.declared.lifecycles.push(LifecycleInfo::of::<L>());
    }

    /// What the end of its project or organization does to a table without a lifecycle.
    pub fn table(&mut self, name: &'static str, end: ParentEnd) {
        self.declared.tables.push((name, end));
    }

    pub fn reconciler<R: Reconciler>(&mut self, make: impl Fn(&A) -> R + Send + Sync + 'static) {
        self.declared.kinds.push(R::KIND);
        self.workers.push(Box::new(move |area, workers| workers.add(make(area))));
    }

    pub fn consumer(&mut self, make: MakeConsumer<A>) {
        self.consumers.push(make);
    }

    /// Removes rows of these tables that are past their time, so many at once; how many went.
    pub fn expiry(&mut self, tables: &[&'static str], expire: Expire<A>) {
        self.retention(tables, Retention::Expires);
        self.expiries.push(expire);
    }

    /// How long the rows of tables stay that no expiry removes.
    pub fn retention(&mut self, tables: &[&'static str], retention: Retention) {
        self.declared.retention.extend(tables.iter().map(|table| (*table, retention)));
    }

    pub fn gauge(&mut self, name: &'static str, measure: Measure) {
        self.declared.gauges.push(Gauge { name, measure });
    }

    /// Something that is charged for.
    pub fn meter(&mut self, meter: &'static Meter) {
        self.declared.meters.push(meter);
    }

    /// Events about these nouns make something stale that this process caches.
    pub fn cache<C: Forget + 'static>(&mut self, nouns: Nouns, cache: fn(&A) -> &C) {
        self.caches.push((nouns, Box::new(move |area| cache(area).forget())));
    }

    /// A column of sealed values, which move when the sealing key is rotated.
    pub fn secret(&mut self, column: &'static SealedColumn) {
        self.declared.secrets.push(column);
    }

    /// The registry with the context that its resources work in.
    pub fn bind(self, area: Arc<A>, platform: &Platform) -> Bound {
        for (nouns, forget) in self.caches {
            // Not to hold the area that holds the platform that holds the caches.
            let area = Arc::downgrade(&area);
            platform.caches.register(nouns, move || {
                if let Some(area) = area.upgrade() {
                    forget(&area);
                }
            });
        }
        let consumers = self.consumers.iter().map(|make| make(&area)).collect();
        let expiries = self.expiries.into_iter().map(|expire| {
            let area = area.clone();
            Box::new(move |most| expire(area.clone(), most)) as BoundExpiry
        });
        let expiries = expiries.collect();
        let workers = self.workers;
        Bound { consumers, expiries, workers: Box::new(move |all| workers.iter().for_each(|add| add(&area, all))) }
    }
}

type BoundExpiry = Box<dyn Fn(i64) -> BoxFuture<'static, sqlx::Result<u64>> + Send + Sync>;
type AddWorkers = Box<dyn Fn(&mut Workers) + Send + Sync>;

/// What an area registered, without its types.
pub struct Bound {
    pub consumers: Vec<Arc<dyn Consumer>>,
    expiries: Vec<BoundExpiry>,
    workers: AddWorkers,
}

impl Bound {
    pub fn add_workers(&self, workers: &mut Workers) {
        (self.workers)(workers);
    }

    /// Removes what is past its time; whether some of it may be left.
    pub async fn expire(&self, most: i64) -> sqlx::Result<bool> {
        let mut is_more_left = false;
        for expire in &self.expiries {
            is_more_left |= expire(most).await? >= most as u64;
        }
        Ok(is_more_left)
    }
}
