//! Adding a second factor: an authenticator app after it showed a valid code, a
//! passkey after a browser made it.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use contract::{
    Code, ShownSecret,
    id::{FactorId, UserId},
    mfa::{
        ConfirmPasskey, ConfirmTotp, Factor, FactorAdded, NewFactor, PasskeyOptions, PasskeyStarted, StartPasskey,
        StartTotp, TotpStarted,
    },
    sessions::SessionsRevoked,
};
use kernel::clock;

use super::{
    Purpose, SECRETS, challenge,
    passkey::{self, ALGORITHMS, PasskeyError},
    recovery,
    store::{self, NewPasskey},
    totp,
};
use crate::{PeopleArea, sessions, users};
use platform::{
    events::emit,
    http::{Call, Failure, Handle, Request},
    policies::{self, settings},
};

impl Handle<StartTotp> for PeopleArea {
    async fn handle(&self, call: &mut Call, _: Request<StartTotp>) -> Result<TotpStarted, Failure> {
        let user = begin(call).await?;
        let mut secret = [0u8; totp::SECRET_BYTES];
        aws_lc_rs::rand::fill(&mut secret).expect("the operating system gives randomness");
        let who = (user, call.caller.session());
        let sealed = |hash: &_| challenge::seal(self, hash, &secret);
        let (token, expires_at) = challenge::issue(self, &mut call.tx, Purpose::EnrollTotp, who, sealed).await?;
        let account = users::email(&mut call.tx, user).await?.unwrap_or_default();
        let text = totp::base32(&secret);
        let uri = totp::uri(&text, &challenge::party(self).id, &account);
        Ok(TotpStarted {
            challenge: ShownSecret::new(token),
            secret: ShownSecret::new(text),
            uri: ShownSecret::new(uri),
            expires_at,
        })
    }
}

impl Handle<ConfirmTotp> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ConfirmTotp>) -> Result<NewFactor, Failure> {
        let body = request.body;
        let user = begin(call).await?;
        let found = challenge::find(call, Purpose::EnrollTotp, body.challenge.expose()).await?;
        let secret = challenge::open(self, &found)?;
        let now = clock::now(&mut call.tx).await?.as_second();
        let Some(step) = totp::matching_step(secret.expose(), body.code.expose(), now) else {
            let why = "the code is wrong: check the clock of the device, and enter the code that it shows now";
            return Err(challenge::fail(call, Purpose::EnrollTotp, &found.hash, why).await?);
        };
        let id = FactorId::generate();
        let sealed = SECRETS.seal(&self.keyring, id.uuid(), secret.expose());
        let factor = store::insert_totp(&mut call.tx, id, user, &body.name, (&sealed, step)).await?;
        store::delete_challenge(&mut call.tx, &found.hash).await?;
        added(call, user, factor).await
    }
}

impl Handle<StartPasskey> for PeopleArea {
    async fn handle(&self, call: &mut Call, _: Request<StartPasskey>) -> Result<PasskeyStarted, Failure> {
        let user = begin(call).await?;
        let signed = challenge::random_challenge();
        let who = (user, call.caller.session());
        let payload = |_: &_| signed.to_vec();
        let (token, expires_at) = challenge::issue(self, &mut call.tx, Purpose::EnrollPasskey, who, payload).await?;
        let party = challenge::party(self);
        let known = store::credential_ids(&mut call.tx, user).await?;
        let options = PasskeyOptions {
            challenge: URL_SAFE_NO_PAD.encode(signed),
            rp_name: party.id.clone(),
            rp_id: party.id,
            user_id: URL_SAFE_NO_PAD.encode(user.uuid().as_bytes()),
            user_name: users::email(&mut call.tx, user).await?.unwrap_or_default(),
            algorithms: ALGORITHMS.to_vec(),
            exclude_credential_ids: known.iter().map(|it| URL_SAFE_NO_PAD.encode(it)).collect(),
        };
        Ok(PasskeyStarted { challenge: ShownSecret::new(token), options, expires_at })
    }
}

impl Handle<ConfirmPasskey> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ConfirmPasskey>) -> Result<NewFactor, Failure> {
        let body = request.body;
        let user = begin(call).await?;
        let found = challenge::find(call, Purpose::EnrollPasskey, body.challenge.expose()).await?;
        let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| PasskeyError::Malformed);
        let made = bytes(body.client_data_json.as_str()).and_then(|client_data| {
            let attestation = bytes(body.attestation_object.as_str())?;
            passkey::register(&challenge::party(self), &found.payload, &client_data, &attestation)
        });
        let made = match made {
            Ok(made) => made,
            Err(why) => {
                return Err(challenge::fail(call, Purpose::EnrollPasskey, &found.hash, &why.to_string()).await?);
            }
        };
        let new = NewPasskey {
            name: &body.name,
            credential_id: &made.credential_id,
            public_key: &made.public_key,
            sign_count: made.sign_count,
        };
        let Some(factor) = store::insert_passkey(&mut call.tx, user, &new).await? else {
            return Err(Failure::new(Code::InvalidValue, "this passkey is already registered"));
        };
        store::delete_challenge(&mut call.tx, &found.hash).await?;
        added(call, user, factor).await
    }
}

/// The person, whose factors are added one at a time and up to a limit.
async fn begin(call: &mut Call) -> Result<UserId, Failure> {
    let user = users::lock_own(call).await?;
    let most = policies::number_in(&mut call.tx, settings::MFA_FACTORS_MAX, None, None).await?;
    if store::count(&mut call.tx, user).await? as u64 >= most {
        let detail = format!("the account has reached the limit of {most} second factors; remove one first");
        return Err(Failure::new(Code::LimitReached, detail));
    }
    Ok(user)
}

/// Whoever adds a factor has just used it. The first one brings recovery codes.
async fn added(call: &mut Call, user: UserId, factor: Factor) -> Result<NewFactor, Failure> {
    call.about(factor.id);
    call.note("kind", factor.kind.as_str());
    if let Some(session) = call.caller.session() {
        sessions::note_second_factor(&mut call.tx, user, session).await?;
    }
    let event = FactorAdded { id: factor.id, user_id: user, kind: factor.kind.clone(), name: factor.name.clone() };
    emit(&mut call.tx, None, factor.id, &event);
    let mut recovery_codes = None;
    if store::count(&mut call.tx, user).await? == 1 {
        // Whoever signed in elsewhere showed a password alone, and the account asks for more now.
        sessions::revoke_all(&mut call.tx, user, call.caller.session()).await?;
        emit(&mut call.tx, None, user, &SessionsRevoked { user_id: user, session_id: None });
        recovery_codes = Some(new_recovery_codes(call, user).await?);
    }
    Ok(NewFactor { factor, recovery_codes })
}

pub(super) async fn new_recovery_codes(call: &mut Call, user: UserId) -> Result<Vec<ShownSecret>, Failure> {
    let (shown, stored): (Vec<_>, Vec<_>) = recovery::generate().into_iter().unzip();
    store::replace_recovery_codes(&mut call.tx, user, &stored).await?;
    Ok(shown)
}
