//! Service accounts and their keys.

use contract::{
    Code, Nothing, Page, Role,
    id::ServiceAccountId,
    keys::{Key, NewKey},
    service_accounts::{
        CreateServiceAccount, CreateServiceAccountKey, DeleteServiceAccount, GetServiceAccount, ListServiceAccountKeys,
        ListServiceAccounts, RevokeServiceAccountKey, ServiceAccount, ServiceAccountCreated, ServiceAccountDeleted,
    },
};

use super::store;
use crate::{
    PeopleArea, invitations,
    keys::{self, Owner},
    organizations,
};
use platform::{
    events::emit,
    http::{Call, Failure, Handle, Request},
    policies::{self, settings as policy},
};

impl Handle<CreateServiceAccount> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<CreateServiceAccount>) -> Result<ServiceAccount, Failure> {
        let organization = call.organization();
        let role = request.body.role;
        call.caller.check_gives(organization, role)?;
        organizations::lock(&mut call.tx, organization).await?;
        let most =
            policies::number_in(&mut call.tx, policy::SERVICE_ACCOUNTS_MAX, Some(organization.uuid()), None).await?;
        if store::count(&mut call.tx, organization).await? as u64 >= most {
            return Err(Failure::new(
                Code::LimitReached,
                format!("the organization has reached its limit of {most} service accounts"),
            ));
        }
        let added = store::insert(&mut call.tx, organization, &request.body.name, role).await?;
        let account = added.ok_or_else(|| Failure::new(Code::NameTaken, "another service account has this name"))?;
        call.about(account.id);
        call.note("role", role.to_string());
        let event = ServiceAccountCreated { id: account.id, name: account.name.clone() };
        emit(&mut call.tx, Some(organization), account.id, &event);
        Ok(account)
    }
}

impl Handle<ListServiceAccounts> for PeopleArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<ListServiceAccounts>,
    ) -> Result<Page<ServiceAccount>, Failure> {
        let organization = call.organization();
        let rows = store::list(&mut call.tx, organization, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<GetServiceAccount> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<GetServiceAccount>) -> Result<ServiceAccount, Failure> {
        read(call, request.path.service_account_id).await
    }
}

impl Handle<DeleteServiceAccount> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<DeleteServiceAccount>) -> Result<Nothing, Failure> {
        let organization = call.organization();
        let account = managed(call, request.path.service_account_id).await?;
        store::delete(&mut call.tx, account.id).await?;
        keys::revoke_all(&mut call.tx, Owner::ServiceAccount { organization, id: account.id }).await?;
        let maker = kernel::Actor::principal("service_account", account.id);
        invitations::revoke_beyond(&mut call.tx, organization, maker.as_str(), None).await?;
        emit(&mut call.tx, Some(organization), account.id, &ServiceAccountDeleted { id: account.id });
        Ok(Nothing {})
    }
}

impl Handle<CreateServiceAccountKey> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<CreateServiceAccountKey>) -> Result<NewKey, Failure> {
        let organization = call.organization();
        let account = managed(call, request.path.service_account_id).await?;
        keys::create(call, Owner::ServiceAccount { organization, id: account.id }, request.body).await
    }
}

impl Handle<ListServiceAccountKeys> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ListServiceAccountKeys>) -> Result<Page<Key>, Failure> {
        let organization = call.organization();
        let account = read(call, request.path.service_account_id).await?;
        keys::list(call, Owner::ServiceAccount { organization, id: account.id }, &request.query).await
    }
}

impl Handle<RevokeServiceAccountKey> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<RevokeServiceAccountKey>) -> Result<Nothing, Failure> {
        let organization = call.organization();
        let account = read(call, request.path.service_account_id).await?;
        keys::revoke(call, Owner::ServiceAccount { organization, id: account.id }, request.path.key_id).await
    }
}

async fn read(call: &mut Call, id: ServiceAccountId) -> Result<ServiceAccount, Failure> {
    store::get(&mut call.tx, id).await?.ok_or_else(|| Failure::not_found("service account"))
}

/// The account, if the caller could have given it its role: otherwise a key of
/// it would lift the caller above itself.
async fn managed(call: &mut Call, id: ServiceAccountId) -> Result<ServiceAccount, Failure> {
    let account = read(call, id).await?;
    let role: Role = platform::rows::known(account.role.as_str())?;
    let own = call.caller.role_in(call.organization());
    if !own.is_some_and(|it| it.may_give(role)) {
        return Err(Failure::new(Code::ScopeExceeded, format!("your role cannot act for an `{role}`")));
    }
    Ok(account)
}
