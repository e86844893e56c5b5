//! What changes whom hosts let in, in one list: each of these events has the hosts
//! that it concerns asked again, with the lines of that moment.

use contract::{
    Event as _,
    id::OrganizationId,
    members::{MemberChanged, MemberRemoved},
    organizations::{OrganizationClosed, OrganizationResumed, OrganizationSuspended},
    policies::{PolicySet, PolicyUnset},
    ssh_keys::SshKeyRemoved,
    users::UserErased,
};
use kernel::{
    Tx,
    bus::{BoxFuture, ConsumeError, Consumer},
    lifecycle::Lifecycle,
    outbox::Message,
    work,
};
use serde::de::DeserializeOwned;

use super::{
    super::lifecycle::AllocationLifecycle,
    store::{self, Concerned},
};
use platform::policies::settings;

const SUBJECTS: [&str; 9] = [
    MemberChanged::INFO.subject,
    MemberRemoved::INFO.subject,
    OrganizationClosed::INFO.subject,
    OrganizationResumed::INFO.subject,
    OrganizationSuspended::INFO.subject,
    PolicySet::INFO.subject,
    PolicyUnset::INFO.subject,
    SshKeyRemoved::INFO.subject,
    UserErased::INFO.subject,
];

pub struct RefreshHostKeys;

impl Consumer for RefreshHostKeys {
    fn name(&self) -> &'static str {
        "allocations.refresh_host_keys"
    }

    fn wants(&self, subject: &str) -> bool {
        SUBJECTS.contains(&subject)
    }

    fn handle<'a>(&'a self, tx: &'a mut Tx, message: &'a Message) -> BoxFuture<'a, Result<(), ConsumeError>> {
        Box::pin(async move {
            let Some(concerned) = concerned(message)? else { return Ok(()) };
            for id in store::touch(tx, concerned).await? {
                work::wake(tx, AllocationLifecycle::NAME, id);
            }
            forget(tx, message, concerned).await
        })
    }
}

/// Which allocations an event concerns; none where it changes nothing for hosts.
fn concerned(message: &Message) -> Result<Option<Concerned>, ConsumeError> {
    let organization: Option<OrganizationId> = message.organization.map(Into::into);
    let all = Concerned { organization, ..Concerned::default() };
    Ok(match message.subject.as_str() {
        it if it == MemberChanged::INFO.subject => {
            Some(Concerned { user: Some(read::<MemberChanged>(message)?.user_id), ..all })
        }
        it if it == MemberRemoved::INFO.subject => {
            Some(Concerned { user: Some(read::<MemberRemoved>(message)?.user_id), ..all })
        }
        it if it == SshKeyRemoved::INFO.subject => {
            Some(Concerned { key: Some(read::<SshKeyRemoved>(message)?.id), ..Concerned::default() })
        }
        it if it == UserErased::INFO.subject => {
            Some(Concerned { user: Some(read::<UserErased>(message)?.id), ..Concerned::default() })
        }
        it if it == PolicySet::INFO.subject => {
            let PolicySet { key, project_id, .. } = read(message)?;
            is_recording(&key).then_some(Concerned { project: project_id, ..all })
        }
        it if it == PolicyUnset::INFO.subject => {
            let PolicyUnset { key, project_id, .. } = read(message)?;
            is_recording(&key).then_some(Concerned { project: project_id, ..all })
        }
        // The state of the organization that is named.
        _ if organization.is_some() => Some(all),
        _ => return Err(ConsumeError::Failed("the event names no organization".into())),
    })
}

/// What is gone lets nobody in when somebody or something of that id comes back.
async fn forget(tx: &mut Tx, message: &Message, concerned: Concerned) -> Result<(), ConsumeError> {
    let is_gone = [MemberRemoved::INFO.subject, SshKeyRemoved::INFO.subject, UserErased::INFO.subject];
    if !is_gone.contains(&message.subject.as_str()) {
        return Ok(());
    }
    if let Some(key) = concerned.key {
        store::forget_key(tx, key).await?;
    }
    if let Some(user) = concerned.user {
        store::forget_user(tx, user, concerned.organization).await?;
    }
    Ok(())
}

fn is_recording(key: &str) -> bool {
    key == settings::ACCESS_RECORDING.0.name
}

fn read<E: DeserializeOwned>(message: &Message) -> Result<E, ConsumeError> {
    serde_json::from_value(message.data.clone())
        .map_err(|error| ConsumeError::Failed(format!("the event `{}` cannot be read: {error}", message.subject)))
}
