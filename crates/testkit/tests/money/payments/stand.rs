//! An organization that can pay, and a scripted Stripe to pay at. Work happens
//! when a test settles it.

use std::{sync::Arc, time::Duration};

use client::{Client, ClientError};
use contract::{
    Nothing, Role as Member_,
    id::{OrganizationId, PaymentId},
    organizations::OrganizationPath,
    payments::{
        CreatePayment, GetPayment, ListPaymentDrift, ListPaymentEvents, Payment, PaymentDrift, PaymentDriftFilter,
        PaymentEvent, PaymentEventFilter, PaymentPath, PaymentSpec,
    },
};
use gpuaasd::roles::Role;
use kernel::{Access, Tx};
use testkit::{
    Database, Member, Server, Stripe, World,
    stripe::{Event, WEBHOOK_SECRET},
};

pub const DOLLAR: i64 = 1_000_000;

pub struct Stand {
    pub world: World,
    pub stripe: Stripe,
    pub organization: OrganizationId,
    pub owner: Member,
    pub operator: Client,
}

impl Stand {
    pub async fn new() -> Stand {
        let stripe = Stripe::start().await;
        let database = Arc::new(Database::new().await);
        let server = Server::with(database, &[Role::Api], |config| stripe.configure(config)).await;
        Stand::on(server, stripe).await
    }

    pub async fn on(server: Server, stripe: Stripe) -> Stand {
        let world = World::on(server).await;
        let (organization, owner) = world.organization().await;
        let operator = world.as_(&world.operator().await);
        Stand { world, stripe, organization, owner, operator }
    }

    pub fn path(&self) -> OrganizationPath {
        OrganizationPath { organization_id: self.organization }
    }

    pub async fn ask(&self, currency: &str, amount_micros: i64) -> Result<Payment, ClientError> {
        let spec = PaymentSpec { currency: currency.parse().unwrap(), amount_micros };
        self.world.as_(&self.owner).call::<CreatePayment>(self.path(), Nothing {}, spec).await
    }

    /// A payment that waits for its payer.
    pub async fn open(&self, dollars: i64) -> Payment {
        let payment = self.ask("USD", dollars * DOLLAR).await.unwrap();
        self.settle().await;
        self.get(payment.id).await
    }

    /// A payment that arrived, and its intent.
    pub async fn paid(&self, dollars: i64) -> (Payment, String) {
        let payment = self.open(dollars).await;
        let intent = self.stripe.pay(&payment.id.to_string());
        self.hear("payment_intent.succeeded", &intent).await;
        (self.get(payment.id).await, intent)
    }

    pub async fn get(&self, id: PaymentId) -> Payment {
        let path = PaymentPath { organization_id: self.organization, payment_id: id };
        self.world.as_(&self.owner).call::<GetPayment>(path, Nothing {}, Nothing {}).await.unwrap()
    }

    /// Stripe tells of an object as it is now, and what is due happens.
    pub async fn hear(&self, kind: &str, object: &str) {
        assert_eq!(self.send(&self.stripe.event(kind, object)).await, 200);
        self.settle().await;
    }

    /// Sends an event at the server's own time, which tests move.
    pub async fn send(&self, event: &Event) -> u16 {
        let now = self.world.server.control_plane.db.clock.estimate().as_second();
        event.send_with(&self.world.server.base, &event.signed_with(WEBHOOK_SECRET, now)).await
    }

    pub async fn settle(&self) {
        self.world.server.settle().await;
    }

    /// Lets what waits to be tried again be due.
    pub async fn later(&self, seconds: u64) {
        self.world.server.control_plane.db.clock.advance(Duration::from_secs(seconds));
        self.settle().await;
    }

    /// Compares with Stripe now.
    pub async fn compare(&self) -> Vec<PaymentDrift> {
        let mut tx = Tx::system(&self.world.server.control_plane.db, "test", Access::Write).await.unwrap();
        kernel::work::wake(&mut tx, "payment_comparison", uuid::Uuid::nil());
        tx.commit().await.unwrap();
        self.settle().await;
        self.drift(false).await
    }

    pub async fn drift(&self, resolved: bool) -> Vec<PaymentDrift> {
        let filter = PaymentDriftFilter { resolved: Some(resolved), ..PaymentDriftFilter::default() };
        self.operator.call::<ListPaymentDrift>(Nothing {}, filter, Nothing {}).await.unwrap().items
    }

    pub async fn events(&self) -> Vec<PaymentEvent> {
        let filter = PaymentEventFilter::default();
        self.operator.call::<ListPaymentEvents>(Nothing {}, filter, Nothing {}).await.unwrap().items
    }

    pub async fn member(&self, role: Member_) -> Client {
        self.world.as_(&self.world.member_of(self.organization, role).await)
    }

    /// What the wallet's entries sum to.
    pub async fn wallet(&self) -> i64 {
        self.sum("wallet").await
    }

    pub async fn sum(&self, kind: &str) -> i64 {
        let statement = format!(
            "SELECT coalesce(sum(amount), 0)::bigint FROM entries JOIN accounts ON accounts.id = account_id WHERE kind = '{kind}'"
        );
        self.one(&statement).await
    }

    pub async fn one(&self, statement: &str) -> i64 {
        let mut above = self.world.server.database.superuser().await;
        sqlx::query_scalar(sqlx::AssertSqlSafe(statement.to_owned())).fetch_one(&mut above).await.unwrap()
    }
}
