//! Tells the control plane that a session was left, until it has heard it.

use crate::Gateway;
use crate::recorder::Progress;
use protocol::gateway::LeftRequest;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

const MOST: usize = 20_000; // bound: the control plane finds the rest by beats that lack them
const FIRST_PAUSE: Duration = Duration::from_millis(200); // bound: a restart of the API takes longer
const LONGEST_PAUSE: Duration = Duration::from_secs(10); // bound: many wait at once and must not storm
const RECORDING: Duration = Duration::from_secs(15); // bound: a recording that is late arrives after the news
const AT_STOP: Duration = Duration::from_secs(5); // bound: the control plane finds the rest by the next generation

#[derive(Default)]
pub struct Departures {
    tasks: TaskTracker,
    waiting: AtomicUsize,
}

impl Departures {
    /// Waits a little for those who still have something to tell.
    pub async fn finish(&self) {
        self.tasks.close();
        if tokio::time::timeout(AT_STOP, self.tasks.wait()).await.is_err() {
            tracing::warn!("not every ended session was reported to the control plane; it will detect them itself");
        }
    }
}

/// Begins to tell it; called where nothing can wait.
pub fn tell(gateway: &Arc<Gateway>, left: LeftRequest, recordings: Vec<watch::Receiver<Progress>>) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    if gateway.leavings.waiting.fetch_add(1, Relaxed) >= MOST {
        gateway.leavings.waiting.fetch_sub(1, Relaxed);
        return tracing::warn!(session = %left.session, "too many ended sessions wait to be reported; this one is dropped");
    }
    let told = gateway.clone();
    gateway.leavings.tasks.spawn_on(
        async move {
            let all = async {
                for mut recording in recordings {
                    let _ = recording.wait_for(|it| *it == Progress::Over).await;
                }
            };
            let _ = tokio::time::timeout(RECORDING, all).await;
            report(&told, &left).await;
            told.leavings.waiting.fetch_sub(1, Relaxed);
        },
        &runtime,
    );
}

async fn report(gateway: &Gateway, left: &LeftRequest) {
    let mut pause = FIRST_PAUSE;
    loop {
        match gateway.control.left(left).await {
            Ok(_) => return,
            Err(error) if error.is_refusal() => {
                return tracing::warn!(session = %left.session, %error, "the control plane rejected the report of an ended session");
            }
            Err(error) => {
                tracing::debug!(session = %left.session, %error, "the end of a session could not be reported yet")
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
