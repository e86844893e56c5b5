//! Who is told: members by role and by what they asked for, or the person, and
//! each of them where they want it.

use contract::{
    Role,
    id::{AccountTokenId, InvitationId, UserId},
    notification_kinds::{Audience, NotificationKind},
};
use kernel::{Tx, outbox::Message};

use super::store::{self, Facts};

/// Somebody who is told, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person {
    pub id: UserId,
    pub in_app: bool,
    pub by_mail: bool,
}

#[derive(Debug, Default)]
pub struct NotifiedPeople {
    pub people: Vec<Person>,
    /// Somebody without an account, who can be told by mail alone.
    pub invited: Option<InvitationId>,
    /// An address that a token is mailed to.
    pub token: Option<AccountTokenId>,
}

const STEWARDS: &[Role] = &[Role::Owner, Role::Admin];
const PAYERS: &[Role] = &[Role::Owner, Role::Admin, Role::Billing];

pub async fn of(tx: &mut Tx, kind: NotificationKind, message: &Message, facts: &Facts) -> sqlx::Result<NotifiedPeople> {
    let info = kind.info();
    let mut invited = None;
    let mut ids = match (info.audience, message.organization) {
        (Audience::Invited, _) => {
            let account = match facts.invited.as_deref() {
                Some(address) => store::account(tx, address).await?,
                None => None,
            };
            if account.is_none() {
                invited = facts.invitation;
            }
            account.into_iter().collect()
        }
        (Audience::AccountOwner, _) => requesters(&facts.asked_by),
        (Audience::Address, _) | (_, None) => Vec::new(),
        (Audience::Stewards, Some(organization)) => store::members(tx, organization, STEWARDS).await?,
        (Audience::Payers, Some(organization)) => store::members(tx, organization, PAYERS).await?,
        (Audience::Requester | Audience::RequesterAndOperators, Some(organization)) => {
            let requester = store::still_members(tx, organization, &requesters(&facts.asked_by)).await?;
            match requester.is_empty() {
                true => store::members(tx, organization, STEWARDS).await?,
                false => requester,
            }
        }
        (Audience::Project, Some(organization)) => {
            let mut all = store::still_members(tx, organization, &requesters(&facts.asked_by)).await?;
            all.extend(store::members(tx, organization, STEWARDS).await?);
            all
        }
    };
    if info.audience == Audience::RequesterAndOperators {
        ids.extend(store::operators(tx).await?);
    }
    ids.sort_by_key(|it| it.uuid());
    ids.dedup();
    let preferred = store::preferred(tx, kind, &ids).await?;
    let person = |id: UserId| {
        let wish = preferred.iter().find(|it| it.0 == id);
        let chosen = |wish: Option<bool>, default: bool| info.is_mandatory || wish.unwrap_or(default);
        Person {
            id,
            in_app: chosen(wish.and_then(|it| it.1), true),
            by_mail: chosen(wish.and_then(|it| it.2), info.by_mail),
        }
    };
    Ok(NotifiedPeople { people: ids.into_iter().map(person).collect(), invited, token: facts.token })
}

/// The people among those who asked; programs ask too.
fn requesters(actors: &[String]) -> Vec<UserId> {
    actors.iter().filter_map(|it| it.strip_prefix("user:")?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_never_notified() {
        let user = UserId::generate();
        let actors = [format!("user:{user}"), "service_account:sa-x".into(), "system:relay".into()];
        assert_eq!(requesters(&actors), [user]);
    }
}
