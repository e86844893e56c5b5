//! No request waits for a second database connection while it holds one.

use std::sync::Arc;

use kernel::{Access, Tx, one_connection};
use testkit::{Database, Server, World};

async fn world() -> World {
    let server = Server::alone(Arc::new(Database::new().await), |config| {
        config.database.max_connections = 1;
        config.database.acquire_timeout_ms = 1_000;
    });
    World::on(server.await).await
}

#[tokio::test(flavor = "multi_thread")]
async fn known_hosts_need_one_connection() {
    let world = world().await;
    let asked = (0..8).map(|_| reqwest::get(format!("{}/v1/ssh-known-hosts", world.server.base)));
    for answer in futures_util::future::join_all(asked).await {
        let answer = answer.unwrap();
        assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn second_connection_of_one_request_is_refused() {
    let world = world().await;
    let db = &world.server.control_plane.db;
    one_connection(async {
        let held = Tx::system(db, "test", Access::Read).await.unwrap();
        let second = Tx::system(db, "test", Access::Read).await;
        assert!(second.is_err_and(|it| it.to_string().contains("holds one")), "it would wait for itself");
        held.commit().await.unwrap();
        Tx::system(db, "test", Access::Read).await.unwrap().commit().await.unwrap();
    })
    .await;
}
