//! A body that is made while it is sent. Whoever reads nothing of it for a while
//! is given up: what makes it ends, with everything that it holds.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::sync::mpsc::{self, error::SendTimeoutError};

// bound: a reader that takes nothing for this long is gone
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, thiserror::Error)]
#[error("the response body was canceled")]
struct DownloadAborted;

enum Part {
    Bytes(Bytes),
    End,
}

/// The body of a stream. `held` is kept until the stream has ended or was given
/// up. A body that does not reach its end is cut off, so that nobody takes it for whole.
pub fn streamed<S, E>(source: S, held: impl Send + 'static) -> Body
where
    S: Stream<Item = Result<Bytes, E>> + Send + 'static,
    E: Send + 'static,
{
    within(PATIENCE, source, held)
}

fn within<S, E>(patience: Duration, source: S, held: impl Send + 'static) -> Body
where
    S: Stream<Item = Result<Bytes, E>> + Send + 'static,
    E: Send + 'static,
{
    // One part waits while the next is made.
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let _held = held;
        let mut source = std::pin::pin!(source);
        loop {
            let part = match source.next().await {
                Some(Ok(bytes)) => Part::Bytes(bytes),
                Some(Err(_)) => return,
                None => Part::End,
            };
            let is_last = matches!(part, Part::End);
            match sender.send_timeout(part, patience).await {
                Ok(()) if !is_last => (),
                Ok(()) | Err(SendTimeoutError::Closed(_)) => return,
                Err(SendTimeoutError::Timeout(_)) => {
                    tracing::warn!(?patience, "the client does not read the response; the connection is closed");
                    return;
                }
            }
        }
    });
    Body::from_stream(futures_util::stream::try_unfold(receiver, |mut receiver| async move {
        match receiver.recv().await {
            Some(Part::Bytes(bytes)) => Ok(Some((bytes, receiver))),
            Some(Part::End) => Ok(None),
            None => Err(DownloadAborted),
        }
    }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http_body_util::BodyExt;

    use super::*;

    fn parts(count: usize) -> impl Stream<Item = Result<Bytes, ()>> + Send + 'static {
        futures_util::stream::iter((0..count).map(|_| Ok(Bytes::from_static(b"part"))))
    }

    const SOON: Duration = Duration::from_millis(200);

    #[tokio::test]
    async fn body_that_nobody_reads_is_given_up_and_cut_off() {
        let held = Arc::new(());
        let body = within(SOON, parts(1000), held.clone());
        let is_free = async {
            while Arc::strong_count(&held) > 1 {
                tokio::time::sleep(SOON / 20).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), is_free).await.expect("what it held is free");
        assert!(body.collect().await.is_err(), "nobody takes it for whole");
    }

    #[tokio::test]
    async fn body_that_is_read_comes_whole_and_one_that_fails_does_not() {
        let whole = streamed(parts(1000), ()).collect().await.unwrap().to_bytes();
        assert_eq!(whole.len(), 4000);
        let failing = parts(3).chain(futures_util::stream::iter([Err(())]));
        assert!(streamed(failing, ()).collect().await.is_err());
    }
}
