//! `gpuaas open`: a web service of an allocation in the browser. The ticket goes from a
//! page on this machine to the gateway in a form, so that no address ever has it.

use std::time::Duration;

use clap::Args;
use contract::{
    Within,
    access_tickets::{AccessTicketSpec, CreateAccessTicket, TicketKind},
    id::NodeId,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    time::{Instant, timeout, timeout_at},
};

use super::terminal::ticket;
use crate::{
    context::Context,
    failure::{Class, Done, Failure},
};

const PATIENCE: Duration = Duration::from_secs(120); // bound: a ticket lives five minutes
const MOST_TRIES: usize = 32; // bound: whoever else knocks on the port
const HEAD_BYTES: usize = 8 * 1024; // bound: a browser's request for one page

/// Open a web service running on an allocation in the browser
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gpuaas open notebook 8888\n  gpuaas open notebook 8888 --no-browser")]
pub struct Open {
    /// ID or name of the allocation
    #[arg(value_name = "ALLOCATION")]
    wanted: String,
    /// Port of the web service
    #[arg(value_name = "PORT")]
    port: Within<1, 65535>,
    /// Node to connect to [default: the first]
    #[arg(long, value_name = "ID")]
    node: Option<NodeId>,
    /// Print the URL instead of opening the browser
    #[arg(long)]
    no_browser: bool,
}

impl Open {
    pub async fn run(self, context: &Context) -> Done {
        let path = context.allocation_named(&self.wanted).await?;
        let spec = AccessTicketSpec {
            kind: TicketKind::Http,
            port: Some(self.port),
            node_id: self.node,
            resume: None,
            watch: false,
            command: None,
            plain: false,
            share: false,
        };
        let ticket = ticket(&context.send::<CreateAccessTicket>(path, spec).await?)?;
        let none = || {
            Failure::new(
                Class::Unavailable,
                "no gateway serves web services in this region",
                "Ask an operator to set `web_domain`.",
            )
        };
        let service = ticket.web_url.clone().ok_or_else(none)?;
        let cannot = |error: std::io::Error| Failure::usage(format!("cannot listen on 127.0.0.1: {error}"), "");
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(cannot)?;
        // Whoever else is on this machine cannot guess the page.
        let word = ticket.ticket.chars().rev().take(16).collect::<String>();
        let page = format!("http://127.0.0.1:{}/{word}", listener.local_addr().map_err(cannot)?.port());
        if self.no_browser || !browse(&page) {
            context.output.line(format!("Open {page} within two minutes to reach {service}"))?;
        } else {
            context.output.hint(format!("Opening {service} in your browser."));
        }
        hand_over(&listener, &format!("/{word}"), &form(&service, &ticket.ticket)).await
    }
}

/// Gives the page to the one who asks for it, once.
async fn hand_over(listener: &TcpListener, path: &str, page: &str) -> Done {
    let until = Instant::now() + PATIENCE;
    let late = |_| Failure::new(Class::Unavailable, "the page was not opened in time", "Run the command again.");
    for _ in 0..MOST_TRIES {
        let (mut stream, _) = timeout_at(until, listener.accept()).await.map_err(late)??;
        let mut head = vec![0; HEAD_BYTES];
        let read = timeout(Duration::from_secs(5), stream.read(&mut head)).await;
        let Ok(Ok(count)) = read else { continue };
        let is_it = head[..count].starts_with(format!("GET {path} ").as_bytes());
        let (status, body) = if is_it { ("200 OK", page) } else { ("404 Not Found", "") };
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let sent = stream.write_all(answer.as_bytes()).await.is_ok() && stream.shutdown().await.is_ok();
        if is_it && sent {
            return Ok(());
        }
    }
    Err(Failure::new(Class::Unavailable, "too many unrelated requests reached the page", "Run the command again."))
}

fn form(service: &str, ticket: &str) -> String {
    let service = service.trim_end_matches('/').replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<!doctype html><meta charset=utf-8><title>gpuaas</title><form method=post action=\"{service}/.gpuaas/enter\"><input type=hidden name=ticket value=\"{ticket}\"><button>Open the web service</button></form><script>document.forms[0].submit()</script>"
    )
}

/// Whether a browser could be asked.
fn browse(page: &str) -> bool {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = std::process::Stdio::null;
    std::process::Command::new(program).arg(page).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_page_is_served_once_to_the_browser_with_its_secret_path() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let at = listener.local_addr().unwrap();
        let served =
            tokio::spawn(async move { hand_over(&listener, "/word", &form("http://service/", "t-1")).await.is_ok() });
        for (path, expected) in [("/", "404"), ("/word", "200")] {
            let mut stream = tokio::net::TcpStream::connect(at).await.unwrap();
            stream.write_all(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).await.unwrap();
            assert!(text.starts_with(&format!("HTTP/1.1 {expected}")), "{text}");
            assert_eq!(text.contains("action=\"http://service/.gpuaas/enter\""), expected == "200");
        }
        assert!(served.await.unwrap());
    }
}
