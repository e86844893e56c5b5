//! How an event looks on the wire: the event as JSON, and headers that say
//! which it is, where it stood in the outbox and what it is part of.

use async_nats::{HeaderMap, header::NATS_MESSAGE_ID};
use kernel::outbox::{Message, Position};

/// Where the event stood in the outbox.
const POSITION: &str = "Gpuaas-Position";
/// The installation's epoch when it was published.
const EPOCH: &str = "Gpuaas-Epoch";
const CORRELATION: &str = "X-Correlation-Id";
const TRACE: &str = "traceparent";

const FIRST_EPOCH: i32 = 1;

pub fn headers(message: &Message, position: Position, epoch: i32) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(NATS_MESSAGE_ID, message_id(message, epoch).as_str());
    headers.insert(POSITION, position.to_string().as_str());
    headers.insert(EPOCH, epoch.to_string().as_str());
    headers.insert(CORRELATION, message.correlation_id.as_str());
    if let Some(trace) = &message.traceparent {
        headers.insert(TRACE, trace.as_str());
    }
    headers
}

/// What the server drops repetitions by. After a restore everything retained
/// is published anew, and must not be taken for a repetition.
fn message_id(message: &Message, epoch: i32) -> String {
    if epoch == FIRST_EPOCH { message.id.to_string() } else { format!("{}.{epoch}", message.id) }
}

/// Who published a message, and from where in the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    pub epoch: i32,
    pub position: Position,
}

/// `None` for a message that is not ours.
pub fn origin(headers: &HeaderMap) -> Option<Origin> {
    let epoch = headers.get(EPOCH)?.as_str().parse().ok()?;
    let position = headers.get(POSITION)?.as_str().parse().ok()?;
    Some(Origin { epoch, position })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_say_where_a_message_came_from_and_what_it_is_part_of() {
        let message = Message {
            id: uuid::Uuid::now_v7(),
            subject: "project.created".into(),
            organization: None,
            resource: None,
            version: None,
            at: jiff::Timestamp::UNIX_EPOCH,
            correlation_id: "abcd-1234".into(),
            traceparent: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into()),
            data: serde_json::json!({}),
        };
        let position = Position { epoch: 1, xid: 12, place: 3 };
        let first = headers(&message, position, 1);
        assert_eq!(origin(&first), Some(Origin { epoch: 1, position }));
        assert_eq!(first.get(NATS_MESSAGE_ID).unwrap().as_str(), message.id.to_string());
        assert_eq!(first.get(CORRELATION).unwrap().as_str(), "abcd-1234");
        assert_eq!(first.get(TRACE).unwrap().as_str(), message.traceparent.as_deref().unwrap());
        let restored = headers(&message, position, 2);
        assert_ne!(first.get(NATS_MESSAGE_ID), restored.get(NATS_MESSAGE_ID), "published anew after a restore");
        assert_eq!(origin(&HeaderMap::new()), None);
    }
}
