//! Sends mails, again and more slowly while they fail, until one is accepted,
//! refused for good, or given up.

use std::{marker::PhantomData, sync::Arc, time::Duration};

use contract::{Timestamp, mails::MailState};
use kernel::{
    Tx,
    lifecycle::{Lifecycle, TransitionError, transition},
    secrets::Keyring,
    work::{Lane, Next, Reconciler},
};
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::{
    compose,
    lifecycle::{Event, MailLifecycle},
    store::{self, Attempt, Recipient, StoredMail},
};
use crate::{
    account_tokens, invitations,
    notifications::{self, unsubscribe},
};
use platform::{
    policies::{Policies, settings},
    ports::post::{Letter, Post, PostError},
};

/// What sending needs besides the mail; absent where no mail is sent.
#[derive(Clone)]
pub struct Sending {
    pub post: Arc<dyn Post>,
    /// Where people reach this installation.
    pub public_url: String,
}

/// Mails that wait for one another: each share has a lane and turns of its own,
/// so that however many mails there are of one, those of the other go on.
pub trait Share: Send + Sync + 'static {
    const KIND: &'static str;
    const LANE: Lane;
    const IS_SECURITY: bool;
    /// Connections to the mail server at once.
    const AT_ONCE: usize;
}

/// What people wait for to get into their account, or that warns them of others.
pub struct Security;
/// Everything else.
pub struct Ordinary;

impl Share for Security {
    const KIND: &'static str = "security_mail";
    const LANE: Lane = platform::lanes::SECURITY_MAIL;
    const IS_SECURITY: bool = true;
    const AT_ONCE: usize = 2; // bound: mail servers take few connections at once from one place
}

impl Share for Ordinary {
    const KIND: &'static str = MailLifecycle::NAME;
    const LANE: Lane = platform::lanes::MAIL;
    const IS_SECURITY: bool = false;
    const AT_ONCE: usize = 4; // bound: as above
}

pub struct MailReconciler<S> {
    pub sending: Option<Sending>,
    pub keyring: Arc<Keyring>,
    pub policies: Policies,
    turns: Arc<Semaphore>,
    share: PhantomData<S>,
}

// bound: how soon a mail looks again that waits for others
const WAIT: Duration = Duration::from_secs(1);
// bound: how many of a line are counted, and what each adds to the wait
const LINE: i32 = 1_000;
const LINE_STEP: Duration = Duration::from_millis(10); // bound: as above

#[derive(Debug, thiserror::Error)]
pub enum MailError {
    #[error(transparent)]
    Transition(#[from] TransitionError),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

pub struct Snapshot {
    held: StoredMail,
    /// Where it goes, and the letter; or why it is not sent.
    letter: Result<Letter, Verdict>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Observation {
    NotTried,
    /// As many mails are under way as may be.
    Busy,
    Tried(Result<(), PostError>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Nothing,
    Wait(Duration),
    Queue,
    Withdraw(&'static str),
    /// The address was refused before.
    Refuse(String),
    Sent,
    Failed(PostError),
}

impl<S: Share> MailReconciler<S> {
    pub fn new(sending: Option<Sending>, keyring: Arc<Keyring>, policies: Policies) -> Self {
        Self { sending, keyring, policies, turns: Arc::new(Semaphore::new(S::AT_ONCE)), share: PhantomData }
    }

    /// The letter, unless there is a reason not to send it.
    async fn letter(
        &self,
        tx: &mut Tx,
        held: &StoredMail,
        now: Timestamp,
    ) -> Result<Result<Letter, Verdict>, MailError> {
        if held.mail.state != MailState::Pending {
            return Ok(Err(Verdict::Nothing));
        }
        let left = held.mail.next_attempt_at.map(|it| it.duration_since(now));
        if let Some(left) = left.and_then(|it| Duration::try_from(it).ok()).filter(|it| !it.is_zero()) {
            return Ok(Err(Verdict::Wait(left)));
        }
        let Some(sending) = &self.sending else {
            return Ok(Err(Verdict::Withdraw("was not sent: this installation sends no email, see `mail.url`")));
        };
        let Some(to) = store::address(tx, held.recipient).await? else {
            return Ok(Err(Verdict::Withdraw("was not sent: the recipient no longer exists")));
        };
        let is_mandatory = held.kind.info().is_mandatory;
        if let Recipient::Person(user) = held.recipient
            && !is_mandatory
            && !notifications::wants_mail(tx, user, held.kind).await?
        {
            return Ok(Err(Verdict::Withdraw("was not sent: the recipient turned off emails of this kind")));
        }
        if let Some(refusal) = store::refusal(tx, &to).await? {
            let why = format!(
                "was not sent: the mail server rejected the address on {}",
                refusal.refused_at.strftime("%Y-%m-%d")
            );
            return Ok(Err(Verdict::Refuse(why)));
        }
        let unsubscribe = match held.recipient {
            Recipient::Person(user) if !is_mandatory => {
                Some(unsubscribe::link(&self.keyring, &sending.public_url, user, held.kind))
            }
            Recipient::Person(_) | Recipient::Invited(_) | Recipient::Token(_) => None,
        };
        let token = match self.token(tx, held).await? {
            Ok(token) => token,
            Err(verdict) => return Ok(Err(verdict)),
        };
        let body = match &token {
            Some(token) => format!("{}\n\n{}", held.body, compose::handed(held.kind, &sending.public_url, token)),
            None => held.body.clone(),
        };
        Ok(Ok(compose::letter(held, &body, to, &sending.public_url, unsubscribe, now)))
    }
}

impl<S: Share> MailReconciler<S> {
    /// The token that the mail carries, if it carries one: it is nowhere else in clear.
    async fn token(&self, tx: &mut Tx, held: &StoredMail) -> Result<Result<Option<String>, Verdict>, MailError> {
        let opened = match held.recipient {
            Recipient::Person(_) => return Ok(Ok(None)),
            Recipient::Invited(id) => {
                let sealed = invitations::mail_token(tx, id).await?;
                sealed.map(|it| invitations::open(&self.keyring, id, &it))
            }
            Recipient::Token(id) => {
                let sealed = account_tokens::sealed(tx, id).await?;
                sealed.map(|it| account_tokens::open(&self.keyring, id, &it))
            }
        };
        Ok(match opened {
            None => Ok(None),
            Some(Some(token)) => Ok(Some(token)),
            Some(None) => {
                Err(Verdict::Withdraw("was not sent: its token was sealed with a key that is no longer configured"))
            }
        })
    }
}

impl<S: Share> Reconciler for MailReconciler<S> {
    const KIND: &'static str = S::KIND;
    const LANE: Lane = S::LANE;
    type Snapshot = Snapshot;
    type Observation = Observation;
    type Verdict = Verdict;
    type Error = MailError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Snapshot>, MailError> {
        let Some(held) = store::get(tx, id).await? else { return Ok(None) };
        let now = kernel::clock::now(tx).await?;
        let letter = self.letter(tx, &held, now).await?;
        Ok(Some(Snapshot { held, letter }))
    }

    async fn act(&self, seen: &Snapshot) -> Result<Observation, MailError> {
        let (Ok(letter), Some(sending)) = (&seen.letter, &self.sending) else { return Ok(Observation::NotTried) };
        let Ok(_turn) = self.turns.try_acquire() else { return Ok(Observation::Busy) };
        let lease = self.policies.number(settings::WORK_LEASE_SECONDS) / 2;
        let patience = settings::seconds(self.policies.number(settings::MAIL_TIMEOUT_SECONDS).min(lease));
        let outcome = sending.post.send(letter, patience).await;
        let label = if outcome.is_ok() { "accepted" } else { "failed" };
        metrics::counter!("gpuaas_mail_attempts_total", "outcome" => label).increment(1);
        Ok(Observation::Tried(outcome))
    }

    fn decide(&self, seen: &Snapshot, found: Observation) -> Verdict {
        match (&seen.letter, found) {
            (Err(verdict), _) => verdict.clone(),
            (Ok(_), Observation::NotTried | Observation::Busy) => Verdict::Queue,
            (Ok(_), Observation::Tried(Ok(()))) => Verdict::Sent,
            (Ok(_), Observation::Tried(Err(error))) => Verdict::Failed(error),
        }
    }

    async fn apply(&self, tx: &mut Tx, seen: Snapshot, verdict: Verdict) -> Result<Next, MailError> {
        let id = seen.held.mail.id;
        match verdict {
            Verdict::Nothing => (),
            Verdict::Wait(rest) => return Ok(Next::After(rest)),
            Verdict::Queue => {
                let line = store::untried(tx, S::IS_SECURITY, LINE).await?;
                return Ok(Next::After(WAIT + LINE_STEP * u32::try_from(line).unwrap_or(0)));
            }
            Verdict::Withdraw(why) => {
                store::note_unsent(tx, id, why).await?;
                transition::<MailLifecycle>(tx, seen.held.versioned()?, Event::Withdrawn, why).await?;
            }
            Verdict::Refuse(why) => {
                store::note_unsent(tx, id, &why).await?;
                transition::<MailLifecycle>(tx, seen.held.versioned()?, Event::Refused, &why).await?;
            }
            Verdict::Sent => {
                store::record(tx, id, Attempt { code: None, error: None, again: None }).await?;
                // From here on only who reads the mail has it.
                match seen.held.recipient {
                    Recipient::Person(_) => (),
                    Recipient::Invited(id) => invitations::forget_mail_token(tx, id).await?,
                    Recipient::Token(id) => account_tokens::forget_sealed(tx, id).await?,
                }
                transition::<MailLifecycle>(tx, seen.held.versioned()?, Event::Sent, "").await?;
            }
            Verdict::Failed(error) => return self.failed(tx, &seen, &error).await,
        }
        Ok(Next::Done)
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::overdue(tx, S::IS_SECURITY, limit).await
    }
}

impl<S: Share> MailReconciler<S> {
    async fn failed(&self, tx: &mut Tx, seen: &Snapshot, error: &PostError) -> Result<Next, MailError> {
        let (held, code, text) = (&seen.held, error.code(), error.to_string());
        let attempts = u64::try_from(held.mail.attempts).unwrap_or(0) + 1;
        let end = match error {
            PostError::Address { .. } | PostError::Letter { .. } => Some(Event::Refused),
            PostError::Away(_) | PostError::Later { .. } | PostError::Sender { .. } => {
                (attempts >= self.policies.number(settings::MAIL_ATTEMPTS)).then_some(Event::Exhausted)
            }
        };
        if let (PostError::Address { code, text }, Ok(letter)) = (error, &seen.letter) {
            store::refuse(tx, &letter.to, *code, text).await?;
        }
        if let PostError::Sender { .. } = error {
            tracing::error!(mail = %held.mail.id, error = text, "the mail server rejects mail from this installation: check `mail.url` and `mail.from`");
        }
        let again = match end {
            Some(_) => None,
            None => Some(self.rest(attempts)),
        };
        store::record(tx, held.mail.id, Attempt { code, error: Some(&text), again }).await?;
        match (end, again) {
            (Some(event), _) => {
                transition::<MailLifecycle>(tx, held.versioned()?, event, &text).await?;
                Ok(Next::Done)
            }
            (None, again) => Ok(Next::After(again.unwrap_or(WAIT))),
        }
    }

    /// The pause after so many failures: twice as long each time, up to a bound.
    fn rest(&self, failures: u64) -> Duration {
        let first = settings::seconds(self.policies.number(settings::MAIL_RETRY_SECONDS));
        let most = settings::seconds(self.policies.number(settings::MAIL_RETRY_MAX_SECONDS));
        let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX).min(16);
        first.saturating_mul(1 << doublings).min(most)
    }
}
