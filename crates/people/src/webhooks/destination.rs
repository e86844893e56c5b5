//! Where a webhook may send. The platform must not be made to speak to its own
//! network: names are resolved here, every address is judged, and the address
//! that was judged is the one that is connected to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use platform::policies::{Policies, settings};

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("is not a valid URL: use one such as `https://example.com/hook`")]
    NotAnAddress,
    #[error(
        "contains a user name, a password or a fragment: remove them; deliveries are authenticated by their signature"
    )]
    Decorated,
    #[error("does not use `https`: deliveries must be encrypted")]
    NotEncrypted,
    #[error("is not a public address: use one that is reachable from the internet")]
    NotPublic,
    #[error("has a host name that does not resolve: check the name")]
    Unresolvable,
}

/// What an address looks like before its name is resolved.
pub fn check(text: &str, allow_loopback: bool) -> Result<Url, Refusal> {
    let url = Url::parse(text).map_err(|_| Refusal::NotAnAddress)?;
    let is_plain = match url.scheme() {
        "https" => false,
        "http" => true,
        _ => return Err(Refusal::NotAnAddress),
    };
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(Refusal::Decorated);
    }
    let (is_local, is_public) = match url.host().ok_or(Refusal::NotAnAddress)? {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            let is_local = name == "localhost" || name.ends_with(".localhost");
            (is_local, !is_local)
        }
        Host::Ipv4(address) => (address.is_loopback(), is_public(address.into())),
        Host::Ipv6(address) => (address.is_loopback(), is_public(address.into())),
    };
    match (is_local && allow_loopback, is_public, is_plain) {
        (true, ..) => Ok(url),
        (false, false, _) => Err(Refusal::NotPublic),
        (false, true, true) => Err(Refusal::NotEncrypted),
        (false, true, false) => Ok(url),
    }
}

/// Resolves names, and refuses those that lead where nothing may be sent. One
/// bad address among several is enough: an honest name has none.
pub struct CheckedResolver {
    pub policies: Policies,
    /// For what is not encrypted: such a name must lead to this host.
    pub is_plain: bool,
}

// bound: no honest name has more addresses
const ADDRESSES: usize = 32;

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allow_loopback = self.policies.flag(settings::WEBHOOK_ALLOW_LOOPBACK);
        let is_plain = self.is_plain;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await.map_err(|_| Refusal::Unresolvable)?;
            let found: Vec<SocketAddr> = found.take(ADDRESSES).collect();
            let may = |it: &SocketAddr| match (it.ip().is_loopback(), is_plain) {
                (true, _) => allow_loopback,
                (false, true) => false,
                (false, false) => is_public(it.ip()),
            };
            if found.is_empty() {
                return Err(Refusal::Unresolvable.into());
            }
            if !found.iter().all(may) {
                return Err(Refusal::NotPublic.into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Whether everybody can reach the address: not this host, not a private or
/// shared network, not a group, not one that is reserved.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match (a, b, c) {
        (0 | 10 | 127, ..) => true,
        // Shared by carriers; link-local, where clouds keep credentials.
        (100, 64..=127, _) | (169, 254, _) | (172, 16..=31, _) | (192, 168, _) => true,
        // Protocol assignments, documentation, an old relay, benchmarks.
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 18 | 19, _) | (198, 51, 100) | (203, 0, 113) => true,
        // Groups and what is reserved.
        (224.., ..) => true,
        _ => false,
    };
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let embedded = |at: usize| {
        let bytes = address.octets();
        is_public_v4(Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]))
    };
    match (a, b) {
        (0, 0) if address.to_ipv4_mapped().is_some() => embedded(12),
        // Translated to IPv4 on the way.
        (0x64, 0xff9b) if address.segments()[2..6] == [0, 0, 0, 0] => embedded(12),
        (0x2002, _) => embedded(2),
        // Protocol assignments with tunnels among them, and documentation.
        (0x2001, 0..=0x1ff) | (0x2001, 0xdb8) | (0x3fff, 0..=0xfff) => false,
        // All that is public today lies here.
        (0x2000..=0x3fff, _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_everybody_can_reach_is_public() {
        for good in ["1.1.1.1", "172.15.0.1", "100.128.0.1", "192.0.1.1", "223.255.255.1", "2606:4700::1111"] {
            assert!(is_public(good.parse().unwrap()), "{good}");
        }
        for good in ["::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:101:101::1"] {
            assert!(is_public(good.parse().unwrap()), "{good}");
        }
        let bad = "0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 \
                   192.88.99.1 192.168.1.1 198.18.0.1 198.51.100.7 203.0.113.9 224.0.0.1 240.0.0.1 255.255.255.255 \
                   :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::10.0.0.1 64:ff9b:1::1 2002:a00:1::1 \
                   2001::1 2001:db8::1 3fff::1 fc00::1 fd12::1 fe80::1 fec0::1 ff02::1 100::1 4000::1";
        for bad in bad.split_whitespace() {
            assert!(!is_public(bad.parse().unwrap()), "{bad}");
        }
    }

    #[test]
    fn an_address_is_refused_for_what_it_is() {
        use Refusal::{Decorated, NotAnAddress, NotEncrypted, NotPublic};
        for good in ["https://example.com/hook?x=1", "https://example.com:8443/", "https://1.1.1.1/"] {
            assert!(check(good, false).is_ok(), "{good}");
        }
        for (bad, why) in [
            ("https:///", NotAnAddress),
            ("ftp://example.com/", NotAnAddress),
            ("https://me:secret@example.com/", Decorated), // secret-scan: allow
            ("https://me@example.com/", Decorated),
            ("https://example.com/#here", Decorated),
            ("http://example.com/", NotEncrypted),
            ("http://1.1.1.1/", NotEncrypted),
            ("http://127.0.0.1/", NotPublic),
            ("https://localhost./", NotPublic),
            ("https://a.localhost/", NotPublic),
            ("https://127.1/", NotPublic),
            ("https://2130706433/", NotPublic),
            ("https://0x7f000001/", NotPublic),
            ("https://[::1]/", NotPublic),
            ("https://[::ffff:10.0.0.1]/", NotPublic),
            ("https://169.254.169.254/latest/meta-data", NotPublic),
        ] {
            assert_eq!(check(bad, false), Err(why), "{bad}");
        }
        for good in ["http://127.0.0.1:8080/", "http://localhost:8080/", "https://[::1]/"] {
            assert!(check(good, true).is_ok(), "{good}");
        }
        for (bad, why) in [("http://10.0.0.1/", NotPublic), ("http://example.com/", NotEncrypted)] {
            assert_eq!(check(bad, true), Err(why), "{bad}");
        }
    }

    async fn resolve(name: &str, is_plain: bool) -> Option<Refusal> {
        let judged = CheckedResolver { policies: Policies::default(), is_plain };
        let outcome = judged.resolve(name.parse().unwrap()).await;
        outcome.err().map(|it| *it.downcast_ref::<Refusal>().unwrap())
    }

    #[tokio::test]
    async fn a_name_that_leads_to_this_host_is_refused_when_it_resolves() {
        assert_eq!(resolve("localhost", false).await, Some(Refusal::NotPublic));
        assert_eq!(resolve("localhost", true).await, Some(Refusal::NotPublic));
        assert_eq!(resolve("10.0.0.1", false).await, Some(Refusal::NotPublic));
        assert_eq!(resolve("1.1.1.1", true).await, Some(Refusal::NotPublic), "what is plain stays on this host");
        assert_eq!(resolve("1.1.1.1", false).await, None);
    }
}
