//! Making enrolment tokens and taking them back.

use contract::{
    Code, Nothing, Page, ShownSecret,
    enrolment_tokens::{
        CreateEnrolmentToken, EnrolmentToken, EnrolmentTokenCreated, EnrolmentTokenRevoked, EnrolmentTokenStatus,
        ListEnrolmentTokens, NewEnrolmentToken, RevokeEnrolmentToken,
    },
};
use kernel::clock;

use super::store;
use crate::{
    app::App,
    events::emit,
    http::{Call, Failure, Handle, Request},
    policies::keys,
};

impl Handle<CreateEnrolmentToken> for App {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<CreateEnrolmentToken>,
    ) -> Result<NewEnrolmentToken, Failure> {
        let (pool, given) = (request.body.pool_id, request.body.lifetime_minutes);
        let minutes = given.map_or_else(|| self.policies.number(keys::NODE_ENROLMENT_MINUTES), |it| it.get());
        let expires_at = clock::now(&mut call.tx).await? + keys::minutes(minutes);
        let minted = super::mint(&mut call.tx, pool, expires_at).await?;
        let (token, text) = minted.ok_or_else(|| Failure::new(Code::InvalidValue, "`pool_id` names no pool"))?;
        call.about(token.id);
        emit(&mut call.tx, None, token.id, &EnrolmentTokenCreated { id: token.id, pool_id: pool });
        Ok(NewEnrolmentToken {
            token,
            secret: ShownSecret::new(text),
            node_url: self.config.node.url.clone(),
            ca_fingerprint: self.ca.authority().root_fingerprint().to_owned(),
        })
    }
}

impl Handle<ListEnrolmentTokens> for App {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<ListEnrolmentTokens>,
    ) -> Result<Page<EnrolmentToken>, Failure> {
        let rows = store::list(&mut call.tx, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<RevokeEnrolmentToken> for App {
    async fn handle(&self, call: &mut Call, request: Request<RevokeEnrolmentToken>) -> Result<Nothing, Failure> {
        let id = request.path.enrolment_token_id;
        match store::revoke(&mut call.tx, id).await? {
            None => Err(Failure::not_found("enrolment token")),
            // Revoking again changes nothing and tells nobody.
            Some(EnrolmentTokenStatus::Revoked) => Ok(Nothing {}),
            Some(EnrolmentTokenStatus::Unused | EnrolmentTokenStatus::Used | EnrolmentTokenStatus::Expired) => {
                emit(&mut call.tx, None, id, &EnrolmentTokenRevoked { id });
                Ok(Nothing {})
            }
        }
    }
}
