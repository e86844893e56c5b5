//! Reading sessions and ending them.

use contract::{
    Code, Page, Permission,
    access_sessions::{
        AccessSession, AccessSessionFilter, AccessSessionState, AllAccessSessionsFilter, EndAccessSession,
        EndAnyAccessSession, GetAccessSession, ListAccessSessions, ListAllAccessSessions,
    },
    id::AccessSessionId,
};

use super::store;
use crate::AccessArea;
use platform::http::{Call, Failure, Handle, Request};

impl Handle<ListAccessSessions> for AccessArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<ListAccessSessions>,
    ) -> Result<Page<AccessSession>, Failure> {
        let AccessSessionFilter { state, allocation_id, user_id, since, until, cursor, limit } = request.query;
        let organization_id = Some(call.organization());
        let filter = AllAccessSessionsFilter {
            organization_id,
            state,
            allocation_id,
            user_id,
            since,
            until,
            cursor,
            limit,
            gateway_id: None,
        };
        let rows = store::list(&mut call.tx, &filter).await?;
        Ok(Page::cut(rows, limit, |it| it.id.uuid()))
    }
}

impl Handle<GetAccessSession> for AccessArea {
    async fn handle(&self, call: &mut Call, request: Request<GetAccessSession>) -> Result<AccessSession, Failure> {
        found(call, request.path.access_session_id).await
    }
}

impl Handle<ListAllAccessSessions> for AccessArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<ListAllAccessSessions>,
    ) -> Result<Page<AccessSession>, Failure> {
        let rows = store::list(&mut call.tx, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<EndAccessSession> for AccessArea {
    async fn handle(&self, call: &mut Call, request: Request<EndAccessSession>) -> Result<AccessSession, Failure> {
        let session = found(call, request.path.access_session_id).await?;
        let is_own = session.opened_by == call.caller.actor().as_str();
        let role = call.caller.role_in(call.organization());
        if !is_own && !role.is_some_and(|it| it.grants(Permission::MembersWrite)) {
            return Err(Failure::new(Code::Forbidden, "only administrators can end other people's sessions"));
        }
        end(call, session.id).await
    }
}

impl Handle<EndAnyAccessSession> for AccessArea {
    async fn handle(&self, call: &mut Call, request: Request<EndAnyAccessSession>) -> Result<AccessSession, Failure> {
        let session = found(call, request.path.access_session_id).await?;
        call.about_organization(session.organization_id);
        call.note("reason", request.body.reason.as_str());
        end(call, session.id).await
    }
}

async fn found(call: &mut Call, id: AccessSessionId) -> Result<AccessSession, Failure> {
    let session = store::get(&mut call.tx, id).await?;
    session.ok_or_else(|| Failure::not_found("session"))
}

/// The gateway that carries it hears of it with its next beat.
async fn end(call: &mut Call, id: AccessSessionId) -> Result<AccessSession, Failure> {
    let session = store::lock(&mut call.tx, id).await?.ok_or_else(|| Failure::not_found("session"))?;
    if session.state == AccessSessionState::Ended {
        return Err(Failure::new(Code::Conflict, "the session has already ended"));
    }
    super::end(&mut call.tx, &session, "ended").await?;
    found(call, id).await
}
