//! Recomputing seals from the entries, and naming every difference.

use std::{collections::HashMap, time::Duration};

use base64::Engine;
use uuid::Uuid;

use super::{Seal, entries, header, list};
use crate::{
    merkle::{self, Hash},
    seals::KEY_NAME,
    tx::Tx,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub seal: Option<i64>,
    pub entry: Option<Uuid>,
    pub what: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub seals: i64,
    pub entries: i64,
    pub findings: Vec<Finding>,
    pub roots: Vec<Vec<u8>>,
    /// Where to go on; `None` at the end.
    pub next_after: Option<i64>,
    /// Entries not sealed yet; counted at the end only.
    pub unsealed: Option<i64>,
}

/// Checks the seals after number `after`, at most `limit` of them.
///
/// `retention` is the shortest time that policy can make entries last: a seal
/// that lost them earlier was robbed, not expired.
pub async fn verify(tx: &mut Tx, after: i64, limit: i64, retention: Duration) -> sqlx::Result<Report> {
    let mut previous = if after == 0 { None } else { list(tx, after - 1, 1).await?.pop() };
    let seals = list(tx, after, limit + 1).await?;
    // After the seals: a key is there before what it signs, and each statement sees what is new.
    let keys = public_keys(tx).await?;
    let more = seals.len() as i64 > limit;
    let mut report = Report::default();
    for seal in seals.into_iter().take(usize::try_from(limit).unwrap_or(usize::MAX)) {
        one(tx, &mut report, previous.as_ref(), &seal, &keys).await?;
        if let Some(what) = wrongly_expired(previous.as_ref(), &seal, retention) {
            report.findings.push(Finding { seal: Some(seal.number), entry: None, what: what.into() });
        }
        report.seals += 1;
        report.roots.push(seal.root.clone());
        previous = Some(seal);
    }
    if more {
        report.next_after = previous.map(|it| it.number);
    } else {
        let last = previous.map_or((0, 0), |it| (it.last_epoch, it.last_xid));
        report.unsealed = Some(unsealed(tx, last).await?);
    }
    Ok(report)
}

async fn one(
    tx: &mut Tx,
    report: &mut Report,
    previous: Option<&Seal>,
    seal: &Seal,
    keys: &HashMap<String, Vec<u8>>,
) -> sqlx::Result<()> {
    let number = seal.number;
    let mut find =
        |entry: Option<Uuid>, what: String| report.findings.push(Finding { seal: Some(number), entry, what });

    let expected = previous.map_or(1, |it| it.number + 1);
    if number != expected {
        find(None, format!("seal {expected} is missing"));
    }
    let before: Hash = previous.and_then(|it| it.root.clone().try_into().ok()).unwrap_or_default();
    let entries_root: Hash = seal.entries_root.clone().try_into().unwrap_or_default();
    let root = merkle::chain(
        &before,
        &entries_root,
        &header(number, seal.last_epoch, seal.last_xid, seal.entries, seal.sealed_at),
    );
    if root[..] != seal.root[..] {
        find(None, "the seal does not match the previous one".into());
    }
    match keys.get(&seal.key_id) {
        None => find(None, format!("the signing key {} is unknown", seal.key_id)),
        Some(key) if merkle::verify(key, &seal.root, &seal.signature).is_err() => {
            find(None, "the signature is not valid".into())
        }
        Some(_) => (),
    }
    if seal.expired_at.is_some() {
        return Ok(());
    }
    let leaves = leaves(seal);
    let hashes: Vec<Hash> = leaves.iter().map(|(_, hash)| *hash).collect();
    if leaves.len() as i64 != seal.entries || merkle::root(&hashes)[..] != seal.entries_root[..] {
        find(None, "the list of entries in the seal was changed".into());
    }
    let after = previous.map_or((0, 0), |it| (it.last_epoch, it.last_xid));
    let rows = entries(tx, after, (seal.last_epoch, seal.last_xid)).await?;
    let mut present: HashMap<Uuid, Hash> = rows.iter().map(|row| (row.id, row.leaf())).collect();
    let mut found = Vec::new();
    for (id, sealed) in &leaves {
        match present.remove(id) {
            None => found.push((*id, "entry was removed")),
            Some(now) if now != *sealed => found.push((*id, "entry was edited")),
            Some(_) => (),
        }
    }
    let mut inserted: Vec<Uuid> = present.into_keys().collect();
    inserted.sort();
    found.extend(inserted.into_iter().map(|id| (id, "entry was inserted")));
    report.entries += rows.len() as i64;
    for (id, what) in found {
        report.findings.push(Finding { seal: Some(number), entry: Some(id), what: what.into() });
    }
    Ok(())
}

fn wrongly_expired(previous: Option<&Seal>, seal: &Seal, retention: Duration) -> Option<&'static str> {
    let expired_at = seal.expired_at?;
    if previous.is_some_and(|it| it.expired_at.is_none()) {
        return Some("the entries of the seal are missing although an older seal still has its entries");
    }
    (expired_at < seal.sealed_at + retention)
        .then_some("the entries of the seal are missing before their retention has ended")
}

fn leaves(seal: &Seal) -> Vec<(Uuid, Hash)> {
    let bytes = seal.leaves.as_deref().unwrap_or_default();
    let (pieces, _) = bytes.as_chunks::<48>();
    pieces
        .iter()
        .map(|piece| {
            let (id, hash) = piece.split_at(16);
            let id = Uuid::from_slice(id).expect("16 bytes were split off");
            (id, hash.try_into().expect("32 of 48 bytes remain"))
        })
        .collect()
}

async fn public_keys(tx: &mut Tx) -> sqlx::Result<HashMap<String, Vec<u8>>> {
    let texts: Vec<String> = sqlx::query_scalar("SELECT public FROM secrets WHERE name = $1 AND public IS NOT NULL")
        .bind(KEY_NAME)
        .fetch_all(tx.conn())
        .await?;
    let decoded = texts.iter().filter_map(|it| base64::engine::general_purpose::STANDARD.decode(it).ok());
    Ok(decoded.map(|key| (merkle::seal_key_id(&key), key)).collect())
}

async fn unsealed(tx: &mut Tx, last: (i32, i64)) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT count(*) FROM audit WHERE (epoch, xid) > ($1, $2::text::xid8)")
        .bind(last.0)
        .bind(last.1.to_string())
        .fetch_one(tx.conn())
        .await
}
