//! Adding, listing and changing pools.

use contract::{
    Code, Page,
    pools::{ChangePool, CreatePool, ListPools, Pool, PoolChanged, PoolCreated},
};

use super::store::{self, InsertOutcome};
use crate::FleetArea;
use platform::{
    events::emit,
    http::{Call, Failure, Handle, ProblemBuilder, Request},
};

impl Handle<CreatePool> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<CreatePool>) -> Result<Pool, Failure> {
        let pool = match store::insert(&mut call.tx, &request.body).await? {
            InsertOutcome::Pool(pool) => pool,
            InsertOutcome::NameTaken => return Err(Failure::new(Code::NameTaken, "another pool has this name")),
            InsertOutcome::NoSuchRegion => {
                let detail = "the region does not exist; `gpuaas regions list` lists the regions";
                return Err(ProblemBuilder::new(Code::InvalidValue, detail).at("region_id").into());
            }
        };
        call.about(pool.id);
        let event = PoolCreated { id: pool.id, region_id: pool.region_id, name: pool.name.clone() };
        emit(&mut call.tx, None, pool.id, &event);
        Ok(pool)
    }
}

impl Handle<ListPools> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<ListPools>) -> Result<Page<Pool>, Failure> {
        let rows = store::list(&mut call.tx, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<ChangePool> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<ChangePool>) -> Result<Pool, Failure> {
        let (id, isolation) = (request.path.pool_id, request.body.isolation);
        let found = store::set_isolation(&mut call.tx, id, isolation).await?;
        let (pool, is_changed) = found.ok_or_else(|| Failure::not_found("pool"))?;
        call.note("isolation", isolation.to_string());
        if is_changed {
            emit(&mut call.tx, None, id, &PoolChanged { id, isolation: isolation.into() });
        }
        Ok(pool)
    }
}
