//! An organization that is suspended has what it runs stopped, and one that is
//! resumed has its requests looked at again: the reconciler does either.

use contract::{
    Event as _,
    organizations::{OrganizationResumed, OrganizationSuspended},
};
use kernel::{
    Tx,
    bus::{BoxFuture, ConsumeError, Consumer},
    lifecycle::Lifecycle,
    outbox::Message,
    work,
};

use super::{endings, lifecycle::AllocationLifecycle};

pub struct HeedOrganization;

impl Consumer for HeedOrganization {
    fn name(&self) -> &'static str {
        "allocations.heed_organization"
    }

    fn wants(&self, subject: &str) -> bool {
        [OrganizationSuspended::INFO.subject, OrganizationResumed::INFO.subject].contains(&subject)
    }

    fn handle<'a>(&'a self, tx: &'a mut Tx, message: &'a Message) -> BoxFuture<'a, Result<(), ConsumeError>> {
        Box::pin(async move {
            let organization =
                message.organization.ok_or_else(|| ConsumeError::Failed("the event names no organization".into()))?;
            for id in endings::heeding(tx, organization).await? {
                work::wake(tx, AllocationLifecycle::NAME, id);
            }
            Ok(())
        })
    }
}
