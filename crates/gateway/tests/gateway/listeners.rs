//! The listeners themselves: TLS, health and metrics.

use crate::stage::{Ca, Client, Stage, eventually, get};
use gateway::TlsFiles;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use rustls::pki_types::ServerName;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

static METRICS: OnceLock<PrometheusHandle> = OnceLock::new();

fn page() -> String {
    METRICS.get_or_init(|| PrometheusBuilder::new().install_recorder().unwrap()).render()
}

/// The sum of a metric over all its labels that contain this text.
fn value(page: &str, name: &str, label: &str) -> f64 {
    let lines = page.lines().filter(|it| it.starts_with(name) && it.contains(label));
    lines.map(|it| it.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_reports_whether_it_is_ready_and_what_it_counted() {
    page();
    let stage = Stage::with(|it| it.metrics = Some(page)).await;
    let _host = stage.host("node_1").await;
    let ops = stage.ops.unwrap();
    let ask = async |path: &str| get(TcpStream::connect(ops).await.unwrap(), path).await;
    assert_eq!(ask("/healthz").await.0, 200);
    eventually("it beats", || !stage.plane.beats().is_empty()).await;
    let becomes = async |wanted: u16| {
        let asking = async {
            while ask("/readyz").await.0 != wanted {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(120), asking).await.is_ok()
    };
    // A beat that was heard was not yet answered.
    assert!(becomes(200).await, "it is ready once it beats");
    let before = value(&ask("/metrics").await.1, "gpuaas_gateway_refusals_total", "reason=\"ticket\"");
    for ticket in ["unknown", "used"] {
        assert_eq!(stage.terminal(ticket).await.closed().await, 4401);
    }
    let session = stage.plane.terminal("t", "say hello");
    let mut client = stage.terminal("t").await;
    client.closed().await;
    eventually("it is told", || stage.plane.left(session).is_some()).await;
    let counted = ask("/metrics").await.1;
    assert!(value(&counted, "gpuaas_gateway_refusals_total", "reason=\"ticket\"") >= before + 2.0);
    assert!(value(&counted, "gpuaas_gateway_bytes_total", "direction=\"out\"") >= 5.0);
    assert!(value(&counted, "gpuaas_gateway_first_byte_seconds_count", "") >= 1.0);
    assert!(counted.contains("gpuaas_gateway_nodes") && counted.contains("gpuaas_gateway_sessions{kind=\"terminal\"}"));
    stage.plane.is_away.store(true, SeqCst);
    assert!(becomes(503).await, "nobody should be sent to a gateway that cannot let them in");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_public_listener_speaks_tls_where_it_has_a_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Ca::new();
    let files = TlsFiles { certificate: folder.path().join("c.pem"), key: folder.path().join("k.pem") };
    ca.write_server(&files.certificate, &files.key);
    let stage = Stage::with(|it| it.tls = Some(files)).await;
    let connector = TlsConnector::from(ca.client_config(ca.node("any"), b"http/1.1"));
    let stream = TcpStream::connect(stage.public).await.unwrap();
    let stream = connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap();
    assert_eq!(get(stream, "/healthz").await.0, 200);
    assert!(Client::try_open(stage.public, "/v1/terminal", &[], None).await.is_err(), "nothing is said in the clear");
}

#[tokio::test(flavor = "multi_thread")]
async fn request_that_is_no_known_web_socket_is_refused() {
    let stage = Stage::new().await;
    let ask = async |path: &str| get(TcpStream::connect(stage.public).await.unwrap(), path).await;
    assert_eq!(ask("/v1/terminal").await.0, 426);
    assert_eq!(ask("/v1/../etc/passwd").await.0, 404);
    assert_eq!(ask("/metrics").await.0, 404, "what is counted is not for everybody");
    assert!(stage.plane.exchanged().is_empty());
}
