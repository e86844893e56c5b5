//! Members: people in an organization, each with one role. Other resources
//! let people join through here.

mod routes;
mod store;

use contract::{
    Role,
    id::{OrganizationId, UserId},
    members::{MemberJoined, MemberRemoved},
};
use kernel::Tx;

use crate::events::emit;

/// Makes somebody a member; says whether they were none before.
pub async fn join(tx: &mut Tx, organization: OrganizationId, user: UserId, role: Role) -> sqlx::Result<bool> {
    let joined = store::insert(tx, organization, user, role).await?;
    if joined {
        emit(tx, Some(organization), user, &MemberJoined { user_id: user, role: role.into() });
    }
    Ok(joined)
}

/// Organizations of which the person is the only owner.
pub async fn sole_owner_of(tx: &mut Tx, user: UserId) -> sqlx::Result<Vec<OrganizationId>> {
    store::sole_owner_of(tx, user).await
}

/// Ends every membership of somebody who goes.
pub async fn remove_everywhere(tx: &mut Tx, user: UserId) -> sqlx::Result<()> {
    for organization in store::remove_everywhere(tx, user).await? {
        emit(tx, Some(organization), user, &MemberRemoved { user_id: user });
    }
    Ok(())
}
