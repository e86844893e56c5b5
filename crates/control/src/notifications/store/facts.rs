//! What there is to say of an event: names, reasons and times, read when it is told.

use contract::{
    Timestamp,
    id::{AllocationId, InvitationId, ProjectId, WebhookId},
    notification_kinds::NotificationKind,
};
use kernel::{
    Tx,
    money::{Currency, Money},
    outbox::Message,
};
use serde_json::Value;
use uuid::Uuid;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// What it is about, by the name that people gave it.
    pub what: String,
    pub resource: Option<String>,
    pub organization: Option<String>,
    pub project: Option<String>,
    pub reason: Option<String>,
    /// When it happens.
    pub at: Option<Timestamp>,
    /// When it is over.
    pub until: Option<Timestamp>,
    pub balance: Option<String>,
    pub role: Option<String>,
    /// Who asked for what it is about, as actors.
    pub asked_by: Vec<String>,
    pub invitation: Option<InvitationId>,
    /// The address that is invited; told to nobody else.
    pub invited: Option<String>,
}

/// Nothing when what the event is about is gone, or needs telling no more.
pub async fn facts(tx: &mut Tx, kind: NotificationKind, message: &Message) -> sqlx::Result<Option<Facts>> {
    use NotificationKind as K;
    let mut found = match kind {
        K::AllocationFailed
        | K::AllocationLeaseEnding
        | K::AllocationNeedsAttention
        | K::AllocationNodeLost
        | K::AllocationOutOfFunds
        | K::AllocationTakenBack => match field::<AllocationId>(&message.data, "id") {
            Some(id) => allocation(tx, id).await?,
            None => None,
        },
        K::InvitationReceived => match field::<InvitationId>(&message.data, "id") {
            Some(id) => invitation(tx, id).await?,
            None => None,
        },
        K::WebhookDisabled => match field::<WebhookId>(&message.data, "id") {
            Some(id) => webhook(tx, id).await?,
            None => None,
        },
        K::MaintenancePlanned => match field::<ProjectId>(&message.data, "project_id") {
            Some(id) => project(tx, id).await?.map(|it| announced(it, &message.data)),
            None => None,
        },
        K::BudgetThreshold => match field::<ProjectId>(&message.data, "project_id") {
            Some(id) => project(tx, id).await?.map(|it| budgeted(it, &message.data)),
            None => None,
        },
        K::WalletDepleted | K::WalletFunded | K::WalletGrace | K::WalletLow => Some(Facts {
            balance: field(&message.data, "balance"),
            until: field(&message.data, "until"),
            ..Facts::default()
        }),
    };
    if let (Some(found), Some(organization)) = (&mut found, message.organization) {
        found.resource = message.resource.clone();
        found.organization = name(tx, organization).await?;
    }
    Ok(found)
}

fn field<T: std::str::FromStr>(data: &Value, name: &str) -> Option<T> {
    data.get(name)?.as_str()?.parse().ok()
}

async fn name(tx: &mut Tx, organization: Uuid) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar("SELECT name FROM organizations WHERE id = $1")
        .bind(organization)
        .fetch_optional(tx.conn())
        .await
}

async fn allocation(tx: &mut Tx, id: AllocationId) -> sqlx::Result<Option<Facts>> {
    type Columns = (Option<String>, Option<String>, String, String, Option<jiff_sqlx::Timestamp>);
    let row: Option<Columns> = sqlx::query_as(
        "SELECT a.name, coalesce(a.failure, a.reason), a.created_by, p.name, a.lease_ends_at
         FROM allocations a JOIN projects p ON p.id = a.project_id WHERE a.id = $1",
    )
    .bind(id.uuid())
    .fetch_optional(tx.conn())
    .await?;
    Ok(row.map(|(name, reason, asked_by, project, ends_at)| Facts {
        what: name.unwrap_or_else(|| id.to_string()),
        reason: reason.map(sentence),
        project: Some(project),
        at: ends_at.map(|it| it.to_jiff()),
        asked_by: vec![asked_by],
        ..Facts::default()
    }))
}

async fn invitation(tx: &mut Tx, id: InvitationId) -> sqlx::Result<Option<Facts>> {
    let row: Option<(String, String, jiff_sqlx::Timestamp)> =
        sqlx::query_as("SELECT email, role, expires_at FROM invitations WHERE id = $1 AND state = 'pending'")
            .bind(id.uuid())
            .fetch_optional(tx.conn())
            .await?;
    Ok(row.map(|(email, role, expires_at)| Facts {
        role: Some(role),
        until: Some(expires_at.to_jiff()),
        invitation: Some(id),
        invited: Some(email),
        ..Facts::default()
    }))
}

async fn webhook(tx: &mut Tx, id: WebhookId) -> sqlx::Result<Option<Facts>> {
    let row: Option<(String, Option<String>)> =
        sqlx::query_as("SELECT url, disabled_reason FROM webhooks WHERE id = $1 AND state = 'disabled'")
            .bind(id.uuid())
            .fetch_optional(tx.conn())
            .await?;
    Ok(row.map(|(url, reason)| Facts {
        // The rest of the address may hold a secret.
        what: url::Url::parse(&url).ok().and_then(|it| it.host_str().map(str::to_owned)).unwrap_or_default(),
        reason: reason.map(sentence),
        ..Facts::default()
    }))
}

async fn project(tx: &mut Tx, id: ProjectId) -> sqlx::Result<Option<Facts>> {
    let name: Option<String> =
        sqlx::query_scalar("SELECT name FROM projects WHERE id = $1").bind(id.uuid()).fetch_optional(tx.conn()).await?;
    let Some(name) = name else { return Ok(None) };
    let asked_by = sqlx::query_scalar(
        "SELECT DISTINCT created_by FROM allocations WHERE project_id = $1 AND state NOT IN ('released', 'failed')",
    )
    .bind(id.uuid())
    .fetch_all(tx.conn())
    .await?;
    Ok(Some(Facts { project: Some(name), asked_by, ..Facts::default() }))
}

fn announced(facts: Facts, data: &Value) -> Facts {
    Facts {
        at: field(data, "starts_at"),
        until: field(data, "ends_at"),
        reason: field(data, "reason").map(sentence),
        ..facts
    }
}

fn budgeted(facts: Facts, data: &Value) -> Facts {
    let number = |name: &str| data.get(name).and_then(Value::as_i64);
    let currency = field::<Currency>(data, "currency");
    let money = |name: &str| Some(Money::from_micros(number(name)?, currency?).to_string());
    let used = money("spent_micros").zip(money("amount_micros")).map(|(spent, amount)| format!("{spent} of {amount}"));
    Facts {
        what: format!("{} %", number("percent").unwrap_or_default()),
        balance: used,
        until: field(data, "until"),
        ..facts
    }
}

/// As it stands inside one: people end reasons as they like.
fn sentence(text: String) -> String {
    text.trim().trim_end_matches('.').to_owned()
}
