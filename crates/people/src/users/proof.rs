//! Whose an account is: whoever proved its address. What was made before that ends
//! with the proof, because anybody could have made it.

use contract::{Code, Email, PersonName, id::UserId, sessions::SessionsRevoked};
use kernel::{Scope, Tx, machine::TransitionError};

use super::{InsideSessions, store};
use crate::{
    credentials::{self, Credential},
    keys::{self, Owner},
    mfa, sessions, ssh_keys,
};
use platform::{
    events::emit,
    http::{Call, Failure},
};

/// The account of an address that was proven just now: a new one, or the one that
/// somebody made without proof, with nothing of what they left in it. Nothing when
/// the address has an account that was proven before. Runs in the identity scope.
pub async fn settle(tx: &mut Tx, email: &Email, name: &PersonName, hash: &str) -> Result<Option<UserId>, Failure> {
    if let Some(new) = store::insert(tx, email, name, Some(hash)).await? {
        return Ok(Some(new));
    }
    let known = store::credentials(tx, &email.folded()).await?;
    let Some(known) = known.filter(|it| !it.is_proven) else { return Ok(None) };
    evict(tx, known.id).await?;
    store::rename(tx, known.id, name).await?;
    store::set_password(tx, known.id, hash).await?;
    Ok(Some(known.id))
}

/// Locks the caller's own account for a change that outlives the request. A caller
/// whose session or key ended since the gates let it through is refused: whoever
/// ended it locked the account too, and must not find a credential made afterwards.
pub async fn lock_own(call: &mut Call) -> Result<UserId, Failure> {
    let user = call.caller.user().expect("the gates let only people through");
    store::lock(&mut call.tx, user).await?;
    if credentials::is_revoked(&mut call.tx, Credential::of(&call.caller)).await? {
        let detail = "the session or key that requested this has ended: sign in again";
        return Err(Failure::new(Code::Unauthenticated, detail));
    }
    Ok(user)
}

/// Ends every credential that was made before the address was proven, and what was
/// opened with them; the address is proven from here on. The rest of the request is
/// the platform's own work: what ends lies in many organizations.
pub async fn evict(tx: &mut Tx, user: UserId) -> Result<(), Failure> {
    tx.enter(Scope::System).await?;
    evict_all(tx, user).await?;
    Ok(())
}

/// As [`evict`], in the system scope.
pub async fn evict_all(tx: &mut Tx, user: UserId) -> Result<(), TransitionError> {
    store::unset_password(tx, user).await?;
    sessions::revoke_all(tx, user, None).await?;
    mfa::erase(tx, user).await?;
    sessions::forget_places(tx, user).await?;
    keys::revoke_all(tx, Owner::Person(user)).await?;
    ssh_keys::forget(tx, user).await?;
    tx.hook::<dyn InsideSessions>().end_all_of(tx, user, "credentials_ended").await?;
    store::prove(tx, user).await?;
    emit(tx, None, user, &SessionsRevoked { user_id: user, session_id: None });
    Ok(())
}
