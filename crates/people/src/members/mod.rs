//! Members: people in an organization, each with one role. Other resources
//! let people join through here.

mod leave;
mod routes;
mod store;

use contract::{
    Role,
    id::{OrganizationId, UserId},
    members::{MemberJoined, MemberRemoved},
};
use kernel::{Actor, Tx, lifecycle::TransitionError};

use crate::invitations;
use platform::events::emit;

use crate::PeopleArea;
use kernel::lifecycle::ParentEnd;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<PeopleArea>) {
    registry.table("memberships", ParentEnd::Stays("members of a closed organization can only read, stop and release"));
    registry.retention(&["memberships"], Retention::Removed("when a member leaves"));
}

/// Makes somebody a member; says whether they were none before.
pub async fn join(tx: &mut Tx, organization: OrganizationId, user: UserId, role: Role) -> sqlx::Result<bool> {
    let joined = store::insert(tx, organization, user, role).await?;
    if joined {
        emit(tx, Some(organization), user, &MemberJoined { user_id: user, role: role.into() });
    }
    Ok(joined)
}

/// What somebody is in the organization, if they are a member.
pub async fn role_of(tx: &mut Tx, organization: OrganizationId, user: UserId) -> sqlx::Result<Option<Role>> {
    store::role_of(tx, organization, user).await
}

/// Organizations of which the person is the only owner.
pub async fn sole_owner_of(tx: &mut Tx, user: UserId) -> sqlx::Result<Vec<OrganizationId>> {
    store::sole_owner_of(tx, user).await
}

/// Ends every membership of somebody who goes.
pub async fn remove_everywhere(tx: &mut Tx, user: UserId) -> Result<(), TransitionError> {
    for organization in store::remove_everywhere(tx, user).await? {
        gone(tx, organization, user).await?;
    }
    Ok(())
}

/// Tells that somebody is no longer a member; what they offered to others goes too.
async fn gone(tx: &mut Tx, organization: OrganizationId, user: UserId) -> Result<(), TransitionError> {
    let maker = Actor::principal("user", user);
    invitations::revoke_beyond(tx, organization, maker.as_str(), None).await?;
    emit(tx, Some(organization), user, &MemberRemoved { user_id: user });
    Ok(())
}
