//! A person's own public keys.

use contract::{
    Code, Nothing, Page,
    id::UserId,
    ssh_keys::{AddSshKey, ListSshKeys, PROOF_NAMESPACE, RemoveSshKey, SshKey, SshKeyAdded, SshKeyRemoved},
};

use super::{
    blob, proof,
    store::{self, InsertOutcome},
};
use crate::{PeopleArea, users};
use platform::{
    events::emit,
    http::{Call, Failure, Handle, ProblemBuilder, Request},
    policies::{self, settings},
};

impl Handle<AddSshKey> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<AddSshKey>) -> Result<SshKey, Failure> {
        let (user, spec) = (person(call), request.body);
        let unfit = |detail: String| Failure::from(ProblemBuilder::new(Code::InvalidValue, detail).at("public_key"));
        let key = blob::wire(spec.public_key.as_str())
            .map_err(|error| unfit(format!("this is not a usable public key: {error}")))?;
        proof::check(spec.proof.as_str(), &key, user).map_err(|error| {
            let detail = format!(
                "the signature does not prove that you own this key: {error}; create it with \
                 `printf %s {user} | ssh-keygen -Y sign -n {PROOF_NAMESPACE} -f <file of the private key>`"
            );
            Failure::from(ProblemBuilder::new(Code::InvalidValue, detail).at("proof"))
        })?;
        let fingerprint = blob::fingerprint_of(&key);
        // Additions of one person take turns, or two at once could pass the limit.
        users::lock_own(call).await?;
        let most = policies::number_in(&mut call.tx, settings::SSH_KEYS_MAX, None, None).await?;
        if store::count(&mut call.tx, user).await? as u64 >= most {
            let detail = format!("you have reached the limit of {most} keys; remove one first");
            return Err(Failure::new(Code::LimitReached, detail));
        }
        let key = match store::insert(&mut call.tx, user, &spec, &fingerprint).await? {
            InsertOutcome::Key(key) => key,
            InsertOutcome::NameTaken => {
                return Err(Failure::new(Code::NameTaken, "another of your keys has this name"));
            }
            InsertOutcome::Present(name) => return Err(unfit(format!("you have this key already, as `{name}`"))),
            InsertOutcome::Elsewhere => {
                let detail = "another account has this key; remove it there, or add another one: \
                              a key belongs to one account";
                return Err(unfit(detail.into()));
            }
        };
        call.about(key.id);
        emit(&mut call.tx, None, key.id, &SshKeyAdded { id: key.id });
        Ok(key)
    }
}

impl Handle<ListSshKeys> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ListSshKeys>) -> Result<Page<SshKey>, Failure> {
        let user = person(call);
        let rows = store::list(&mut call.tx, user, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<RemoveSshKey> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<RemoveSshKey>) -> Result<Nothing, Failure> {
        let (user, id) = (person(call), request.path.ssh_key_id);
        if !store::delete(&mut call.tx, user, id).await? {
            return Err(Failure::not_found("SSH key"));
        }
        emit(&mut call.tx, None, id, &SshKeyRemoved { id });
        Ok(Nothing {})
    }
}

fn person(call: &Call) -> UserId {
    call.caller.user().expect("the gates let only people through")
}
