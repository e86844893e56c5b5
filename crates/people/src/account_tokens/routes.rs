//! Asking for mailed tokens, and what they do when they are shown.

use contract::{
    Code, Nothing,
    account_tokens::{
        ConfirmAddressChange, ConfirmPasswordReset, ConfirmSignUp, RequestAddressChange, RequestPasswordReset,
        SignUpConfirmation,
    },
    sessions::SessionsRevoked,
    users::User,
};
use kernel::{Scope, secrets::hash_token};

use super::{
    Purpose, TokenRequest,
    store::{self, PresentedToken},
};
use crate::{PeopleArea, accounts, invitations, mfa, sessions, users};
use platform::{
    events::emit,
    http::{Call, Failure, Handle, ProblemBuilder, Request},
    policies::settings,
};

impl Handle<ConfirmSignUp> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ConfirmSignUp>) -> Result<Nothing, Failure> {
        let SignUpConfirmation { token, name, password } = request.body;
        accounts::check_password(self, &password)?;
        let hash = self.passwords.hash(password.expose()).await?;
        call.tx.enter(Scope::Identity).await?;
        let token = hash_token(token.expose());
        // Who asked for the mail chose nothing of the account: it may have been anybody.
        let address = match store::take(&mut call.tx, &token, Purpose::SignUp).await? {
            Some(shown) => Some(shown.address),
            None => invitations::mailed_to(&mut call.tx, &token).await?,
        };
        let email = platform::rows::text(&address.ok_or_else(|| no_sign_up(self))?)?;
        let Some(id) = accounts::settle(&mut call.tx, &email, &name, &hash).await? else {
            let detail = "the email address already has an account: sign in, or reset the password";
            return Err(Failure::new(Code::Conflict, detail));
        };
        call.about(id);
        Ok(Nothing {})
    }
}

impl Handle<RequestPasswordReset> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<RequestPasswordReset>) -> Result<Nothing, Failure> {
        needs_mail(self)?;
        call.tx.enter(Scope::Identity).await?;
        // Whether there is an account is looked up when the mail is sent: it takes no
        // longer here for one address than for another.
        super::request(self, &mut call.tx, TokenRequest::Password { address: &request.body.email.folded() }).await?;
        Ok(Nothing {})
    }
}

impl Handle<ConfirmPasswordReset> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ConfirmPasswordReset>) -> Result<Nothing, Failure> {
        accounts::check_password(self, &request.body.password)?;
        let hash = self.passwords.hash(request.body.password.expose()).await?;
        let shown = taken(call, request.body.token.expose(), Purpose::PasswordReset).await?;
        let known = users::credentials(&mut call.tx, &shown.address).await?.ok_or_else(unknown)?;
        // Whoever the issuer no longer lets in must not come in by a mailbox.
        if known.password_hash.is_none() && users::is_linked(&mut call.tx, known.id).await? {
            return Err(unknown());
        }
        // Before anything is ended: a sign-in with the old password that waits here is told so.
        users::lock(&mut call.tx, known.id).await?;
        if known.is_proven {
            mfa::forget_challenges(&mut call.tx, known.id).await?;
            sessions::revoke_all(&mut call.tx, known.id, None).await?;
            emit(&mut call.tx, None, known.id, &SessionsRevoked { user_id: known.id, session_id: None });
        } else {
            accounts::evict(&mut call.tx, known.id).await?;
            call.note("earlier_credentials_ended", true);
        }
        users::set_password(&mut call.tx, known.id, &hash).await?;
        call.about(known.id);
        Ok(Nothing {})
    }
}

impl Handle<RequestAddressChange> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<RequestAddressChange>) -> Result<Nothing, Failure> {
        needs_mail(self)?;
        let user = call.caller.user().expect("the gates let only people through");
        let known = users::password_hash(&mut call.tx, user).await?;
        // A session that somebody left open is not enough to take an account away.
        if known.is_some() {
            let given = request.body.password.as_ref().map_or("", |it| it.expose());
            if !self.passwords.verify(given, known).await? {
                return Err(ProblemBuilder::new(Code::InvalidValue, "the current password is wrong")
                    .at("password")
                    .into());
            }
            call.tx.enter(Scope::Identity).await?;
        } else {
            call.tx.enter(Scope::Identity).await?;
            signed_in_lately(self, call).await?;
        }
        let wanted = TokenRequest::Address { address: &request.body.email.folded(), user };
        super::request(self, &mut call.tx, wanted).await?;
        call.about(user);
        Ok(Nothing {})
    }
}

impl Handle<ConfirmAddressChange> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ConfirmAddressChange>) -> Result<User, Failure> {
        let user = call.caller.user().expect("the gates let only people through");
        let shown = taken(call, request.body.token.expose(), Purpose::AddressChange).await?;
        // Whoever reads the mail must be who asked for it: otherwise somebody could give
        // their own account an address of another person, who only clicks.
        if shown.user_id != Some(user.uuid()) {
            return Err(unknown());
        }
        users::lock(&mut call.tx, user).await?;
        let old = users::email(&mut call.tx, user).await?.ok_or_else(unknown)?;
        if !users::set_address(&mut call.tx, user, &shown.address).await? {
            return Err(Failure::new(Code::Conflict, "the address already has an account; sign in with it"));
        }
        sessions::revoke_all(&mut call.tx, user, None).await?;
        emit(&mut call.tx, None, user, &SessionsRevoked { user_id: user, session_id: None });
        super::notify_old(self, &mut call.tx, user, &old).await?;
        call.about(user);
        let changed = users::get(&mut call.tx, user).await?;
        changed.ok_or_else(|| Failure::Internal("the caller's account no longer exists".into()))
    }
}

/// Of who has no password, the second factor is asked for at the gates; who has none
/// either signs in again, through the issuer.
async fn signed_in_lately(area: &PeopleArea, call: &mut Call) -> Result<(), Failure> {
    if call.caller.second_factor.is_enrolled {
        return Ok(());
    }
    let seconds = area.policies.number(settings::MFA_STEP_UP_SECONDS);
    let session = call.caller.session().expect("the gates let no key through");
    if sessions::is_younger(&mut call.tx, session, settings::seconds(seconds)).await? {
        return Ok(());
    }
    let detail = format!("your account has no password: sign in again, at most {seconds} seconds before this request");
    Err(Failure::new(Code::SignInAgain, detail))
}

/// Uses a token up, in the identity scope.
async fn taken(call: &mut Call, token: &str, purpose: Purpose) -> Result<PresentedToken, Failure> {
    call.tx.enter(Scope::Identity).await?;
    store::take(&mut call.tx, &hash_token(token), purpose).await?.ok_or_else(unknown)
}

fn unknown() -> Failure {
    Failure::not_found("token: it was used, has expired or is for another purpose; request another email")
}

fn no_sign_up(area: &PeopleArea) -> Failure {
    Failure::not_found(match area.sending {
        Some(_) => {
            "token that creates an account: it was used, has expired, or is the one shown to the person who invited you, which only works for an existing account; use the one in the email that was sent to you"
        }
        None => {
            "token that creates an account, and this installation sends no email to verify your address: sign in through the external issuer, or ask an operator to run `gpuaasd admin create-account`"
        }
    })
}

/// Where no mail is sent, no address can be proven by one.
pub fn needs_mail(area: &PeopleArea) -> Result<(), Failure> {
    match area.sending {
        Some(_) => Ok(()),
        None => Err(Failure::new(Code::MailOff, "this installation does not send email, so it cannot send a token")),
    }
}
