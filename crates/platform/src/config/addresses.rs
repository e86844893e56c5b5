//! Which addresses of others may be believed.

use url::{Host, Url};

/// Whether what an address answers is safe to believe: encrypted, or on this machine.
pub fn is_safe(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    match url.scheme() {
        "https" => url.has_host(),
        "http" => match url.host() {
            Some(Host::Ipv4(it)) => it.is_loopback(),
            Some(Host::Ipv6(it)) => it.is_loopback(),
            Some(Host::Domain(it)) => it == "localhost",
            None => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_address_is_encrypted_or_on_this_machine() {
        for good in ["https://login.example.com/realm", "http://127.0.0.1:9/x", "http://localhost", "http://[::1]:1"] {
            assert!(is_safe(good), "{good}");
        }
        for bad in ["http://login.example.com", "ftp://127.0.0.1", "file:///etc/passwd", "login.example.com", ""] {
            assert!(!is_safe(bad), "{bad}");
        }
    }
}
