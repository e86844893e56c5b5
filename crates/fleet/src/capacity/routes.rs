//! Showing capacity.

use contract::{
    Page,
    capacity::{CapacityLine, ListCapacity},
};
use kernel::Scope;

use super::store;
use crate::FleetArea;
use platform::http::{Call, Failure, Handle, Request};

impl Handle<ListCapacity> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<ListCapacity>) -> Result<Page<CapacityLine>, Failure> {
        // Who uses a GPU is another tenant's row. It is counted as the platform's
        // staff see it, by one statement that answers with sums.
        call.tx.enter(Scope::Operator).await?;
        let lines = store::list(&mut call.tx, &request.query).await?;
        let page = Page::cut(lines, request.query.limit, |it| it.position);
        Ok(Page { items: page.items.into_iter().map(|it| it.line).collect(), next_cursor: page.next_cursor })
    }
}
