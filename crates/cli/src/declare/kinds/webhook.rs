//! `kind: webhook`, known by its address.

use contract::webhooks::{
    self, ChangeWebhook, CreateWebhook, DeleteWebhook, EventPattern, ListWebhooks, NewWebhook, WebhookChange,
    WebhookDescription, WebhookFilter, WebhookPath, WebhookSpec, WebhookState, WebhookUrl,
};

use super::{joined, or_none, said};
use crate::{
    declare::{
        fields::{Fields, list, text},
        kind::{Creation, Kind, Lookup, Removal},
        thing::Reference,
        world::World,
    },
    exact,
    failure::Failure,
};

#[derive(Debug)]
pub struct Webhook {
    url: WebhookUrl,
    events: Vec<EventPattern>,
    description: Option<WebhookDescription>,
}

impl Webhook {
    pub fn read(fields: &mut Fields) -> Option<Self> {
        let url = fields.required("url", text);
        let events = fields.required("events", list(text));
        let description = fields.optional("description", text);
        Some(Self { url: url?, events: events?, description })
    }

    pub fn name(&self) -> String {
        self.url.to_string()
    }

    pub fn references(&self) -> Vec<Reference<'_>> {
        Vec::new()
    }

    async fn all(&self, world: &World<'_>, state: Option<WebhookState>) -> Result<Vec<webhooks::Webhook>, Failure> {
        let query = WebhookFilter { state, ..WebhookFilter::default() };
        let mut all = world.context.all::<ListWebhooks>(world.organization().await?, query).await?;
        all.retain(|it| it.url == self.url);
        Ok(all)
    }
}

fn sorted(events: &[EventPattern]) -> String {
    let mut events = events.to_vec();
    events.sort();
    events.dedup();
    joined(&events)
}

fn path(there: &webhooks::Webhook) -> WebhookPath {
    WebhookPath { organization_id: there.organization_id, webhook_id: there.id }
}

impl Kind for Webhook {
    type Handle = webhooks::Webhook;

    async fn look(&self, world: &World<'_>) -> Result<Lookup<Self::Handle>, Failure> {
        let mut all = self.all(world, None).await?;
        if all.len() > 1 {
            return Ok(Lookup::InTheWay("several webhooks use this URL; delete all but one".into()));
        }
        let Some(there) = all.pop() else {
            let gone = self.all(world, Some(WebhookState::Deleted)).await?;
            return Ok(Lookup::Absent { after: gone.first().map(|it| it.id.to_string()).unwrap_or_default() });
        };
        let differences = [
            said("events", sorted(&there.events), Some(&sorted(&self.events)), true),
            // An empty one is none.
            said("description", or_none(there.description.as_ref()), self.description.as_ref(), true)
                .filter(|it| !(it.after.is_empty() && there.description.is_none())),
        ];
        let is_disabled = there.state == WebhookState::Disabled;
        let note = is_disabled.then(|| format!("is disabled; enable it with `gpuaas webhooks enable {}`", there.id));
        let differences = differences.into_iter().flatten().collect();
        Ok(Lookup::Present { handle: there, differences, note, removal: Removal::Plain })
    }

    async fn create(&self, world: &World<'_>, salt: &str) -> Result<Creation, Failure> {
        let spec =
            WebhookSpec { url: self.url.clone(), events: self.events.clone(), description: self.description.clone() };
        let answer = world.send_once::<CreateWebhook>(world.organization().await?, spec, salt).await?;
        let new: NewWebhook = exact::read(&answer)?;
        Ok(Creation { id: new.webhook.id.to_string(), secret: Some(new.secret.expose().to_owned()) })
    }

    async fn change(&self, world: &World<'_>, there: Self::Handle) -> Result<(), Failure> {
        let change =
            WebhookChange { url: None, events: Some(self.events.clone()), description: self.description.clone() };
        world.send_once::<ChangeWebhook>(path(&there), change, &there.version.to_string()).await?;
        Ok(())
    }

    async fn remove(&self, world: &World<'_>, there: Self::Handle) -> Result<(), Failure> {
        world.context.ask::<DeleteWebhook>(path(&there)).await?;
        Ok(())
    }
}
