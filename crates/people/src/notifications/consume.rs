//! From events to notifications: each event that people care about becomes a
//! row for everyone whom it concerns, and a mail where they want one.

use contract::{Word, id::NotificationId, notification_kinds::NotificationKind, notifications::NotificationCreated};
use jiff::SignedDuration;
use kernel::{
    Tx,
    bus::{BoxFuture, ConsumeError, Consumer},
    clock,
    outbox::Message,
};

use super::{
    audience::{self, Person},
    store::{self, New},
    wording,
};
use crate::mails::{self, NewMail, Recipient};
use platform::{
    events::emit,
    policies::{Policies, settings},
};

/// Tells people.
pub struct Tell {
    /// Whether this installation sends mail.
    pub by_mail: bool,
    pub policies: Policies,
}

impl Consumer for Tell {
    fn name(&self) -> &'static str {
        "notifications.tell"
    }

    fn wants(&self, subject: &str) -> bool {
        NotificationKind::caused_by(subject).is_some()
    }

    fn handle<'a>(&'a self, tx: &'a mut Tx, message: &'a Message) -> BoxFuture<'a, Result<(), ConsumeError>> {
        Box::pin(async move {
            let Some(kind) = NotificationKind::caused_by(&message.subject) else { return Ok(()) };
            // A consumer that is new reads all that is retained, which is news no more.
            let oldest = self.policies.number(settings::NOTIFICATIONS_FRESH_HOURS);
            let age = clock::now(tx).await?.duration_since(message.at);
            if age > SignedDuration::from_hours(i64::try_from(oldest).unwrap_or(i64::MAX)) {
                return Ok(());
            }
            self.tell(tx, kind, message).await?;
            Ok(())
        })
    }
}

impl Tell {
    async fn tell(&self, tx: &mut Tx, kind: NotificationKind, message: &Message) -> sqlx::Result<()> {
        // What it is about may be gone by now; then there is nothing to tell.
        let Some(facts) = store::facts(tx, kind, message).await? else { return Ok(()) };
        let told = audience::of(tx, kind, message, &facts).await?;
        let said = wording::say(kind, &facts);
        let shown: Vec<_> = told.people.iter().filter(|it| it.in_app).map(|it| it.id).collect();
        let new = New {
            organization: message.organization,
            kind,
            cause: message.id,
            resource: message.resource.as_deref(),
            title: &said.title,
            body: &said.body,
        };
        for (id, user_id) in store::insert(tx, &new, &shown).await? {
            let id = NotificationId::from(id);
            emit(tx, None, id, &NotificationCreated { id, user_id: user_id.into(), kind: kind.into() });
        }
        if self.by_mail {
            let wants = |it: &&Person| it.by_mail;
            let mut recipients: Vec<_> = told.people.iter().filter(wants).map(|it| Recipient::Person(it.id)).collect();
            recipients.extend(told.invited.map(Recipient::Invited));
            recipients.extend(told.token.map(Recipient::Token));
            let new = NewMail {
                organization: message.organization,
                kind,
                cause: message.id,
                title: &said.title,
                body: &said.body,
            };
            mails::add(tx, &new, &recipients).await?;
        }
        metrics::counter!("gpuaas_notifications_total", "kind" => kind.as_str()).increment(told.people.len() as u64);
        Ok(())
    }
}
