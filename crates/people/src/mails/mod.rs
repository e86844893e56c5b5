//! Mails: what people are told by SMTP, sent until a mail server accepts it,
//! refuses it for good, or policy gives it up.

mod compose;
pub mod lifecycle;
mod reconcile;
mod routes;
mod store;

pub use compose::escape;
pub use reconcile::{MailReconciler, Ordinary, Security, Sending, Share};
pub use store::{Recipient, forget_of, forget_old, forget_refusal, refusal, told};

use contract::notification_kinds::NotificationKind;
use kernel::{Tx, work};
use uuid::Uuid;

use crate::PeopleArea;
use platform::policies::settings;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<PeopleArea>) {
    registry.lifecycle::<lifecycle::MailLifecycle>();
    registry.reconciler(|area: &PeopleArea| {
        MailReconciler::<Ordinary>::new(area.sending.clone(), area.keyring.clone(), area.policies.clone())
    });
    registry.reconciler(|area: &PeopleArea| {
        MailReconciler::<Security>::new(area.sending.clone(), area.keyring.clone(), area.policies.clone())
    });
    registry.expiry(&["mails"], |area, most| {
        Box::pin(async move {
            let retention = settings::days(area.policies.number(settings::MAIL_KEEP_DAYS));
            forget_old(&area.db, retention, most).await
        })
    });
    registry.retention(&["mail_refusals"], Retention::Removed("when mail is resumed, and when the person is erased"));
}

/// What a mail says, and of which event.
#[derive(Debug, Clone)]
pub struct NewMail<'a> {
    pub organization: Option<Uuid>,
    pub kind: NotificationKind,
    pub cause: Uuid,
    pub title: &'a str,
    pub body: &'a str,
}

/// Adds a mail for each recipient who has none of this cause yet.
pub async fn add(tx: &mut Tx, new: &NewMail<'_>, recipients: &[Recipient]) -> sqlx::Result<()> {
    let share = if new.kind.info().is_security { Security::KIND } else { Ordinary::KIND };
    for id in store::insert(tx, new, recipients).await? {
        work::wake(tx, share, id);
    }
    Ok(())
}
