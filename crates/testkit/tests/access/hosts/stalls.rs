//! Readers who stall while their shells flood.

use std::time::{Duration, Instant};

use testkit::{door::memory_kib, shell::Shell};

use crate::hosts::site::Site;

const STALLED: usize = 10;
/// How much longer an echo may take while others stall, compared with this very
/// machine a moment before.
const SLOWER: u32 = 20;
/// What counts as no time at all.
const SHORT: Duration = Duration::from_millis(100);

/// How long they stall: a minute with `GPUAAS_SOAK`, else a tenth of it.
fn lasting() -> Duration {
    Duration::from_secs(testkit::rounds(60) as u64)
}

/// How long it takes until something typed is shown.
async fn echo(shell: &mut Shell) -> Duration {
    let asked = Instant::now();
    shell.text.clear();
    shell.types("echo x\"\"y\r").await;
    shell.shows("xy").await;
    asked.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn readers_who_stall_cost_no_memory_and_hold_up_nobody() {
    let site = Site::new(&[("access.sessions_per_allocation", "20")], "").await;
    let id = site.allocation().id;
    let (_, mut eleventh) = site.tenant.shell(id).await;
    eleventh.runs("stty -echo").await;
    let agent = site.agent.as_ref().and_then(tokio::process::Child::id).expect("it runs");
    let mut stalled: Vec<Shell> = Vec::new();
    for _ in 0..STALLED {
        stalled.push(site.tenant.shell(id).await.1);
    }
    let mut usual = Vec::new();
    for _ in 0..50 {
        usual.push(echo(&mut eleventh).await);
    }
    usual.sort_unstable();
    let usual = usual[usual.len() / 2];
    let memory = || memory_kib(site.door.process()) + memory_kib(agent);
    let before = memory();
    for shell in &mut stalled {
        // Nobody reads from here on.
        shell.types("yes\r").await;
    }
    let lasting = lasting();
    let (started, mut echoes) = (Instant::now(), Vec::new());
    while started.elapsed() < lasting {
        echoes.push(echo(&mut eleventh).await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let grown = memory().saturating_sub(before);
    echoes.sort_unstable();
    let (p50, p99) = (echoes[echoes.len() / 2], echoes[echoes.len() * 99 / 100]);
    println!(
        "{STALLED} readers stalled for {} s: gateway and agent grew by {grown} KiB; an eleventh shell echoed {} times, p50 {p50:?}, p99 {p99:?}, before p50 {usual:?}",
        lasting.as_secs(),
        echoes.len(),
    );
    assert!(grown < 20 * 1024, "they grew by {grown} KiB");
    // How long it takes alone is for the benchmark, and single late echoes are the machine's:
    // others may work on it. Whoever waits for stalled readers would wait at every echo.
    assert!(p50 < SLOWER * usual.max(SHORT), "the eleventh waited {p50:?}, and {usual:?} before");
    drop(stalled);
    site.clear().await;
}
