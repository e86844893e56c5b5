//! What a SKU says of CPU, memory, tasks and open files reaches the hosts.

use contract::{
    Nothing,
    allocations::AllocationSpec,
    prices::SetPrice,
    skus::{CreateSku, SkuPath},
};
use testkit::{
    Cloud,
    cloud::{ask, price_of},
};

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_a_sku_are_in_what_hosts_are_asked() {
    let cloud = Cloud::new(1, 4).await;
    let said = serde_json::json!({
        "name": "small", "shape": "gpu_slice", "gpu_counts": [2],
        "limits": { "cpus_per_gpu": 8, "memory_gib_per_gpu": 96, "open_files": 4096 }
    });
    let operator = &cloud.fleet.operator;
    let spec = serde_json::from_value(said.clone()).unwrap();
    let sku = operator.call::<CreateSku>(Nothing {}, Nothing {}, spec).await.unwrap();
    assert_eq!(serde_json::to_value(sku.limits).unwrap(), said["limits"]);
    let free = price_of(0);
    operator.call::<SetPrice>(SkuPath { sku_id: sku.id }, Nothing {}, free).await.unwrap();

    let tenant = cloud.tenant().await;
    let active = tenant.get_one(AllocationSpec { sku: "small".parse().unwrap(), ..ask(2) }).await;
    let asked = "SELECT convert_from(payload, 'UTF8') FROM tasks WHERE subject_id = $1 AND verb = 'ensure_allocation'";
    let task: serde_json::Value = serde_json::from_str(&cloud.asked::<String>(asked, active.id).await).unwrap();
    let limits = find(&task, "limits").unwrap();
    assert_eq!(
        limits,
        &serde_json::json!({ "cpu_millis": 16_000, "memory_bytes": 192_u64 << 30, "open_files": 4096 }),
        "{task}"
    );
}

fn find<'a>(value: &'a serde_json::Value, name: &str) -> Option<&'a serde_json::Value> {
    let fields = value.as_object()?;
    fields.get(name).or_else(|| fields.values().find_map(|it| find(it, name)))
}
