//! The places of a listener: so many connections in all, so many for each peer,
//! and when there is no place left, whoever holds the most makes room.

use super::network;
use crate::locked;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const LOOK_AGAIN: Duration = Duration::from_millis(20); // bound: how soon a listener that stops sees that it is empty

#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections in all.
    pub most: usize,
    /// Connections of one peer; see [`network`].
    pub per_peer: usize,
    /// Proxies, which carry many peers: bounded only by `most`, and never cut off for others.
    pub exempt: Vec<IpAddr>,
}

/// Hands out the places of one listener.
#[derive(Clone)]
pub struct Places(Arc<Inner>);

struct Inner {
    limits: Limits,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    total: usize,
    /// The connections of each peer that may be cut off, oldest first.
    peers: HashMap<IpAddr, Vec<Arc<Connection>>>,
    next: u64,
}

struct Connection {
    number: u64,
    /// Requests that are being answered on it.
    busy: AtomicUsize,
    cut: CancellationToken,
}

/// A place among the connections; given up when dropped.
pub struct ConnectionPermit {
    connection: Arc<Connection>,
    peer: IpAddr,
    table: Weak<Inner>,
}

/// A request is being answered while this lives.
pub struct Busy(Arc<Connection>);

impl Places {
    pub fn new(limits: Limits) -> Self {
        Self(Arc::new(Inner { limits, table: Mutex::default() }))
    }

    /// A place for a connection of this address, unless there is none. One of its
    /// peer's own connections that nothing happens on makes room first; else the
    /// peer with the most connections does, if that is another one with more.
    pub fn take(&self, address: IpAddr) -> Option<ConnectionPermit> {
        let Inner { limits, table } = &*self.0;
        let address = address.to_canonical();
        let is_exempt = limits.exempt.iter().any(|it| it.to_canonical() == address);
        let peer = network(address);
        let mut table = locked(table);
        let own = table.peers.get(&peer).map_or(0, Vec::len);
        if !is_exempt && own >= limits.per_peer && !table.cut_idle(peer) {
            return None;
        }
        if table.total >= limits.most {
            let own = table.peers.get(&peer).map_or(0, Vec::len);
            let (largest, count) = table.largest()?;
            let is_cut = match largest == peer || count <= own + 1 {
                true => table.cut_idle(peer) || (largest != peer && table.cut_idle(largest)),
                false => table.cut_idle(largest) || table.cut_oldest(largest),
            };
            if !is_cut {
                return None;
            }
        }
        table.total += 1;
        table.next += 1;
        let connection =
            Arc::new(Connection { number: table.next, busy: AtomicUsize::new(0), cut: CancellationToken::new() });
        if !is_exempt {
            table.peers.entry(peer).or_default().push(connection.clone());
        }
        Some(ConnectionPermit { connection, peer, table: Arc::downgrade(&self.0) })
    }

    /// Resolves when every place was given back.
    pub async fn empty(&self) {
        while self.taken() > 0 {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Connections now.
    pub fn taken(&self) -> usize {
        locked(&self.0.table).total
    }
}

impl Table {
    fn largest(&self) -> Option<(IpAddr, usize)> {
        self.peers.iter().map(|(peer, all)| (*peer, all.len())).max_by_key(|(_, count)| *count)
    }

    /// Cuts the peer's oldest connection on which no request is being answered.
    fn cut_idle(&mut self, peer: IpAddr) -> bool {
        let all = self.peers.get(&peer).map_or(&[][..], Vec::as_slice);
        let idle = all.iter().find(|it| it.busy.load(Ordering::SeqCst) == 0).cloned();
        idle.is_some_and(|it| self.cut(peer, &it))
    }

    fn cut_oldest(&mut self, peer: IpAddr) -> bool {
        let oldest = self.peers.get(&peer).and_then(|it| it.first()).cloned();
        oldest.is_some_and(|it| self.cut(peer, &it))
    }

    /// Its place is free at once; the connection itself ends a moment later.
    fn cut(&mut self, peer: IpAddr, connection: &Connection) -> bool {
        connection.cut.cancel();
        let is_known = self.forget(peer, connection);
        self.total -= usize::from(is_known);
        is_known
    }

    fn forget(&mut self, peer: IpAddr, connection: &Connection) -> bool {
        let Some(all) = self.peers.get_mut(&peer) else { return false };
        let Some(at) = all.iter().position(|it| it.number == connection.number) else { return false };
        all.remove(at);
        if all.is_empty() {
            self.peers.remove(&peer);
        }
        true
    }
}

impl ConnectionPermit {
    /// Resolves when the place was given to somebody else.
    pub async fn cut(&self) {
        self.connection.cut.cancelled().await;
    }

    /// Marks that a request is being answered, until the mark is dropped.
    pub fn busy(&self) -> Busy {
        self.connection.busy.fetch_add(1, Ordering::SeqCst);
        Busy(self.connection.clone())
    }

    /// Who is at the other end is known by now: the place no longer counts
    /// against its address and is not given to others.
    pub fn vouch(&self) {
        if let Some(inner) = self.table.upgrade() {
            locked(&inner.table).forget(self.peer, &self.connection);
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let Some(inner) = self.table.upgrade() else { return };
        let mut table = locked(&inner.table);
        // Under the lock: a place that was cut has been given back already.
        if !self.connection.cut.is_cancelled() {
            table.forget(self.peer, &self.connection);
            table.total -= 1;
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(most: usize, per_peer: usize) -> Places {
        Places::new(Limits { most, per_peer, exempt: vec!["10.0.0.1".parse().unwrap()] })
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn is_cut(place: &ConnectionPermit) -> bool {
        place.connection.cut.is_cancelled()
    }

    #[test]
    fn peer_at_its_bound_loses_its_oldest_idle_connection() {
        let places = places(100, 2);
        let (first, second) = (places.take(ip("192.0.2.1")).unwrap(), places.take(ip("192.0.2.1")).unwrap());
        let busy = first.busy();
        let third = places.take(ip("192.0.2.1")).unwrap();
        assert!(!is_cut(&first) && is_cut(&second) && !is_cut(&third));
        let busy_too = third.busy();
        assert!(places.take(ip("192.0.2.1")).is_none(), "nothing of it is idle");
        assert!(places.take(ip("192.0.2.2")).is_some());
        drop((busy, busy_too, second));
        assert_eq!(places.taken(), 2);
    }

    #[test]
    fn full_listener_makes_room_at_the_largest_peer() {
        let places = places(4, 4);
        let many: Vec<ConnectionPermit> = (0..4).map(|_| places.take(ip("2001:db8::1")).unwrap()).collect();
        let busy: Vec<Busy> = many.iter().map(ConnectionPermit::busy).collect();
        assert!(places.take(ip("2001:db8::2")).is_none(), "the same network");
        let other = places.take(ip("192.0.2.1")).unwrap();
        assert!(is_cut(&many[0]) && !is_cut(&many[1]), "the oldest goes, busy as it is");
        let another = places.take(ip("192.0.2.1")).unwrap();
        assert!(is_cut(&many[1]));
        // Two and two: nobody has more than the newcomer would have.
        let _others = (other.busy(), another.busy());
        assert!(places.take(ip("192.0.2.1")).is_none());
        let third = places.take(ip("192.0.2.3")).unwrap();
        assert!(!is_cut(&third) && places.taken() == 4);
        drop(busy);
        drop((many, other, another, third));
        assert_eq!(places.taken(), 0);
        assert!(locked(&places.0.table).peers.is_empty());
    }

    #[test]
    fn proxies_and_known_peers_are_left_alone() {
        let places = places(3, 1);
        let proxied = [places.take(ip("::ffff:10.0.0.1")).unwrap(), places.take(ip("10.0.0.1")).unwrap()];
        let known = places.take(ip("192.0.2.1")).unwrap();
        known.vouch();
        assert!(places.take(ip("192.0.2.2")).is_none(), "there is nobody to make room");
        assert!(!proxied.iter().any(is_cut) && !is_cut(&known));
        drop(known);
        assert_eq!(places.taken(), 2);
        assert!(places.take(ip("192.0.2.2")).is_some());
    }
}
