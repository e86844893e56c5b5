//! How often an address came with a ticket that is none. Who guesses is told to
//! wait before the control plane is asked.

use crate::locked;
use listen::network;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const MOST_FAILURES: u32 = 20; // bound: a person with an old tab open fails a few times
const WINDOW: Duration = Duration::from_secs(60); // bound: how long a failure counts
const MOST_ADDRESSES: usize = 10_000; // bound: past it the oldest are forgotten

#[derive(Default)]
pub struct Failures(Mutex<HashMap<IpAddr, (u32, Instant)>>);

impl Failures {
    /// Whether the address may try now.
    pub fn may_try(&self, address: IpAddr) -> bool {
        let failures = locked(&self.0);
        !matches!(failures.get(&network(address)), Some((count, since)) if *count >= MOST_FAILURES && since.elapsed() < WINDOW)
    }

    pub fn count(&self, address: IpAddr) {
        let mut failures = locked(&self.0);
        if failures.len() >= MOST_ADDRESSES {
            failures.retain(|_, (_, since)| since.elapsed() < WINDOW);
        }
        if failures.len() >= MOST_ADDRESSES {
            let oldest = failures.iter().min_by_key(|(_, (_, since))| *since).map(|(address, _)| *address);
            oldest.map(|it| failures.remove(&it));
        }
        let entry = failures.entry(network(address)).or_insert((0, Instant::now()));
        if entry.1.elapsed() >= WINDOW {
            *entry = (0, Instant::now());
        }
        entry.0 += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guessing_network_waits_and_no_other() {
        let failures = Failures::default();
        let guesser: IpAddr = "2001:db8::1".parse().unwrap();
        for _ in 0..MOST_FAILURES {
            assert!(failures.may_try(guesser));
            failures.count(guesser);
        }
        assert!(!failures.may_try("2001:db8::2".parse().unwrap()), "it is the same network");
        assert!(failures.may_try("2001:db8:0:1::1".parse().unwrap()));
        assert!(failures.may_try("192.0.2.1".parse().unwrap()));
    }

    #[test]
    fn addresses_of_failures_are_bounded() {
        let failures = Failures::default();
        for number in 0..u32::try_from(MOST_ADDRESSES).unwrap() + 10 {
            failures.count(std::net::Ipv4Addr::from_bits(number).into());
        }
        assert_eq!(locked(&failures.0).len(), MOST_ADDRESSES);
    }
}
