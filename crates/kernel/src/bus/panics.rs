//! Turns a consumer's panic into a failure, so that it is counted, shown and
//! dead-lettered like any other instead of ending the consumer for good.

use std::{
    any::Any,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    task::Poll,
};

use super::BoxFuture;

/// The future's answer, or what it said when it panicked.
pub async fn caught<T>(mut future: BoxFuture<'_, T>) -> Result<T, String> {
    poll_fn(|context| {
        // What it left half done is in a transaction that is taken back.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(answer)) => Poll::Ready(Ok(answer)),
            Err(panic) => Poll::Ready(Err(format!("the consumer panicked: {}", text(&*panic)))),
        }
    })
    .await
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let literal = panic.downcast_ref::<&str>().copied();
    literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_becomes_a_failure_that_says_what_was_wrong() {
        assert_eq!(caught(Box::pin(async { 7 })).await, Ok(7));
        let failed = caught::<()>(Box::pin(async { panic!("no such {}", "thing") })).await;
        assert_eq!(failed, Err("the consumer panicked: no such thing".to_owned()));
    }
}
