//! A person's own notifications, and what they want to be told.

use contract::{
    Code, Email, Page, Word,
    id::UserId,
    notification_kinds::NotificationKind,
    notifications::{
        CountUnreadNotifications, ForgetMailRefusal, GetNotificationPreferences, ListNotifications, MailAddress,
        Notification, NotificationMail, NotificationPreference, NotificationPreferenceSet, NotificationPreferences,
        NotificationRead, ReadNotification, ReadNotifications, SetNotificationPreference, UnreadNotifications,
    },
};
use kernel::Tx;
use uuid::Uuid;

use super::store::{self, StoredNotification};
use crate::{PeopleArea, mails, users};
use platform::{
    events::emit,
    http::{Call, Failure, Handle, ProblemBuilder, Request},
};

impl Handle<ListNotifications> for PeopleArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<ListNotifications>,
    ) -> Result<Page<Notification>, Failure> {
        let user = person(call);
        let rows = store::list(&mut call.tx, user, &request.query).await?;
        let rows = with_mails(&mut call.tx, user, rows).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<CountUnreadNotifications> for PeopleArea {
    async fn handle(
        &self,
        call: &mut Call,
        _: Request<CountUnreadNotifications>,
    ) -> Result<UnreadNotifications, Failure> {
        let user = person(call);
        Ok(UnreadNotifications { unread: store::unread(&mut call.tx, user).await? })
    }
}

impl Handle<ReadNotification> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ReadNotification>) -> Result<Notification, Failure> {
        let (user, id) = (person(call), request.path.notification_id);
        let is_news = store::read(&mut call.tx, user, id).await?;
        let found = store::get(&mut call.tx, user, id).await?.ok_or_else(|| Failure::not_found("notification"))?;
        if is_news {
            emit(&mut call.tx, None, id, &NotificationRead { user_id: user, up_to: None });
        }
        let mut all = with_mails(&mut call.tx, user, vec![found]).await?;
        all.pop().ok_or_else(|| Failure::not_found("notification"))
    }
}

impl Handle<ReadNotifications> for PeopleArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<ReadNotifications>,
    ) -> Result<UnreadNotifications, Failure> {
        let (user, up_to) = (person(call), request.body.up_to);
        call.about(user);
        let count = store::read_all(&mut call.tx, user, up_to).await?;
        call.note("count", count);
        if count > 0 {
            emit(&mut call.tx, None, user, &NotificationRead { user_id: user, up_to });
        }
        Ok(UnreadNotifications { unread: store::unread(&mut call.tx, user).await? })
    }
}

impl Handle<GetNotificationPreferences> for PeopleArea {
    async fn handle(
        &self,
        call: &mut Call,
        _: Request<GetNotificationPreferences>,
    ) -> Result<NotificationPreferences, Failure> {
        let user = person(call);
        let wishes = store::wishes(&mut call.tx, user).await?;
        let wish = |kind: NotificationKind| {
            let said = wishes.iter().find(|it| it.0 == kind.as_str());
            preference(kind, said.and_then(|it| it.1), said.and_then(|it| it.2))
        };
        let kinds = NotificationKind::ALL.iter().copied().map(wish).collect();
        Ok(NotificationPreferences { mail: mail_address(self, call).await?, kinds })
    }
}

impl Handle<SetNotificationPreference> for PeopleArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<SetNotificationPreference>,
    ) -> Result<NotificationPreference, Failure> {
        let (user, kind, wish) = (person(call), request.path.notification_kind, request.body);
        for (field, value) in [("in_app", wish.in_app), ("email", wish.email)] {
            if kind.info().is_mandatory && value == Some(false) {
                let detail = format!("`{kind}` is mandatory and cannot be turned off");
                return Err(ProblemBuilder::new(Code::InvalidValue, detail).at(field).into());
            }
        }
        store::prefer(&mut call.tx, user, kind, &wish).await?;
        call.about(user);
        call.note("kind", kind.as_str());
        call.note("in_app", wish.in_app);
        call.note("email", wish.email);
        emit(&mut call.tx, None, user, &NotificationPreferenceSet { user_id: user, kind: kind.into() });
        let said = store::preferred(&mut call.tx, kind, &[user]).await?;
        let said = said.first();
        Ok(preference(kind, said.and_then(|it| it.1), said.and_then(|it| it.2)))
    }
}

impl Handle<ForgetMailRefusal> for PeopleArea {
    async fn handle(&self, call: &mut Call, _: Request<ForgetMailRefusal>) -> Result<MailAddress, Failure> {
        let user = person(call);
        call.about(user);
        let address = address(call, user).await?;
        mails::forget_refusal(&mut call.tx, &address).await?;
        mail_address(self, call).await
    }
}

fn preference(kind: NotificationKind, in_app: Option<bool>, email: Option<bool>) -> NotificationPreference {
    let info = kind.info();
    NotificationPreference {
        kind: kind.into(),
        about: info.about.into(),
        in_app: info.is_mandatory || in_app.unwrap_or(true),
        email: info.is_mandatory || email.unwrap_or(info.by_mail),
        is_mandatory: info.is_mandatory,
    }
}

async fn mail_address(area: &PeopleArea, call: &mut Call) -> Result<MailAddress, Failure> {
    let user = person(call);
    let address = address(call, user).await?;
    let refusal = mails::refusal(&mut call.tx, &address).await?;
    let email: Email = platform::rows::text(&address)?;
    Ok(MailAddress { email, is_configured: area.sending.is_some(), refusal })
}

async fn address(call: &mut Call, user: UserId) -> Result<String, Failure> {
    let address = users::email(&mut call.tx, user).await?;
    address.ok_or_else(|| Failure::Internal("the caller's account no longer exists".into()))
}

/// Says of each what became of the mail that tells the same.
pub async fn with_mails(tx: &mut Tx, user: UserId, found: Vec<StoredNotification>) -> sqlx::Result<Vec<Notification>> {
    let causes: Vec<Uuid> = found.iter().map(|it| it.cause).collect();
    let told = mails::told(tx, user, &causes).await?;
    let with_mail = |it: StoredNotification| {
        let mail = told.iter().find(|(cause, _)| *cause == it.cause).map(|(_, mail)| NotificationMail {
            state: mail.state.clone(),
            attempts: mail.attempts,
            error: mail.error.clone(),
            sent_at: mail.sent_at,
        });
        Notification { mail, ..it.notification }
    };
    Ok(found.into_iter().map(with_mail).collect())
}

fn person(call: &Call) -> UserId {
    call.caller.user().expect("the gates let only people through")
}
