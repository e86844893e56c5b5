//! Downloads of recordings that are larger than memory should be.

use std::{fmt::Write, sync::Arc};

use contract::id::{OrganizationId, RecordingId};
use gpuaasd::roles::Role;
use sqlx::Connection;
use testkit::{Database, Member, Server, World, door::memory_kib, server::eventually};
use uuid::Uuid;

const PIECES: usize = 96;
const LINES: usize = 256;
const LINE_BYTES: usize = 4096;

/// A sealed recording of 96 MiB of output, in pieces of one each.
async fn recording(world: &World, organization: OrganizationId) -> RecordingId {
    let (id, other) = (RecordingId::generate(), Uuid::now_v7());
    let store = world.server.control_plane.access.recordings.clone().unwrap();
    let mut above = world.server.database.superuser().await;
    sqlx::raw_sql("SET session_replication_role = replica").execute(&mut above).await.unwrap();
    sqlx::query(
        "INSERT INTO access_sessions (id, organization_id, project_id, allocation_id, node_id, kind, actor, principal_id,
           address, gateway_id, generation, grace_seconds, until, state, ended_at)
         VALUES ($1, $2, $1, $1, $1, 'terminal', 'user:x', $1, '192.0.2.1', $1, 1, 60, app_now(), 'ended', app_now())",
    )
    .bind(other)
    .bind(organization.uuid())
    .execute(&mut above)
    .await
    .unwrap();
    sqlx::query(
        "INSERT INTO recordings (id, organization_id, session_id, has_input, state, root, sealed_at, delete_at)
         VALUES ($1, $2, $3, false, 'sealed', 'planted', app_now(), app_now() + interval '1 day')",
    )
    .bind(id.uuid())
    .bind(organization.uuid())
    .bind(other)
    .execute(&mut above)
    .await
    .unwrap();
    sqlx::query(
        "INSERT INTO recording_segments (organization_id, recording_id, number, gateway_id, from_offset, is_complete)
         VALUES ($1, $2, 0, $3, 0, true)",
    )
    .bind(organization.uuid())
    .bind(id.uuid())
    .bind(other)
    .execute(&mut above)
    .await
    .unwrap();
    let output = "x".repeat(LINE_BYTES);
    for number in 0..PIECES {
        let mut text = String::new();
        if number == 0 {
            text.push_str("{\"version\":2,\"width\":80,\"height\":24}\n");
        }
        for line in 0..LINES {
            writeln!(text, "[{}.{line:03},\"o\",\"{output}\"]", number).unwrap();
        }
        let bytes = zstd::encode_all(text.as_bytes(), 1).unwrap();
        let (at, size) = (number * LINES * LINE_BYTES, bytes.len());
        let piece = u32::try_from(number).unwrap();
        store.put(&access::recordings::key(id, 0, piece), bytes.into()).await.unwrap();
        sqlx::query(
            "INSERT INTO recording_chunks (organization_id, recording_id, segment, number, sha256, size_bytes,
               from_offset, to_offset, began_ms, ended_ms)
             VALUES ($1, $2, 0, $3, decode(repeat('00', 32), 'hex'), $4, $5, $6, $7, $7)",
        )
        .bind(organization.uuid())
        .bind(id.uuid())
        .bind(i32::try_from(number).unwrap())
        .bind(i32::try_from(size).unwrap())
        .bind(at as i64)
        .bind((at + LINES * LINE_BYTES) as i64)
        .bind(number as i64 * 1000)
        .execute(&mut above)
        .await
        .unwrap();
    }
    above.close().await.unwrap();
    id
}

/// Where tests share a process, one measures the memory that the other uses.
static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

async fn ask(world: &World, owner: &Member, path: &str) -> reqwest::Response {
    let request = reqwest::Client::new().get(format!("{}{path}", world.server.base)).bearer_auth(&owner.token);
    request.send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn recording_is_downloaded_in_constant_memory_and_without_a_connection() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(Arc::new(Database::new().await), &[Role::Api], |config| {
        config.recordings.folder = Some(folder.path().to_owned());
    });
    let world = World::on(server.await).await;
    let (organization, owner) = world.organization().await;
    let id = recording(&world, organization).await;
    let path = format!("/v1/organizations/{organization}/recordings/{id}/asciicast");
    let before = memory_kib(std::process::id());
    let (mut downloads, mut total, mut most) = (Vec::new(), 0, 0);
    for _ in 0..2 {
        let answer = ask(&world, &owner, &path).await;
        assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
        downloads.push(answer);
    }
    // Each of them is under way, and holds nothing of the database.
    for answer in &mut downloads {
        total += answer.chunk().await.unwrap().unwrap().len();
    }
    eventually("no connection to be in use", || async { world.server.control_plane.db.pool_use().0 == 0 }).await;
    for answer in &mut downloads {
        let mut parts = 0;
        while let Some(bytes) = answer.chunk().await.unwrap() {
            total += bytes.len();
            parts += 1;
            if parts % 32 == 0 {
                most = most.max(memory_kib(std::process::id()).saturating_sub(before));
            }
        }
    }
    println!("2 downloads at once, {} MiB: the process grew by {} MiB at most", total >> 20, most >> 10);
    assert!(total > 2 * PIECES * LINES * LINE_BYTES, "{total} bytes came");
    assert!(most < 48 << 10, "it grew by {most} KiB");
    let part = ask(&world, &owner, &format!("{path}?from_s=10&to_s=11")).await.text().await.unwrap();
    assert!(part.lines().count() < 4 * LINES, "a part is a part");
}

#[tokio::test(flavor = "multi_thread")]
async fn downloads_of_one_caller_are_bounded_and_leave_room_for_others() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(Arc::new(Database::new().await), &[Role::Api], |config| {
        config.recordings.folder = Some(folder.path().to_owned());
    });
    let world = World::on(server.await).await;
    let (organization, owner) = world.organization().await;
    let other = world.member_of(organization, contract::Role::Owner).await;
    let id = recording(&world, organization).await;
    let path = format!("/v1/organizations/{organization}/recordings/{id}/asciicast");
    // Nobody reads on: each is under way for as long as it is held.
    let mut downloads = Vec::new();
    for _ in 0..4 {
        let answer = ask(&world, &owner, &path).await;
        assert_eq!(answer.status(), 200);
        downloads.push(answer);
    }
    let refused = ask(&world, &owner, &path).await;
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (429, "5"));
    assert_eq!(ask(&world, &other, &path).await.status(), 200, "others download");
    drop(downloads);
    eventually("the first caller to have room again", || async { ask(&world, &owner, &path).await.status() == 200 })
        .await;
}
