//! A change that people make to their own account.

use contract::{Code, id::UserId};

use super::store;
use crate::credentials::{self, Credential};
use platform::http::{Call, Failure};

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
