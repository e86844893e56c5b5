//! Who is at the other end of a connection: the address that counts, behind
//! proxies too, and its place among the connections of a listener. Used by the
//! gateway's listeners and by those of the control plane.

mod accept;
mod places;

pub use accept::{Accepted, Bounds, accept};
pub use places::{Busy, ConnectionPermit, Limits, Places};

use http::HeaderMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;

const FORWARDED_FOR: &str = "x-forwarded-for";
const MOST_HOPS: usize = 32; // bound: proxies in a row; more are not honest
const IDLE: Duration = Duration::from_secs(60); // bound: silence on a connection before its peer is asked
const INTERVAL: Duration = Duration::from_secs(10); // bound: between two questions
const PROBES: u32 = 3; // bound: unanswered questions before the connection is closed

/// What is counted as one peer: an address of version 4, and a /64 of version 6,
/// which is what one customer of a network gets.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
    }
}

/// The address that a request came from. Only a proxy that the operator named
/// speaks for others: from the right, over all lines of `X-Forwarded-For`, the
/// first address that is not such a proxy is the client's. What cannot be read
/// ends the walk at the hop that was found last.
pub fn client_address(trusted: &[IpAddr], peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|it| it.to_canonical() == address);
    let mut address = peer.to_canonical();
    // A line that is no text counts as one unreadable hop.
    let lines = headers.get_all(FORWARDED_FOR).iter().map(|it| it.to_str().unwrap_or("unreadable"));
    let hops: Vec<&str> = lines.flat_map(|it| it.split(',')).map(str::trim).collect();
    for hop in hops.into_iter().rev().take(MOST_HOPS) {
        if !is_trusted(address) {
            break;
        }
        match hop.parse::<IpAddr>() {
            Ok(before) => address = before.to_canonical(),
            Err(_) => break,
        }
    }
    address
}

/// Whether a proxy says that it carries the request for somebody else.
pub fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.contains_key(FORWARDED_FOR) || headers.contains_key(http::header::FORWARDED)
}

/// Notices peers that vanished without a word. A socket that refuses to is used
/// all the same: deadlines of its protocol remain.
pub fn keep_alive(stream: &TcpStream) {
    use rustix::net::sockopt;
    let _ = sockopt::set_socket_keepalive(stream, true);
    let _ = sockopt::set_tcp_keepidle(stream, IDLE);
    let _ = sockopt::set_tcp_keepintvl(stream, INTERVAL);
    let _ = sockopt::set_tcp_keepcnt(stream, PROBES);
}

/// A table stays consistent whatever panicked while it was locked.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn from(trusted: &[&str], peer: &str, lines: &[&str]) -> IpAddr {
        let trusted: Vec<IpAddr> = trusted.iter().map(|it| ip(it)).collect();
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        client_address(&trusted, ip(peer), &headers)
    }

    #[test]
    fn networks_are_a_whole_ipv4_address_and_a_64_of_ipv6() {
        assert_eq!(network(ip("192.0.2.1")), ip("192.0.2.1"));
        assert_eq!(network(ip("::ffff:192.0.2.1")), ip("192.0.2.1"));
        assert_eq!(network(ip("2001:db8:1:2:3:4:5:6")), network(ip("2001:db8:1:2::9")));
        assert_ne!(network(ip("2001:db8:1:2::1")), network(ip("2001:db8:1:3::1")));
    }

    #[test]
    fn only_named_proxies_speak_for_others() {
        let proxy = ["10.0.0.1"];
        assert_eq!(from(&proxy, "10.0.0.1", &["203.0.113.9, 192.0.2.7"]), ip("192.0.2.7"));
        assert_eq!(from(&[], "10.0.0.1", &["192.0.2.7"]), ip("10.0.0.1"));
        assert_eq!(from(&proxy, "192.0.2.9", &["203.0.113.9"]), ip("192.0.2.9"));
        assert_eq!(from(&proxy, "10.0.0.1", &[]), ip("10.0.0.1"));
        assert_eq!(from(&proxy, "10.0.0.1", &["malformed"]), ip("10.0.0.1"));
    }

    #[test]
    fn last_line_counts_and_trusted_hops_are_passed_over() {
        // A client's own line comes first; a proxy appends one of its own.
        assert_eq!(from(&["10.0.0.1"], "10.0.0.1", &["203.0.113.9", "192.0.2.7"]), ip("192.0.2.7"));
        let two = ["10.0.0.1", "10.0.0.2"];
        assert_eq!(from(&two, "10.0.0.1", &["203.0.113.9, 192.0.2.7", "10.0.0.2"]), ip("192.0.2.7"));
        assert_eq!(from(&two, "10.0.0.1", &["malformed, 10.0.0.2"]), ip("10.0.0.2"));
        // A trusted proxy whose client is unreadable speaks for itself alone.
        assert_eq!(from(&["10.0.0.1"], "10.0.0.1", &["192.0.2.7, malformed"]), ip("10.0.0.1"));
    }

    #[test]
    fn proxies_over_a_dual_stack_socket_are_known() {
        assert_eq!(from(&["10.0.0.1"], "::ffff:10.0.0.1", &["192.0.2.7"]), ip("192.0.2.7"));
        assert_eq!(from(&["::ffff:10.0.0.1"], "10.0.0.1", &["192.0.2.7"]), ip("192.0.2.7"));
    }

    #[test]
    fn hops_are_bounded() {
        let line = vec!["10.0.0.1"; 10_000].join(",");
        assert_eq!(from(&["10.0.0.1"], "10.0.0.1", &[&format!("192.0.2.7,{line}")]), ip("10.0.0.1"));
    }
}
