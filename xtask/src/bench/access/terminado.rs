//! The same flood through terminado, the terminal that Jupyter has.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::Message;

const PINS: &str = include_str!("requirements.txt");
const SERVER: &str = include_str!("terminado.py");
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    /// Installs it where tests keep their tools, and starts it.
    pub async fn start(root: &Path, command: &str) -> Result<Self, String> {
        let folder = root.join("target/test-tools/terminado");
        let installed = folder.join("installed");
        if std::fs::read_to_string(&installed).is_ok_and(|it| it == PINS) {
            // As it was left.
        } else {
            std::fs::create_dir_all(&folder).map_err(super::text)?;
            std::fs::write(folder.join("requirements.txt"), PINS).map_err(super::text)?;
            run(Command::new("python3").args(["-m", "venv"]).arg(folder.join("venv")))?;
            let mut pip = Command::new(folder.join("venv/bin/pip"));
            run(pip.args(["install", "--quiet", "--requirement"]).arg(folder.join("requirements.txt")))?;
            std::fs::write(&installed, PINS).map_err(super::text)?;
        }
        std::fs::write(folder.join("server.py"), SERVER).map_err(super::text)?;
        let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).map_err(super::text)?;
        let process = Command::new(folder.join("venv/bin/python"))
            .arg(folder.join("server.py"))
            .args([&free.port().to_string(), command])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(super::text)?;
        let server = Server { process, address: free };
        let started = Instant::now();
        while tokio::net::TcpStream::connect(free).await.is_err() {
            if started.elapsed() > PATIENCE {
                return Err("terminado did not start".to_owned());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(server)
    }

    /// Millions of bytes in a second, as the client gets them.
    pub async fn flood(&self) -> Result<f64, String> {
        let stream = tokio::net::TcpStream::connect(self.address).await.map_err(super::text)?;
        let url = format!("ws://{}/terminal", self.address);
        let (mut socket, _) = tokio_tungstenite::client_async(url, stream).await.map_err(super::text)?;
        socket.send(Message::text(r#"["stdin","\r"]"#)).await.map_err(super::text)?;
        let (mut count, mut began) = (0, None);
        while let Some(Ok(message)) = socket.next().await {
            let Message::Text(text) = message else { continue };
            let said: Vec<serde_json::Value> = serde_json::from_str(&text).map_err(super::text)?;
            match (said.first().and_then(|it| it.as_str()), said.get(1).and_then(|it| it.as_str())) {
                (Some("stdout"), Some(text)) if text.trim().is_empty() => (),
                (Some("stdout"), Some(text)) => {
                    began.get_or_insert_with(Instant::now);
                    count += text.len();
                }
                (Some("disconnect"), _) => break,
                _ => (),
            }
        }
        let seconds = began.map_or(f64::MAX, |it: Instant| it.elapsed().as_secs_f64());
        Ok(count as f64 / 1e6 / seconds)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.stdout(Stdio::null()).status().map_err(super::text)?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed; it says why above")) }
}
