//! Adding and listing regions.

use contract::{
    Code, Page,
    regions::{CreateRegion, ListRegions, Region, RegionCreated},
};

use super::store;
use crate::FleetArea;
use platform::{
    events::emit,
    http::{Call, Failure, Handle, Request},
};

impl Handle<CreateRegion> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<CreateRegion>) -> Result<Region, Failure> {
        let added = store::insert(&mut call.tx, &request.body.name).await?;
        let region = added.ok_or_else(|| Failure::new(Code::NameTaken, "another region has this name"))?;
        call.about(region.id);
        let event = RegionCreated { id: region.id, name: region.name.clone() };
        emit(&mut call.tx, None, region.id, &event);
        Ok(region)
    }
}

impl Handle<ListRegions> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<ListRegions>) -> Result<Page<Region>, Failure> {
        let rows = store::list(&mut call.tx, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}
