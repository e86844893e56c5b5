//! An organization that closes takes its projects with it.

use contract::{Event as _, organizations::OrganizationClosed};
use kernel::{
    Tx,
    bus::{BoxFuture, ConsumeError, Consumer},
    lifecycle::transition,
    outbox::Message,
};

use super::{
    lifecycle::{Event, ProjectLifecycle},
    store,
};

pub struct DeleteWithOrganization;

impl Consumer for DeleteWithOrganization {
    fn name(&self) -> &'static str {
        "projects.delete_with_organization"
    }

    fn wants(&self, subject: &str) -> bool {
        subject == OrganizationClosed::INFO.subject
    }

    fn handle<'a>(&'a self, tx: &'a mut Tx, message: &'a Message) -> BoxFuture<'a, Result<(), ConsumeError>> {
        Box::pin(async move {
            let organization =
                message.organization.ok_or_else(|| ConsumeError::Failed("the event names no organization".into()))?;
            for project in store::active_in(tx, organization).await? {
                let row = store::versioned(&project)?;
                transition::<ProjectLifecycle>(tx, row, Event::DeleteRequested, "the organization was closed")
                    .await
                    .map_err(|error| ConsumeError::Failed(error.to_string()))?;
            }
            Ok(())
        })
    }
}
