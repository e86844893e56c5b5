//! A person's own keys.

use contract::{
    Nothing, Page,
    id::UserId,
    keys::{CreatePersonalKey, Key, ListPersonalKeys, NewKey, RevokePersonalKey},
};

use super::Owner;
use crate::PeopleArea;
use platform::http::{Call, Failure, Handle, Request};

impl Handle<CreatePersonalKey> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<CreatePersonalKey>) -> Result<NewKey, Failure> {
        let owner = Owner::Person(person(call));
        super::create(call, owner, request.body).await
    }
}

impl Handle<ListPersonalKeys> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ListPersonalKeys>) -> Result<Page<Key>, Failure> {
        let owner = Owner::Person(person(call));
        super::list(call, owner, &request.query).await
    }
}

impl Handle<RevokePersonalKey> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<RevokePersonalKey>) -> Result<Nothing, Failure> {
        let owner = Owner::Person(person(call));
        super::revoke(call, owner, request.path.key_id).await
    }
}

fn person(call: &Call) -> UserId {
    call.caller.user().expect("the gates let only people through")
}
