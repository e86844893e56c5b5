//! What there is to say of an event: names, reasons and times, read when it is told.

use contract::{
    Timestamp, Word,
    id::{AccountTokenId, AllocationId, InvitationId, PaymentId, ProjectId, RefundId, UserId, WebhookId},
    invoices::InvoiceKind,
    notification_kinds::NotificationKind,
};
use kernel::{
    Tx,
    money::{Currency, Money},
    outbox::Message,
};
use serde_json::Value;
use uuid::Uuid;

use crate::{
    account_tokens,
    notifications::{AllocationReasons, Refunds},
};

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
    /// How much it is about.
    pub amount: Option<String>,
    /// What of it is still to be paid.
    pub due: Option<String>,
    /// The month that it is for.
    pub period: Option<String>,
    /// Whether money comes back.
    pub is_credit: bool,
    pub role: Option<String>,
    /// Who asked for what it is about, as actors.
    pub asked_by: Vec<String>,
    pub invitation: Option<InvitationId>,
    /// The address that is invited; told to nobody else.
    pub invited: Option<String>,
    pub token: Option<AccountTokenId>,
    /// Whether the account signs in through an external issuer alone.
    pub is_issuers: bool,
}

/// Nothing when what the event is about is gone, or needs telling no more.
pub async fn facts(tx: &mut Tx, kind: NotificationKind, message: &Message) -> sqlx::Result<Option<Facts>> {
    use NotificationKind as K;
    let mut found = match kind {
        K::AllocationFailed
        | K::AllocationLeaseEnding
        | K::AllocationNeedsAttention
        | K::AllocationOutOfFunds
        | K::AllocationProjectEnded
        | K::AllocationTakenBack => match field::<AllocationId>(&message.data, "id") {
            Some(id) => allocation(tx, id).await?,
            None => None,
        },
        K::AllocationNodeLost => match field::<AllocationId>(&message.data, "id") {
            Some(id) => allocation_lost(tx, id, message).await?,
            None => None,
        },
        K::AllocationStopEnding => match field::<AllocationId>(&message.data, "id") {
            Some(id) => {
                let at = field(&message.data, "ends_at");
                allocation(tx, id).await?.map(|it| Facts { at, ..it })
            }
            None => None,
        },
        K::AccessBreakGlass => match field::<AllocationId>(&message.data, "allocation_id") {
            Some(id) => {
                let reason = field::<String>(&message.data, "reason").map(sentence);
                allocation(tx, id).await?.map(|it| Facts { reason, ..it })
            }
            None => None,
        },
        K::InvitationReceived => match field::<InvitationId>(&message.data, "id") {
            Some(id) => invitation(tx, id).await?,
            None => None,
        },
        K::AddressChange | K::AddressChanged | K::PasswordReset | K::SignUpConfirmation => {
            match field::<AccountTokenId>(&message.data, "id") {
                Some(id) => {
                    let is_issuers = account_tokens::is_reset_of_an_issuers(tx, id).await?;
                    Some(Facts { token: Some(id), is_issuers, ..Facts::default() })
                }
                None => None,
            }
        }
        K::WebhookDisabled => match field::<WebhookId>(&message.data, "id") {
            Some(id) => webhook(tx, id).await?,
            None => None,
        },
        K::InvoiceIssued => Some(issued(&message.data)),
        K::OrganizationSuspended => Some(Facts::default()),
        K::PaymentDisputed | K::PaymentFailed | K::PaymentSucceeded => match field::<PaymentId>(&message.data, "id") {
            Some(id) => payment(tx, id, &message.subject).await?,
            None => None,
        },
        K::RefundSettled => match field::<RefundId>(&message.data, "id") {
            Some(id) => refund(tx, id).await?,
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
        K::MfaChanged => field::<UserId>(&message.data, "user_id").map(|user| Facts {
            what: message.subject.clone(),
            // What the person called it, or how many codes are left.
            reason: field::<String>(&message.data, "name")
                .or_else(|| message.data.get("left").map(ToString::to_string)),
            asked_by: vec![format!("user:{user}")],
            ..Facts::default()
        }),
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
    type Columns = (Option<String>, String, String, Option<jiff_sqlx::Timestamp>);
    let row: Option<Columns> = sqlx::query_as(
        "SELECT a.name, a.created_by, p.name, a.lease_ends_at
         FROM allocations a JOIN projects p ON p.id = a.project_id WHERE a.id = $1",
    )
    .bind(id.uuid())
    .fetch_optional(tx.conn())
    .await?;
    let Some((name, asked_by, project, ends_at)) = row else { return Ok(None) };
    let reason = tx.hook::<dyn AllocationReasons>().sentence(tx, id).await?;
    Ok(Some(Facts {
        what: name.unwrap_or_else(|| id.to_string()),
        reason: reason.map(sentence),
        project: Some(project),
        at: ends_at.map(|it| it.to_jiff()),
        asked_by: vec![asked_by],
        ..Facts::default()
    }))
}

/// With what was refunded, if something was charged after the host was last heard.
async fn allocation_lost(tx: &mut Tx, id: AllocationId, message: &Message) -> sqlx::Result<Option<Facts>> {
    let Some(found) = allocation(tx, id).await? else { return Ok(None) };
    let refunded = match message.organization {
        Some(organization) => tx.hook::<dyn Refunds>().of_allocation(tx, organization.into(), id).await?,
        None => Vec::new(),
    };
    let refunded: Vec<String> = refunded.iter().map(ToString::to_string).collect();
    Ok(Some(Facts { amount: Some(refunded.join(" and ")).filter(|it| !it.is_empty()), ..found }))
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
    let money = |name: &str| money(data, name).map(|it| it.to_string());
    let used = money("spent_micros").zip(money("amount_micros")).map(|(spent, amount)| format!("{spent} of {amount}"));
    Facts {
        what: format!("{} %", data.get("percent").and_then(Value::as_i64).unwrap_or_default()),
        balance: used,
        until: field(data, "until"),
        ..facts
    }
}

/// An amount of the event, in its currency.
fn money(data: &Value, name: &str) -> Option<Money> {
    Some(Money::from_micros(data.get(name)?.as_i64()?, field::<Currency>(data, "currency")?))
}

fn issued(data: &Value) -> Facts {
    let text = |name: &str| field::<String>(data, name).unwrap_or_default();
    let is_note = text("kind") == InvoiceKind::CreditNote.as_str();
    let total = money(data, "total_micros");
    Facts {
        what: format!("{} {}", if is_note { "Credit note" } else { "Invoice" }, text("number")),
        period: field(data, "month"),
        // A credit note says how much comes back.
        amount: if is_note { total.and_then(|it| it.checked_neg().ok()) } else { total }.map(|it| it.to_string()),
        due: money(data, "due_micros").filter(|it| !it.is_zero()).map(|it| it.to_string()),
        is_credit: is_note,
        ..Facts::default()
    }
}

async fn payment(tx: &mut Tx, id: PaymentId, subject: &str) -> sqlx::Result<Option<Facts>> {
    type Columns = (String, i64, i64, Option<i64>, Option<String>);
    let row: Option<Columns> = sqlx::query_as(
        "SELECT p.currency, p.amount, p.received, (SELECT sum(d.amount)::bigint FROM disputes d WHERE d.payment_id = p.id), p.last_error
         FROM payments p WHERE p.id = $1",
    )
    .bind(id.uuid())
    .fetch_optional(tx.conn())
    .await?;
    let Some((currency, asked, received, disputed, last_error)) = row else { return Ok(None) };
    let (what, micros) = match subject.rsplit('.').next().unwrap_or_default() {
        "succeeded" => ("arrived", received),
        "dispute_opened" => ("disputed", disputed.unwrap_or(received)),
        "dispute_won" => ("won", disputed.unwrap_or(received)),
        "dispute_lost" => ("lost", disputed.unwrap_or(received)),
        _ => ("failed", asked),
    };
    Ok(Some(Facts {
        what: what.into(),
        amount: Some(Money::from_micros(micros, platform::rows::text(&currency)?).to_string()),
        reason: last_error.map(sentence),
        ..Facts::default()
    }))
}

async fn refund(tx: &mut Tx, id: RefundId) -> sqlx::Result<Option<Facts>> {
    let row: Option<(String, i64, String, Option<String>)> = sqlx::query_as(
        "SELECT p.currency, r.amount, r.state, r.last_error FROM refunds r JOIN payments p ON p.id = r.payment_id WHERE r.id = $1",
    )
    .bind(id.uuid())
    .fetch_optional(tx.conn())
    .await?;
    let Some((currency, amount, state, last_error)) = row else { return Ok(None) };
    Ok(Some(Facts {
        what: state,
        amount: Some(Money::from_micros(amount, platform::rows::text(&currency)?).to_string()),
        reason: last_error.map(sentence),
        ..Facts::default()
    }))
}

/// As it stands inside one: people end reasons as they like.
fn sentence(text: String) -> String {
    text.trim().trim_end_matches('.').to_owned()
}
