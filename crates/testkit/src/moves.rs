//! Allocations that are moved without hosts: their states by statements, and with
//! them what their lifecycle does on a move. For tests of money.

use compute::allocations::lifecycle::AllocationLifecycle;
use contract::{Word, allocations::AllocationState};
use kernel::{
    Access, Db, Tx,
    lifecycle::{Lifecycle, Moved},
};
use uuid::Uuid;

/// Moves all allocations that a condition of SQL selects, at once.
pub async fn move_where(tx: &mut Tx, condition: &str, state: &str) -> usize {
    let statement = format!(
        // tidy: planted because what is tested is the money, not the hosts
        "UPDATE allocations a SET state = '{state}', version = version + 1, state_since = app_now()
         FROM (SELECT id, state AS before FROM allocations WHERE {condition}) b WHERE b.id = a.id
         RETURNING a.id, a.organization_id, b.before"
    );
    let rows: Vec<(Uuid, Uuid, String)> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).fetch_all(tx.conn()).await.unwrap();
    let state_of = |text: &str| AllocationState::parse(text).unwrap();
    let moves: Vec<Moved<AllocationState>> = rows
        .iter()
        .map(|(id, organization, before)| Moved {
            id: *id,
            organization: Some(*organization),
            from: state_of(before),
            to: state_of(state),
        })
        .collect();
    let on_move = AllocationLifecycle::ON_MOVE.expect("allocations are metered as they move");
    on_move(tx, &moves).await.unwrap();
    moves.len()
}

/// Moves one allocation.
pub async fn move_one(tx: &mut Tx, id: Uuid, state: &str) {
    let moved = move_where(tx, &format!("id = '{id}'"), state).await;
    assert_eq!(moved, 1, "there is no allocation {id}");
}

/// As [`move_where`], in a transaction of its own.
pub async fn move_all(db: &Db, condition: &str, state: &str) {
    let mut tx = Tx::system(db, "test", Access::Write).await.unwrap();
    move_where(&mut tx, condition, state).await;
    tx.commit().await.unwrap();
}
