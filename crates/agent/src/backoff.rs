//! How long to wait after failures: longer each time, up to a bound, and never the
//! same for two agents.

use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    pub first: Duration,
    pub longest: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        // bound: a short outage is noticed soon after its end, a long one costs nothing
        Self { first: Duration::from_millis(500), longest: Duration::from_secs(30) }
    }
}

impl Backoff {
    /// The pause after that many failures in a row.
    pub fn pause(&self, failures: u32) -> Duration {
        let doubled = self.first.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1).min(16)));
        let whole = doubled.min(self.longest);
        whole / 2 + whole.mul_f64(random_share() / 2.0)
    }
}

/// Up to a tenth shorter, so that agents that started together drift apart.
pub(crate) fn shortened(whole: Duration) -> Duration {
    whole - whole.mul_f64(random_share() / 10.0)
}

fn random_share() -> f64 {
    let mut bytes = [0; 2];
    // Without randomness the pause is the longest one.
    match aws_lc_rs::rand::fill(&mut bytes) {
        Ok(()) => f64::from(u16::from_le_bytes(bytes)) / f64::from(u16::MAX),
        Err(_) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_bound_and_vary() {
        let backoff = Backoff { first: Duration::from_millis(100), longest: Duration::from_secs(2) };
        for failures in [1, 2, 3, 10, u32::MAX] {
            let whole = Duration::from_millis(100 * 2_u64.pow(failures.min(20) - 1)).min(backoff.longest);
            let pauses: Vec<Duration> = (0..50).map(|_| backoff.pause(failures)).collect();
            assert!(pauses.iter().all(|pause| *pause >= whole / 2 && *pause <= whole), "{failures}");
            assert!(pauses.iter().any(|pause| *pause != pauses[0]));
        }
    }
}
