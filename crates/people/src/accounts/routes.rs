//! Accounts, profiles, passwords and platform roles.

use contract::{
    Code, Nothing, Page, SecretText,
    id::UserId,
    sessions::SessionsRevoked,
    users::{
        ChangePassword, ChangeProfile, ListUsers, ServiceAccountSummary, SetPlatformRole, SignUp, User, WhoAmI, Whoami,
    },
};
use kernel::Scope;

use crate::{
    PeopleArea,
    account_tokens::{self, TokenRequest},
    mfa, service_accounts, sessions, users,
};
use platform::{
    events::emit,
    http::{Call, Failure, Handle, Request},
    identity::Principal,
    policies::settings,
};

impl Handle<SignUp> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<SignUp>) -> Result<Nothing, Failure> {
        if !self.policies.flag(settings::SELF_SERVICE) {
            let detail =
                "accounts on this platform require an invitation; confirm with the token that was emailed to you";
            return Err(Failure::new(Code::SelfServiceOff, detail));
        }
        account_tokens::needs_mail(self)?;
        call.tx.enter(Scope::Identity).await?;
        // Whether there is an account is looked up when the mail is sent.
        let wanted = TokenRequest::Account { address: &request.body.email.folded() };
        account_tokens::request(self, &mut call.tx, wanted).await?;
        Ok(Nothing {})
    }
}

impl Handle<WhoAmI> for PeopleArea {
    async fn handle(&self, call: &mut Call, _: Request<WhoAmI>) -> Result<Whoami, Failure> {
        let scopes = call.caller.scopes.as_ref().map(|it| it.iter().copied().map(Into::into).collect());
        let mut answer = Whoami { user: None, service_account: None, session_id: None, key_id: None, scopes };
        match call.caller.who {
            Principal::Anyone => unreachable!("the gates let only signed-in callers through"),
            Principal::Person { user, session, key } => {
                answer.user = users::get(&mut call.tx, user).await?;
                (answer.session_id, answer.key_id) = (session, key);
            }
            Principal::ServiceAccount { id, organization, key } => {
                let account = service_accounts::find(&mut call.tx, id).await?;
                answer.service_account =
                    account.map(|it| ServiceAccountSummary { id, organization_id: organization, name: it.name });
                answer.key_id = Some(key);
            }
        }
        Ok(answer)
    }
}

impl Handle<ChangeProfile> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ChangeProfile>) -> Result<User, Failure> {
        let user = person(call);
        users::rename(&mut call.tx, user, &request.body.name).await?;
        call.about(user);
        let changed = users::get(&mut call.tx, user).await?;
        changed.ok_or_else(|| Failure::Internal("the caller's account no longer exists".into()))
    }
}

impl Handle<ChangePassword> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ChangePassword>) -> Result<Nothing, Failure> {
        let user = person(call);
        let known = users::password_hash(&mut call.tx, user).await?;
        if !self.passwords.verify(request.body.current.expose(), known).await? {
            return Err(Failure::new(Code::InvalidValue, "the current password is wrong"));
        }
        check_password(self, &request.body.new)?;
        let hash = hash(self, &request.body.new).await?;
        users::lock_own(call).await?;
        users::set_password(&mut call.tx, user, &hash).await?;
        mfa::forget_challenges(&mut call.tx, user).await?;
        let Principal::Person { session, .. } = call.caller.who else {
            unreachable!("the gates let only people through")
        };
        sessions::revoke_all(&mut call.tx, user, session).await?;
        emit(&mut call.tx, None, user, &SessionsRevoked { user_id: user, session_id: None });
        call.about(user);
        Ok(Nothing {})
    }
}

impl Handle<ListUsers> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ListUsers>) -> Result<Page<User>, Failure> {
        let rows = users::list(&mut call.tx, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<SetPlatformRole> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<SetPlatformRole>) -> Result<User, Failure> {
        let (id, role) = (request.path.user_id, request.body.role);
        let operators = users::lock_operators(&mut call.tx).await?;
        if operators == [id] && role != Some(contract::permission::PlatformRole::Operator) {
            return Err(Failure::new(Code::Conflict, "this is the only operator of the platform"));
        }
        users::set_platform_role(&mut call.tx, id, role).await?;
        call.about(id);
        call.note("role", role.map(|it| it.to_string()));
        // What the person may do changes at once, as if they had signed in anew.
        emit(&mut call.tx, None, id, &contract::users::PlatformRoleChanged { id, role: role.map(Into::into) });
        users::get(&mut call.tx, id).await?.ok_or_else(|| Failure::not_found("person"))
    }
}

pub fn check_password(area: &PeopleArea, password: &SecretText) -> Result<(), Failure> {
    let least = area.policies.number(settings::PASSWORD_MIN_LENGTH) as usize;
    let length = password.expose().chars().count();
    if !(least..=1024).contains(&length) {
        return Err(Failure::new(Code::InvalidValue, format!("a password has {least} to 1024 characters")));
    }
    Ok(())
}

async fn hash(area: &PeopleArea, password: &SecretText) -> Result<String, Failure> {
    Ok(area.passwords.hash(password.expose()).await?)
}

fn person(call: &Call) -> UserId {
    call.caller.user().expect("the gates let only people through")
}
