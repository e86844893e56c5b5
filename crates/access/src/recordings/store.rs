//! The rows of `recordings`, their segments and their pieces.

use std::time::Duration;

use contract::{
    Timestamp, Word,
    access_sessions::AccessSessionState,
    id::{AccessSessionId, GatewayId, OrganizationId, RecordingId},
    recordings::{AllRecordingsFilter, Recording, RecordingState},
};
use kernel::{Tx, clock, lifecycle::Versioned};
use uuid::Uuid;

use platform::rows;

/// A recording that has begun and can be added to.
pub struct OpenRecording {
    pub id: RecordingId,
    pub has_input: bool,
    /// How many segments it has.
    pub segments: i32,
    /// The offset that they reach to.
    pub to: u64,
}

/// The session's recording that is not sealed, kept from being so until the commit.
pub async fn open_of(tx: &mut Tx, session: AccessSessionId) -> sqlx::Result<Option<OpenRecording>> {
    let row: Option<(Uuid, bool, i32, i64)> = sqlx::query_as(
        "SELECT r.id, r.has_input, coalesce((SELECT max(number) + 1 FROM recording_segments WHERE recording_id = r.id), 0),
           coalesce((SELECT max(to_offset) FROM recording_chunks WHERE recording_id = r.id), 0)
         FROM recordings r WHERE r.session_id = $1 AND r.state = 'recording' ORDER BY r.id DESC LIMIT 1 FOR UPDATE",
    )
    .bind(session.uuid())
    .fetch_optional(tx.conn())
    .await?;
    let open = |(id, has_input, segments, to): (Uuid, bool, i32, i64)| OpenRecording {
        id: id.into(),
        has_input,
        segments,
        to: u64::try_from(to).unwrap_or(0),
    };
    Ok(row.map(open))
}

/// A part that a gateway is told to write.
pub struct Part {
    pub recording: RecordingId,
    pub segment: u32,
    pub has_input: bool,
}

/// Notes that one more part is to be written: of the recording that the session
/// has, or else of this one. Its number is nobody else's, whether it begins or not.
pub async fn add_part(
    tx: &mut Tx,
    session: AccessSessionId,
    recording: RecordingId,
    has_input: bool,
    segments: i32,
) -> sqlx::Result<Part> {
    let (recording, number, has_input): (Uuid, i32, bool) = sqlx::query_as(
        "UPDATE access_sessions SET recording_id = coalesce(recording_id, $2), recording_parts = greatest(recording_parts, $4) + 1,
           records_input = CASE WHEN recording_id IS NULL THEN $3 ELSE records_input END
         WHERE id = $1 RETURNING recording_id, recording_parts - 1, records_input",
    )
    .bind(session.uuid())
    .bind(recording.uuid())
    .bind(has_input)
    .bind(segments)
    .fetch_one(tx.conn())
    .await?;
    Ok(Part { recording: recording.into(), segment: u32::try_from(number).unwrap_or(0), has_input })
}

/// What a gateway may begin to write for a session that goes through it.
pub struct RecordingPermit {
    pub session: AccessSessionId,
    pub organization: OrganizationId,
    pub has_input: bool,
}

/// Whose recording it is, if the gateway carries the session and was told to write
/// this segment.
pub async fn ordered(
    tx: &mut Tx,
    id: RecordingId,
    segment: u32,
    gateway: GatewayId,
) -> sqlx::Result<Option<RecordingPermit>> {
    let row: Option<(Uuid, Uuid, bool)> = sqlx::query_as(
        "SELECT id, organization_id, records_input FROM access_sessions
         WHERE recording_id = $1 AND gateway_id = $2 AND state <> 'ended' AND recording_parts > $3",
    )
    .bind(id.uuid())
    .bind(gateway.uuid())
    .bind(i32::try_from(segment).unwrap_or(i32::MAX))
    .fetch_optional(tx.conn())
    .await?;
    Ok(row.map(|(session, organization, has_input)| RecordingPermit {
        session: session.into(),
        organization: organization.into(),
        has_input,
    }))
}

/// Begins a recording, unless it has begun; whether it did.
pub async fn insert(tx: &mut Tx, id: RecordingId, of: &RecordingPermit) -> sqlx::Result<bool> {
    let added = sqlx::query(
        "INSERT INTO recordings (id, organization_id, session_id, has_input, state) VALUES ($1, $2, $3, $4, 'recording')
         ON CONFLICT (id) DO NOTHING",
    )
    .bind(id.uuid())
    .bind(of.organization.uuid())
    .bind(of.session.uuid())
    .bind(of.has_input)
    .execute(tx.conn())
    .await?;
    Ok(added.rows_affected() == 1)
}

/// Begins a segment, unless it has begun.
pub async fn add_segment(
    tx: &mut Tx,
    organization: OrganizationId,
    id: RecordingId,
    gateway: GatewayId,
    first: &NewChunk<'_>,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO recording_segments (organization_id, recording_id, number, gateway_id, from_offset)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (recording_id, number) DO NOTHING",
    )
    .bind(organization.uuid())
    .bind(id.uuid())
    .bind(i32::try_from(first.segment).unwrap_or(-1))
    .bind(gateway.uuid())
    .bind(i64::try_from(first.offsets.0).unwrap_or(i64::MAX))
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// A segment as its gateway adds to it.
pub struct Segment {
    pub organization: OrganizationId,
    pub gateway: GatewayId,
    pub state: RecordingState,
    /// The hash of the piece that has the number already.
    pub registered: Option<Vec<u8>>,
}

/// A segment, and the piece of it that has this number.
pub async fn segment(tx: &mut Tx, id: RecordingId, number: u32, piece: u32) -> sqlx::Result<Option<Segment>> {
    let row: Option<(Uuid, Uuid, String, Option<Vec<u8>>)> = sqlx::query_as(
        "SELECT s.organization_id, s.gateway_id, r.state, c.sha256
         FROM recording_segments s JOIN recordings r ON r.id = s.recording_id
         LEFT JOIN recording_chunks c ON c.recording_id = s.recording_id AND c.segment = s.number AND c.number = $3
         WHERE s.recording_id = $1 AND s.number = $2",
    )
    .bind(id.uuid())
    .bind(i32::try_from(number).unwrap_or(-1))
    .bind(i32::try_from(piece).unwrap_or(-1))
    .fetch_optional(tx.conn())
    .await?;
    row.map(|(organization, gateway, state, registered)| {
        let (organization, gateway) = (organization.into(), gateway.into());
        Ok(Segment { organization, gateway, state: rows::known(&state)?, registered })
    })
    .transpose()
}

/// A piece whose bytes are in the store.
pub struct NewChunk<'a> {
    pub segment: u32,
    pub number: u32,
    pub sha256: &'a [u8],
    pub size_bytes: usize,
    pub offsets: (u64, u64),
    pub moments_ms: (u64, u64),
    pub is_last: bool,
}

/// Registers a piece, unless the recording is sealed or another has its number.
pub async fn add_chunk(
    tx: &mut Tx,
    organization: OrganizationId,
    id: RecordingId,
    chunk: &NewChunk<'_>,
) -> sqlx::Result<bool> {
    let number = |it: u64| i64::try_from(it).unwrap_or(i64::MAX);
    let added = sqlx::query(
        "INSERT INTO recording_chunks (organization_id, recording_id, segment, number, sha256, size_bytes, from_offset, to_offset, began_ms, ended_ms)
         SELECT $1, id, $3, $4, $5, $6, $7, $8, $9, $10 FROM recordings WHERE id = $2 AND state = 'recording' FOR SHARE
         ON CONFLICT (recording_id, segment, number) DO NOTHING",
    )
    .bind(organization.uuid())
    .bind(id.uuid())
    .bind(i32::try_from(chunk.segment).unwrap_or(-1))
    .bind(i32::try_from(chunk.number).unwrap_or(-1))
    .bind(chunk.sha256)
    .bind(i32::try_from(chunk.size_bytes).unwrap_or(i32::MAX))
    .bind(number(chunk.offsets.0))
    .bind(number(chunk.offsets.1))
    .bind(number(chunk.moments_ms.0))
    .bind(number(chunk.moments_ms.1))
    .execute(tx.conn())
    .await?;
    if chunk.is_last {
        sqlx::query("UPDATE recording_segments SET is_complete = true WHERE recording_id = $1 AND number = $2")
            .bind(id.uuid())
            .bind(i32::try_from(chunk.segment).unwrap_or(-1))
            .execute(tx.conn())
            .await?;
    }
    Ok(added.rows_affected() == 1)
}

/// The recordings of a session that are not deleted.
pub async fn of_session(tx: &mut Tx, session: AccessSessionId) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar("SELECT id FROM recordings WHERE session_id = $1 AND state <> 'deleted' ORDER BY id")
        .bind(session.uuid())
        .fetch_all(tx.conn())
        .await
}

/// A registered piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    pub segment: u32,
    pub number: u32,
    pub sha256: Vec<u8>,
    pub size_bytes: u64,
    pub from: u64,
    pub to: u64,
    pub began_ms: u64,
    pub ended_ms: u64,
}

type ChunkColumns = (i32, i32, Vec<u8>, i32, i64, i64, i64, i64);

/// The pieces of a recording in their order. Their moments count from its start;
/// gateways count from the start of a segment.
pub async fn chunks(tx: &mut Tx, id: RecordingId, limit: i64) -> sqlx::Result<Vec<Chunk>> {
    let rows: Vec<ChunkColumns> = sqlx::query_as(
        "SELECT c.segment, c.number, c.sha256, c.size_bytes, c.from_offset, c.to_offset, c.began_ms + s.after_ms, c.ended_ms + s.after_ms
         FROM recording_chunks c JOIN (
           SELECT s.number, (extract(epoch FROM s.created_at - r.created_at) * 1000)::bigint AS after_ms
           FROM recording_segments s JOIN recordings r ON r.id = s.recording_id WHERE r.id = $1) AS s ON s.number = c.segment
         WHERE c.recording_id = $1 ORDER BY c.segment, c.number LIMIT $2",
    )
    .bind(id.uuid())
    .bind(limit)
    .fetch_all(tx.conn())
    .await?;
    let small = |it: i32| u32::try_from(it).unwrap_or(0);
    let large = |it: i64| u64::try_from(it).unwrap_or(0);
    let chunk = |(segment, number, sha256, size, from, to, began, ended): ChunkColumns| Chunk {
        segment: small(segment),
        number: small(number),
        sha256,
        size_bytes: u64::from(small(size)),
        from: large(from),
        to: large(to),
        began_ms: large(began),
        ended_ms: large(ended),
    };
    Ok(rows.into_iter().map(chunk).collect())
}

/// A segment as readers see it: its number, whether its gateway finished it, and
/// how long after the recording's start it began.
pub async fn segments(tx: &mut Tx, id: RecordingId) -> sqlx::Result<Vec<(u32, bool, Duration)>> {
    let rows: Vec<(i32, bool, f64)> = sqlx::query_as(
        "SELECT s.number, s.is_complete, extract(epoch FROM s.created_at - r.created_at)::float8
         FROM recording_segments s JOIN recordings r ON r.id = s.recording_id WHERE s.recording_id = $1 ORDER BY s.number",
    )
    .bind(id.uuid())
    .fetch_all(tx.conn())
    .await?;
    let segment = |(number, is_complete, after): (i32, bool, f64)| {
        (u32::try_from(number).unwrap_or(0), is_complete, Duration::try_from_secs_f64(after).unwrap_or_default())
    };
    Ok(rows.into_iter().map(segment).collect())
}

/// Forgets pieces whose bytes are gone.
pub async fn forget_chunks(tx: &mut Tx, id: RecordingId, chunks: &[Chunk]) -> sqlx::Result<()> {
    let numbers =
        |of: fn(&Chunk) -> u32| -> Vec<i32> { chunks.iter().map(|it| i32::try_from(of(it)).unwrap_or(-1)).collect() };
    sqlx::query(
        "DELETE FROM recording_chunks c USING unnest($2::int[], $3::int[]) AS gone (segment, number)
         WHERE c.recording_id = $1 AND c.segment = gone.segment AND c.number = gone.number",
    )
    .bind(id.uuid())
    .bind(numbers(|it| it.segment))
    .bind(numbers(|it| it.number))
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// A recording as a visit finds it.
#[derive(Debug, Clone)]
pub struct Visit {
    pub id: RecordingId,
    pub organization: OrganizationId,
    pub project: Uuid,
    pub session: AccessSessionState,
    pub state: RecordingState,
    pub version: i64,
    /// For how long its session has been over.
    pub over_for: Option<Duration>,
    /// Whether every gateway that wrote it finished.
    pub is_complete: bool,
    /// How long until it may be deleted.
    pub keep: Option<Duration>,
    pub now: Timestamp,
}

#[derive(sqlx::FromRow)]
struct VisitRow {
    id: Uuid,
    organization_id: Uuid,
    project_id: Uuid,
    session_state: String,
    state: String,
    version: i64,
    over_s: Option<f64>,
    is_complete: bool,
    keep_s: Option<f64>,
    now: jiff_sqlx::Timestamp,
}

pub async fn visit(tx: &mut Tx, id: Uuid) -> sqlx::Result<Option<Visit>> {
    let row: Option<VisitRow> = sqlx::query_as(
        "SELECT r.id, r.organization_id, s.project_id, s.state AS session_state, r.state, r.version,
           extract(epoch FROM app_now() - s.ended_at)::float8 AS over_s,
           NOT EXISTS (SELECT FROM recording_segments p WHERE p.recording_id = r.id AND NOT p.is_complete) AS is_complete,
           extract(epoch FROM r.delete_at - app_now())::float8 AS keep_s, app_now() AS now
         FROM recordings r JOIN access_sessions s ON s.id = r.session_id WHERE r.id = $1",
    )
    .bind(id)
    .fetch_optional(tx.conn())
    .await?;
    let span = |it: Option<f64>| it.map(|it| Duration::try_from_secs_f64(it).unwrap_or_default());
    row.map(|row| {
        Ok(Visit {
            id: row.id.into(),
            organization: row.organization_id.into(),
            project: row.project_id,
            session: rows::known(&row.session_state)?,
            state: rows::known(&row.state)?,
            version: row.version,
            over_for: span(row.over_s),
            is_complete: row.is_complete,
            keep: span(row.keep_s),
            now: row.now.to_jiff(),
        })
    })
    .transpose()
}

impl Visit {
    pub fn row(&self) -> Versioned<RecordingState> {
        let organization = Some(self.organization.uuid());
        Versioned { id: self.id.uuid(), organization, state: self.state, version: self.version }
    }
}

pub async fn sealed(tx: &mut Tx, id: RecordingId, root: &str, delete_at: Timestamp) -> sqlx::Result<()> {
    sqlx::query("UPDATE recordings SET sealed_at = app_now(), root = $2, delete_at = $3 WHERE id = $1")
        .bind(id.uuid())
        .bind(root)
        .bind(clock::bind(delete_at))
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Recordings that somebody should be looking after.
pub async fn overdue(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "SELECT r.id FROM recordings r JOIN access_sessions s ON s.id = r.session_id
         WHERE (r.state = 'recording' AND s.state = 'ended') OR (r.state = 'sealed' AND r.delete_at <= app_now()) LIMIT $1",
    )
    .bind(limit)
    .fetch_all(tx.conn())
    .await
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    project_id: Uuid,
    allocation_id: Uuid,
    session_id: Uuid,
    actor: String,
    user_id: Option<Uuid>,
    state: String,
    version: i64,
    has_input: bool,
    duration_ms: i64,
    size_bytes: i64,
    created_at: jiff_sqlx::Timestamp,
    sealed_at: Option<jiff_sqlx::Timestamp>,
    root: Option<String>,
}

const SELECT: &str = "SELECT r.id, r.organization_id, s.project_id, s.allocation_id, r.session_id, s.actor, s.user_id, r.state, r.version,
    r.has_input, totals.duration_ms, totals.size_bytes, r.created_at, r.sealed_at, r.root
  FROM recordings r JOIN access_sessions s ON s.id = r.session_id
  CROSS JOIN LATERAL (SELECT coalesce(max(c.ended_ms + (extract(epoch FROM p.created_at - r.created_at) * 1000)::bigint), 0) AS duration_ms,
      coalesce(sum(c.size_bytes), 0)::bigint AS size_bytes
    FROM recording_chunks c JOIN recording_segments p ON p.recording_id = c.recording_id AND p.number = c.segment
    WHERE c.recording_id = r.id) AS totals";

pub async fn get(tx: &mut Tx, id: RecordingId) -> sqlx::Result<Option<Recording>> {
    let statement = format!("{SELECT} WHERE r.id = $1");
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    row.map(recording).transpose()
}

pub async fn list(tx: &mut Tx, filter: &AllRecordingsFilter) -> sqlx::Result<Vec<Recording>> {
    let statement = format!(
        "{SELECT} WHERE ($1::uuid IS NULL OR r.organization_id = $1)
           AND CASE WHEN $2::text IS NULL THEN r.state <> 'deleted' ELSE r.state = $2 END
           AND ($3::uuid IS NULL OR s.allocation_id = $3) AND ($4::uuid IS NULL OR s.user_id = $4)
           AND ($5::timestamptz IS NULL OR r.created_at >= $5) AND ($6::timestamptz IS NULL OR r.created_at < $6)
           AND ($7::uuid IS NULL OR r.id < $7) ORDER BY r.id DESC LIMIT $8"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(filter.organization_id.map(|it| it.uuid()))
        .bind(filter.state.map(|it| it.as_str()))
        .bind(filter.allocation_id.map(|it| it.uuid()))
        .bind(filter.user_id.map(|it| it.uuid()))
        .bind(filter.since.map(clock::bind))
        .bind(filter.until.map(clock::bind))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(recording).collect()
}

fn recording(row: Row) -> sqlx::Result<Recording> {
    let count = |it: i64| u64::try_from(it).unwrap_or(0);
    Ok(Recording {
        id: row.id.into(),
        organization_id: row.organization_id.into(),
        project_id: row.project_id.into(),
        allocation_id: row.allocation_id.into(),
        session_id: row.session_id.into(),
        opened_by: row.actor,
        user_id: row.user_id.map(Into::into),
        state: rows::word(&row.state)?,
        version: row.version,
        has_input: row.has_input,
        duration_ms: count(row.duration_ms),
        size_bytes: count(row.size_bytes),
        created_at: row.created_at.to_jiff(),
        sealed_at: row.sealed_at.map(|it| it.to_jiff()),
        root: row.root,
    })
}
