//! An answer on its way: its connection is busy until all of it has gone, not
//! only until its head has.

use super::Body;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use listen::Busy;
use std::pin::Pin;
use std::task::{Context, Poll};

struct Sending {
    body: Body,
    _busy: Busy,
}

/// The body, with the mark that its connection is busy.
pub fn sending(body: Body, busy: Busy) -> Body {
    Sending { body, _busy: busy }.boxed_unsync()
}

impl HttpBody for Sending {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::public::full;
    use listen::{Limits, Places};

    #[test]
    fn connection_is_busy_until_its_answer_has_gone() {
        let places = Places::new(Limits { most: 10, per_peer: 1, exempt: Vec::new() });
        let peer = "192.0.2.1".parse().unwrap();
        let place = places.take(peer).unwrap();
        let body = sending(full("an answer"), place.busy());
        assert_eq!(body.size_hint().exact(), Some(9));
        assert!(places.take(peer).is_none(), "the connection is not idle");
        drop(body);
        assert!(places.take(peer).is_some());
    }
}
