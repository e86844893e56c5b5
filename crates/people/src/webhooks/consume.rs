//! From events to deliveries: each event of an organization becomes a row for
//! every webhook that wants it. And an organization that closes takes its
//! webhooks with it.

use std::collections::BTreeSet;

use contract::{Event as _, organizations::OrganizationClosed};
use kernel::{
    Access, Db, Tx,
    bus::{BoxFuture, ConsumeError, Consumer},
    lifecycle::{Lifecycle, transition},
    outbox::{Message, Position},
};
use uuid::Uuid;

use super::{
    lifecycle::{Event, WebhookLifecycle},
    store,
};
use crate::webhook_deliveries;

pub struct FanOut;

/// What becomes of deliveries is no news for webhooks: each would cause another.
fn is_news(subject: &str) -> bool {
    let noun = subject.split('.').next().unwrap_or_default();
    noun != webhook_deliveries::lifecycle::WebhookDeliveryLifecycle::NAME
}

impl Consumer for FanOut {
    fn name(&self) -> &'static str {
        "webhooks.fan_out"
    }

    fn wants(&self, subject: &str) -> bool {
        is_news(subject)
    }

    /// Most organizations have no webhook. One look for a whole batch keeps
    /// their events from costing a transaction each. It is taken after the
    /// batch was read, so it knows every webhook older than its events.
    fn concerned<'a>(
        &'a self,
        db: &'a Db,
        batch: &'a [(Position, Message)],
    ) -> BoxFuture<'a, sqlx::Result<BTreeSet<Uuid>>> {
        Box::pin(async move {
            let news = batch.iter().map(|(_, it)| it).filter(|it| is_news(&it.subject));
            let news: Vec<(Uuid, &Message)> = news.filter_map(|it| Some((it.organization?, it))).collect();
            let organizations: BTreeSet<Uuid> = news.iter().map(|it| it.0).collect();
            if organizations.is_empty() {
                return Ok(BTreeSet::new());
            }
            let mut tx = Tx::system(db, self.name(), Access::Read).await?;
            let organizations: Vec<Uuid> = organizations.into_iter().collect();
            let listening = store::listening(&mut tx, &organizations).await?;
            tx.commit().await?;
            let is_wanted = |organization: Uuid, it: &Message| {
                listening.iter().any(|hook| hook.organization == organization && hook.wants(&it.subject, it.at))
            };
            Ok(news.into_iter().filter(|(organization, it)| is_wanted(*organization, it)).map(|it| it.1.id).collect())
        })
    }

    fn handle<'a>(&'a self, tx: &'a mut Tx, message: &'a Message) -> BoxFuture<'a, Result<(), ConsumeError>> {
        Box::pin(async move {
            let Some(organization) = message.organization else { return Ok(()) };
            let listening = store::listening(tx, &[organization]).await?;
            let wanted = listening.iter().filter(|it| it.wants(&message.subject, message.at));
            let webhooks: Vec<Uuid> = wanted.map(|it| it.id).collect();
            if !webhooks.is_empty() {
                webhook_deliveries::add(tx, organization, &webhooks, message).await?;
            }
            Ok(())
        })
    }
}

pub struct DeleteWithOrganization;

impl Consumer for DeleteWithOrganization {
    fn name(&self) -> &'static str {
        "webhooks.delete_with_organization"
    }

    fn wants(&self, subject: &str) -> bool {
        subject == OrganizationClosed::INFO.subject
    }

    fn handle<'a>(&'a self, tx: &'a mut Tx, message: &'a Message) -> BoxFuture<'a, Result<(), ConsumeError>> {
        Box::pin(async move {
            let organization =
                message.organization.ok_or_else(|| ConsumeError::Failed("the event names no organization".into()))?;
            for webhook in store::present_in(tx, organization).await? {
                store::forget_secrets(tx, webhook.id.uuid()).await?;
                let row = store::versioned(&webhook)?;
                transition::<WebhookLifecycle>(tx, row, Event::Deleted, "the organization was closed")
                    .await
                    .map_err(|error| ConsumeError::Failed(error.to_string()))?;
            }
            Ok(())
        })
    }
}
