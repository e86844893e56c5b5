//! Agent binaries, by version and platform, with the checksum and the
//! signature that hosts check before they run one.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Mutex,
    time::SystemTime,
};

use aws_lc_rs::digest::{Context, SHA256};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, Response, header};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use protocol::{agent_binary::AgentBinary, limits::MAX_AGENT_BYTES, paths};
use tokio::{fs::File, io::AsyncReadExt};

use super::{refusal::Refusal, requests::Body};
use crate::tasks::TaskSigner;

/// A binary that can be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFile {
    pub path: PathBuf,
    pub bytes: u64,
    pub sha256: String,
}

/// Which state of a file a checksum is of.
type Stamp = (SystemTime, u64);

pub struct Agents {
    folder: Option<PathBuf>,
    known: Mutex<HashMap<PathBuf, (Stamp, String)>>,
    /// A whole fleet may ask for a new version at once; it is summed up once.
    summing: tokio::sync::Mutex<()>,
}

// bound: checksums that are remembered; more versions are never served at a time
const MAX_KNOWN: usize = 64;
// bound: one read and one frame
const CHUNK: usize = 64 * 1024;
const NAME: &str = "gpuaas-node";

impl Agents {
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, known: Mutex::default(), summing: tokio::sync::Mutex::default() }
    }

    /// The binary of that version for that platform, with its checksum.
    pub async fn find(&self, version: &str, target: &str) -> Option<AgentFile> {
        let folder = self.folder.as_ref()?;
        if !is_plain(version) || !is_plain(target) {
            return None;
        }
        let path = folder.join(version).join(target).join(NAME);
        let found = tokio::fs::metadata(&path).await.ok()?;
        let stamp = (found.modified().ok()?, found.len());
        if !found.is_file() || found.len() > MAX_AGENT_BYTES as u64 {
            return None;
        }
        let _turn = self.summing.lock().await;
        let known = self.lock().get(&path).filter(|(of, _)| *of == stamp).map(|(_, sha256)| sha256.clone());
        let sha256 = match known {
            Some(sha256) => sha256,
            None => {
                let sha256 = checksum(&path).await.ok()?;
                let mut known = self.lock();
                if known.len() >= MAX_KNOWN {
                    known.clear();
                }
                known.insert(path.clone(), (stamp, sha256.clone()));
                sha256
            }
        };
        Some(AgentFile { path, bytes: stamp.1, sha256 })
    }

    pub async fn serve(&self, signer: &TaskSigner, version: &str, target: &str) -> Result<Response<Body>, Refusal> {
        let found = self.find(version, target).await.ok_or(Refusal::NoSuchAgent)?;
        let signature = signer.sign_agent(AgentBinary { version, target, sha256: &found.sha256 });
        let file = File::open(&found.path).await.map_err(|_| Refusal::NoSuchAgent)?;
        let mut response = Response::new(send(file));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(found.bytes));
        for (name, value) in [(paths::SHA256_HEADER, found.sha256), (paths::SIGNATURE_HEADER, signature)] {
            headers.insert(name, HeaderValue::from_str(&value).map_err(|_| Refusal::Internal)?);
        }
        Ok(response)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, (Stamp, String)>> {
        self.known.lock().expect("no code panics while it holds this lock")
    }
}

/// A name that stays inside its folder.
fn is_plain(name: &str) -> bool {
    // bound: version numbers and platform names are shorter
    const MAX_NAME: usize = 64;
    let is_fine = |it: u8| it.is_ascii_alphanumeric() || b"._-+".contains(&it);
    !name.is_empty() && name.len() <= MAX_NAME && !name.starts_with('.') && name.bytes().all(is_fine)
}

async fn checksum(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path).await?;
    let mut context = Context::new(&SHA256);
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = file.read(&mut chunk).await?;
        if read == 0 {
            return Ok(context.finish().as_ref().iter().map(|it| format!("{it:02x}")).collect());
        }
        context.update(&chunk[..read]);
    }
}

/// A piece at a time, so that a slow host costs one piece of memory.
fn send(file: File) -> Body {
    let chunks = stream::try_unfold(file, |mut file| async move {
        let mut chunk = vec![0; CHUNK];
        let read = file.read(&mut chunk).await?;
        chunk.truncate(read);
        Ok((read > 0).then(|| (Frame::data(Bytes::from(chunk)), file)))
    });
    StreamBody::new(chunks).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_binary_is_found_with_its_checksum_and_nothing_outside_the_folder_is() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("0.2.0/x86_64");
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join(NAME), b"binary").unwrap();
        let agents = Agents::new(Some(folder.path().to_owned()));
        let found = agents.find("0.2.0", "x86_64").await.unwrap();
        assert_eq!(found.sha256, protocol::agent_binary::sha256_hex(b"binary"));
        assert_eq!(agents.find("0.2.0", "x86_64").await, Some(found));
        std::fs::write(place.join(NAME), b"another").unwrap();
        let changed = agents.find("0.2.0", "x86_64").await.unwrap();
        assert_eq!(changed.sha256, protocol::agent_binary::sha256_hex(b"another"));
        for (version, target) in [("0.3.0", "x86_64"), ("..", "x86_64"), ("0.2.0", "../0.2.0/x86_64"), ("", "")] {
            assert_eq!(agents.find(version, target).await, None, "{version} {target}");
        }
    }
}
