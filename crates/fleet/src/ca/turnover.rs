//! Replacing the root without a host enrolling again. A new root is first told
//! to every node, then signs, and at last the old one is no longer trusted.
//! Each step waits until every node was heard with a certificate that it got
//! after the step before: that certificate came with the roots to trust.

use std::time::Duration;

use contract::Timestamp;
use kernel::{
    Tx,
    secrets::Keyring,
    vault::{self, VaultKey},
};

use super::{CaError, ROOT, authority};
use crate::nodes;

// bound: four times what a replica needs to notice a change of the CA
const LEARNED_AFTER: Duration = Duration::from_secs(120);

/// How far the replacement of the root is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turnover {
    /// There is one root.
    Settled,
    /// The new root is told to the nodes; the old one signs.
    Telling { since: Timestamp },
    /// The new root signs; the old one is trusted for what it signed.
    Signing { since: Timestamp },
}

impl Turnover {
    /// Where the replacement stands; `intermediate` is the one that signs.
    pub fn of(roots: &[VaultKey], intermediate: &VaultKey) -> Result<Turnover, CaError> {
        let Some(newest) = roots.first().filter(|_| roots.len() > 1) else { return Ok(Turnover::Settled) };
        Ok(match signing(roots, intermediate)?.id == newest.id {
            true => Turnover::Signing { since: intermediate.created_at + LEARNED_AFTER },
            false => Turnover::Telling { since: newest.created_at + LEARNED_AFTER },
        })
    }

    /// Certificates from before this do not show that their nodes know the step.
    pub fn since(self) -> Option<Timestamp> {
        match self {
            Turnover::Settled => None,
            Turnover::Telling { since } | Turnover::Signing { since } => Some(since),
        }
    }

    /// How many nodes the next step waits for; none when it may be made.
    pub async fn behind(self, tx: &mut Tx, now: Timestamp) -> sqlx::Result<i64> {
        match self.since() {
            // Until then replicas may issue certificates without knowing the step.
            Some(since) if now < since => nodes::count_certified(tx).await,
            Some(since) => nodes::count_certified_before(tx, since).await,
            None => Ok(0),
        }
    }
}

/// The roots that are trusted, newest first.
pub async fn trusted(tx: &mut Tx, keyring: &Keyring) -> Result<Vec<VaultKey>, CaError> {
    let mut roots = vault::all(tx, keyring, ROOT).await?;
    roots.retain(|it| it.retired_at.is_none());
    Ok(roots)
}

/// The root that the intermediate is of.
pub fn signing<'a>(roots: &'a [VaultKey], intermediate: &VaultKey) -> Result<&'a VaultKey, CaError> {
    let certificate = intermediate.public.as_deref().ok_or(CaError::NoIntermediate)?;
    for root in roots {
        if authority::is_signed_by(certificate, root.public.as_deref().ok_or(CaError::Unreadable)?)? {
            return Ok(root);
        }
    }
    Err(CaError::Unreadable)
}

/// Whether the next step may be made, and the clock is past its wait.
pub async fn may_go_on(tx: &mut Tx, turnover: Turnover, now: Timestamp) -> sqlx::Result<bool> {
    let is_time = turnover.since().is_some_and(|since| since <= now);
    Ok(is_time && turnover.behind(tx, now).await? == 0)
}

/// Ends the trust in every root but the newest, and forgets their keys.
pub async fn retire_old(tx: &mut Tx, keyring: &Keyring, roots: &mut Vec<VaultKey>) -> Result<(), CaError> {
    let Some(newest) = roots.first().map(|it| it.id) else { return Ok(()) };
    for old in roots.iter().skip(1) {
        vault::empty(tx, keyring, ROOT, old.id).await?;
    }
    vault::retire_others(tx, ROOT, newest).await?;
    roots.truncate(1);
    tracing::info!("every node trusts the new root; the old one is no longer trusted");
    Ok(())
}
