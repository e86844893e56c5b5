//! Which addresses people may be sent back to after they signed in.

use url::Url;

/// Stands for every port and path of this machine.
const LOOPBACK: &str = "http://127.0.0.1";

/// Equal to the letter to one that is listed; or any port of this machine, for
/// programs that cannot know theirs before they sign in.
pub fn is_allowed(listed: &[String], address: &str) -> bool {
    listed.iter().any(|it| it == address || (it == LOOPBACK && is_loopback(address)))
}

fn is_loopback(address: &str) -> bool {
    let Some(rest) = address.strip_prefix("http://127.0.0.1:") else { return false };
    let Ok(url) = Url::parse(address) else { return false };
    let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    plain && rest.starts_with(|it: char| it.is_ascii_digit()) && url.host_str() == Some("127.0.0.1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_sent_back_only_to_what_is_listed() {
        let listed = ["https://gpu.example.com/signed-in".to_owned(), LOOPBACK.to_owned()];
        for good in [
            "https://gpu.example.com/signed-in",
            "http://127.0.0.1:4711/callback",
            "http://127.0.0.1:1/",
            "http://127.0.0.1:80",
        ] {
            assert!(is_allowed(&listed, good), "{good}");
        }
        for bad in [
            "https://gpu.example.com/signed-in/",
            "https://gpu.example.com/other",
            "http://127.0.0.1.example.com:80/",
            "http://127.0.0.1:80@example.com/",
            "http://127.0.0.1:@example.com/",
            "http://127.0.0.1:80/#fragment",
            "https://127.0.0.1:80/",
            "http://localhost:80/",
            "",
        ] {
            assert!(!is_allowed(&listed, bad), "{bad}");
        }
        assert!(!is_allowed(&listed[..1], "http://127.0.0.1:4711/callback"));
    }
}
