//! Every endpoint and channel, called by everyone who may not: nobody, a
//! stranger organization, somebody without the permission, an expired key and
//! a revoked one. None may pass, and none may learn that anything exists.

use contract::{
    Auth, Channel, Endpoint, EndpointInfo, Nothing, Permission, Role, Verb, Word,
    allocations::{Allocation, CreateAllocation},
    id::ProjectId,
    projects::ProjectPath,
    skus::{CreateSku, Shape, SkuSpec},
};
use reqwest::{Client, StatusCode};
use sqlx::Connection;
use testkit::{Member, World};

/// What the victim has, and what of it may never show in a stranger's answer.
struct Victim {
    params: Vec<(&'static str, String)>,
    marks: Vec<String>,
    owner: Member,
}

fn every() -> Vec<EndpointInfo> {
    let mut all = Vec::new();
    macro_rules! endpoints { ($($endpoint:path),* $(,)?) => { $( all.push(<$endpoint as Endpoint>::INFO); )* } }
    contract::for_each_endpoint!(endpoints);
    macro_rules! channels { ($($channel:path),* $(,)?) => { $( all.push(<$channel as Channel>::INFO); )* } }
    contract::for_each_channel!(channels);
    all
}

async fn victim(world: &World) -> Victim {
    use contract::{
        invitations::{CreateInvitation, InvitationSpec},
        organizations::OrganizationPath,
        service_accounts::{CreateServiceAccount, CreateServiceAccountKey, ServiceAccountPath, ServiceAccountSpec},
        webhooks::{CreateWebhook, WebhookSpec},
    };
    let (organization, owner) = world.organization().await;
    let project = world.project(organization).await;
    let client = world.as_(&owner);
    let path = || OrganizationPath { organization_id: organization };
    let spec = InvitationSpec { email: "guest@example.test".parse().unwrap(), role: Role::Viewer };
    let invited = client.call::<CreateInvitation>(path(), Default::default(), spec).await.unwrap();
    let spec = ServiceAccountSpec { name: "robot".parse().unwrap(), role: Role::Member };
    let account = client.call::<CreateServiceAccount>(path(), Default::default(), spec).await.unwrap();
    let account_path = ServiceAccountPath { organization_id: organization, service_account_id: account.id };
    let spec = contract::keys::KeySpec {
        name: "robot-key".parse().unwrap(),
        scopes: vec![Permission::ProjectsRead],
        expires_at: None,
    };
    let key = client.call::<CreateServiceAccountKey>(account_path, Default::default(), spec).await.unwrap();
    let allocation = waiting_allocation(world, &owner, project).await;
    let spec = WebhookSpec {
        url: "https://receiver.example.test/hook".parse().unwrap(),
        events: vec!["*".parse().unwrap()],
        description: None,
    };
    let hook = client.call::<CreateWebhook>(path(), Default::default(), spec).await.unwrap();
    let params = vec![
        ("organization_id", organization.to_string()),
        ("project_id", project.to_string()),
        ("user_id", owner.id.to_string()),
        ("session_id", contract::id::SessionId::generate().to_string()),
        ("invitation_id", invited.invitation.id.to_string()),
        ("service_account_id", account.id.to_string()),
        ("key_id", key.key.id.to_string()),
        ("dead_letter_id", contract::id::DeadLetterId::generate().to_string()),
        ("node_id", contract::id::NodeId::generate().to_string()),
        ("slot_id", contract::id::SlotId::generate().to_string()),
        ("enrolment_token_id", contract::id::EnrolmentTokenId::generate().to_string()),
        ("allocation_id", allocation.id.to_string()),
        ("webhook_id", hook.webhook.id.to_string()),
        ("maintenance_window_id", contract::id::MaintenanceWindowId::generate().to_string()),
        ("delivery_id", contract::id::WebhookDeliveryId::generate().to_string()),
        ("pool_id", contract::id::PoolId::generate().to_string()),
        ("sku_id", contract::id::SkuId::generate().to_string()),
        ("ssh_key_id", contract::id::SshKeyId::generate().to_string()),
        ("provider_id", contract::id::ProviderId::generate().to_string()),
        ("machine_id", contract::id::MachineId::generate().to_string()),
        ("notification_id", contract::id::NotificationId::generate().to_string()),
        ("notification_kind", "wallet_low".into()),
        ("correction_id", contract::id::CorrectionId::generate().to_string()),
        ("budget_id", contract::id::BudgetId::generate().to_string()),
        ("invoice_id", contract::id::InvoiceId::generate().to_string()),
        ("journal_id", contract::id::JournalId::generate().to_string()),
        ("payment_id", contract::id::PaymentId::generate().to_string()),
        ("gateway_id", contract::id::GatewayId::generate().to_string()),
        ("access_session_id", contract::id::AccessSessionId::generate().to_string()),
        ("recording_id", contract::id::RecordingId::generate().to_string()),
        ("kind", "project".into()),
        ("id", project.uuid().to_string()),
        ("key", "projects.max".into()),
    ];
    let mut marks: Vec<String> = params.iter().take(3).map(|(_, value)| value.clone()).collect();
    marks.extend([
        owner.email.to_string(),
        "guest@example.test".into(),
        invited.invitation.id.to_string(),
        key.key.id.to_string(),
        allocation.id.to_string(),
        hook.webhook.id.to_string(),
        "receiver.example.test".into(),
    ]);
    Victim { params, marks, owner }
}

/// An allocation that finds no room, because there is no fleet.
async fn waiting_allocation(world: &World, owner: &Member, project: ProjectId) -> Allocation {
    let sku = SkuSpec {
        name: "swept".parse().unwrap(),
        shape: Shape::GpuSlice,
        gpu_model: None,
        gpu_counts: vec![1],
        numa_bound: false,
    };
    let operator = world.operator().await;
    world.as_(&operator).call::<CreateSku>(Nothing {}, Nothing {}, sku).await.unwrap();
    let spec = serde_json::from_value(serde_json::json!({ "sku": "swept", "gpus": 1 })).unwrap();
    let path = ProjectPath { project_id: project };
    world.as_(owner).call::<CreateAllocation>(path, Nothing {}, spec).await.unwrap()
}

fn address(base: &str, info: &EndpointInfo, params: &[(&str, String)]) -> String {
    let mut path = info.path.to_owned();
    for (name, value) in params {
        path = path.replace(&format!("{{{name}}}"), value);
    }
    assert!(!path.contains('{'), "give a value for every parameter of {}", info.path);
    format!("{base}{path}")
}

async fn call(
    http: &Client,
    base: &str,
    info: &EndpointInfo,
    victim: &Victim,
    token: Option<&str>,
) -> (StatusCode, String) {
    let method = reqwest::Method::from_bytes(info.verb.as_str().as_bytes()).unwrap();
    let mut request = http.request(method, address(base, info, &victim.params));
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    if info.success == 101 {
        request = request
            .header("connection", "upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    }
    if matches!(info.verb, Verb::POST | Verb::PUT | Verb::PATCH) {
        request = request.header("idempotency-key", "sweep").header("content-type", "application/json").body("{}");
    }
    let answer = request.send().await.unwrap();
    let status = answer.status();
    (status, answer.text().await.unwrap_or_default())
}

/// What a caller who holds nothing of the victim's must get.
fn for_stranger(info: &EndpointInfo) -> Option<u16> {
    match info.policy.auth {
        Auth::Public { .. } | Auth::SignedIn | Auth::Person => None,
        Auth::Organization(_) | Auth::Project(_) => Some(404),
        Auth::Platform(_) => Some(403),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_passes_who_may_not() {
    let world = World::new().await;
    raise_limits(&world).await;
    let victim = victim(&world).await;
    let base = world.server.base.clone();
    let http = Client::new();
    let (_, stranger) = world.organization().await;
    let expired = world.key(&victim.owner, Permission::ALL).await;
    let revoked = world.key(&victim.owner, Permission::ALL).await;
    let mut connection = world.server.database.superuser().await;
    for (token, change) in [(&expired, "expires_at = now() - interval '1 second'"), (&revoked, "revoked_at = now()")] {
        let statement = format!("UPDATE keys SET {change} WHERE hash = sha256($1::bytea)");
        let done =
            sqlx::query(sqlx::AssertSqlSafe(statement)).bind(token.as_bytes()).execute(&mut connection).await.unwrap();
        assert_eq!(done.rows_affected(), 1);
    }
    connection.close().await.unwrap();

    let mut counts = [0usize; 5];
    for info in every() {
        let is_public = matches!(info.policy.auth, Auth::Public { .. });
        let mut check = |case: usize, (status, body): (StatusCode, String), expected: u16| {
            counts[case] += 1;
            assert_eq!(status.as_u16(), expected, "{} {} case {case}: {body}", info.verb.as_str(), info.path);
            for mark in &victim.marks {
                assert!(!body.contains(mark.as_str()), "{} case {case} leaks {mark}: {body}", info.operation);
            }
        };
        if is_public {
            continue;
        }
        check(0, call(&http, &base, &info, &victim, None).await, 401);
        let answer = call(&http, &base, &info, &victim, Some(&stranger.token)).await;
        // About themselves strangers may ask; the answer must hold nothing of the victim's.
        let expected = for_stranger(&info).unwrap_or(answer.0.as_u16());
        check(1, answer, expected);
        if let Auth::Organization(permission) | Auth::Project(permission) | Auth::Platform(permission) =
            info.policy.auth
        {
            let others: Vec<Permission> = Permission::ALL.iter().copied().filter(|it| *it != permission).collect();
            let limited = world.key(&victim.owner, &others).await;
            check(2, call(&http, &base, &info, &victim, Some(&limited)).await, 403);
        }
        check(3, call(&http, &base, &info, &victim, Some(&expired)).await, 401);
        check(4, call(&http, &base, &info, &victim, Some(&revoked)).await, 401);
    }
    let [nobody, stranger, unpermitted, expired, revoked] = counts;
    println!(
        "swept {} endpoints: nobody {nobody}, stranger {stranger}, without permission {unpermitted}, expired key {expired}, revoked key {revoked}; 0 leaks",
        every().len()
    );
    assert!(nobody >= 55 && stranger >= 55 && unpermitted >= 45 && expired >= 55 && revoked >= 55);
}

/// A role that lacks the permission is refused too, not only a narrow key.
#[tokio::test(flavor = "multi_thread")]
async fn a_role_without_the_permission_is_refused() {
    let world = World::new().await;
    raise_limits(&world).await;
    let victim = victim(&world).await;
    let organization = victim.params[0].1.parse().unwrap();
    let http = Client::new();
    let mut refused = 0;
    for role in Role::ALL {
        let member = world.member_of(organization, *role).await;
        for info in every() {
            let (Auth::Organization(permission) | Auth::Project(permission)) = info.policy.auth else { continue };
            if role.grants(permission) {
                continue;
            }
            let (status, body) = call(&http, &world.server.base, &info, &victim, Some(&member.token)).await;
            assert_eq!(status.as_u16(), 403, "{role} {}: {body}", info.operation);
            refused += 1;
        }
    }
    println!("{refused} calls by roles that lack the permission were refused");
    assert!(refused > 50);
}

async fn raise_limits(world: &World) {
    let operator = world.operator().await;
    for key in [
        "rate_limit.address_per_minute",
        "rate_limit.default_per_minute",
        "rate_limit.admin_per_minute",
        "rate_limit.login_per_minute",
    ] {
        testkit::world::set_policy(&world.as_(&operator), key, "1000000").await;
    }
    world.server.app.policies.refresh(&world.server.app.db).await.unwrap();
}
