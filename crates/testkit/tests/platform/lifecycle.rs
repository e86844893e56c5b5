//! State moves in one place, and the database holds everyone to it.

use contract::{id::ProjectId, projects::ProjectState};
use kernel::{
    Access, Tx,
    lifecycle::{TransitionError, Versioned, transition},
};
use people::projects::lifecycle::{Event, ProjectLifecycle};
use testkit::World;

async fn tx(world: &World) -> Tx {
    Tx::system(&world.server.control_plane.db, "test", Access::Write).await.unwrap()
}

fn row(id: ProjectId, organization: contract::id::OrganizationId, version: i64) -> Versioned<ProjectState> {
    Versioned { id: id.uuid(), organization: Some(organization.uuid()), state: ProjectState::Active, version }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_illegal_event_and_a_stale_version_are_refused() {
    let world = World::new().await;
    let (organization, _) = world.organization().await;
    let project = world.project(organization).await;
    let mut tx = tx(&world).await;
    let illegal = transition::<ProjectLifecycle>(&mut tx, row(project, organization, 1), Event::Deleted, "").await;
    let said = illegal.unwrap_err().to_string();
    assert_eq!(said, "project does not allow `deleted` while active; it does while deleting");
    let stale =
        transition::<ProjectLifecycle>(&mut tx, row(project, organization, 7), Event::DeleteRequested, "").await;
    assert!(matches!(stale, Err(TransitionError::Stale { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn race_of_two_movers_has_one_winner() {
    let world = World::new().await;
    let (organization, _) = world.organization().await;
    let project = world.project(organization).await;
    let step = |world: &World| {
        let db = world.server.control_plane.db.clone();
        async move {
            let mut tx = Tx::system(&db, "test", Access::Write).await.unwrap();
            let moved =
                transition::<ProjectLifecycle>(&mut tx, row(project, organization, 1), Event::DeleteRequested, "")
                    .await;
            match moved {
                Ok(_) => tx.commit().await.is_ok(),
                Err(_) => false,
            }
        }
    };
    let (a, b) = tokio::join!(step(&world), step(&world));
    assert!(a ^ b, "{a} {b}");
}

/// The guard is in the database: not even its superuser moves a row past it.
#[tokio::test(flavor = "multi_thread")]
async fn the_database_refuses_moves_that_no_lifecycle_makes() {
    let world = World::new().await;
    let (organization, _) = world.organization().await;
    let project = world.project(organization).await;
    let mut connection = world.server.database.superuser().await;
    for statement in [
        "UPDATE projects SET state = 'deleted', version = version + 1 WHERE id = $1", // tidy: planted, the guard must refuse it
        "UPDATE projects SET state = 'deleting' WHERE id = $1", // tidy: planted, the guard must refuse it
        "UPDATE projects SET state = 'nonsense', version = version + 1 WHERE id = $1", // tidy: planted, the guard must refuse it
        "INSERT INTO projects (id, organization_id, name, state) SELECT gen_random_uuid(), organization_id, 'x', 'deleting' FROM projects WHERE id = $1",
    ] {
        let refused = sqlx::query(statement).bind(project.uuid()).execute(&mut connection).await.unwrap_err();
        let code = refused.as_database_error().and_then(|it| it.code().map(|it| it.into_owned()));
        assert_eq!(code.as_deref(), Some("23514"), "{statement}: {refused}");
    }
}

/// Whoever moves a row wakes its reconciler; without one the row waits for ever.
#[tokio::test(flavor = "multi_thread")]
async fn every_lifecycle_that_is_driven_has_a_reconciler() {
    let world = World::new().await;
    let kinds = gpuaasd::roles::workers(&world.server.control_plane).kinds();
    let driven: Vec<&str> = gpuaasd::areas::lifecycles().iter().filter(|it| it.is_driven).map(|it| it.name).collect();
    assert!(driven.len() > 10, "the registry was read: {driven:?}");
    for name in driven {
        assert!(kinds.contains(&name), "{name} is driven; register its reconciler in its folder");
    }
}
