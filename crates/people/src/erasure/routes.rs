//! Erasing a person: everything that names them goes, their id stays.

use contract::{
    Code, Nothing,
    users::{EraseUser, UserErased},
};
use kernel::Scope;

use crate::{
    PeopleArea, account_tokens, invitations,
    keys::{self, Owner},
    members, mfa, notifications, sessions, ssh_keys,
    users::{self, InsideSessions},
};
use platform::{
    events::emit,
    http::{Call, Failure, Handle, Request},
};

impl Handle<EraseUser> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<EraseUser>) -> Result<Nothing, Failure> {
        let id = request.path.user_id;
        let user = users::get(&mut call.tx, id).await?.ok_or_else(|| Failure::not_found("person"))?;
        if users::lock_operators(&mut call.tx).await? == [id] {
            return Err(Failure::new(Code::Conflict, "this is the only operator of the platform"));
        }
        // What a person holds lies in many scopes; erasing is the platform's own work.
        call.tx.enter(Scope::System).await?;
        if let Some(organization) = members::sole_owner_of(&mut call.tx, id).await?.first() {
            return Err(Failure::new(Code::LastOwner, format!("the user is the only owner of {organization}")));
        }
        sessions::revoke_all(&mut call.tx, id, None).await?;
        keys::revoke_all(&mut call.tx, Owner::Person(id)).await?;
        mfa::erase(&mut call.tx, id).await?;
        sessions::forget_places(&mut call.tx, id).await?;
        ssh_keys::forget(&mut call.tx, id).await?;
        let inside = call.tx.hook::<dyn InsideSessions>();
        inside.end_all_of(&mut call.tx, id, "credentials_ended").await?;
        inside.forget_addresses(&mut call.tx, id).await?;
        account_tokens::forget(&mut call.tx, id, &user.email.folded()).await?;
        members::remove_everywhere(&mut call.tx, id).await?;
        notifications::forget(&mut call.tx, id, &user.email.folded()).await?;
        invitations::erase(&mut call.tx, &user.email.folded()).await?;
        users::empty(&mut call.tx, id).await?;
        emit(&mut call.tx, None, id, &UserErased { id });
        Ok(Nothing {})
    }
}
