//! Challenges: asking for a second factor, and judging the answer. A challenge
//! works once, for one purpose, and not for long; wrong answers are counted on
//! it, and wrong codes on the account, across challenges and replicas.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use contract::{
    Code, Open, ShownSecret, Timestamp,
    id::{SessionId, UserId},
    mfa::{FactorKind, MfaAnswer, MfaChallenge, MfaMethod, PasskeyAssertion, PasskeyRequest, RecoveryCodeUsed},
};
use kernel::{
    Tx, clock,
    secrets::{Sealed, Secret, SecretsError, TokenHash, hash_token, random_token},
};

use super::{
    SECRETS,
    passkey::{self, Assertion, CHALLENGE_BYTES, PasskeyError, RelyingParty},
    recovery,
    store::{self, NewChallenge},
    totp,
};
use crate::{PeopleArea, users};
use platform::{
    events::emit,
    http::{Call, Failure, ProblemBuilder},
    policies::settings,
};

/// What an answer is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    SignIn,
    StepUp,
    EnrollTotp,
    EnrollPasskey,
}

/// Whose second factor was used.
pub struct FactorUse {
    pub user: UserId,
}

// bound: challenges of one person that wait at once; older ones go
const MOST_WAITING: i64 = 10;
// bound: wrong answers that end a challenge
const MOST_FAILURES: i32 = 5;
// bound: wrong codes in a row before an account has to wait
const FREE_FAILURES: i32 = 5;
// bound: the first wait, which doubles with every further wrong code
const FIRST_WAIT_S: f64 = 30.0;
// bound: the longest wait; at this pace a code is guessed in decades
const LONGEST_WAIT_S: f64 = 3600.0;

/// Asks for one of the account's factors.
pub async fn ask(
    area: &PeopleArea,
    tx: &mut Tx,
    purpose: Purpose,
    user: UserId,
    session: Option<SessionId>,
) -> Result<MfaChallenge, Failure> {
    let signed = random_challenge();
    let (token, expires_at) = issue(area, tx, purpose, (user, session), |_| signed.to_vec()).await?;
    let factors = store::list(tx, user).await?;
    let has = |kind: FactorKind| factors.iter().any(|it| it.kind == kind);
    let mut methods: Vec<Open<MfaMethod>> = Vec::new();
    if has(FactorKind::Totp) {
        methods.push(MfaMethod::Totp.into());
    }
    let mut request = None;
    if has(FactorKind::Passkey) {
        methods.push(MfaMethod::Passkey.into());
        let ids = store::credential_ids(tx, user).await?;
        request = Some(PasskeyRequest {
            challenge: URL_SAFE_NO_PAD.encode(signed),
            rp_id: party(area).id,
            credential_ids: ids.iter().map(|it| URL_SAFE_NO_PAD.encode(it)).collect(),
        });
    }
    if store::recovery_codes_left(tx, user).await? > 0 {
        methods.push(MfaMethod::RecoveryCode.into());
    }
    Ok(MfaChallenge { token: ShownSecret::new(token), expires_at, methods, passkey: request })
}

/// Writes a challenge down; `payload` may depend on its hash.
pub(super) async fn issue(
    area: &PeopleArea,
    tx: &mut Tx,
    purpose: Purpose,
    (user, session): (UserId, Option<SessionId>),
    payload: impl FnOnce(&TokenHash) -> Vec<u8>,
) -> Result<(String, Timestamp), Failure> {
    let token = random_token("gpm").expose_text().expect("tokens are text").to_owned();
    let hash = hash_token(&token);
    let expires_at = clock::now(tx).await? + settings::seconds(area.policies.number(settings::MFA_CHALLENGE_SECONDS));
    let payload = payload(&hash);
    let new = NewChallenge { user, purpose, session, payload: &payload, expires_at };
    store::insert_challenge(tx, &hash, &new, MOST_WAITING).await?;
    Ok((token, expires_at))
}

/// A challenge that was found, and is locked.
pub(super) struct LockedChallenge {
    pub hash: TokenHash,
    pub user: UserId,
    pub payload: Vec<u8>,
}

/// Finds the challenge that a token stands for, if it is for this purpose and this caller.
pub(super) async fn find(call: &mut Call, purpose: Purpose, token: &str) -> Result<LockedChallenge, Failure> {
    let hash = hash_token(token);
    let found = store::lock_challenge(&mut call.tx, &hash, purpose).await?;
    let (caller, session) = (call.caller.user(), call.caller.session());
    let is_own = |it: &store::Challenge| match purpose {
        Purpose::SignIn => true,
        Purpose::StepUp | Purpose::EnrollTotp | Purpose::EnrollPasskey => {
            caller == Some(it.user_id.into()) && session == it.session_id.map(SessionId::from)
        }
    };
    match found.filter(is_own) {
        Some(it) => Ok(LockedChallenge { hash, user: it.user_id.into(), payload: it.payload }),
        None => Err(refused(purpose, "the challenge is unknown, was already answered, or has expired: start again")),
    }
}

/// Judges the answer to a challenge and uses both up. A wrong answer is
/// counted and stays counted, whatever becomes of the request.
pub async fn answer(
    area: &PeopleArea,
    call: &mut Call,
    purpose: Purpose,
    given: &MfaAnswer,
) -> Result<FactorUse, Failure> {
    // One answer of a person at a time: two must not both use one code. The account is
    // locked before its challenge, as by whoever ends all challenges of an account.
    if let Some(user) = store::challenged(&mut call.tx, &hash_token(given.challenge.expose())).await? {
        users::lock(&mut call.tx, user).await?;
    }
    let found = find(call, purpose, given.challenge.expose()).await?;
    let user = found.user;
    call.about(user);
    let (method, outcome) = match (&given.code, &given.recovery_code, &given.passkey) {
        (Some(code), None, None) => ("totp", check_code(area, &mut call.tx, user, code.expose()).await?),
        (None, Some(code), None) => ("recovery_code", check_recovery(&mut call.tx, user, code.expose()).await?),
        (None, None, Some(it)) => ("passkey", check_passkey(area, &mut call.tx, &found, it).await?),
        _ => {
            let detail = "send exactly one of `code`, `recovery_code` and `passkey`";
            return Err(Failure::new(Code::InvalidValue, detail));
        }
    };
    call.note("method", method);
    match outcome {
        Ok(()) => {
            store::delete_challenge(&mut call.tx, &found.hash).await?;
            store::clear_throttle(&mut call.tx, user).await?;
            Ok(FactorUse { user })
        }
        Err(why) => Err(fail(call, purpose, &found.hash, &why).await?),
    }
}

/// Counts a wrong answer on its challenge.
pub(super) async fn fail(call: &mut Call, purpose: Purpose, hash: &TokenHash, why: &str) -> sqlx::Result<Failure> {
    store::fail_challenge(&mut call.tx, hash, MOST_FAILURES).await?;
    call.note("failed", true);
    Ok(refused(purpose, why))
}

/// Whether it was right, or why not; the outer error is a failure of ours.
type Checked = Result<Result<(), String>, Failure>;

async fn check_code(area: &PeopleArea, tx: &mut Tx, user: UserId, code: &str) -> Checked {
    let (failures, wait_s) = store::throttle(tx, user).await?;
    if wait_s > 0.0 {
        let detail = "too many wrong codes for this account; a passkey or a recovery code still works";
        return Err(ProblemBuilder::new(Code::TooManyRequests, detail).after(Duration::from_secs_f64(wait_s)).into());
    }
    let now = clock::now(tx).await?.as_second();
    for device in store::totp_devices(tx, user).await? {
        let secret = SECRETS.open(&area.keyring, device.id, &device.secret).map_err(sealed)?;
        if let Some(step) = totp::matching_step(secret.expose(), code, now)
            && store::use_step(tx, device.id, step).await?
        {
            return Ok(Ok(()));
        }
    }
    let failures = failures.saturating_add(1);
    store::set_throttle(tx, user, failures, wait_after(failures)).await?;
    Ok(Err("the code is wrong, expired, or was already used: wait for the next one".into()))
}

/// How many seconds an account waits after so many wrong codes in a row.
fn wait_after(failures: i32) -> f64 {
    match failures - FREE_FAILURES {
        beyond if beyond < 0 => 0.0,
        beyond => (FIRST_WAIT_S * 2f64.powi(beyond)).min(LONGEST_WAIT_S),
    }
}

async fn check_recovery(tx: &mut Tx, user: UserId, code: &str) -> Checked {
    if !store::use_recovery_code(tx, user, &recovery::hash(code)).await? {
        return Ok(Err("the recovery code is wrong or was already used".into()));
    }
    let left = store::recovery_codes_left(tx, user).await?;
    emit(tx, None, user, &RecoveryCodeUsed { user_id: user, left });
    Ok(Ok(()))
}

async fn check_passkey(area: &PeopleArea, tx: &mut Tx, found: &LockedChallenge, given: &PasskeyAssertion) -> Checked {
    let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| PasskeyError::Malformed.to_string());
    let read = || -> Result<[Vec<u8>; 4], String> {
        Ok([
            bytes(given.credential_id.as_str())?,
            bytes(given.client_data_json.as_str())?,
            bytes(given.authenticator_data.as_str())?,
            bytes(given.signature.as_str())?,
        ])
    };
    let [id, client_data, authenticator_data, signature] = match read() {
        Ok(read) => read,
        Err(why) => return Ok(Err(why)),
    };
    let Some(known) = store::passkey(tx, found.user, &id).await? else {
        return Ok(Err("the passkey does not belong to this account".into()));
    };
    let stored = u32::try_from(known.sign_count).unwrap_or(u32::MAX);
    let assertion =
        Assertion { client_data: &client_data, authenticator_data: &authenticator_data, signature: &signature };
    match passkey::verify(&party(area), &found.payload, (&known.public_key, stored), &assertion) {
        Ok(count) => {
            store::use_passkey(tx, known.id, count).await?;
            Ok(Ok(()))
        }
        Err(error) => Ok(Err(error.to_string())),
    }
}

pub(super) fn party(area: &PeopleArea) -> RelyingParty {
    RelyingParty::of(&area.config.identity.issuer)
}

pub(super) fn random_challenge() -> [u8; CHALLENGE_BYTES] {
    let mut bytes = [0u8; CHALLENGE_BYTES];
    aws_lc_rs::rand::fill(&mut bytes).expect("the operating system gives randomness");
    bytes
}

/// Seals what only the holder of a challenge may bring back.
pub(super) fn seal(area: &PeopleArea, hash: &TokenHash, secret: &[u8]) -> Vec<u8> {
    area.keyring.seal(&context(hash), secret).to_bytes()
}

pub(super) fn open(area: &PeopleArea, found: &LockedChallenge) -> Result<Secret, Failure> {
    Sealed::from_bytes(&found.payload).and_then(|it| area.keyring.open(&context(&found.hash), &it)).map_err(sealed)
}

fn context(hash: &TokenHash) -> String {
    hash.as_bytes().iter().fold(String::from("mfa_challenges/"), |text, byte| format!("{text}{byte:02x}"))
}

fn sealed(error: SecretsError) -> Failure {
    Failure::Internal(Box::new(error))
}

/// Before there is a session, a wrong answer is a failed sign-in.
fn refused(purpose: Purpose, why: &str) -> Failure {
    let code = match purpose {
        Purpose::SignIn => Code::Unauthenticated,
        Purpose::StepUp | Purpose::EnrollTotp | Purpose::EnrollPasskey => Code::InvalidValue,
    };
    Failure::Refused(ProblemBuilder::new(code, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttle_grows_with_every_wrong_code_up_to_an_hour() {
        let waits: Vec<f64> = [1, 4, 5, 6, 7, 11, 12, 100].map(wait_after).to_vec();
        assert_eq!(waits, [0.0, 0.0, 30.0, 60.0, 120.0, 1920.0, 3600.0, 3600.0]);
    }
}
