//! Whose an account is: whoever proved its address. What was made before that ends
//! with the proof, because anybody could have made it.

use contract::{Email, PersonName, id::UserId, sessions::SessionsRevoked};
use kernel::{Scope, Tx, lifecycle::TransitionError};

use crate::{
    keys::{self, Owner},
    mfa, sessions, ssh_keys,
    users::{self, InsideSessions},
};
use platform::{events::emit, http::Failure};

/// The account of an address that was proven just now: a new one, or the one that
/// somebody made without proof, with nothing of what they left in it. Nothing when
/// the address has an account that was proven before. Runs in the identity scope.
pub async fn settle(tx: &mut Tx, email: &Email, name: &PersonName, hash: &str) -> Result<Option<UserId>, Failure> {
    if let Some(new) = users::insert(tx, email, name, Some(hash)).await? {
        return Ok(Some(new));
    }
    let known = users::credentials(tx, &email.folded()).await?;
    let Some(known) = known.filter(|it| !it.is_proven) else { return Ok(None) };
    evict(tx, known.id).await?;
    users::rename(tx, known.id, name).await?;
    users::set_password(tx, known.id, hash).await?;
    Ok(Some(known.id))
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
    users::unset_password(tx, user).await?;
    sessions::revoke_all(tx, user, None).await?;
    mfa::erase(tx, user).await?;
    sessions::forget_places(tx, user).await?;
    keys::revoke_all(tx, Owner::Person(user)).await?;
    ssh_keys::forget(tx, user).await?;
    tx.hook::<dyn InsideSessions>().end_all_of(tx, user, "credentials_ended").await?;
    users::prove(tx, user).await?;
    emit(tx, None, user, &SessionsRevoked { user_id: user, session_id: None });
    Ok(())
}
