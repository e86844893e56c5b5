//! What operators and their tools look at: liveness, readiness, metrics.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use axum::{
    Router,
    extract::Request,
    response::{IntoResponse, Response},
    routing::get,
};
use futures_util::future::join_all;
use http::{StatusCode, header};
use listen::is_forwarded;
use serde_json::json;
use tokio::{sync::Mutex, time::Instant};

use super::PeerAddress;
use crate::Platform;

/// The API document of this very build.
static DOCUMENT: LazyLock<String> = LazyLock::new(|| contract::openapi::document().to_string());

// bound: a dependency that takes longer to answer counts as away
const PATIENCE: Duration = Duration::from_secs(2);
// bound: how old an answer about the dependencies may be, so that asking often costs nothing
const FRESH: Duration = Duration::from_millis(250);

/// A dependency and what it answered.
pub struct Dependency {
    name: &'static str,
    is_vital: bool,
    answer: Result<(), String>,
}

/// What the dependencies answered last; asked by one at a time.
#[derive(Clone, Default)]
pub struct Readiness(Arc<Mutex<Option<CachedReadiness>>>);

// cache: asked again once it is a second old
struct CachedReadiness {
    at: Instant,
    parts: Arc<Vec<Dependency>>,
}

impl Readiness {
    async fn of(&self, platform: &Platform) -> Arc<Vec<Dependency>> {
        self.ask(|| dependencies(platform)).await
    }

    async fn ask<F: Future<Output = Vec<Dependency>>>(&self, ask: impl FnOnce() -> F) -> Arc<Vec<Dependency>> {
        let mut last = self.0.lock().await;
        if let Some(answered) = last.as_ref().filter(|it| it.at.elapsed() < FRESH) {
            return answered.parts.clone();
        }
        let parts = Arc::new(ask().await);
        *last = Some(CachedReadiness { at: Instant::now(), parts: parts.clone() });
        parts
    }
}

/// Each dependency and whether it answers, asked all at once.
async fn dependencies(platform: &Platform) -> Vec<Dependency> {
    let ask = |probe: &std::sync::Arc<dyn crate::Probe>| {
        let probe = probe.clone();
        async move {
            let answer = probe.check(PATIENCE).await;
            Dependency { name: probe.name(), is_vital: probe.is_vital(), answer }
        }
    };
    join_all(platform.probes.iter().map(ask)).await
}

/// For a listener of their own.
pub fn router(platform: Arc<Platform>) -> Router {
    let metrics_platform = platform.clone();
    routes(platform).route("/metrics", get(move || metrics(metrics_platform.clone())))
}

/// For the listener of the API, which anybody may reach: the metrics are for
/// this machine alone.
pub fn router_beside(platform: Arc<Platform>) -> Router {
    let metrics_platform = platform.clone();
    let guarded = move |request: Request| {
        let platform = metrics_platform.clone();
        async move {
            match is_of_this_machine(&request) {
                true => metrics(platform).await.into_response(),
                false => elsewhere(),
            }
        }
    };
    routes(platform).route("/metrics", get(guarded))
}

fn routes(platform: Arc<Platform>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(move || readiness(platform.clone())))
        .route("/openapi.json", get(|| async { ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.as_str()) }))
}

/// What a proxy on this machine carries is somebody else's.
fn is_of_this_machine(request: &Request) -> bool {
    let peer = request.extensions().get::<PeerAddress>();
    peer.is_some_and(|it| it.0.is_loopback()) && !is_forwarded(request.headers())
}

fn elsewhere() -> Response {
    let text = "metrics are only served to this machine; set `http.ops_listen` to serve them elsewhere\n";
    (StatusCode::NOT_FOUND, text).into_response()
}

async fn readiness(platform: Arc<Platform>) -> impl IntoResponse {
    let mut missing = Vec::new();
    let mut parts = serde_json::Map::new();
    let mut is_ready = !platform.stopping.is_cancelled();
    if !is_ready {
        missing.push("stopping");
    }
    for Dependency { name, is_vital, answer } in platform.readiness.of(&platform).await.iter() {
        let text = match answer {
            Ok(()) => "ok",
            Err(problem) => {
                missing.push(*name);
                is_ready &= !is_vital;
                problem
            }
        };
        parts.insert((*name).to_owned(), text.into());
    }
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = json!({ "ready": is_ready, "missing": missing, "parts": parts });
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string() + "\n")
}

async fn metrics(platform: Arc<Platform>) -> impl IntoResponse {
    let (used, most) = platform.db.pool_use();
    metrics::gauge!("gpuaas_database_connections_in_use").set(used as f64);
    metrics::gauge!("gpuaas_database_connections_max").set(most as f64);
    for Dependency { name, answer, .. } in platform.readiness.of(&platform).await.iter() {
        metrics::gauge!("gpuaas_dependency_up", "dependency" => *name).set(f64::from(u8::from(answer.is_ok())));
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], crate::telemetry::metrics_page())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn dependencies_are_asked_once_however_many_ask_for_readiness() {
        let (readiness, asked) = (Readiness::default(), AtomicUsize::new(0));
        let ask = || async {
            asked.fetch_add(1, Ordering::SeqCst);
            Vec::new()
        };
        for _ in 0..100 {
            readiness.ask(ask).await;
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        tokio::time::advance(FRESH).await;
        readiness.ask(ask).await;
        assert_eq!(asked.load(Ordering::SeqCst), 2, "an old answer is not given");
    }
}
