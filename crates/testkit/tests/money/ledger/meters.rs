//! A meter of every unit that has a price, beside the time of GPUs.

use contract::{
    Word,
    id::OrganizationId,
    prices::{PriceKind, PriceUnit},
};
use kernel::{Tx, money::Currency};
use money::metering::{self, Parents, Stop, Subject, Used};
use platform::registry::Meter;
use serde_json::json;
use uuid::Uuid;

const fn meter(name: &'static str, unit: PriceUnit, subject: &'static str) -> Meter {
    Meter { name, unit, kinds: PriceKind::ALL, subject, about: "For tests." }
}

pub static GPUS: Meter = meter("test_gpus", PriceUnit::GpuHour, "deployment");
pub static APPS: Meter = meter("test_apps", PriceUnit::Hour, "app_instance");
pub static STORAGE: Meter = meter("test_storage", PriceUnit::GibHour, "volume");
pub static REQUESTS: Meter = meter("test_requests", PriceUnit::Request, "deployment");
pub static TOKENS: Meter = meter("test_tokens", PriceUnit::Token, "deployment");
pub static JOBS: Meter = meter("test_jobs", PriceUnit::Job, "app_instance");

pub static RATES: [&Meter; 3] = [&GPUS, &APPS, &STORAGE];
pub static COUNTS: [&Meter; 3] = [&REQUESTS, &TOKENS, &JOBS];

/// Whose usage it is, and of what.
#[derive(Debug, Clone, Copy)]
pub struct Owner {
    pub organization: OrganizationId,
    pub project: Uuid,
    pub sku: Uuid,
}

impl Owner {
    pub fn used(&self, meter: &'static Meter, id: Uuid, quantity: i64, kind: PriceKind) -> Used {
        Used {
            subject: Subject { organization: self.organization, id, meter },
            project: self.project.into(),
            parents: Parents {
                volume: (meter.subject == "volume").then_some(id),
                app_instance: (meter.subject == "app_instance").then_some(id),
                deployment: (meter.subject == "deployment").then_some(id),
                component: Some("worker".to_owned()),
                ..Parents::default()
            },
            sku: self.sku.into(),
            price_kind: kind,
            quantity,
            currency: Currency::USD,
            tags: json!({ "team": "x" }),
            nodes: Vec::new(),
            ends_at: None,
            cause: "test",
        }
    }

    pub async fn stop(&self, tx: &mut Tx, meter: &'static Meter, id: Uuid) {
        let subject = Subject { organization: self.organization, id, meter };
        let stop = Stop { subject, no_later_than: None, keeps_hold: false, cause: "test" };
        metering::stop(tx, &[stop]).await.unwrap();
    }

    /// A new price of a unit and kind of the SKU, in force from now on.
    pub fn priced(&self, unit: PriceUnit, kind: PriceKind, micros: i64, per_units: i64) -> String {
        let (unit, kind, sku) = (unit.as_str(), kind.as_str(), self.sku);
        format!(
            "INSERT INTO prices (id, sku_id, unit, kind, version, currency, price_micros, per_units, effective_at)
             SELECT gen_random_uuid(), '{sku}', '{unit}', '{kind}', 1 + (SELECT count(*) FROM prices WHERE sku_id = '{sku}'),
               'USD', {micros}, {per_units}, app_now()"
        )
    }
}
