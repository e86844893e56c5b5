//! How often a request asks the database, beyond what its handler asks itself.

use std::sync::Arc;

use contract::{
    Endpoint, Name, Permission, Word,
    organizations::OrganizationPath,
    projects::{CreateProject, GetProject, ProjectPath, ProjectSpec},
};
use testkit::{Database, Member, Server, Wire, World, server::eventually};

/// What GetProject's handler asks itself.
const READ: &[&str] = &["the project's row"];
/// What CreateProject's handler asks itself.
const WRITE: &[&str] = &[
    "the limit, read in the transaction because it guards a quota",
    "the organization's row, locked so that two creations cannot pass the limit together",
    "the project's row, inserted unless the limit is reached or the name is taken",
];

struct Counted {
    world: World,
    wire: Wire,
}

impl Counted {
    /// A server that does nothing but answer, so that only requests are counted.
    async fn new() -> Counted {
        let database = Arc::new(Database::new().await);
        let wire = Wire::to(database.clone());
        let server = Server::alone(database, |config| {
            config.database.url = wire.url();
            // One connection: after the first request it knows every statement.
            config.database.max_connections = 1;
        });
        Counted { world: World::on(server.await).await, wire }
    }

    async fn trips<E: Endpoint>(&self, token: &str, path: E::Path, body: E::Body) -> u64
    where
        E::Query: Default,
    {
        let client = self.world.server.client(Some(token));
        let before = self.wire.round_trips();
        client.call::<E>(path, E::Query::default(), body).await.unwrap();
        self.wire.round_trips() - before
    }

    async fn fresh_key(&self, person: &Member) -> String {
        self.world.key(person, Permission::ALL).await
    }
}

fn beyond(what: &str, trips: u64, own: &[&str]) -> u64 {
    let beyond = trips - own.len() as u64;
    println!(
        "{what}: {trips} round trips, {} of them the handler's own ({}), {beyond} beyond",
        own.len(),
        own.join("; ")
    );
    beyond
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_takes_at_most_three_round_trips_beyond_its_handlers_own() {
    let counted = Counted::new().await;
    let (organization, owner) = counted.world.organization().await;
    let known = counted.world.project(organization).await;
    let path = |project_id| ProjectPath { project_id };
    counted.trips::<GetProject>(&owner.token, path(known), Default::default()).await;

    let warm = counted.trips::<GetProject>(&owner.token, path(known), Default::default()).await;
    assert!(beyond("a read by a known caller", warm, READ) <= 3);
    for _ in 0..3 {
        let (key, project) = (counted.fresh_key(&owner).await, counted.world.project(organization).await);
        let cold = counted.trips::<GetProject>(&key, path(project), Default::default()).await;
        assert!(beyond("a read of an unknown project by an unknown caller", cold, READ) <= 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_takes_at_most_six_round_trips_beyond_its_handlers_own() {
    let counted = Counted::new().await;
    let (organization, owner) = counted.world.organization().await;
    let path = || OrganizationPath { organization_id: organization };
    let spec = |name: &str| ProjectSpec { name: name.parse::<Name>().unwrap() };
    counted.trips::<CreateProject>(&owner.token, path(), spec("first")).await;

    let warm = counted.trips::<CreateProject>(&owner.token, path(), spec("warm")).await;
    assert!(beyond("a write by a known caller", warm, WRITE) <= 6);
    for round in 0..3 {
        let key = counted.fresh_key(&owner).await;
        let cold = counted.trips::<CreateProject>(&key, path(), spec(&format!("cold-{round}"))).await;
        assert!(beyond("a write by an unknown caller", cold, WRITE) <= 6);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn under_load_the_end_of_a_read_travels_with_the_next_use() {
    let counted = Counted::new().await;
    let (organization, owner) = counted.world.organization().await;
    let project = counted.world.project(organization).await;
    let client = counted.world.server.client(Some(&owner.token));
    let read = || async {
        client
            .call::<GetProject>(ProjectPath { project_id: project }, Default::default(), Default::default())
            .await
            .unwrap();
    };
    let db = &counted.world.server.control_plane.db;
    // An answer may arrive before the end of its transaction does.
    let is_over = || eventually("the connection to be back", || async { db.pool_use().0 == 0 });
    read().await;
    is_over().await;
    let before = counted.wire.round_trips();
    read().await;
    is_over().await;
    let alone = counted.wire.round_trips() - before;

    // More at once than there are connections, and none begins before all wait, so
    // that somebody always does.
    let at_once = 40;
    let holder = kernel::Tx::system(db, "hold", kernel::Access::Read).await.unwrap();
    let before = counted.wire.round_trips();
    let reads = futures_util::future::join_all((0..at_once).map(|_| read()));
    let release = async {
        eventually("all to wait", || async { db.pool_waiting() as u64 == at_once }).await;
        holder.commit().await.unwrap();
    };
    tokio::join!(reads, release);
    is_over().await;
    let together = counted.wire.round_trips() - before;
    println!("{at_once} reads at once took {together} round trips; one by one they take {}", alone * at_once);
    assert!(together < (alone - 1) * at_once + at_once / 4, "{together}");

    let before = counted.wire.round_trips();
    read().await;
    is_over().await;
    assert_eq!(counted.wire.round_trips() - before, alone, "nothing is owed once nobody waits");
}
