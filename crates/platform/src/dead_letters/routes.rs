//! What operators do with dead letters.

use contract::{
    Page,
    dead_letters::{DeadLetter, DiscardDeadLetter, GetDeadLetter, ListDeadLetters, ReplayDeadLetter},
    id::DeadLetterId,
};
use kernel::{
    lifecycle::{Lifecycle, transition},
    work,
};

use super::{
    lifecycle::{DeadLetterLifecycle, Event},
    store::{self, StoredDeadLetter},
};
use crate::{
    Platform,
    http::{Call, Failure, Handle, Request},
};

impl Handle<ListDeadLetters> for Platform {
    async fn handle(&self, call: &mut Call, request: Request<ListDeadLetters>) -> Result<Page<DeadLetter>, Failure> {
        let rows = store::list(&mut call.tx, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<GetDeadLetter> for Platform {
    async fn handle(&self, call: &mut Call, request: Request<GetDeadLetter>) -> Result<DeadLetter, Failure> {
        Ok(read(call, request.path.dead_letter_id).await?.letter)
    }
}

impl Handle<ReplayDeadLetter> for Platform {
    async fn handle(&self, call: &mut Call, request: Request<ReplayDeadLetter>) -> Result<DeadLetter, Failure> {
        let id = request.path.dead_letter_id;
        let held = read(call, id).await?;
        transition::<DeadLetterLifecycle>(&mut call.tx, held.versioned()?, Event::ReplayRequested, "").await?;
        store::restart(&mut call.tx, id.uuid()).await?;
        work::wake(&mut call.tx, DeadLetterLifecycle::NAME, id.uuid());
        Ok(read(call, id).await?.letter)
    }
}

impl Handle<DiscardDeadLetter> for Platform {
    async fn handle(&self, call: &mut Call, request: Request<DiscardDeadLetter>) -> Result<DeadLetter, Failure> {
        let id = request.path.dead_letter_id;
        let held = read(call, id).await?;
        let reason = request.body.reason.as_str();
        transition::<DeadLetterLifecycle>(&mut call.tx, held.versioned()?, Event::Discarded, reason).await?;
        // What waited behind it may go on.
        if let Some(next) = store::release_next(&mut call.tx, &held).await? {
            work::wake(&mut call.tx, DeadLetterLifecycle::NAME, next);
        }
        call.note("reason", reason);
        Ok(read(call, id).await?.letter)
    }
}

async fn read(call: &mut Call, id: DeadLetterId) -> Result<StoredDeadLetter, Failure> {
    store::get(&mut call.tx, id.uuid()).await?.ok_or_else(|| Failure::not_found("dead letter"))
}
