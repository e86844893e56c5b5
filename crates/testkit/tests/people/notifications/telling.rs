//! Who is told of what, in the console.

use client::ClientError;
use contract::{
    Code, Nothing, Role,
    notification_kinds::NotificationKind,
    notifications::{
        GetNotificationPreferences, NotificationPath, NotificationPreferencePath, NotificationPreferenceSpec, ReadMark,
        ReadNotification, ReadNotifications, SetNotificationPreference,
    },
    users::{EraseUser, UserPath},
};
use serde_json::json;
use sqlx::Connection;

use super::stand::{Stand, about};

#[tokio::test(flavor = "multi_thread")]
async fn an_event_notifies_those_whom_it_concerns_once() {
    let stand = Stand::new().await;
    let (admin, billing) = (stand.member(Role::Admin).await, stand.member(Role::Billing).await);
    let (member, viewer) = (stand.member(Role::Member).await, stand.member(Role::Viewer).await);
    let (_, stranger) = stand.world.organization().await;
    stand.is_told("wallet.balance_low", about("wallet-1")).await;
    for told in [&stand.owner, &admin, &billing] {
        let list = stand.told(told).await;
        assert_eq!(list.len(), 1, "{list:?}");
        assert_eq!(list[0].kind, NotificationKind::WalletLow);
        assert_eq!(list[0].title, "The balance of Test Organization is low");
        assert_eq!((list[0].is_read, list[0].mail.is_none()), (false, true));
    }
    for untold in [&member, &viewer, &stranger] {
        assert_eq!(stand.told(untold).await, [], "only who pays is told");
    }
    println!("told: owner, admin, billing; not told: member, viewer, another organization");
}

#[tokio::test(flavor = "multi_thread")]
async fn requester_of_an_allocation_is_notified_and_the_stewards_where_there_is_none() {
    let stand = Stand::new().await;
    let (member, other) = (stand.member(Role::Member).await, stand.member(Role::Member).await);
    let project = stand.world.project(stand.organization).await;
    let own = stand.allocation(project, &format!("user:{}", member.id)).await;
    let of_a_program = stand.allocation(project, "service_account:sa-1").await;
    for subject in ["allocation.node_lost", "allocation.force_released", "allocation.provision_failed"] {
        stand.is_told(subject, about(own)).await;
    }
    let kinds: Vec<_> = stand.told(&member).await.into_iter().map(|it| it.kind.to_string()).collect();
    assert_eq!(kinds, ["allocation_failed", "allocation_taken_back", "allocation_node_lost"], "newest first");
    assert_eq!(stand.told(&stand.owner).await, [], "a steward is not told of everything");
    stand.is_told("allocation.lease_ending", json!({ "id": own.to_string() })).await;
    let ending = &stand.told(&member).await[0];
    assert_eq!(ending.title, "The lease of train-<1> ends 2030-01-02 03:04 UTC");
    stand.is_told("allocation.node_lost", about(of_a_program)).await;
    let lost = &stand.told(&stand.owner).await[0];
    assert_eq!(lost.title, "Allocation train-<1> ended: its host is lost");
    assert!(lost.body.contains("Reason: the host fell silent."), "{}", lost.body);
    assert_eq!(lost.resource, Some(of_a_program.to_string()));
    stand
        .is_told(
            "maintenance_window.announced",
            json!({ "id": "maint-1", "project_id": project.to_string(), "starts_at": "2030-05-01T00:00:00Z",
                "ends_at": "2030-05-02T00:00:00Z", "reason": "new cables" }),
        )
        .await;
    assert_eq!(stand.told(&member).await[0].kind, NotificationKind::MaintenancePlanned);
    assert_eq!(stand.told(&stand.owner).await[0].kind, NotificationKind::MaintenancePlanned);
    assert_eq!(stand.told(&other).await, [], "they have nothing there");
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_are_notified_of_allocations_that_need_attention() {
    let stand = Stand::new().await;
    let operator = stand.world.operator().await;
    let project = stand.world.project(stand.organization).await;
    let allocation = stand.allocation(project, &format!("user:{}", stand.owner.id)).await;
    stand.is_told("allocation.cleaning_failed", about(allocation)).await;
    for told in [&stand.owner, &operator] {
        assert_eq!(stand.told(told).await[0].kind, NotificationKind::AllocationNeedsAttention);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn notifications_are_read_one_by_one_or_all() {
    let stand = Stand::new().await;
    for _ in 0..4 {
        stand.is_told("wallet.balance_low", about("wallet-1")).await;
    }
    let session = stand.world.signed_in(stand.owner.id).await;
    let list = stand.told(&stand.owner).await;
    assert_eq!((list.len(), stand.unread(&stand.owner).await), (4, 4));
    let path = NotificationPath { notification_id: list[0].id };
    let read = session.call::<ReadNotification>(path.clone(), Nothing {}, Nothing {}).await.unwrap();
    assert!(read.is_read && stand.unread(&stand.owner).await == 3);
    session.call::<ReadNotification>(path.clone(), Nothing {}, Nothing {}).await.unwrap();
    let up_to = ReadMark { up_to: Some(list[2].id) };
    let left = session.call::<ReadNotifications>(Nothing {}, Nothing {}, up_to).await.unwrap();
    assert_eq!(left.unread, 1, "the one that came after stays");
    let left = session.call::<ReadNotifications>(Nothing {}, Nothing {}, ReadMark::default()).await.unwrap();
    assert_eq!(left.unread, 0);
    let (_, stranger) = stand.world.organization().await;
    let stranger = stand.world.signed_in(stranger.id).await;
    let refused = stranger.call::<ReadNotification>(path, Nothing {}, Nothing {}).await.unwrap_err();
    assert!(refused.is(Code::NotFound), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notification_arrives_over_the_socket_and_so_does_its_being_read() {
    let stand = Stand::new().await;
    let billing = stand.member(Role::Billing).await;
    let mut watch = stand.world.watch_notifications(&stand.owner.token).await;
    assert_eq!(watch.next().await, json!({ "type": "ready", "unread": 0 }));
    stand.happens("wallet.grace_started", about("wallet-1")).await;
    let frame = watch.next().await;
    assert_eq!((&frame["type"], &frame["unread"]), (&json!("notification"), &json!(1)), "{frame}");
    assert_eq!(frame["notification"]["kind"], "wallet_grace");
    // What others do with theirs is not told here.
    let theirs = stand.world.signed_in(billing.id).await;
    theirs.call::<ReadNotifications>(Nothing {}, Nothing {}, ReadMark::default()).await.unwrap();
    let session = stand.world.signed_in(stand.owner.id).await;
    session.call::<ReadNotifications>(Nothing {}, Nothing {}, ReadMark::default()).await.unwrap();
    assert_eq!(watch.next().await, json!({ "type": "read", "unread": 0 }));
    watch.send(r#"{"type":"ping"}"#).await;
    assert_eq!(watch.next().await["type"], "pong");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_of_the_organization_shows_a_person_their_own_notifications_only() {
    let stand = Stand::new().await;
    let member = stand.member(Role::Member).await;
    let mut owners = stand.world.watch(stand.organization, &stand.owner.token, "notification.").await;
    let mut members = stand.world.watch(stand.organization, &member.token, "").await;
    for watch in [&mut owners, &mut members] {
        assert_eq!(watch.next().await["type"], "ready");
    }
    stand.is_told("wallet.balance_low", about("wallet-1")).await;
    let told = owners.next().await["event"].clone();
    assert_eq!((&told["subject"], &told["data"]["kind"]), (&json!("notification.created"), &json!("wallet_low")));
    assert_eq!(told["data"]["user_id"], stand.owner.id.to_string());
    let session = stand.world.signed_in(stand.owner.id).await;
    session.call::<ReadNotifications>(Nothing {}, Nothing {}, ReadMark::default()).await.unwrap();
    assert_eq!(owners.next().await["event"]["subject"], "notification.read");
    // A member is not told of the wallet, and hears nothing of what the owner was told.
    stand.happens("wallet.funded", about("wallet-1")).await;
    let mut heard: Vec<String> = Vec::new();
    // What happened before it watched may come first.
    while heard.last().is_none_or(|it| it != "wallet.funded") {
        heard.push(members.next().await["event"]["subject"].as_str().unwrap().to_owned());
    }
    assert!(heard.iter().any(|it| it == "wallet.balance_low"), "{heard:?}");
    assert!(!heard.iter().any(|it| it.starts_with("notification.")), "{heard:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn people_choose_their_notifications_but_not_those_that_end_their_work() {
    let stand = Stand::new().await;
    stand.prefer(&stand.owner, NotificationKind::WalletLow, Some(false), None).await;
    stand.is_told("wallet.balance_low", about("wallet-1")).await;
    assert_eq!(stand.told(&stand.owner).await, []);
    stand.prefer(&stand.owner, NotificationKind::WalletLow, Some(true), None).await;
    stand.is_told("wallet.balance_low", about("wallet-1")).await;
    assert_eq!(stand.told(&stand.owner).await.len(), 1);
    let session = stand.world.signed_in(stand.owner.id).await;
    let path = NotificationPreferencePath { notification_kind: NotificationKind::WalletDepleted };
    let body = NotificationPreferenceSpec { in_app: None, email: Some(false) };
    let refused: ClientError = session.call::<SetNotificationPreference>(path, Nothing {}, body).await.unwrap_err();
    assert!(refused.is(Code::InvalidValue) && refused.to_string().contains("mandatory"), "{refused}");
    let all = session.call::<GetNotificationPreferences>(Nothing {}, Nothing {}, Nothing {}).await.unwrap();
    assert!(!all.mail.is_configured && all.mail.refusal.is_none());
    let mandatory: Vec<_> = all.kinds.iter().filter(|it| it.is_mandatory).map(|it| it.kind.to_string()).collect();
    println!("cannot be switched off: {}", mandatory.join(", "));
    assert!(all.kinds.iter().all(|it| !it.is_mandatory || (it.in_app && it.email)));
}

#[tokio::test(flavor = "multi_thread")]
async fn old_event_notifies_nobody() {
    let stand = Stand::new().await;
    let mut connection = stand.world.server.database.superuser().await;
    sqlx::raw_sql("ALTER TABLE outbox ALTER COLUMN at SET DEFAULT now() - interval '73 hours'")
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    stand.is_told("wallet.depleted", about("wallet-1")).await;
    assert_eq!(stand.told(&stand.owner).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn notifications_are_retained_as_long_as_policy_says() {
    let stand = Stand::new().await;
    stand.is_told("wallet.depleted", about("wallet-1")).await;
    let (db, day) = (&stand.world.server.control_plane.db, std::time::Duration::from_secs(86_400));
    assert_eq!(people::notifications::forget_old(db, day, 100).await.unwrap(), 0);
    db.clock.advance(day);
    assert_eq!(people::notifications::forget_old(db, day, 100).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_person_is_notified_of_nothing_and_leaves_nothing() {
    let stand = Stand::new().await;
    let admin = stand.member(Role::Admin).await;
    stand.prefer(&admin, NotificationKind::WalletLow, Some(true), Some(false)).await;
    stand.is_told("wallet.depleted", about("wallet-1")).await;
    let path = UserPath { user_id: admin.id };
    stand.operator.call::<EraseUser>(path, Nothing {}, Nothing {}).await.unwrap();
    stand.is_told("wallet.depleted", about("wallet-1")).await;
    let mut connection = stand.world.server.database.superuser().await;
    for table in ["notifications", "notification_preferences", "mails"] {
        let statement = format!("SELECT count(*) FROM {table} WHERE user_id = $1");
        let left: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(statement))
            .bind(admin.id.uuid())
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(left, 0, "{table}");
    }
    connection.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn stewards_are_notified_of_a_disabled_webhook_without_its_address() {
    let stand = Stand::new().await;
    let (admin, member) = (stand.member(Role::Admin).await, stand.member(Role::Member).await);
    let id = contract::id::WebhookId::generate();
    let mut connection = stand.world.server.database.superuser().await;
    // Its states are guarded by its lifecycle, which is not what is tested here.
    sqlx::raw_sql("SET session_replication_role = replica").execute(&mut connection).await.unwrap();
    sqlx::query(
        "INSERT INTO webhooks (id, organization_id, url, events, state, disabled_reason)
         VALUES ($1, $2, 'https://hooks.example.test/in?key=hidden', '{*}', 'disabled', 'it answered 500')",
    )
    .bind(id.uuid())
    .bind(stand.organization.uuid())
    .execute(&mut connection)
    .await
    .unwrap();
    connection.close().await.unwrap();
    stand.is_told("webhook.disabled", about(id)).await;
    for told in [&stand.owner, &admin] {
        let told = stand.told(told).await.remove(0);
        assert!(told.body.starts_with("Events are no longer sent to hooks.example.test"), "{}", told.body);
        assert!(told.body.contains(&format!("gpuaas webhooks enable {id}")) && !told.body.contains("hidden"));
    }
    assert_eq!(stand.told(&member).await, []);
}
