//! State machines. Legal moves are one pure function per resource; the
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
pub trait Machine: 'static {
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
    #[error("{machine} cannot take `{event}` while {state}; it can while {possible}")]
    Illegal { machine: &'static str, event: &'static str, state: &'static str, possible: String },
    #[error("{machine} {id} changed since it was read")]
    Stale { machine: &'static str, id: String },
    #[error("moving a row failed")]
    Database(#[from] sqlx::Error),
}

/// Moves one row, and in the same transaction records the move in the outbox
/// and the audit log and wakes the reconciler. The only writer of `state`.
pub async fn transition<M: Machine>(
    tx: &mut Tx,
    row: Versioned<M::State>,
    event: M::Event,
    reason: &str,
) -> Result<Versioned<M::State>, TransitionError> {
    transition_telling::<M>(tx, row, event, reason, Map::new()).await
}

/// As [`transition`], with more facts in the event and the audit entry than the
/// move itself; those who are told of it could not find them out later.
pub async fn transition_telling<M: Machine>(
    tx: &mut Tx,
    row: Versioned<M::State>,
    event: M::Event,
    reason: &str,
    facts: Map<String, Value>,
) -> Result<Versioned<M::State>, TransitionError> {
    let name = M::event_name(event);
    let Some(to) = M::next(row.state, event) else {
        let (state, possible) = (M::label(row.state), possible::<M>(event));
        return Err(TransitionError::Illegal { machine: M::NAME, event: name, state, possible });
    };
    let statement = format!(
        "UPDATE {} SET state = $1, version = version + 1, state_since = app_now() WHERE id = $2 AND version = $3",
        M::TABLE
    );
    let moved = sqlx::query(AssertSqlSafe(statement))
        .bind(M::label(to))
        .bind(row.id)
        .bind(row.version)
        .execute(tx.conn())
        .await?
        .rows_affected();
    if moved == 0 {
        return Err(TransitionError::Stale { machine: M::NAME, id: M::text_id(row.id) });
    }
    if let Some(on_move) = M::ON_MOVE {
        on_move(tx, &[Moved { id: row.id, organization: row.organization, from: row.state, to }]).await?;
    }
    let version = row.version + 1;
    let subject = format!("{}.{name}", M::NAME);
    let resource = M::text_id(row.id);
    let mut data = json!({ "id": resource, "from": M::label(row.state), "to": M::label(to), "version": version });
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
            organization: row.organization,
            resource: Some(resource.clone()),
            version: Some(version),
            data,
        },
    );
    audit::record(
        tx,
        audit::NewEntry {
            action: subject,
            organization: row.organization,
            resource: Some(resource),
            outcome: "done",
            detail,
        },
    );
    if M::is_driven(to) {
        work::wake(tx, M::NAME, row.id);
    }
    Ok(Versioned { state: to, version, ..row })
}

/// The states in which an event is possible, in words.
fn possible<M: Machine>(event: M::Event) -> String {
    let labels: Vec<&str> =
        M::STATES.iter().filter(|it| M::next(**it, event).is_some()).map(|it| M::label(*it)).collect();
    match labels.split_last() {
        None => "never".to_owned(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

/// Every legal move, found by asking `next` about every pair.
pub fn moves<M: Machine>() -> Vec<(&'static str, &'static str, &'static str)> {
    let mut moves = Vec::new();
    for from in M::STATES {
        for event in M::EVENTS {
            if let Some(to) = M::next(*from, *event) {
                moves.push((M::label(*from), M::event_name(*event), M::label(to)));
            }
        }
    }
    moves
}

pub fn mermaid<M: Machine>() -> String {
    let moves = moves::<M>();
    let mut out = format!("stateDiagram-v2\n  [*] --> {}\n", M::label(M::INITIAL));
    for (from, event, to) in &moves {
        out += &format!("  {from} --> {to}: {event}\n");
    }
    for state in M::STATES {
        if !moves.iter().any(|(from, ..)| *from == M::label(*state)) {
            out += &format!("  {} --> [*]\n", M::label(*state));
        }
    }
    out
}

/// What is unsound about a lifecycle; empty when nothing is.
pub fn unsound<M: Machine>() -> Vec<String> {
    let moves = moves::<M>();
    let mut found = Vec::new();
    let mut reached = vec![M::label(M::INITIAL)];
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
    for state in M::STATES {
        let label = M::label(*state);
        if !reached.contains(&label) {
            found.push(format!("{} is never {label}", M::NAME));
        }
        if M::is_driven(*state) && !moves.iter().any(|(from, ..)| *from == label) {
            found.push(format!("{} is driven while {label}, which it can never leave", M::NAME));
        }
    }
    for event in M::EVENTS {
        let name = M::event_name(*event);
        if !moves.iter().any(|(_, it, _)| *it == name) {
            found.push(format!("{} never takes `{name}`", M::NAME));
        }
    }
    found
}

/// Writes the legal moves into the database's guard. Only adds: an older
/// replica beside this one may still make moves that this one does not know.
pub async fn teach<M: Machine>(tx: &mut Tx) -> sqlx::Result<()> {
    let mut pairs: Vec<(&str, &str)> = moves::<M>().iter().map(|(from, _, to)| (*from, *to)).collect();
    pairs.push(("", M::label(M::INITIAL)));
    let (from, to): (Vec<String>, Vec<String>) =
        pairs.into_iter().map(|(from, to)| (from.to_owned(), to.to_owned())).unzip();
    sqlx::query(
        "INSERT INTO legal_moves (machine, from_state, to_state)
         SELECT $1, * FROM unnest($2::text[], $3::text[]) ON CONFLICT DO NOTHING",
    )
    .bind(M::NAME)
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
    pub fn of<M: Machine>() -> Self {
        Self {
            name: M::NAME,
            table: M::TABLE,
            parent_end: M::PARENT_END,
            is_driven: M::STATES.iter().any(|it| M::is_driven(*it)),
            moves: moves::<M>,
            mermaid: mermaid::<M>,
            unsound: unsound::<M>,
            teach: |tx| Box::pin(teach::<M>(tx)),
        }
    }

    /// As [`teach`].
    pub async fn teach(&self, tx: &mut Tx) -> sqlx::Result<()> {
        (self.teach)(tx).await
    }
}
