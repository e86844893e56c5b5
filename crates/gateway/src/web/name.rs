//! The host name of a web service: `<port>--<allocation>.<domain>`.

const MAX_ID: usize = 64; // bound: a label of a host name has no more than 63

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WebOrigin {
    pub port: u16,
    /// The allocation's id as a host name has it, in lower case.
    pub allocation: String,
    /// The whole name, with the port of the gateway, as the browser said it.
    pub host: String,
}

/// What a host name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    Web(WebOrigin),
    /// Below the domain of web services, and no web service's name.
    Nobody,
    /// Not below the domain of web services: the gateway itself.
    Gateway,
}

/// Reads a `Host` header.
pub fn read(host: &str, domain: &str) -> Named {
    let host = host.to_ascii_lowercase();
    let bare = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|it| it.is_ascii_digit()));
    let bare = bare.map_or(host.as_str(), |(name, _)| name).trim_end_matches('.');
    let Some(label) = bare.strip_suffix(domain).and_then(|it| it.strip_suffix('.')) else { return Named::Gateway };
    match label.split_once("--") {
        Some((port, allocation)) if is_port(port) && is_id(allocation) => match port.parse() {
            Ok(port) => Named::Web(WebOrigin { port, allocation: allocation.to_owned(), host: host.clone() }),
            Err(_) => Named::Nobody,
        },
        _ => Named::Nobody,
    }
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('0') && text.bytes().all(|it| it.is_ascii_digit())
}

fn is_id(text: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || matches!(it, b'_' | b'-');
    !text.is_empty() && text.len() <= MAX_ID && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_meaning() {
        let web = |host: &str| match read(host, "web.localhost") {
            Named::Web(web) => Some((web.port, web.allocation)),
            _ => None,
        };
        let expected = Some((8888, "alloc_1".to_owned()));
        for host in ["8888--alloc_1.web.localhost", "8888--Alloc_1.Web.Localhost:8444", "8888--alloc_1.web.localhost."]
        {
            assert_eq!(web(host), expected, "{host}");
        }
        for host in [
            "0--a.web.localhost",
            "08--a.web.localhost",
            "70000--a.web.localhost",
            "8888--.web.localhost",
            "8888-a.web.localhost",
            "+80--a.web.localhost",
            "80--a.b.web.localhost",
            "80--a/../b.web.localhost",
            "80--%2e%2e.web.localhost",
        ] {
            assert_eq!(read(host, "web.localhost"), Named::Nobody, "{host}");
        }
        for host in ["gateway.example", "evilweb.localhost", "localhost:8444", "web.localhost.evil.example", ""] {
            assert_eq!(read(host, "web.localhost"), Named::Gateway, "{host}");
        }
    }
}
