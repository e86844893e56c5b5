//! Logs, metrics and traces: structured lines on standard error, a Prometheus
//! page, and spans over OTLP when an endpoint is configured.

mod trace_parent;

pub use trace_parent::TraceParent;

use std::{sync::OnceLock, time::Duration};

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use opentelemetry::{
    Context,
    trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState, TracerProvider},
};
use opentelemetry_otlp::WithExportConfig;
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tokio_util::sync::CancellationToken;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::{EnvFilter, Layer, layer::SubscriberExt, util::SubscriberInitExt};

use crate::config::LogFormat;

static METRICS: OnceLock<PrometheusHandle> = OnceLock::new();
static TRACES: OnceLock<SdkTracerProvider> = OnceLock::new();

/// Our own spans, however quiet the log is; never those of sending them.
const TRACED: &str =
    "off,kernel=info,platform=info,people=info,fleet=info,money=info,compute=info,access=info,gpuaasd=info";

const LATENCY_BUCKETS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("the OTLP endpoint is not usable: check `telemetry.otlp_endpoint`")]
    Otlp(#[from] opentelemetry_otlp::ExporterBuildError),
    #[error("logging was already initialized")]
    Twice(#[from] tracing_subscriber::util::TryInitError),
}

/// Sets up logs and traces for the process; once.
pub fn install(filter: &str, format: LogFormat, otlp_endpoint: Option<&str>) -> Result<(), TelemetryError> {
    // The database library warns of connections that break when we stop.
    let filter = format!("{filter},sqlx=error");
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = match format {
        LogFormat::Json => tracing_subscriber::fmt::layer().json().with_writer(std::io::stderr).boxed(),
        LogFormat::Text => tracing_subscriber::fmt::layer().with_target(false).with_writer(std::io::stderr).boxed(),
    };
    let traces = match otlp_endpoint {
        None => None,
        Some(endpoint) => {
            let address = traces_address(endpoint);
            let exporter = opentelemetry_otlp::SpanExporter::builder().with_http().with_endpoint(address).build()?;
            let name = Resource::builder().with_service_name("gpuaasd").build();
            let provider = SdkTracerProvider::builder().with_resource(name).with_batch_exporter(exporter).build();
            let tracer = provider.tracer("gpuaas");
            let _ = TRACES.set(provider);
            Some(tracing_opentelemetry::layer().with_tracer(tracer).with_filter(EnvFilter::new(TRACED)))
        }
    };
    tracing_subscriber::registry().with(lines.with_filter(filter)).with(traces).try_init()?;
    start_counting();
    Ok(())
}

/// Where spans go: collectors are named by their base address, as their own
/// variable for it has it, or by the whole one.
fn traces_address(endpoint: &str) -> String {
    let base = endpoint.trim_end_matches('/');
    if base.ends_with("/v1/traces") { base.to_owned() } else { format!("{base}/v1/traces") }
}

/// Sends what is left to send; at the end of the process.
pub fn flush() {
    if let Some(provider) = TRACES.get() {
        let _ = provider.shutdown();
    }
}

/// Counts from now on; what was counted before is lost.
pub fn start_counting() {
    metrics_handle();
}

fn metrics_handle() -> &'static PrometheusHandle {
    METRICS.get_or_init(|| {
        let builder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &LATENCY_BUCKETS)
            .expect("the list of buckets is not empty");
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        // A second recorder in one process (tests) keeps the first.
        let _ = metrics::set_global_recorder(recorder);
        handle
    })
}

// bound: how long latencies wait to be put into their buckets
const DRAIN: Duration = Duration::from_secs(5);

/// Puts latencies into their buckets until stopped. Each is kept by itself
/// until then, so that without this memory grows while nobody looks.
pub async fn drain(stop: CancellationToken) {
    while !stop.is_cancelled() {
        metrics_handle().run_upkeep();
        tokio::select! {
            () = stop.cancelled() => (),
            () = tokio::time::sleep(DRAIN) => (),
        }
    }
}

/// The Prometheus page.
pub fn metrics_page() -> String {
    let handle = metrics_handle();
    handle.run_upkeep();
    handle.render()
}

/// Makes a span part of the trace that the caller started.
pub fn follow(span: &tracing::Span, parent: Option<TraceParent>) {
    let Some(parent) = parent else { return };
    let flags = if parent.sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
    let (trace, id) = (TraceId::from(parent.trace_id), SpanId::from(parent.parent_id));
    let remote = SpanContext::new(trace, id, flags, true, TraceState::default());
    let _ = span.set_parent(Context::new().with_remote_span_context(remote));
}

/// `traceparent` for a call that goes out from the present span.
pub fn outgoing() -> Option<String> {
    TRACES.get()?;
    let context = tracing::Span::current().context();
    let span = context.span();
    let span = span.span_context();
    span.is_valid().then(|| format!("00-{}-{}-{:02x}", span.trace_id(), span.span_id(), span.trace_flags().to_u8()))
}
