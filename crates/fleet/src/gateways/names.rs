//! Which names a gateway may have beside those of the console and of the node
//! listener. Pure.

use std::net::IpAddr;

/// Second labels of public suffixes such as `co.uk`, below which anybody registers.
const SHARED: [&str; 12] = ["ac", "co", "com", "edu", "gen", "go", "gov", "ltd", "ne", "net", "or", "org"];

/// Whether pages under one name can set cookies that the other gets: they are the
/// same, or have a registrable domain in common. Without a list of public suffixes
/// this errs towards saying so. Addresses and `localhost` share no cookies.
pub fn is_same_site(one: &str, other: &str) -> bool {
    if is_local(one) || is_local(other) {
        return false;
    }
    if one.eq_ignore_ascii_case(other) {
        return true;
    }
    let labels = |it: &str| it.to_ascii_lowercase().rsplit('.').map(str::to_owned).collect::<Vec<_>>();
    let (one, other) = (labels(one), labels(other));
    let common: Vec<&String> = one.iter().zip(&other).take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
    let is_shared = |it: &&String| SHARED.contains(&it.as_str());
    let public =
        if common.first().is_some_and(|it| it.len() == 2) && common.get(1).is_some_and(is_shared) { 2 } else { 1 };
    common.len() > public
}

/// Whether hosts might take a gateway under this name for the node listener. On one
/// machine, where all of it has the same address, there is nobody else to be.
pub fn is_listeners(host: &str, names: &[String]) -> bool {
    !is_local(host) && names.iter().any(|it| it.eq_ignore_ascii_case(host))
}

fn is_local(host: &str) -> bool {
    let is_localhost = host.eq_ignore_ascii_case("localhost") || host.to_ascii_lowercase().ends_with(".localhost");
    is_localhost || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_registrable_domain_are_one_site() {
        for domain in ["gpu.example.com", "web.gpu.example.com", "example.com", "web.example.com", "WEB.Example.com"] {
            assert!(is_same_site(domain, "gpu.example.com"), "{domain}");
        }
        for domain in ["example-web.com", "web.example.net", "notexample.com", "com"] {
            assert!(!is_same_site(domain, "gpu.example.com"), "{domain}");
        }
        assert!(is_same_site("web.example.co.uk", "gpu.example.co.uk"));
        assert!(!is_same_site("web.other.co.uk", "gpu.example.co.uk"));
        assert!(!is_same_site("web.localhost", "gpuaas.localhost"));
        assert!(!is_same_site("web.example.com", "127.0.0.1"));
    }

    #[test]
    fn gateway_under_the_listeners_name_is_noticed() {
        let names = ["nodes.example.com".to_owned(), "127.0.0.1".to_owned(), "192.0.2.1".to_owned()];
        assert!(is_listeners("NODES.example.com", &names) && is_listeners("192.0.2.1", &names));
        assert!(!is_listeners("gw.example.com", &names) && !is_listeners("127.0.0.1", &names));
    }
}
