//! A platform that sells, and an organization that bought something.

use std::time::Duration;

use client::Client;
use contract::{
    Limit, Nothing, Role,
    billing_profiles::{BillingProfileSpec, SetSellerProfile},
    invoices::{GetInvoice, Invoice, InvoiceFilter, InvoicePath, ListInvoices},
    organizations::OrganizationPath,
};
use money::{
    invoices::{Period, issue_due},
    ledger::prove::{Range, prove},
};
use serde_json::{Value, json};

use crate::ledger::stand::Stand;

pub struct Shop {
    pub stand: Stand,
}

impl Shop {
    /// One GPU and hour costs `micros`; the seller adds this tax.
    pub async fn open(micros: i64, tax: Value) -> Shop {
        let stand = Stand::new(micros).await;
        let shop = Shop { stand };
        shop.sells(tax).await;
        shop
    }

    /// Somebody who may only look; a new one, since keys end while months pass.
    pub async fn viewer(&self) -> Client {
        let world = &self.stand.world;
        world.as_(&world.member_of(self.stand.organization, Role::Viewer).await)
    }

    pub async fn staff(&self) -> Client {
        let world = &self.stand.world;
        world.as_(&world.operator().await)
    }

    pub async fn sells(&self, tax: Value) {
        let spec: BillingProfileSpec = serde_json::from_value(json!({
            "legal_name": "Rechenwerk Süd GmbH",
            "address": ["Königsallee 1", "40212 Düsseldorf", "Germany"],
            "tax_id": "DE123456789",
            "email": "billing@example.com",
            "tax": tax,
        }))
        .unwrap();
        self.staff().await.call::<SetSellerProfile>(Nothing {}, Nothing {}, spec).await.unwrap();
    }

    /// The month in which it is now.
    pub fn period(&self) -> Period {
        Period::around(self.stand.world.server.control_plane.db.clock.estimate()).unwrap()
    }

    /// Moves time to so many seconds before (or after, when negative) the end of this month.
    pub fn to_month_end(&self, seconds: i64) -> Period {
        let clock = &self.stand.world.server.control_plane.db.clock;
        let period = self.period();
        let left = period.end.duration_since(clock.estimate()).as_secs() - seconds;
        clock.advance(Duration::from_secs(left.try_into().unwrap()));
        period
    }

    /// Issues all that is due.
    pub async fn issue(&self) {
        loop {
            let mut tx = self.stand.tx().await;
            let has_more = issue_due(&mut tx, self.stand.organization).await.unwrap();
            tx.commit().await.unwrap();
            if !has_more {
                return;
            }
        }
    }

    /// Every invoice and credit note in the order of their numbers, as a viewer reads them.
    pub async fn invoices(&self) -> Vec<Invoice> {
        let client = self.viewer().await;
        let organization_id = self.stand.organization;
        let query = InvoiceFilter { limit: Limit::new(200).unwrap(), ..InvoiceFilter::default() };
        let page = client.call::<ListInvoices>(OrganizationPath { organization_id }, query, Nothing {}).await.unwrap();
        let mut invoices = Vec::new();
        for summary in page.items {
            let path = InvoicePath { organization_id, invoice_id: summary.id };
            invoices.push(client.call::<GetInvoice>(path, Nothing {}, Nothing {}).await.unwrap());
        }
        invoices.sort_by(|one, other| one.number.cmp(&other.number));
        invoices
    }

    /// What the wallet paid for usage that was posted in a month.
    pub async fn charged(&self, period: Period) -> i64 {
        let statement = format!(
            "SELECT coalesce(-sum(e.amount), 0)::bigint FROM entries e JOIN accounts a ON a.id = e.account_id
             JOIN journals j ON j.organization_id = e.organization_id AND j.number = e.number
             WHERE a.kind = 'wallet' AND j.kind = 'usage' AND e.organization_id = '{}' AND j.from_at >= '{}' AND j.to_at <= '{}'",
            self.stand.organization.uuid(),
            period.start,
            period.end
        );
        self.stand.one(&statement).await
    }

    pub async fn proves(&self) {
        let mut tx = self.stand.tx().await;
        let range = Range { organization: Some(self.stand.organization), month: None, after: None };
        assert_eq!(prove(&mut tx, &range).await.unwrap().difference, None);
    }
}
