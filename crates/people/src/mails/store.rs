//! The rows of `mails` and `mail_refusals`. Addresses are looked up where they
//! live, each time one is needed.

use std::time::Duration;

use contract::{
    Word,
    id::{AccountTokenId, InvitationId, MailId, UserId},
    mails::{Mail, MailFilter, MailState},
    notification_kinds::NotificationKind,
    notifications::MailRefusal,
};
use kernel::{Access, Db, Tx, lifecycle::Versioned, secrets::hash_token};
use uuid::Uuid;

use super::{NewMail, compose};
use crate::account_tokens;

/// Whom a mail is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipient {
    Person(UserId),
    /// Somebody who is invited and has no account.
    Invited(InvitationId),
    /// An address that a token is mailed to.
    Token(AccountTokenId),
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    user_id: Option<Uuid>,
    invitation_id: Option<Uuid>,
    account_token_id: Option<Uuid>,
    organization_id: Option<Uuid>,
    kind: String,
    cause: Uuid,
    title: String,
    body: String,
    state: String,
    version: i64,
    attempts: i32,
    last_code: Option<i32>,
    error: Option<String>,
    created_at: jiff_sqlx::Timestamp,
    next_attempt_at: Option<jiff_sqlx::Timestamp>,
    sent_at: Option<jiff_sqlx::Timestamp>,
}

/// A mail with what it says.
#[derive(Debug, Clone)]
pub struct StoredMail {
    pub mail: Mail,
    pub kind: NotificationKind,
    pub recipient: Recipient,
    pub title: String,
    pub body: String,
    version: i64,
}

const COLUMNS: &str =
    "id, user_id, invitation_id, account_token_id, organization_id, kind, cause, title, body, state, version, attempts,
    last_code, error, created_at, next_attempt_at, sent_at";

pub async fn insert(tx: &mut Tx, new: &NewMail<'_>, recipients: &[Recipient]) -> sqlx::Result<Vec<Uuid>> {
    let ids: Vec<Uuid> = recipients.iter().map(|_| MailId::generate().uuid()).collect();
    let users: Vec<Option<Uuid>> = recipients.iter().map(|it| it.user().map(|it| it.uuid())).collect();
    let invitations: Vec<Option<Uuid>> = recipients.iter().map(|it| it.invitation().map(|it| it.uuid())).collect();
    let tokens: Vec<Option<Uuid>> = recipients.iter().map(|it| it.token().map(|it| it.uuid())).collect();
    sqlx::query_scalar(
        "INSERT INTO mails (id, user_id, invitation_id, account_token_id, organization_id, kind, cause, title, body, state)
         SELECT id, user_id, invitation_id, account_token_id, $4, $5, $6, $7, $8, 'pending'
         FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $9::uuid[]) AS added (id, user_id, invitation_id, account_token_id)
         ON CONFLICT DO NOTHING RETURNING id",
    )
    .bind(ids)
    .bind(users)
    .bind(invitations)
    .bind(new.organization)
    .bind(new.kind.as_str())
    .bind(new.cause)
    .bind(new.title)
    .bind(new.body)
    .bind(tokens)
    .fetch_all(tx.conn())
    .await
}

pub async fn get(tx: &mut Tx, id: Uuid) -> sqlx::Result<Option<StoredMail>> {
    let statement = format!("SELECT {COLUMNS} FROM mails WHERE id = $1");
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id).fetch_optional(tx.conn()).await?;
    row.map(|it| held(it, "")).transpose()
}

pub async fn list(tx: &mut Tx, filter: &MailFilter, domain: &str) -> sqlx::Result<Vec<Mail>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM mails WHERE ($1::text IS NULL OR state = $1) AND ($2::uuid IS NULL OR user_id = $2)
           AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(filter.state.map(|it| it.as_str()))
        .bind(filter.user_id.map(|it| it.uuid()))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(|row| held(row, domain).map(|it| it.mail)).collect()
}

/// Where a mail goes now; nowhere once the person is erased, or the invitation is over.
pub async fn address(tx: &mut Tx, recipient: Recipient) -> sqlx::Result<Option<String>> {
    let (statement, id) = match recipient {
        Recipient::Person(user) => {
            ("SELECT email FROM users WHERE id = $1 AND erased_at IS NULL AND email IS NOT NULL", user.uuid())
        }
        Recipient::Invited(invitation) => {
            ("SELECT email FROM invitations WHERE id = $1 AND state = 'pending'", invitation.uuid())
        }
        Recipient::Token(token) => return account_tokens::destination(tx, token).await,
    };
    sqlx::query_scalar(statement).bind(id).fetch_optional(tx.conn()).await
}

/// What an attempt came to.
pub struct Attempt<'a> {
    pub code: Option<u16>,
    pub error: Option<&'a str>,
    /// When the next one is, if there is one.
    pub again: Option<Duration>,
}

pub async fn record(tx: &mut Tx, id: MailId, attempt: Attempt<'_>) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE mails SET attempts = attempts + 1, last_code = $2, error = left($3, 500),
                next_attempt_at = app_now() + make_interval(secs => $4),
                sent_at = CASE WHEN $3::text IS NULL THEN app_now() END
         WHERE id = $1",
    )
    .bind(id.uuid())
    .bind(attempt.code.map(i32::from))
    .bind(attempt.error)
    .bind(attempt.again.map(|it| it.as_secs_f64()))
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Ends a mail without an attempt.
pub async fn note_unsent(tx: &mut Tx, id: MailId, why: &str) -> sqlx::Result<()> {
    sqlx::query("UPDATE mails SET error = left($2, 500), next_attempt_at = NULL WHERE id = $1")
        .bind(id.uuid())
        .bind(why)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// How many mails of a share have yet to be tried, counted up to `most`.
pub async fn untried(tx: &mut Tx, is_security: bool, most: i32) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "SELECT count(*) FROM (SELECT FROM mails WHERE state = 'pending' AND attempts = 0 AND (kind = ANY ($1)) = $2
           LIMIT $3) AS waiting",
    )
    .bind(security_kinds())
    .bind(is_security)
    .bind(most)
    .fetch_one(tx.conn())
    .await
}

pub async fn overdue(tx: &mut Tx, is_security: bool, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "SELECT id FROM mails WHERE state = 'pending' AND next_attempt_at <= app_now() AND (kind = ANY ($1)) = $2
         LIMIT $3",
    )
    .bind(security_kinds())
    .bind(is_security)
    .bind(limit)
    .fetch_all(tx.conn())
    .await
}

fn security_kinds() -> Vec<&'static str> {
    NotificationKind::ALL.iter().filter(|it| it.info().is_security).map(|it| it.as_str()).collect()
}

/// Why nothing is sent to an address any more, if nothing is.
pub async fn refusal(tx: &mut Tx, address: &str) -> sqlx::Result<Option<MailRefusal>> {
    let row: Option<(i32, String, jiff_sqlx::Timestamp)> =
        sqlx::query_as("SELECT code, reason, refused_at FROM mail_refusals WHERE address_hash = $1")
            .bind(&hash_token(address).as_bytes()[..])
            .fetch_optional(tx.conn())
            .await?;
    Ok(row.map(|(code, reason, refused_at)| MailRefusal { code, reason, refused_at: refused_at.to_jiff() }))
}

pub async fn refuse(tx: &mut Tx, address: &str, code: u16, reason: &str) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO mail_refusals (address_hash, code, reason) VALUES ($1, $2, left($3, 500))
         ON CONFLICT (address_hash) DO UPDATE SET code = excluded.code, reason = excluded.reason, refused_at = app_now()",
    )
    .bind(&hash_token(address).as_bytes()[..])
    .bind(i32::from(code))
    .bind(reason)
    .execute(tx.conn())
    .await?;
    Ok(())
}

pub async fn forget_refusal(tx: &mut Tx, address: &str) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM mail_refusals WHERE address_hash = $1")
        .bind(&hash_token(address).as_bytes()[..])
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Removes every mail to a person who goes.
pub async fn forget_of(tx: &mut Tx, user: UserId) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM mails WHERE user_id = $1").bind(user.uuid()).execute(tx.conn()).await?;
    Ok(())
}

/// Which of the causes a person was told of by mail, with what became of it.
pub async fn told(tx: &mut Tx, user: UserId, causes: &[Uuid]) -> sqlx::Result<Vec<(Uuid, Mail)>> {
    let statement = format!("SELECT {COLUMNS} FROM mails WHERE user_id = $1 AND cause = ANY($2)");
    let rows: Vec<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(user.uuid()).bind(causes).fetch_all(tx.conn()).await?;
    rows.into_iter().map(|row| Ok((row.cause, held(row, "")?.mail))).collect()
}

/// Deletes mails that were over long ago.
pub async fn forget_old(db: &Db, keep: Duration, bite: i64) -> sqlx::Result<u64> {
    let mut tx = Tx::system(db, "housekeeping", Access::Write).await?;
    let gone = sqlx::query(
        "DELETE FROM mails WHERE id = ANY(ARRAY(SELECT id FROM mails
           WHERE state <> 'pending' AND state_since <= app_now() - make_interval(secs => $1) LIMIT $2))",
    )
    .bind(keep.as_secs_f64())
    .bind(bite)
    .execute(tx.conn())
    .await?
    .rows_affected();
    tx.commit().await?;
    Ok(gone)
}

impl Recipient {
    pub fn user(self) -> Option<UserId> {
        match self {
            Recipient::Person(user) => Some(user),
            Recipient::Invited(_) | Recipient::Token(_) => None,
        }
    }

    pub fn invitation(self) -> Option<InvitationId> {
        match self {
            Recipient::Person(_) | Recipient::Token(_) => None,
            Recipient::Invited(invitation) => Some(invitation),
        }
    }

    fn token(self) -> Option<AccountTokenId> {
        match self {
            Recipient::Person(_) | Recipient::Invited(_) => None,
            Recipient::Token(token) => Some(token),
        }
    }

    pub fn uuid(self) -> Uuid {
        match self {
            Recipient::Person(user) => user.uuid(),
            Recipient::Invited(invitation) => invitation.uuid(),
            Recipient::Token(token) => token.uuid(),
        }
    }
}

impl StoredMail {
    /// The moves of a mail are the platform's news, not the organization's.
    pub fn versioned(&self) -> sqlx::Result<Versioned<MailState>> {
        let state = platform::rows::known(self.mail.state.as_str())?;
        Ok(Versioned { id: self.mail.id.uuid(), organization: None, state, version: self.version })
    }
}

fn held(row: Row, domain: &str) -> sqlx::Result<StoredMail> {
    let recipient = match (row.user_id, row.invitation_id, row.account_token_id) {
        (Some(user), ..) => Recipient::Person(user.into()),
        (None, Some(invitation), _) => Recipient::Invited(invitation.into()),
        (None, None, Some(token)) => Recipient::Token(token.into()),
        (None, None, None) => return Err(sqlx::Error::Decode("a mail is for nobody".into())),
    };
    let kind: NotificationKind = platform::rows::known(&row.kind)?;
    let local = compose::message_id(row.cause, recipient);
    let mail = Mail {
        id: row.id.into(),
        kind: kind.into(),
        user_id: recipient.user(),
        invitation_id: recipient.invitation(),
        organization_id: row.organization_id.map(Into::into),
        message_id: if domain.is_empty() { local } else { format!("{local}@{domain}") },
        state: platform::rows::word(&row.state)?,
        attempts: row.attempts,
        last_code: row.last_code,
        error: row.error,
        created_at: row.created_at.to_jiff(),
        next_attempt_at: row.next_attempt_at.map(|it| it.to_jiff()),
        sent_at: row.sent_at.map(|it| it.to_jiff()),
    };
    Ok(StoredMail { mail, kind, recipient, title: row.title, body: row.body, version: row.version })
}
