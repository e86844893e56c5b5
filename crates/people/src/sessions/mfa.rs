//! Signing in, the second half: a challenge answered with a second factor.

use contract::{mfa::FinishMfa, sessions::TokenSet};
use kernel::Scope;

use super::{store, tokens};
use crate::{
    PeopleArea,
    mfa::{self, Purpose},
};
use platform::http::{Call, Failure, Handle, Request};

impl Handle<FinishMfa> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<FinishMfa>) -> Result<TokenSet, Failure> {
        call.tx.enter(Scope::Identity).await?;
        let answered = mfa::answer(self, call, Purpose::SignIn, &request.body).await?;
        let tokens = tokens::open_verified(self, &mut call.tx, answered.user).await?;
        store::note_second_factor(&mut call.tx, answered.user, tokens.session_id).await?;
        Ok(tokens)
    }
}
