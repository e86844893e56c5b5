//! `gpuaas webhooks`: where an organization wants its events sent.

use clap::Subcommand;
use contract::{
    id::{WebhookDeliveryId, WebhookId},
    webhook_deliveries::{
        GetWebhookDelivery, ListWebhookDeliveries, ResendWebhookDelivery, WebhookDelivery, WebhookDeliveryFilter,
        WebhookDeliveryPath, WebhookDeliveryState,
    },
    webhooks::{
        ChangeWebhook, CreateWebhook, DeleteWebhook, DisableWebhook, EnableWebhook, EventPattern, GetWebhook,
        ListWebhooks, RotateWebhookSecret, TestWebhook, Webhook, WebhookChange, WebhookDescription, WebhookFilter,
        WebhookPath, WebhookSpec, WebhookState, WebhookUrl,
    },
};
use serde_json::Value;

use crate::{
    arguments::{self, Consent, Once, Paging},
    context::Context,
    failure::{Done, Failure},
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas webhooks create https://example.com/hook --event \"allocation.*\"
  gpuaas webhooks test webhook-01k9z8y7x6w5v4t3s2r1q0p9n8
  gpuaas webhooks deliveries list webhook-01k9z8y7x6w5v4t3s2r1q0p9n8 --state exhausted
  gpuaas webhooks rotate webhook-01k9z8y7x6w5v4t3s2r1q0p9n8
  gpuaas webhooks disable webhook-01k9z8y7x6w5v4t3s2r1q0p9n8
  gpuaas webhooks enable webhook-01k9z8y7x6w5v4t3s2r1q0p9n8";

/// Manage webhooks that receive the organization's events
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Webhooks {
    /// Create a webhook; its signing secret is printed once
    Create {
        /// URL to send events to
        // Not `url`, which is the flag of every command that says where the server is.
        #[arg(value_name = "URL", value_parser = arguments::text::<WebhookUrl>)]
        endpoint_url: WebhookUrl,
        /// Event pattern to send, such as `allocation.created`, `allocation.*` or `*`; repeatable
        #[arg(long = "event", required = true, value_name = "PATTERN", value_parser = arguments::text::<EventPattern>)]
        events: Vec<EventPattern>,
        /// Description of the webhook
        #[arg(long, value_parser = arguments::text::<WebhookDescription>)]
        description: Option<WebhookDescription>,
        #[command(flatten)]
        once: Once,
    },
    /// List webhooks
    List {
        /// Filter by state
        #[arg(long, value_parser = arguments::word::<WebhookState>())]
        state: Option<WebhookState>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a webhook
    Get {
        /// ID of the webhook
        #[arg(value_name = "ID")]
        webhook: WebhookId,
    },
    /// Change the URL, events or description of a webhook
    Change {
        /// ID of the webhook
        #[arg(value_name = "ID")]
        webhook: WebhookId,
        /// New URL to send events to
        #[arg(long, value_name = "URL", value_parser = arguments::text::<WebhookUrl>)]
        endpoint_url: Option<WebhookUrl>,
        /// New event pattern to send; repeatable
        #[arg(long = "event", value_name = "PATTERN", value_parser = arguments::text::<EventPattern>)]
        events: Vec<EventPattern>,
        /// New description, or an empty one to remove it
        #[arg(long, value_parser = arguments::text::<WebhookDescription>)]
        description: Option<WebhookDescription>,
    },
    /// Delete a webhook
    Delete {
        /// ID of the webhook
        #[arg(value_name = "ID")]
        webhook: WebhookId,
        #[command(flatten)]
        consent: Consent,
    },
    /// Rotate the signing secret; the new one is printed once
    Rotate {
        /// ID of the webhook
        #[arg(value_name = "ID")]
        webhook: WebhookId,
        #[command(flatten)]
        once: Once,
    },
    /// Disable a webhook until it is enabled again
    Disable {
        /// ID of the webhook
        #[arg(value_name = "ID")]
        webhook: WebhookId,
    },
    /// Enable a disabled webhook
    Enable {
        /// ID of the webhook
        #[arg(value_name = "ID")]
        webhook: WebhookId,
    },
    /// Send a test event to a webhook
    Test {
        /// ID of the webhook
        #[arg(value_name = "ID")]
        webhook: WebhookId,
    },
    /// Inspect and resend deliveries of a webhook
    #[command(subcommand)]
    Deliveries(Deliveries),
}

#[derive(Debug, Subcommand)]
pub enum Deliveries {
    /// List the deliveries of a webhook
    List {
        /// ID of the webhook
        webhook: WebhookId,
        /// Filter by state
        #[arg(long, value_parser = arguments::word::<WebhookDeliveryState>())]
        state: Option<WebhookDeliveryState>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a delivery
    Get {
        /// ID of the webhook
        webhook: WebhookId,
        /// ID of the delivery
        delivery: WebhookDeliveryId,
    },
    /// Resend a delivery now
    Resend {
        /// ID of the webhook
        webhook: WebhookId,
        /// ID of the delivery
        delivery: WebhookDeliveryId,
    },
}

const COLUMNS: Columns = columns!(Webhook: id, url, events, state, failures, description, created_at);
const DELIVERY_COLUMNS: Columns = columns!(
    WebhookDelivery: id, subject, state, attempts, last_status, created_at, next_attempt_at, error
);

impl Webhooks {
    pub async fn run(self, context: &Context) -> Done {
        let answer = match self {
            Webhooks::Create { endpoint_url, events, description, once } => {
                let path = context.organization().await?;
                let spec = WebhookSpec { url: endpoint_url, events, description };
                return show_once(context, &context.create::<CreateWebhook>(&once, path, spec).await?);
            }
            Webhooks::List { state, paging } => {
                let path = context.organization().await?;
                let query = WebhookFilter { state, limit: paging.page(), ..WebhookFilter::default() };
                return context.list::<ListWebhooks>(path, query, paging, COLUMNS).await;
            }
            Webhooks::Get { webhook } => context.ask::<GetWebhook>(at(context, webhook).await?).await?,
            Webhooks::Change { webhook, endpoint_url, events, description } => {
                let events = (!events.is_empty()).then_some(events);
                let change = WebhookChange { url: endpoint_url, events, description };
                context.send::<ChangeWebhook>(at(context, webhook).await?, change).await?
            }
            Webhooks::Delete { webhook, consent } => {
                let id = webhook.to_string();
                prompt::confirm(consent, &format!("deletes the webhook {id}"), &id).await?;
                context.ask::<DeleteWebhook>(at(context, webhook).await?).await?
            }
            Webhooks::Rotate { webhook, once } => {
                let path = at(context, webhook).await?;
                let answer = context.create::<RotateWebhookSecret>(&once, path, contract::Nothing {}).await?;
                return show_once(context, &answer);
            }
            Webhooks::Disable { webhook } => context.ask::<DisableWebhook>(at(context, webhook).await?).await?,
            Webhooks::Enable { webhook } => context.ask::<EnableWebhook>(at(context, webhook).await?).await?,
            Webhooks::Test { webhook } => {
                let answer = context.ask::<TestWebhook>(at(context, webhook).await?).await?;
                context.output.item(&answer)?;
                context.output.hint("\nCheck its delivery with `gpuaas webhooks deliveries list`.");
                return Ok(());
            }
            Webhooks::Deliveries(deliveries) => return deliveries.run(context).await,
        };
        context.output.item(&answer)
    }
}

impl Deliveries {
    async fn run(self, context: &Context) -> Done {
        let answer = match self {
            Deliveries::List { webhook, state, paging } => {
                let path = at(context, webhook).await?;
                let query = WebhookDeliveryFilter { state, limit: paging.page(), ..WebhookDeliveryFilter::default() };
                return context.list::<ListWebhookDeliveries>(path, query, paging, DELIVERY_COLUMNS).await;
            }
            Deliveries::Get { webhook, delivery } => {
                context.ask::<GetWebhookDelivery>(one(context, webhook, delivery).await?).await?
            }
            Deliveries::Resend { webhook, delivery } => {
                context.ask::<ResendWebhookDelivery>(one(context, webhook, delivery).await?).await?
            }
        };
        context.output.item(&answer)
    }
}

fn show_once(context: &Context, answer: &Value) -> Done {
    context.output.item_with_secret(answer, "webhook", "secret")?;
    context
        .output
        .hint("Save the secret now; it is not shown again. Use it to verify signatures: docs/guides/webhooks.md.");
    Ok(())
}

async fn at(context: &Context, webhook_id: WebhookId) -> Result<WebhookPath, Failure> {
    let organization_id = context.organization().await?.organization_id;
    Ok(WebhookPath { organization_id, webhook_id })
}

async fn one(context: &Context, webhook_id: WebhookId, id: WebhookDeliveryId) -> Result<WebhookDeliveryPath, Failure> {
    let organization_id = context.organization().await?.organization_id;
    Ok(WebhookDeliveryPath { organization_id, webhook_id, delivery_id: id })
}
