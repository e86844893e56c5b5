//! Lifecycles. Legal moves are one pure function per resource; the
//! diagram, the database's guard and the update itself are derived from it.

use std::fmt;

use serde_json::{Map, Value, json};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::{audit, bus::BoxFuture, outbox, tx::Tx, work};

/// What happens to a row when the project or organization that it belongs to
/// ends. A resource that does not say so does not compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParentEnd {
    /// It belongs to no project and no organization, or is the record of one.
    Unowned,
    /// It ends first: its project is deleted only when none is live any more.
    EndsFirst,
    /// It ends too; by what is said here.
    EndsToo(&'static str),
    /// It stays: it costs nothing and lets nobody in, for the reason given.
    Stays(&'static str),
}

/// A resource with a lifecycle. `next` is the only place that says which moves
/// are legal.
pub trait Lifecycle: 'static {
    /// The noun in subjects, audit actions and the database's guard.
    const NAME: &'static str;
    const TABLE: &'static str;
    type State: Copy + Eq + fmt::Debug + Send + Sync + 'static;
    type Event: Copy + Eq + fmt::Debug + Send + Sync + 'static;

    const STATES: &'static [Self::State];
    const EVENTS: &'static [Self::Event];
    const INITIAL: Self::State;
    /// What becomes of a row when its project or organization ends.
    const PARENT_END: ParentEnd;
    /// What every move does besides, in its transaction: no caller of
    /// [`transition`] can forget it.
    const ON_MOVE: Option<OnMove<Self::State>>;
    /// Whether a row in this state is visited by a reconciler after a move.
    fn is_driven(state: Self::State) -> bool;

    /// Written without a wildcard arm, so that a new state or event makes the
    /// author say what it does everywhere.
    fn next(from: Self::State, event: Self::Event) -> Option<Self::State>;
    fn label(state: Self::State) -> &'static str;
    /// The name of an event in the outbox, the audit log and the diagram.
    fn event_name(event: Self::Event) -> &'static str;
    fn text_id(id: Uuid) -> String;
}

/// A move that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved<S> {
    pub id: Uuid,
    pub organization: Option<Uuid>,
    pub from: S,
    pub to: S,
}

/// What moves do in their transaction. It gets all moves that are made at once.
pub type OnMove<S> = for<'a> fn(&'a mut Tx, &'a [Moved<S>]) -> BoxFuture<'a, sqlx::Result<()>>;

/// A row as it was read: moves are checked against this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versioned<S> {
    pub id: Uuid,
    pub organization: Option<Uuid>,
    pub state: S,
    pub version: i64,
}

#[derive(Debug, thiserror::Error)]
pub enum TransitionError {
    #[error("{lifecycle} does not allow `{event}` while {state}; it does while {possible}")]
    Illegal { lifecycle: &'static str, event: &'static str, state: &'static str, possible: String },
    #[error("{lifecycle} {id} changed since it was read")]
    Stale { lifecycle: &'static str, id: String },
    #[error("changing the state of a row failed")]
    Database(#[from] sqlx::Error),
}

/// Moves one row, and in the same transaction records the move in the outbox
/// and the audit log and wakes the reconciler. The only writer of `state`.
pub async fn transition<L: Lifecycle>(
    tx: &mut Tx,
    row: Versioned<L::State>,
    event: L::Event,
    reason: &str,
) -> Result<Versioned<L::State>, TransitionError> {
    transition_telling::<L>(tx, row, event, reason, Map::new()).await
}

/// As [`transition`], with more facts in the event and the audit entry than the
/// move itself; those who are told of it could not find them out later.
pub async fn transition_telling<L: Lifecycle>(
    tx: &mut Tx,
    row: Versioned<L::State>,
    event: L::Event,
    reason: &str,
    facts: Map<String, Value>,
) -> Result<Versioned<L::State>, TransitionError> {
    let moved = move_rows::<L>(tx, &[row], event).await?;
    announce::<L>(tx, row, moved[0], event, reason, facts);
    Ok(moved[0])
}

/// As [`transition`], of several rows by one event: all of them move, or none. The rows
/// must differ; they are answered in their order.
pub async fn transition_all<L: Lifecycle>(
    tx: &mut Tx,
    rows: &[Versioned<L::State>],
    event: L::Event,
    reason: &str,
) -> Result<Vec<Versioned<L::State>>, TransitionError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let moved = move_rows::<L>(tx, rows, event).await?;
    for (before, after) in rows.iter().zip(&moved) {
        announce::<L>(tx, *before, *after, event, reason, Map::new());
    }
    Ok(moved)
}

/// Writes the new states, and calls the hook.
async fn move_rows<L: Lifecycle>(
    tx: &mut Tx,
    rows: &[Versioned<L::State>],
    event: L::Event,
) -> Result<Vec<Versioned<L::State>>, TransitionError> {
    let next = |row: &Versioned<L::State>| match L::next(row.state, event) {
        Some(state) => Ok(Versioned { state, version: row.version + 1, ..*row }),
        None => {
            let (event, state, possible) = (L::event_name(event), L::label(row.state), possible::<L>(event));
            Err(TransitionError::Illegal { lifecycle: L::NAME, event, state, possible })
        }
    };
    let moved: Vec<Versioned<L::State>> = rows.iter().map(next).collect::<Result<_, _>>()?;
    // By id, in one order: two transactions that move the same rows wait and never block each other.
    let statement = format!(
        "WITH due AS MATERIALIZED (
           SELECT t.id, moves.state FROM unnest($1::uuid[], $2::bigint[], $3::text[]) AS moves (id, version, state)
           JOIN {0} t ON t.id = moves.id AND t.version = moves.version ORDER BY t.id FOR NO KEY UPDATE OF t)
         UPDATE {0} SET state = due.state, version = version + 1, state_since = app_now() FROM due WHERE {0}.id = due.id
         RETURNING {0}.id",
        L::TABLE
    );
    let done: Vec<Uuid> = sqlx::query_scalar(AssertSqlSafe(statement))
        .bind(rows.iter().map(|it| it.id).collect::<Vec<_>>())
        .bind(rows.iter().map(|it| it.version).collect::<Vec<_>>())
        .bind(moved.iter().map(|it| L::label(it.state)).collect::<Vec<_>>())
        .fetch_all(tx.conn())
        .await?;
    if let Some(stale) = rows.iter().find(|it| !done.contains(&it.id)) {
        return Err(TransitionError::Stale { lifecycle: L::NAME, id: L::text_id(stale.id) });
    }
    if let Some(on_move) = L::ON_MOVE {
        let pairs = rows.iter().zip(&moved);
        let moves = pairs.map(|(from, to)| Moved {
            id: from.id,
            organization: from.organization,
            from: from.state,
            to: to.state,
        });
        on_move(tx, &moves.collect::<Vec<_>>()).await?;
    }
    Ok(moved)
}

/// Records a move in the outbox and the audit log, and wakes the reconciler.
fn announce<L: Lifecycle>(
    tx: &mut Tx,
    before: Versioned<L::State>,
    after: Versioned<L::State>,
    event: L::Event,
    reason: &str,
    facts: Map<String, Value>,
) {
    let subject = format!("{}.{}", L::NAME, L::event_name(event));
    let resource = L::text_id(after.id);
    let (from, to) = (L::label(before.state), L::label(after.state));
    let mut data = json!({ "id": resource, "from": from, "to": to, "version": after.version });
    for (name, fact) in facts {
        data[name] = fact;
    }
    let mut detail = data.clone();
    if !reason.is_empty() {
        detail["reason"] = reason.into();
    }
    outbox::emit(
        tx,
        outbox::NewEvent {
            subject: subject.clone(),
            organization: after.organization,
            resource: Some(resource.clone()),
            version: Some(after.version),
            data,
        },
    );
    audit::record(
        tx,
        audit::NewEntry {
            action: subject,
            organization: after.organization,
            resource: Some(resource),
            outcome: "done",
            detail,
        },
    );
    if L::is_driven(after.state) {
        work::wake(tx, L::NAME, after.id);
    }
}

/// The states in which an event is possible, in words.
fn possible<L: Lifecycle>(event: L::Event) -> String {
    let labels: Vec<&str> =
        L::STATES.iter().filter(|it| L::next(**it, event).is_some()).map(|it| L::label(*it)).collect();
    match labels.split_last() {
        None => "never".to_owned(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

/// Every legal move, found by asking `next` about every pair.
pub fn moves<L: Lifecycle>() -> Vec<(&'static str, &'static str, &'static str)> {
    let mut moves = Vec::new();
    for from in L::STATES {
        for event in L::EVENTS {
            if let Some(to) = L::next(*from, *event) {
                moves.push((L::label(*from), L::event_name(*event), L::label(to)));
            }
        }
    }
    moves
}

pub fn mermaid<L: Lifecycle>() -> String {
    let moves = moves::<L>();
    let mut out = format!("stateDiagram-v2\n  [*] --> {}\n", L::label(L::INITIAL));
    for (from, event, to) in &moves {
        out += &format!("  {from} --> {to}: {event}\n");
    }
    for state in L::STATES {
        if !moves.iter().any(|(from, ..)| *from == L::label(*state)) {
            out += &format!("  {} --> [*]\n", L::label(*state));
        }
    }
    out
}

/// What is unsound about a lifecycle; empty when nothing is.
pub fn unsound<L: Lifecycle>() -> Vec<String> {
    let moves = moves::<L>();
    let mut found = Vec::new();
    let mut reached = vec![L::label(L::INITIAL)];
    loop {
        let more: Vec<_> = moves
            .iter()
            .filter(|(from, _, to)| reached.contains(from) && !reached.contains(to))
            .map(|(.., to)| *to)
            .collect();
        if more.is_empty() {
            break;
        }
        reached.extend(more);
    }
    for state in L::STATES {
        let label = L::label(*state);
        if !reached.contains(&label) {
            found.push(format!("{} is never {label}", L::NAME));
        }
        if L::is_driven(*state) && !moves.iter().any(|(from, ..)| *from == label) {
            found.push(format!("{} is driven while {label}, which it can never leave", L::NAME));
        }
    }
    for event in L::EVENTS {
        let name = L::event_name(*event);
        if !moves.iter().any(|(_, it, _)| *it == name) {
            found.push(format!("{} never takes `{name}`", L::NAME));
        }
    }
    found
}

/// Writes the legal moves into the database's guard. Only adds: an older
/// replica beside this one may still make moves that this one does not know.
pub async fn teach<L: Lifecycle>(tx: &mut Tx) -> sqlx::Result<()> {
    let mut pairs: Vec<(&str, &str)> = moves::<L>().iter().map(|(from, _, to)| (*from, *to)).collect();
    pairs.push(("", L::label(L::INITIAL)));
    let (from, to): (Vec<String>, Vec<String>) =
        pairs.into_iter().map(|(from, to)| (from.to_owned(), to.to_owned())).unzip();
    sqlx::query(
        "INSERT INTO legal_moves (lifecycle, from_state, to_state)
         SELECT $1, * FROM unnest($2::text[], $3::text[]) ON CONFLICT DO NOTHING",
    )
    .bind(L::NAME)
    .bind(from)
    .bind(to)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// What a program knows of a lifecycle without its types.
#[derive(Clone, Copy)]
pub struct LifecycleInfo {
    pub name: &'static str,
    pub table: &'static str,
    pub parent_end: ParentEnd,
    /// Whether rows in some state are visited by a reconciler.
    pub is_driven: bool,
    pub moves: fn() -> Vec<(&'static str, &'static str, &'static str)>,
    pub mermaid: fn() -> String,
    pub unsound: fn() -> Vec<String>,
    teach: for<'a> fn(&'a mut Tx) -> BoxFuture<'a, sqlx::Result<()>>,
}

impl LifecycleInfo {
    pub fn of<L: Lifecycle>() -> Self {
        Self {
            name: L::NAME,
            table: L::TABLE,
            parent_end: L::PARENT_END,
            is_driven: L::STATES.iter().any(|it| L::is_driven(*it)),
            moves: moves::<L>,
            mermaid: mermaid::<L>,
            unsound: unsound::<L>,
            teach: |tx| Box::pin(teach::<L>(tx)),
        }
    }

    /// As [`teach`].
    pub async fn teach(&self, tx: &mut Tx) -> sqlx::Result<()> {
        (self.teach)(tx).await
    }
}
