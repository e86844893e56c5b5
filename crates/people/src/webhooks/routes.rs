//! Registering, changing, deleting and testing webhooks, and their secrets.

use contract::{
    Code, Event as _, Page, ShownSecret,
    id::WebhookId,
    organizations::OrganizationState,
    webhook_deliveries::WebhookDelivery,
    webhooks::{
        ChangeWebhook, CreateWebhook, DeleteWebhook, DisableWebhook, EnableWebhook, EventPattern, GetWebhook,
        ListWebhooks, NewWebhook, RotateWebhookSecret, TestWebhook, Webhook, WebhookChanged, WebhookCreated,
        WebhookSecretRotated, WebhookState, WebhookTested, WebhookUrl,
    },
};
use kernel::{clock, lifecycle::transition, outbox::Message, secrets::Secret};
use uuid::Uuid;

use super::{
    destination,
    lifecycle::{Event, WebhookLifecycle},
    secret, store,
};
use crate::{PeopleArea, organizations, webhook_deliveries};
use platform::{
    events::emit,
    http::{Call, Failure, Handle, ProblemBuilder, Request},
    policies::{self, settings},
};

impl Handle<CreateWebhook> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<CreateWebhook>) -> Result<NewWebhook, Failure> {
        let organization = call.organization();
        self.check_url(&request.body.url)?;
        check_events(&request.body.events)?;
        if organizations::lock(&mut call.tx, organization).await? != Some(OrganizationState::Active) {
            return Err(Failure::new(Code::Suspended, "the organization is no longer active"));
        }
        let most = policies::number_in(&mut call.tx, settings::WEBHOOKS_MAX, Some(organization.uuid()), None).await?;
        let id = WebhookId::generate();
        let (secret, sealed) = secret::make(&self.keyring, id.uuid());
        let added = store::insert(&mut call.tx, (id, organization), &request.body, &sealed, most).await?;
        let Some(webhook) = added else {
            let detail = format!("the organization has reached its limit of {most} webhooks");
            return Err(Failure::new(Code::LimitReached, detail));
        };
        call.about(id);
        emit(&mut call.tx, Some(organization), id, &WebhookCreated { id });
        Ok(NewWebhook { webhook, secret: shown(&secret) })
    }
}

impl Handle<ListWebhooks> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ListWebhooks>) -> Result<Page<Webhook>, Failure> {
        let organization = call.organization();
        let rows = store::list(&mut call.tx, organization, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<GetWebhook> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<GetWebhook>) -> Result<Webhook, Failure> {
        read(call, request.path.webhook_id).await
    }
}

impl Handle<ChangeWebhook> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ChangeWebhook>) -> Result<Webhook, Failure> {
        let id = request.path.webhook_id;
        if let Some(url) = &request.body.url {
            self.check_url(url)?;
        }
        if let Some(events) = &request.body.events {
            check_events(events)?;
        }
        read(call, id).await?;
        let webhook = store::change(&mut call.tx, id, &request.body).await?.ok_or_else(gone)?;
        emit(&mut call.tx, Some(webhook.organization_id), id, &WebhookChanged { id });
        Ok(webhook)
    }
}

impl Handle<DeleteWebhook> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<DeleteWebhook>) -> Result<Webhook, Failure> {
        let webhook = read(call, request.path.webhook_id).await?;
        // Asking again for what is done changes nothing.
        if webhook.state == WebhookState::Deleted {
            return Ok(webhook);
        }
        store::forget_secrets(&mut call.tx, webhook.id.uuid()).await?;
        transition::<WebhookLifecycle>(&mut call.tx, store::versioned(&webhook)?, Event::Deleted, "").await?;
        read(call, webhook.id).await
    }
}

impl Handle<RotateWebhookSecret> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<RotateWebhookSecret>) -> Result<NewWebhook, Failure> {
        let id = request.path.webhook_id;
        read(call, id).await?;
        let (secret, sealed) = secret::make(&self.keyring, id.uuid());
        let overlap = settings::hours(self.policies.number(settings::WEBHOOK_ROTATION_HOURS));
        let until = clock::now(&mut call.tx).await? + overlap;
        let webhook = store::rotate(&mut call.tx, id, &sealed, until).await?.ok_or_else(gone)?;
        emit(&mut call.tx, Some(webhook.organization_id), id, &WebhookSecretRotated { id });
        Ok(NewWebhook { webhook, secret: shown(&secret) })
    }
}

impl Handle<DisableWebhook> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<DisableWebhook>) -> Result<Webhook, Failure> {
        let webhook = read(call, request.path.webhook_id).await?;
        transition::<WebhookLifecycle>(&mut call.tx, store::versioned(&webhook)?, Event::SwitchedOff, "").await?;
        read(call, webhook.id).await
    }
}

impl Handle<EnableWebhook> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<EnableWebhook>) -> Result<Webhook, Failure> {
        let webhook = read(call, request.path.webhook_id).await?;
        transition::<WebhookLifecycle>(&mut call.tx, store::versioned(&webhook)?, Event::Enabled, "").await?;
        store::forgive(&mut call.tx, webhook.id).await?;
        read(call, webhook.id).await
    }
}

impl Handle<TestWebhook> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<TestWebhook>) -> Result<WebhookDelivery, Failure> {
        let webhook = read(call, request.path.webhook_id).await?;
        if webhook.state == WebhookState::Deleted {
            return Err(gone());
        }
        let id = webhook.id;
        let message = Message {
            id: Uuid::now_v7(),
            subject: WebhookTested::INFO.subject.to_owned(),
            organization: Some(webhook.organization_id.uuid()),
            resource: Some(id.to_string()),
            version: None,
            at: clock::now(&mut call.tx).await?,
            correlation_id: call.tx.cause.to_string(),
            traceparent: None,
            data: serde_json::to_value(WebhookTested { id }).map_err(|it| Failure::Internal(Box::new(it)))?,
        };
        let delivery = webhook_deliveries::add_test(&mut call.tx, &webhook, &message).await?;
        call.note("delivery", delivery.id.to_string());
        Ok(delivery)
    }
}

impl PeopleArea {
    fn check_url(&self, url: &WebhookUrl) -> Result<(), Failure> {
        let allow_loopback = self.policies.flag(settings::WEBHOOK_ALLOW_LOOPBACK);
        let checked = destination::check(url.as_str(), allow_loopback);
        checked
            .map(|_| ())
            .map_err(|it| ProblemBuilder::new(Code::InvalidValue, format!("the address {it}")).at("url").into())
    }
}

// bound: as the schema of the body says
const PATTERNS: std::ops::RangeInclusive<usize> = 1..=50;

/// A pattern that no event matches is a typing error that would be found late.
fn check_events(events: &[EventPattern]) -> Result<(), Failure> {
    let refused = |detail: String| Err(ProblemBuilder::new(Code::InvalidValue, detail).at("events").into());
    if !PATTERNS.contains(&events.len()) {
        return refused("a webhook needs 1 to 50 event patterns".to_owned());
    }
    let known = contract::every_event();
    match events.iter().find(|it| !known.iter().any(|event| it.matches(event.subject))) {
        None => Ok(()),
        Some(unknown) => refused(format!("no event matches `{unknown}`; docs/generated/events.md lists them")),
    }
}

fn shown(secret: &Secret) -> ShownSecret {
    ShownSecret::new(secret.expose_text().expect("tokens are text").to_owned())
}

fn gone() -> Failure {
    Failure::new(Code::Conflict, "the webhook is deleted")
}

async fn read(call: &mut Call, id: WebhookId) -> Result<Webhook, Failure> {
    store::get(&mut call.tx, id).await?.ok_or_else(|| Failure::not_found("webhook"))
}
