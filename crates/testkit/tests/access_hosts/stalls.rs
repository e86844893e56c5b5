//! Readers who stall while their shells flood.

use std::time::{Duration, Instant};

use testkit::{door::memory_kib, shell::Shell};

use crate::site::{Site, is_root};

const STALLED: usize = 10;

/// How long they stall: a minute with `GPUAAS_SOAK`, else a tenth of it.
fn lasting() -> Duration {
    Duration::from_secs(testkit::rounds(60) as u64)
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_who_stall_cost_no_memory_and_hold_up_nobody() {
    if !is_root() {
        return;
    }
    let site = Site::new(&[("access.sessions_per_allocation", "20")], "").await;
    let id = site.allocation().id;
    let (_, mut eleventh) = site.tenant.shell(id).await;
    eleventh.runs("stty -echo").await;
    let agent = site.agent.as_ref().and_then(tokio::process::Child::id).expect("it runs");
    let mut stalled: Vec<Shell> = Vec::new();
    for _ in 0..STALLED {
        stalled.push(site.tenant.shell(id).await.1);
    }
    let memory = || memory_kib(site.door.process()) + memory_kib(agent);
    let before = memory();
    for shell in &mut stalled {
        // Nobody reads from here on.
        shell.types("yes\r").await;
    }
    let (started, mut echoes) = (Instant::now(), Vec::new());
    while started.elapsed() < lasting() {
        let asked = Instant::now();
        eleventh.text.clear();
        eleventh.types("echo x\"\"y\r").await;
        eleventh.shows("xy").await;
        echoes.push(asked.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let grown = memory().saturating_sub(before);
    echoes.sort_unstable();
    let p99 = echoes[echoes.len() * 99 / 100];
    println!(
        "{STALLED} readers stalled for {} s: gateway and agent grew by {grown} KiB; an eleventh shell echoed {} times, p50 {:?}, p99 {p99:?}",
        lasting().as_secs(),
        echoes.len(),
        echoes[echoes.len() / 2],
    );
    assert!(grown < 20 * 1024, "they grew by {grown} KiB");
    // The bar of 50 ms is the benchmark's: a test machine may be busy.
    assert!(p99 < Duration::from_millis(1500), "the eleventh waited {p99:?}");
    drop(stalled);
    site.clear().await;
}
