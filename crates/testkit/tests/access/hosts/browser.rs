//! A real browser with a page of its own: types, resizes, reloads.

use std::{path::PathBuf, process::Stdio};

use serde_json::{Value, json};
use testkit::{npm, process::free_port};

use crate::hosts::site::Site;

fn tool() -> PathBuf {
    npm::install(
        "browser",
        &[
            ("package.json", include_str!("../../../tools/browser/package.json")),
            ("package-lock.json", include_str!("../../../tools/browser/package-lock.json")),
            ("page.html", include_str!("../../../tools/browser/page.html")),
            ("page.mjs", include_str!("../../../tools/browser/page.mjs")),
            ("drive.mjs", include_str!("../../../tools/browser/drive.mjs")),
        ],
    )
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn a_browser_types_resizes_reloads_and_finds_the_same_shell() {
    let tool = tokio::task::spawn_blocking(tool).await.unwrap();
    let port = free_port();
    let site = Site::new(&[], &format!("http://127.0.0.1:{port}")).await;
    let pictures = tool.join("pictures");
    std::fs::create_dir_all(&pictures).unwrap();
    let plane = site.plane.as_ref().expect("it runs");
    let wanted = json!({
        "api": plane.daemon.base,
        "token": site.tenant.owner.token,
        "path": format!("/v1/projects/{}/allocations/{}/access-tickets", site.tenant.project, site.allocation().id),
        "port": port,
        "pictures": pictures,
        "browser": "/usr/bin/chromium",
    });
    let output = tokio::process::Command::new("node")
        .arg(tool.join("drive.mjs"))
        .arg(wanted.to_string())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .expect("tests need Node.js: `make test` installs it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).expect("it prints what was seen");
    assert!(seen["id"].as_str().is_some_and(|it| it.contains(&site.allocation().login)), "{seen}");
    assert_eq!(seen["pid"], seen["again"], "a reload finds the same shell: {seen}");
    assert_eq!((&seen["resumed"], &seen["exit"]), (&json!(true), &json!(7)), "{seen}");
    assert_eq!(seen["problems"], json!([]), "{seen}");
    println!("the browser saw {seen}; pictures are in {}", pictures.display());
    site.clear().await;
}
