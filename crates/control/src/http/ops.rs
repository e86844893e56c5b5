//! What operators and their tools look at: liveness, readiness, metrics.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use axum::{Router, response::IntoResponse, routing::get};
use http::{StatusCode, header};
use serde_json::json;

use crate::app::{App, Dependency};

/// The API document of this very build.
static DOCUMENT: LazyLock<String> = LazyLock::new(|| contract::openapi::document().to_string());

// bound: a dependency that takes longer to answer counts as away
const PATIENCE: Duration = Duration::from_secs(2);

pub fn router(app: Arc<App>) -> Router {
    let ready = app.clone();
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(move || readiness(ready.clone())))
        .route("/metrics", get(move || metrics(app.clone())))
        .route("/openapi.json", get(|| async { ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.as_str()) }))
}

async fn readiness(app: Arc<App>) -> impl IntoResponse {
    let mut missing = Vec::new();
    let mut parts = serde_json::Map::new();
    let mut is_ready = !app.stopping.is_cancelled();
    if !is_ready {
        missing.push("stopping");
    }
    for Dependency { name, is_vital, answer } in app.dependencies(PATIENCE).await {
        let text = match answer {
            Ok(()) => "ok".to_owned(),
            Err(problem) => {
                missing.push(name);
                is_ready &= !is_vital;
                problem
            }
        };
        parts.insert(name.to_owned(), text.into());
    }
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = json!({ "ready": is_ready, "missing": missing, "parts": parts });
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string() + "\n")
}

async fn metrics(app: Arc<App>) -> impl IntoResponse {
    let (used, most) = app.db.pool_use();
    metrics::gauge!("gpuaas_database_connections_in_use").set(used as f64);
    metrics::gauge!("gpuaas_database_connections_max").set(most as f64);
    for Dependency { name, answer, .. } in app.dependencies(PATIENCE).await {
        metrics::gauge!("gpuaas_dependency_up", "dependency" => name).set(f64::from(u8::from(answer.is_ok())));
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], crate::telemetry::metrics_page())
}
