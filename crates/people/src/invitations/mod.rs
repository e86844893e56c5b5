//! Invitations: how people join an organization.

pub mod lifecycle;
mod reconcile;
mod routes;
mod store;

pub use reconcile::InvitationReconciler;
pub use store::{erase, forget_mail_token, is_awaited, mail_token, mailed_to};

use contract::{
    Role,
    id::{InvitationId, OrganizationId},
};
use kernel::{
    Tx,
    lifecycle::{TransitionError, transition},
    sealed::SealedColumn,
    secrets::Keyring,
};

use lifecycle::{Event, InvitationLifecycle};

use crate::PeopleArea;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<PeopleArea>) {
    registry.lifecycle::<lifecycle::InvitationLifecycle>();
    registry.reconciler(|_| InvitationReconciler);
    registry.secret(&MAIL_TOKENS);
    registry.retention(&["invitations"], Retention::Forever("the record of who let whom in"));
}

/// Takes back what somebody made and may no longer make: they left, or have a lesser role.
pub async fn revoke_beyond(
    tx: &mut Tx,
    organization: OrganizationId,
    maker: &str,
    role: Option<Role>,
) -> Result<(), TransitionError> {
    for found in store::made_by(tx, organization, maker).await? {
        let given: Role = platform::rows::known(found.invitation.role.as_str())?;
        if !role.is_some_and(|it| it.may_give(given)) {
            let why = "the person who invited can no longer grant the role";
            transition::<InvitationLifecycle>(tx, store::versioned(&found)?, Event::Revoked, why).await?;
        }
    }
    Ok(())
}

/// Tokens of mails that were not sent yet.
pub const MAIL_TOKENS: SealedColumn =
    SealedColumn { table: "invitations", column: "mail_token", prefix: "invitation:" };

/// The token of an invitation's mail, for the mail itself.
pub fn open(keyring: &Keyring, id: InvitationId, sealed: &[u8]) -> Option<String> {
    Some(MAIL_TOKENS.open(keyring, id.uuid(), sealed).ok()?.expose_text()?.to_owned())
}
