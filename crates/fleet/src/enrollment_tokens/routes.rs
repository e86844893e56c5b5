//! Making enrollment tokens and taking them back.

use contract::{
    Code, Nothing, Page, ShownSecret,
    enrollment_tokens::{
        CreateEnrollmentToken, EnrollmentToken, EnrollmentTokenCreated, EnrollmentTokenRevoked, EnrollmentTokenStatus,
        ListEnrollmentTokens, NewEnrollmentToken, RevokeEnrollmentToken,
    },
};
use kernel::clock;

use super::store;
use crate::FleetArea;
use platform::{
    events::emit,
    http::{Call, Failure, Handle, Request},
    policies::settings,
};

impl Handle<CreateEnrollmentToken> for FleetArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<CreateEnrollmentToken>,
    ) -> Result<NewEnrollmentToken, Failure> {
        let (pool, given) = (request.body.pool_id, request.body.lifetime_minutes);
        let minutes = given.map_or_else(|| self.policies.number(settings::NODE_ENROLLMENT_MINUTES), |it| it.get());
        let expires_at = clock::now(&mut call.tx).await? + settings::minutes(minutes);
        let minted = super::mint(&mut call.tx, pool, expires_at).await?;
        let (token, text) =
            minted.ok_or_else(|| Failure::new(Code::InvalidValue, "the pool of `pool_id` does not exist"))?;
        call.about(token.id);
        emit(&mut call.tx, None, token.id, &EnrollmentTokenCreated { id: token.id, pool_id: pool });
        Ok(NewEnrollmentToken {
            token,
            secret: ShownSecret::new(text),
            node_url: self.config.node.url.clone(),
            ca_fingerprint: self.ca.authority().root_fingerprint().to_owned(),
        })
    }
}

impl Handle<ListEnrollmentTokens> for FleetArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<ListEnrollmentTokens>,
    ) -> Result<Page<EnrollmentToken>, Failure> {
        let rows = store::list(&mut call.tx, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<RevokeEnrollmentToken> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<RevokeEnrollmentToken>) -> Result<Nothing, Failure> {
        let id = request.path.enrollment_token_id;
        match store::revoke(&mut call.tx, id).await? {
            None => Err(Failure::not_found("enrollment token")),
            // Revoking again changes nothing and tells nobody.
            Some(EnrollmentTokenStatus::Revoked) => Ok(Nothing {}),
            Some(EnrollmentTokenStatus::Unused | EnrollmentTokenStatus::Used | EnrollmentTokenStatus::Expired) => {
                emit(&mut call.tx, None, id, &EnrollmentTokenRevoked { id });
                Ok(Nothing {})
            }
        }
    }
}
