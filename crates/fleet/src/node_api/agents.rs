//! Sends agent binaries to hosts, with the checksum and the signature that
//! they check before they run one.

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, Response, header};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use protocol::{agent_binary::AgentBinary, paths};
use tokio::{fs::File, io::AsyncReadExt};

use super::{refusal::Refusal, requests::Body};
use crate::FleetArea;

// bound: one read and one frame
const CHUNK: usize = 64 * 1024;

pub async fn serve(area: &FleetArea, version: &str, target: &str) -> Result<Response<Body>, Refusal> {
    let found = area.agents.find(version, target).await.ok_or(Refusal::NoSuchAgent)?;
    let signature = area.signer.sign_agent(AgentBinary { version, target, sha256: &found.sha256 });
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
