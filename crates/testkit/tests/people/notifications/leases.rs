//! A lease that ends: told once, in time, of an allocation on a simulated host.

use std::time::Duration;

use contract::{
    Nothing,
    allocations::{AllocationSpec, AllocationState},
    events::{EventFilter, ListEvents},
    notification_kinds::NotificationKind,
    notifications::{ListNotifications, NotificationFilter},
    organizations::OrganizationPath,
};
use testkit::{Cloud, cloud::ask, server::eventually};

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_of_a_lease_is_notified_once_before_it_ends() {
    let cloud = Cloud::new(1, 2).await;
    let tenant = cloud.tenant().await;
    let short = tenant.get_one(AllocationSpec { lease_minutes: contract::Within::new(5), ..ask(1) }).await;
    let told = async || {
        let query = NotificationFilter { kind: Some(NotificationKind::AllocationLeaseEnding), ..Default::default() };
        tenant.client.call::<ListNotifications>(Nothing {}, query, Nothing {}).await.unwrap().items
    };
    assert_eq!(told().await, [], "there is time");
    // Of a lease this short a quarter is left when it is told.
    cloud.world().server.control_plane.db.clock.advance(Duration::from_secs(230));
    eventually("the end of the lease to be told", || async { !told().await.is_empty() }).await;
    assert_eq!(told().await[0].resource, Some(short.id.to_string()));
    cloud.world().server.control_plane.db.clock.advance(Duration::from_secs(71));
    tenant.reaches(short.id, AllocationState::Released).await;
    assert_eq!(told().await.len(), 1);
    let path = OrganizationPath { organization_id: tenant.organization };
    let query = EventFilter { subject: Some("allocation.lease_ending".into()), ..Default::default() };
    let events = tenant.client.call::<ListEvents>(path, query, Nothing {}).await.unwrap().items;
    assert_eq!(events.len(), 1, "webhooks hear of it too, once");
    println!("{}", told().await[0].title);
}
