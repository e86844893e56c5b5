//! How much processor time a round took, per request. On a machine that others
//! use too, this is steadier than the rate.

use std::fs;

use super::sample::Sample;

/// Processor time used so far, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Used {
    pub server_us: f64,
    pub postgres_us: f64,
}

/// The kernel counts in hundredths of a second wherever Linux runs.
const TICK_US: f64 = 10_000.0;

impl Used {
    /// By the daemon, and by its PostgreSQL with every process that it has had.
    pub fn so_far(server: u32, postmaster: u32) -> Self {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = processes.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
        let running = numbers.filter_map(Times::of).filter(|it| it.parent == postmaster).map(|it| it.own);
        let ended = Times::of(postmaster).map_or(0.0, |it| it.own + it.ended_children);
        let server = Times::of(server).map_or(0.0, |it| it.own);
        Used { server_us: server * TICK_US, postgres_us: (running.sum::<f64>() + ended) * TICK_US }
    }

    /// What was used since, for each of what the sample counts.
    pub fn per_request(self, since: Used, sample: &Sample) -> Used {
        let requests = sample.done.max(1) as f64;
        Used {
            server_us: (self.server_us - since.server_us) / requests,
            postgres_us: (self.postgres_us - since.postgres_us) / requests,
        }
    }
}

struct Times {
    parent: u32,
    own: f64,
    ended_children: f64,
}

impl Times {
    fn of(process: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
    }

    /// The program's name is in brackets and may hold anything; the words after
    /// it are the state, the parent, and eleven on the times.
    fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |place: usize| words.get(place)?.parse::<f64>().ok();
        Some(Self {
            parent: words.get(1)?.parse().ok()?,
            own: ticks(11)? + ticks(12)?,
            ended_children: ticks(13)? + ticks(14)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_past_a_name_with_brackets() {
        let text = "7 (a) b) S 3 7 7 0 -1 0 0 0 0 0 10 20 30 40 20 0 1 0";
        let times = Times::parse(text).unwrap();
        assert_eq!((times.parent, times.own, times.ended_children), (3, 30.0, 70.0));
    }
}
