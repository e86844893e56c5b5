//! Requests that are refused: a clear problem, and no trace of them.

use client::ClientError;
use contract::{
    Code,
    allocations::AllocationSpec,
    id::SshKeyId,
    policies::{PolicyValue, ProjectPolicyPath, SetProjectPolicy},
    quotas::{QuotaPath, QuotaSpec, SetQuota},
};
use serde_json::{Value, json};
use testkit::{Cloud, Tenant, cloud::ask};

/// How many rows there are of everything that a request leaves behind.
async fn trace(cloud: &Cloud) -> String {
    let mut above = cloud.world().server.database.superuser().await;
    let statement = "SELECT concat_ws(' ', (SELECT count(*) FROM allocations), (SELECT count(*) FROM allocation_parts),
        (SELECT count(*) FROM tasks), (SELECT count(*) FROM work WHERE kind = 'allocation'),
        (SELECT count(*) FROM outbox WHERE subject LIKE 'allocation.%'), (SELECT count(*) FROM slots WHERE held_by IS NOT NULL))";
    sqlx::query_scalar(statement).fetch_one(&mut above).await.unwrap()
}

/// What is answered to a body that the client's types would not let through.
async fn raw(cloud: &Cloud, tenant: &Tenant, body: Value) -> (u16, Value) {
    let address = format!("{}/v1/projects/{}/allocations", cloud.world().server.base, tenant.project);
    let request = reqwest::Client::new().post(address).bearer_auth(&tenant.owner.token);
    let request = request.header("idempotency-key", uuid::Uuid::now_v7().to_string());
    let answer = request.json(&body).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

fn refused<T: std::fmt::Debug>(answer: Result<T, ClientError>, code: Code, says: &str) {
    let error = answer.unwrap_err();
    assert!(error.is(code), "{error}");
    let text = error.problem().unwrap().detail.clone();
    assert!(text.contains(says), "`{text}` does not say `{says}`");
}

#[tokio::test(flavor = "multi_thread")]
async fn impossible_request_is_refused_clearly_and_leaves_nothing_behind() {
    let cloud = Cloud::new(1, 8).await;
    let (tenant, other) = (cloud.tenant().await, cloud.tenant().await);
    let foreign = cloud.add_key(&other, "theirs").await;
    let before = trace(&cloud).await;

    let label = |text: &str| text.parse().unwrap();
    refused(tenant.try_ask(AllocationSpec { sku: label("h900"), ..ask(1) }).await, Code::InvalidValue, "no SKU `h900`");
    refused(tenant.try_ask(ask(3)).await, Code::InvalidValue, "comes with 1, 2, 4, 8 GPUs");
    let nowhere = AllocationSpec { region: Some(label("moon")), ..ask(1) };
    refused(tenant.try_ask(nowhere).await, Code::InvalidValue, "no region `moon`");
    for key in [foreign.id, SshKeyId::generate()] {
        let spec = AllocationSpec { ssh_keys: Some(vec![key]), ..ask(1) };
        refused(tenant.try_ask(spec).await, Code::InvalidValue, "you have no SSH key");
    }
    refused(
        tenant.try_ask(AllocationSpec { nodes: contract::Within::new(256).unwrap(), ..ask(8) }).await,
        Code::LimitReached,
        "is limited to 64 GPUs",
    );

    let tags: Vec<Value> = vec![
        json!({ "team": "x".repeat(129) }),
        json!({ "x".repeat(65): "y" }),
        json!({ "team": "two\nlines" }),
        Value::Object((0..33).map(|it| (format!("t{it}"), json!("v"))).collect()),
    ];
    let mut bodies: Vec<Value> = tags.into_iter().map(|it| json!({ "sku": "slice", "gpus": 1, "tags": it })).collect();
    for lease in [json!(-5), json!(0), json!(525_601), json!(1.5), json!("soon")] {
        bodies.push(json!({ "sku": "slice", "gpus": 1, "lease_minutes": lease }));
    }
    for gpus in [json!(0), json!(-1), json!(65), json!(70_000)] {
        bodies.push(json!({ "sku": "slice", "gpus": gpus }));
    }
    bodies.push(json!({ "sku": "slice", "gpus": 1, "nodes": 0 }));
    bodies.push(json!({ "sku": "slice", "gpus": 1, "color": "red" }));
    let count = bodies.len();
    for body in bodies {
        let (status, problem) = raw(&cloud, &tenant, body.clone()).await;
        assert!(status == 400 || status == 422, "{body} was answered {status} {problem}");
        assert!(problem["detail"].as_str().is_some_and(|it| !it.is_empty()), "{problem}");
    }
    assert_eq!(trace(&cloud).await, before);
    println!("{} requests that cannot be: refused with a clear problem, no row left", count + 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_and_are_named() {
    let cloud = Cloud::new(1, 8).await;
    let tenant = cloud.tenant().await;
    let path = QuotaPath { organization_id: tenant.organization, sku_id: cloud.sku.id };
    cloud.fleet.operator.call::<SetQuota>(path, Default::default(), QuotaSpec { gpus: 4 }).await.unwrap();
    let first = tenant.get_one(ask(2)).await;
    let before = trace(&cloud).await;
    refused(
        tenant.try_ask(ask(4)).await,
        Code::LimitReached,
        "SKU `slice` in this organization is limited to 4 GPUs (a quota); 2 are in use or requested, and this request needs 4",
    );
    assert_eq!(trace(&cloud).await, before);

    let path = ProjectPolicyPath { project_id: tenant.project, key: "allocations.max_gpus".into() };
    let body = PolicyValue { value: "3".into() };
    tenant.client.call::<SetProjectPolicy>(path, Default::default(), body).await.unwrap();
    refused(tenant.try_ask(ask(2)).await, Code::LimitReached, "limited to 3 GPUs (the policy `allocations.max_gpus`)");
    assert_eq!(trace(&cloud).await, before);
    tenant.gives_back(first.id).await;
    // Ten at once: only as many as the limit lets through.
    let asks: Vec<_> = (0..10)
        .map(|_| {
            let tenant = tenant.clone();
            tokio::spawn(async move { tenant.try_ask(ask(1)).await })
        })
        .collect();
    let mut made = 0;
    for one in asks {
        match one.await.unwrap() {
            Ok(_) => made += 1,
            Err(error) => assert!(error.is(Code::LimitReached), "{error}"),
        }
    }
    assert_eq!(made, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn released_allocation_cannot_be_released_again() {
    let cloud = Cloud::new(1, 1).await;
    let (tenant, other) = (cloud.tenant().await, cloud.tenant().await);
    let active = tenant.get_one(ask(1)).await;
    let strange = Tenant { project: other.project, ..other.clone() };
    refused(strange.release(active.id).await, Code::NotFound, "");
    tenant.gives_back(active.id).await;
    let before = trace(&cloud).await;
    refused(tenant.release(active.id).await, Code::Conflict, "the allocation is already released");
    refused(cloud.force_release(active.id).await, Code::Conflict, "the allocation is already released");
    assert_eq!(trace(&cloud).await, before);
}
