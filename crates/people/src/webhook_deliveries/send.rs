//! The one HTTP call of a delivery: to an address that was judged, bounded in
//! time and size, without following redirects. Errors carry neither the address
//! nor anything that the receiver said.

use std::{
    collections::{HashMap, hash_map::Entry},
    error::Error,
    hash::Hash,
    sync::{Arc, Mutex},
    time::Duration,
};

use contract::{
    Timestamp,
    id::{OrganizationId, WebhookId},
};
use reqwest::{Client, redirect};

use super::store::StoredDelivery;
use crate::webhooks::{
    Secrets,
    destination::{self, CheckedResolver, Refusal},
};
use platform::{
    lanes,
    policies::{Policies, settings},
};

/// Why an event did not arrive; reads after what was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    #[error("was not sent: the address {0}")]
    Refused(#[from] Refusal),
    #[error("received status {0}; redirects are not followed")]
    Redirected(u16),
    #[error("received status {0}")]
    Status(u16),
    #[error("received no response within {0} seconds")]
    Late(u64),
    #[error("was not sent: the receiver's certificate is not trusted")]
    Certificate,
    #[error("was not sent: cannot connect to the receiver")]
    Unreachable,
    #[error("received no response: the connection was lost")]
    Broken,
    #[error("was not sent: TLS is not available on this server; contact its operators")]
    NoEncryption,
}

impl SendError {
    pub fn status(&self) -> Option<u16> {
        match self {
            SendError::Redirected(status) | SendError::Status(status) => Some(*status),
            SendError::Refused(_) | SendError::Late(_) | SendError::Certificate => None,
            SendError::Unreachable | SendError::Broken | SendError::NoEncryption => None,
        }
    }
}

/// Sends events; one for the whole process.
#[derive(Clone)]
pub struct Sender {
    encrypted: Option<Client>,
    plain: Option<Client>,
    policies: Policies,
    busy: Arc<Mutex<ActiveCalls>>,
}

/// Calls that are under way in this process.
#[derive(Default)]
struct ActiveCalls {
    all: usize,
    webhooks: HashMap<WebhookId, usize>,
    organizations: HashMap<OrganizationId, usize>,
}

/// A place among the calls to one webhook; given up when dropped.
pub struct Turn {
    busy: Arc<Mutex<ActiveCalls>>,
    webhook: WebhookId,
    organization: OrganizationId,
}

// bound: calls to one webhook at once, so that a slow receiver leaves room for others
const AT_ONCE: usize = 4;
// bound: calls to the webhooks of one organization at once
const ORGANIZATION_AT_ONCE: usize = 8;
// bound: what is read of an answer, so that the receiver can finish a short one
const ANSWER_BYTES: usize = 16 * 1024;
// bound: how long a receiver may take to finish an answer whose status is known
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);

impl Sender {
    pub fn new(policies: Policies) -> Self {
        let client = |is_plain: bool| {
            let resolver = CheckedResolver { policies: policies.clone(), is_plain };
            // A proxy or a pooled connection would lead past the judgment.
            let builder = Client::builder().dns_resolver(resolver).no_proxy().pool_max_idle_per_host(0);
            let builder = builder.redirect(redirect::Policy::none()).https_only(!is_plain).http1_only();
            let built = builder.user_agent(concat!("gpuaas-webhooks/", env!("CARGO_PKG_VERSION"))).build();
            built.inspect_err(|error| tracing::error!(%error, "webhooks cannot be sent: TLS does not initialize")).ok()
        };
        Self { encrypted: client(false), plain: client(true), policies, busy: Arc::default() }
    }

    /// A place for one more call to the webhook, unless it or its organization
    /// has its share. The share shrinks with the slots that are left, so that a
    /// few organizations that hang leave some to everybody else.
    pub fn turn(&self, organization: OrganizationId, webhook: WebhookId) -> Option<Turn> {
        let mut busy = self.busy.lock().expect("no code panics while it holds this lock");
        let left = lanes::WEBHOOKS.slots.saturating_sub(busy.all);
        let of_webhook = busy.webhooks.get(&webhook).copied().unwrap_or_default();
        let of_organization = busy.organizations.get(&organization).copied().unwrap_or_default();
        let has_share = of_organization < ORGANIZATION_AT_ONCE && of_organization * 2 < left;
        if of_webhook >= AT_ONCE || !has_share {
            return None;
        }
        busy.all += 1;
        *busy.webhooks.entry(webhook).or_default() += 1;
        *busy.organizations.entry(organization).or_default() += 1;
        Some(Turn { busy: self.busy.clone(), webhook, organization })
    }

    /// Sends the event of a delivery, and returns the status of its success.
    pub async fn send(
        &self,
        held: &StoredDelivery,
        url: &str,
        secrets: &Secrets,
        at: Timestamp,
    ) -> Result<u16, SendError> {
        let allow_loopback = self.policies.flag(settings::WEBHOOK_ALLOW_LOOPBACK);
        let url = destination::check(url, allow_loopback)?;
        let client = if url.scheme() == "http" { &self.plain } else { &self.encrypted };
        let client = client.as_ref().ok_or(SendError::NoEncryption)?;
        let body = serde_json::to_vec(&held.event).map_err(|_| SendError::Broken)?;
        let patience = self.patience();
        let request = client
            .post(url)
            .timeout(patience)
            .header("content-type", "application/json")
            .header("gpuaas-signature", secrets.sign(at, &body))
            .header("gpuaas-event-id", held.delivery.event_id.to_string())
            .header("gpuaas-delivery-id", held.delivery.id.to_string())
            .body(body);
        let mut response = request.send().await.map_err(|error| classify(&error, patience))?;
        let status = response.status();
        let mut room = ANSWER_BYTES;
        let rest = async {
            while let Ok(Some(chunk)) = response.chunk().await {
                match room.checked_sub(chunk.len()) {
                    Some(left) => room = left,
                    None => break,
                }
            }
        };
        // What the receiver says after its status changes nothing.
        let _ = tokio::time::timeout(ANSWER_PATIENCE, rest).await;
        match status.as_u16() {
            status @ 200..=299 => Ok(status),
            status @ 300..=399 => Err(SendError::Redirected(status)),
            status => Err(SendError::Status(status)),
        }
    }

    /// How long a call may take. Half of a lease at most: a visit that outlives
    /// its lease would be cut off before its outcome is recorded.
    fn patience(&self) -> Duration {
        let lease = settings::seconds(self.policies.number(settings::WORK_LEASE_SECONDS));
        settings::seconds(self.policies.number(settings::WEBHOOK_TIMEOUT_SECONDS)).min(lease / 2)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut busy = self.busy.lock().expect("no code panics while it holds this lock");
        busy.all -= 1;
        one_less(&mut busy.webhooks, self.webhook);
        one_less(&mut busy.organizations, self.organization);
    }
}

fn one_less<K: Eq + Hash>(calls: &mut HashMap<K, usize>, key: K) {
    if let Entry::Occupied(mut entry) = calls.entry(key) {
        *entry.get_mut() -= 1;
        if *entry.get() == 0 {
            entry.remove();
        }
    }
}

/// A sentence of our own: the library's hold the address.
fn classify(error: &reqwest::Error, patience: Duration) -> SendError {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(refusal) = inner.downcast_ref::<Refusal>() {
            return SendError::Refused(*refusal);
        }
        if inner.to_string().contains("certificate") {
            return SendError::Certificate;
        }
        cause = inner.source();
    }
    if error.is_timeout() {
        SendError::Late(patience.as_secs())
    } else if error.is_connect() {
        SendError::Unreachable
    } else {
        SendError::Broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_that_leads_to_this_host_is_refused_where_it_is_resolved() {
        let sender = Sender::new(Policies::default());
        for (client, url) in [(&sender.encrypted, "https://localhost:1/"), (&sender.plain, "http://localhost:1/")] {
            let error = client.as_ref().unwrap().post(url).send().await.unwrap_err();
            let why = classify(&error, Duration::ZERO);
            assert_eq!(why, SendError::Refused(Refusal::NotPublic), "{url}");
            assert!(!why.to_string().contains("localhost"));
        }
    }

    #[test]
    fn a_webhook_has_its_share_of_calls_and_no_more() {
        let sender = Sender::new(Policies::default());
        let organization = OrganizationId::generate();
        let (slow, other) = (WebhookId::generate(), WebhookId::generate());
        let mut turns: Vec<Turn> = (0..AT_ONCE).map(|_| sender.turn(organization, slow).unwrap()).collect();
        assert!(sender.turn(organization, slow).is_none() && sender.turn(organization, other).is_some());
        turns.pop();
        assert!(sender.turn(organization, slow).is_some());
        drop(turns);
        let busy = sender.busy.lock().unwrap();
        assert!(busy.all == 0 && busy.webhooks.is_empty() && busy.organizations.is_empty());
    }

    #[test]
    fn organizations_that_hang_leave_slots_to_others() {
        let sender = Sender::new(Policies::default());
        let mut turns = Vec::new();
        let mut hang = |organization| {
            let before = turns.len();
            while let Some(turn) = sender.turn(organization, WebhookId::generate()) {
                turns.push(turn);
            }
            turns.len() - before
        };
        assert_eq!(hang(OrganizationId::generate()), ORGANIZATION_AT_ONCE);
        for nth in 0..10 {
            assert!(hang(OrganizationId::generate()) > 0, "organization {nth} found no slot");
        }
        assert!(hang(OrganizationId::generate()) > 0, "there is still one for somebody who comes late");
    }
}
