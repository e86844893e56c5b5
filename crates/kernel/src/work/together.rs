//! Visits that share their transactions: one reads for all of them, and one writes for
//! each group of verdicts that are alike. Whatever fails together is visited alone.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::{Claim, Next, Reconciler, VisitError, finish, finish_all, visit};
use crate::{
    pool::one_connection,
    tx::{Access, Db, Tx},
};

type Outcome<R> = Result<(), VisitError<<R as Reconciler>::Error>>;
/// A claim with what its visit saw and decided.
type Decided<'a, R> = (&'a Claim, <R as Reconciler>::Snapshot, <R as Reconciler>::Verdict);

/// Visits several rows of one kind; the outcomes are in the order of the claims.
pub async fn visit_together<R: Reconciler>(db: &Db, reconciler: &R, claims: &[Claim]) -> Vec<Outcome<R>> {
    if let [claim] = claims {
        return vec![visit(db, reconciler, claim).await];
    }
    let done = one_connection(together(db, reconciler, claims)).await.unwrap_or_else(|error| {
        tracing::warn!(kind = R::KIND, %error, "visits could not be read together; visiting each alone");
        HashSet::new()
    });
    let mut outcomes = Vec::with_capacity(claims.len());
    for claim in claims {
        outcomes.push(if done.contains(&claim.id) { Ok(()) } else { visit(db, reconciler, claim).await });
    }
    outcomes
}

/// The rows whose visits are over.
async fn together<R: Reconciler>(
    db: &Db,
    reconciler: &R,
    claims: &[Claim],
) -> Result<HashSet<Uuid>, VisitError<R::Error>> {
    let ids: Vec<Uuid> = claims.iter().map(|it| it.id).collect();
    let mut tx = Tx::system(db, R::KIND, Access::Read).await?;
    let mut seen = reconciler.load_all(&mut tx, &ids).await.map_err(VisitError::Reconciler)?;
    tx.commit().await?;
    let mut groups: HashMap<&'static str, Vec<Decided<R>>> = HashMap::new();
    let mut done = HashSet::new();
    for claim in claims {
        let Some(seen) = seen.remove(&claim.id) else { continue };
        let Ok(found) = reconciler.act(&seen).await else { continue };
        let verdict = reconciler.decide(&seen, found);
        match reconciler.group(&seen, &verdict) {
            Some(group) => groups.entry(group).or_default().push((claim, seen, verdict)),
            None => {
                if alone(db, reconciler, claim, seen, verdict).await.is_ok() {
                    done.insert(claim.id);
                }
            }
        }
    }
    for (name, group) in groups {
        let ids: Vec<Uuid> = group.iter().map(|(claim, ..)| claim.id).collect();
        match apply::<R>(db, reconciler, group).await {
            Ok(()) => done.extend(ids),
            Err(error) => {
                metrics::counter!("gpuaas_work_batches_failed_total", "kind" => R::KIND).increment(1);
                tracing::debug!(kind = R::KIND, group = name, %error, "visits failed together; visiting each alone");
            }
        }
    }
    Ok(done)
}

async fn alone<R: Reconciler>(
    db: &Db,
    reconciler: &R,
    claim: &Claim,
    seen: R::Snapshot,
    verdict: R::Verdict,
) -> Outcome<R> {
    let mut tx = Tx::system(db, R::KIND, Access::Write).await?;
    let next = reconciler.apply(&mut tx, seen, verdict).await.map_err(VisitError::Reconciler)?;
    finish(&mut tx, claim, next).await?;
    tx.commit().await?;
    Ok(())
}

async fn apply<R: Reconciler>(db: &Db, reconciler: &R, group: Vec<Decided<'_, R>>) -> Outcome<R> {
    let (claims, visits): (Vec<&Claim>, Vec<_>) =
        group.into_iter().map(|(claim, seen, verdict)| (claim, (seen, verdict))).unzip();
    let mut tx = Tx::system(db, R::KIND, Access::Write).await?;
    let nexts = reconciler.apply_all(&mut tx, visits).await.map_err(VisitError::Reconciler)?;
    let ended: Vec<(&Claim, Next)> = claims.into_iter().zip(nexts).collect();
    finish_all(&mut tx, &ended).await?;
    tx.commit().await?;
    Ok(())
}
