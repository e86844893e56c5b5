//! A person's second factors: showing and removing them, recovery codes, and
//! confirming one in a session that is already open.

use contract::{
    Code, Nothing,
    id::{SessionId, UserId},
    mfa::{
        FactorRemoved, FinishStepUp, GetMfa, Mfa, MfaChallenge, MfaVerified, RecoveryCodes, RecoveryCodesReplaced,
        RemoveFactor, ReplaceRecoveryCodes, StartStepUp,
    },
};
use kernel::clock;

use super::{Purpose, challenge, enroll, store};
use crate::{PeopleArea, sessions, users};
use platform::{
    events::emit,
    http::{Call, Failure, Handle, Request, is_mfa_required},
    policies::settings,
};

impl Handle<GetMfa> for PeopleArea {
    async fn handle(&self, call: &mut Call, _: Request<GetMfa>) -> Result<Mfa, Failure> {
        let user = person(call);
        Ok(Mfa {
            factors: store::list(&mut call.tx, user).await?,
            recovery_codes_left: store::recovery_codes_left(&mut call.tx, user).await?,
            required: is_mfa_required(self, &call.caller),
            verified_at: call.caller.second_factor.at,
        })
    }
}

impl Handle<RemoveFactor> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<RemoveFactor>) -> Result<Nothing, Failure> {
        let user = person(call);
        users::lock(&mut call.tx, user).await?;
        let gone = store::delete(&mut call.tx, user, request.path.factor_id).await?;
        let gone = gone.ok_or_else(|| Failure::not_found("second factor"))?;
        if !store::has_factor(&mut call.tx, user).await? {
            if is_mfa_required(self, &call.caller) {
                let detail = "a policy requires a second factor: add another one before you remove the last";
                return Err(Failure::new(Code::Conflict, detail));
            }
            store::delete_recovery_codes(&mut call.tx, user).await?;
        }
        emit(
            &mut call.tx,
            None,
            gone.id,
            &FactorRemoved { id: gone.id, user_id: user, kind: gone.kind, name: gone.name },
        );
        Ok(Nothing {})
    }
}

impl Handle<ReplaceRecoveryCodes> for PeopleArea {
    async fn handle(&self, call: &mut Call, _: Request<ReplaceRecoveryCodes>) -> Result<RecoveryCodes, Failure> {
        let user = person(call);
        users::lock(&mut call.tx, user).await?;
        check_enrolled(call, user).await?;
        let recovery_codes = enroll::new_recovery_codes(call, user).await?;
        emit(&mut call.tx, None, user, &RecoveryCodesReplaced { user_id: user });
        call.about(user);
        Ok(RecoveryCodes { recovery_codes })
    }
}

impl Handle<StartStepUp> for PeopleArea {
    async fn handle(&self, call: &mut Call, _: Request<StartStepUp>) -> Result<MfaChallenge, Failure> {
        let (user, session) = (person(call), session(call));
        check_enrolled(call, user).await?;
        call.about(user);
        challenge::ask(self, &mut call.tx, Purpose::StepUp, user, Some(session)).await
    }
}

impl Handle<FinishStepUp> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<FinishStepUp>) -> Result<MfaVerified, Failure> {
        let session = session(call);
        let answered = challenge::answer(self, call, Purpose::StepUp, &request.body).await?;
        sessions::note_second_factor(&mut call.tx, answered.user, session).await?;
        let verified_at = clock::now(&mut call.tx).await?;
        let recent = settings::seconds(self.policies.number(settings::MFA_STEP_UP_SECONDS));
        Ok(MfaVerified { verified_at, recent_until: verified_at + recent })
    }
}

async fn check_enrolled(call: &mut Call, user: UserId) -> Result<(), Failure> {
    if store::has_factor(&mut call.tx, user).await? {
        return Ok(());
    }
    Err(Failure::new(Code::Conflict, "the account has no second factor; add one first"))
}

fn person(call: &Call) -> UserId {
    call.caller.user().expect("the gates let only people through")
}

fn session(call: &Call) -> SessionId {
    call.caller.session().expect("the gates let no key change what concerns the account itself")
}
