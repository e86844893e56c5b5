//! One round of one contestant: its rate and its latencies.

use super::cpu::Used;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    pub done: usize,
    pub per_second: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    /// Processor time of each.
    pub cpu: Used,
}

impl Sample {
    /// From how many were done in which time, and some of their latencies.
    pub fn new(done: usize, seconds: f64, mut latencies_us: Vec<u32>) -> Self {
        latencies_us.sort_unstable();
        let at = |share: f64| {
            let place = (latencies_us.len() as f64 * share) as usize;
            latencies_us.get(place.min(latencies_us.len().saturating_sub(1))).map_or(0.0, |it| f64::from(*it) / 1000.0)
        };
        let per_second = done as f64 / seconds;
        Self { done, per_second, p50_ms: at(0.50), p99_ms: at(0.99), cpu: Used::default() }
    }

    /// The middle of several rounds, each figure for itself.
    pub fn median(rounds: &[Sample]) -> Self {
        let of = |figure: fn(&Sample) -> f64| {
            let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
            figures.sort_unstable_by(f64::total_cmp);
            figures.get(figures.len() / 2).copied().unwrap_or(0.0)
        };
        let cpu = Used { server_us: of(|it| it.cpu.server_us), postgres_us: of(|it| it.cpu.postgres_us) };
        let done = rounds.iter().map(|it| it.done).sum();
        Self { done, per_second: of(|it| it.per_second), p50_ms: of(|it| it.p50_ms), p99_ms: of(|it| it.p99_ms), cpu }
    }
}

pub fn rounded(figure: f64) -> f64 {
    (figure * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_and_latencies_come_from_what_was_done() {
        let sample = Sample::new(500, 2.0, (1..=100).map(|it| it * 1000).collect());
        assert_eq!((sample.per_second, sample.p50_ms, sample.p99_ms), (250.0, 51.0, 100.0));
        assert_eq!(Sample::new(0, 1.0, Vec::new()).p99_ms, 0.0);
    }

    #[test]
    fn the_median_forgives_one_bad_round() {
        let round = |done| Sample::new(done, 1.0, vec![1000]);
        assert_eq!(Sample::median(&[round(10), round(900), round(1000)]).per_second, 900.0);
    }
}
