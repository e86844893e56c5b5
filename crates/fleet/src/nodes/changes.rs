//! What happens to nodes besides their moves: joining, certificates, being
//! told to wipe.

use contract::{
    id::NodeId,
    nodes::{HostName, NodeCertificatesRevoked, NodeCreated, NodeHealth, NodeState, SlotConditionChanged},
    pools::{Pool, PoolProvider},
};
use kernel::{
    Tx,
    lifecycle::{TransitionError, transition},
};
use protocol::{DriverKind, Inventory};

use super::occupants::{self, Occupants};
use super::{
    inventory::{self, Implausibility},
    lifecycle::{Event, NodeLifecycle},
    store::{self, NodeFacts, certificates, heartbeats, slots},
};
use crate::ca::Issued;
use platform::events::emit;

#[derive(Debug)]
pub struct Enrolled {
    pub node: NodeId,
    /// Whether the host was a node before and came back.
    pub is_back: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum EnrollError {
    #[error("the pool already has a node named {name} with a valid certificate")]
    NameTaken { name: HostName },
    #[error("the pool only accepts hosts of provider {provider}")]
    WrongDriver { provider: PoolProvider },
    #[error("the inventory is implausible: {0}")]
    Lie(#[from] Implausibility),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

/// Makes a host a node of the pool. A host that was one before, and whose
/// certificates no longer work, is the same node again.
pub async fn enroll(tx: &mut Tx, pool: &Pool, name: &HostName, inventory: &Inventory) -> Result<Enrolled, EnrollError> {
    let provider = platform::rows::known::<PoolProvider>(pool.provider.as_str())?;
    let fits = match inventory.driver {
        DriverKind::Sim => provider == PoolProvider::Sim,
        DriverKind::Linux => provider != PoolProvider::Sim,
    };
    if !fits {
        return Err(EnrollError::WrongDriver { provider });
    }
    let before = store::lock_named(tx, pool.id, name).await?;
    if let Some(before) = &before {
        let is_ghost = before.state == NodeState::Enrolling && !heartbeats::ever(tx, before.id).await?;
        if !is_ghost && certificates::any_works(tx, before.id).await? {
            return Err(EnrollError::NameTaken { name: name.clone() });
        }
    }
    let state = before.as_ref().map_or(NodeState::Enrolling, |it| it.state);
    let known = match &before {
        Some(before) => slots::known(tx, before.id).await?,
        None => Vec::new(),
    };
    inventory::judge(&known, state, inventory)?;
    if let Some(uuid) = slots::elsewhere(tx, before.as_ref().map(|it| it.id), inventory).await? {
        return Err(Implausibility::Elsewhere { uuid }.into());
    }
    let is_back = before.is_some();
    let node = match before {
        Some(NodeFacts { id, .. }) => {
            revoke_certificates(tx, id).await?;
            id
        }
        None => {
            let inserted = store::insert(tx, pool, name).await?;
            let id = inserted.ok_or_else(|| EnrollError::NameTaken { name: name.clone() })?;
            emit(tx, None, id, &NodeCreated { id, pool_id: pool.id, name: name.to_string() });
            id
        }
    };
    write_inventory(tx, node, inventory).await?;
    Ok(Enrolled { node, is_back })
}

/// Writes an inventory that was found to be possible.
pub(super) async fn write_inventory(tx: &mut Tx, node: NodeId, inventory: &Inventory) -> sqlx::Result<()> {
    slots::upsert(tx, node, inventory).await?;
    let missing = slots::miss(tx, node, inventory).await?;
    tell(tx, node, missing);
    store::set_inventory(tx, node, inventory).await
}

pub(super) fn tell(tx: &mut Tx, node: NodeId, changed: Vec<slots::Changed>) {
    for (slot_id, condition) in changed {
        emit(tx, None, node, &SlotConditionChanged { id: node, slot_id, condition: condition.into() });
    }
}

/// Notes a certificate that was issued to a node.
pub async fn renew_certificate(tx: &mut Tx, node: NodeId, issued: &Issued) -> sqlx::Result<()> {
    certificates::insert(tx, node, &issued.serial, issued.expires_at).await
}

/// What a node is known by stops working; live connections are cut within a second.
pub async fn revoke_certificates(tx: &mut Tx, node: NodeId) -> sqlx::Result<()> {
    if certificates::revoke_all(tx, node).await? > 0 {
        emit(tx, None, node, &NodeCertificatesRevoked { id: node });
    }
    Ok(())
}

/// A node that enrolled showed that it holds its key: it can be used.
pub async fn first_word(tx: &mut Tx, known: &NodeFacts) -> Result<(), TransitionError> {
    if known.state == NodeState::Enrolling {
        transition::<NodeLifecycle>(tx, known.versioned(), Event::Enrolled, "").await?;
        // Another host may be one that was retired with something on it; MAAS installs its own anew.
        match store::get(tx, known.id).await? {
            Some(node) if node.provider == PoolProvider::Maas => slots::note_wiped(tx, known.id).await?,
            _ => wipe_if_abandoned(tx, known.id).await?,
        }
        occupants::capacity_changed(tx).await?;
    }
    Ok(())
}

/// Asks for a node to be wiped before it serves another organization. Nothing
/// may hold a slot of it any more. Whether it is being wiped now.
pub async fn request_sanitizing(tx: &mut Tx, node: NodeId, reason: &str) -> Result<bool, TransitionError> {
    let Some(known) = store::lock(tx, node).await? else { return Ok(false) };
    if known.state == NodeState::Sanitizing {
        return Ok(true);
    }
    match transition::<NodeLifecycle>(tx, known.versioned(), Event::SanitizeRequested, reason).await {
        Ok(_) => Ok(true),
        // A node that is drained is wiped when it comes back.
        Err(TransitionError::Illegal { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Wipes a node that takes work again, or is about to, where an operator gave up
/// what its host never cleaned: the login may be open still. One that lies waits for
/// a person, since its word that it is clean is worth nothing.
pub(super) async fn wipe_if_abandoned(tx: &mut Tx, node: NodeId) -> Result<(), TransitionError> {
    let Some(known) = store::lock(tx, node).await? else { return Ok(()) };
    if known.health != NodeHealth::Lying && tx.hook::<dyn Occupants>().is_abandoned(tx, node).await? {
        request_sanitizing(tx, node, "an allocation that its host never sanitized was abandoned").await?;
    }
    Ok(())
}

/// The host was wiped: it may serve anyone, and what was used is clean.
pub(super) async fn sanitized(tx: &mut Tx, known: &NodeFacts, reason: &str) -> Result<(), TransitionError> {
    store::serve_anyone(tx, known.id).await?;
    slots::note_wiped(tx, known.id).await?;
    let cleaned = slots::clean_used(tx, known.id).await?;
    tell(tx, known.id, cleaned);
    if known.health == NodeHealth::Lying {
        store::set_health(tx, known.id, NodeHealth::Unknown, None).await?;
    }
    transition::<NodeLifecycle>(tx, known.versioned(), Event::Sanitized, reason).await?;
    occupants::capacity_changed(tx).await?;
    Ok(())
}
