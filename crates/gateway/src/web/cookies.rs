//! The gateway's cookie: it is for the gateway alone, and the web service behind it never
//! sees it, nor can it set one of that name, nor any for more than its own host.

use http::header::{COOKIE, SET_COOKIE};
use http::{HeaderMap, HeaderValue};

const SECURE: &str = "__Host-gpuaas-app";
const PLAIN: &str = "gpuaas-app";
const MAX_COOKIE: usize = 128; // bound: ours have 43 characters

/// What the browser is told to keep.
pub fn set(value: &str, is_secure: bool) -> String {
    if is_secure {
        format!("{SECURE}={value}; Path=/; Secure; HttpOnly; SameSite=Lax")
    } else {
        format!("{PLAIN}={value}; Path=/; HttpOnly; SameSite=Lax")
    }
}

/// The gateway's own cookie of a request. Of two nobody can say whose is whose:
/// somebody else put one there, and neither counts.
pub fn find(headers: &HeaderMap, is_secure: bool) -> Option<String> {
    let wanted = if is_secure { SECURE } else { PLAIN };
    let mut found = pairs(headers).filter(|(name, _)| *name == wanted).map(|(_, value)| value);
    match (found.next(), found.next()) {
        (Some(only), None) if !only.is_empty() && only.len() <= MAX_COOKIE => Some(only.to_owned()),
        _ => None,
    }
}

/// Takes the gateway's cookies out of a request.
pub fn strip(headers: &mut HeaderMap) {
    let rest: Vec<String> = pairs(headers)
        .filter(|(name, _)| !is_ours(name))
        .map(|(name, value)| if value.is_empty() { name.to_owned() } else { format!("{name}={value}") })
        .collect();
    headers.remove(COOKIE);
    if let Ok(value) = HeaderValue::from_str(&rest.join("; "))
        && !rest.is_empty()
    {
        headers.insert(COOKIE, value);
    }
}

/// Takes attempts to set the gateway's cookies out of an answer, and the `Domain` out
/// of all others: a web service's cookies are for its own host, not for its neighbors' or for
/// sites above it.
pub fn strip_set(headers: &mut HeaderMap) {
    let all: Vec<HeaderValue> = headers.get_all(SET_COOKIE).iter().cloned().collect();
    if all.is_empty() {
        return;
    }
    headers.remove(SET_COOKIE);
    for value in all {
        let name = value.as_bytes().split(|it| matches!(it, b'=' | b';')).next().unwrap_or_default();
        if is_ours(String::from_utf8_lossy(name).trim()) {
            continue;
        }
        if let Ok(value) = HeaderValue::from_bytes(&without_domain(value.as_bytes())) {
            headers.append(SET_COOKIE, value);
        }
    }
}

fn without_domain(cookie: &[u8]) -> Vec<u8> {
    let is_domain = |it: &[u8]| {
        let name = it.split(|it| *it == b'=').next().unwrap_or_default();
        name.trim_ascii().eq_ignore_ascii_case(b"domain")
    };
    let mut parts = cookie.split(|it| *it == b';');
    // The first is the cookie itself, whatever its name.
    let first = parts.next().unwrap_or_default();
    let rest = parts.filter(|it| !is_domain(it));
    std::iter::once(first).chain(rest).collect::<Vec<_>>().join(&b';')
}

fn is_ours(name: &str) -> bool {
    name.eq_ignore_ascii_case(SECURE) || name.eq_ignore_ascii_case(PLAIN)
}

fn pairs(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|it| it.to_str().ok());
    let words = lines.flat_map(|it| it.split(';')).map(str::trim).filter(|it| !it.is_empty());
    words.map(|it| it.split_once('=').map_or((it, ""), |(name, value)| (name.trim(), value.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(cookies: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for cookie in cookies {
            headers.append(COOKIE, cookie.parse().unwrap());
        }
        headers
    }

    #[test]
    fn ours_is_found_and_never_passed_on() {
        let mut headers = headers(&["a=1; gpuaas-app=secret; b=2", "__Host-gpuaas-app=other; c"]);
        assert_eq!(find(&headers, false).as_deref(), Some("secret"));
        assert_eq!(find(&headers, true).as_deref(), Some("other"));
        strip(&mut headers);
        assert_eq!(headers.get_all(COOKIE).iter().collect::<Vec<_>>(), ["a=1; b=2; c"]);
        let mut only = self::headers(&["GPUAAS-APP=x"]);
        strip(&mut only);
        assert!(only.is_empty());
    }

    #[test]
    fn web_service_cannot_set_the_gateways_cookie() {
        let mut headers = HeaderMap::new();
        for value in ["theirs=1; Path=/", "gpuaas-app=forged", " __Host-gpuaas-app=forged; Path=/", "x"] {
            headers.append(SET_COOKIE, value.parse().unwrap());
        }
        strip_set(&mut headers);
        assert_eq!(headers.get_all(SET_COOKIE).iter().collect::<Vec<_>>(), ["theirs=1; Path=/", "x"]);
    }

    #[test]
    fn web_service_cookies_are_for_their_own_host() {
        let mut headers = HeaderMap::new();
        for value in ["a=1; Domain=example.com; Path=/", "domain=2; DOMAIN = .example.com;Secure", "c=3; domain"] {
            headers.append(SET_COOKIE, value.parse().unwrap());
        }
        strip_set(&mut headers);
        let left: Vec<_> = headers.get_all(SET_COOKIE).iter().collect();
        assert_eq!(left, ["a=1; Path=/", "domain=2;Secure", "c=3"]);
    }

    #[test]
    fn two_of_ours_are_none() {
        assert_eq!(find(&headers(&["gpuaas-app=one; gpuaas-app=two"]), false), None);
        assert_eq!(find(&headers(&["gpuaas-app=one", "gpuaas-app=one"]), false), None);
        assert_eq!(find(&headers(&["gpuaas-app=one"]), false).as_deref(), Some("one"));
    }

    #[test]
    fn a_cookie_is_closed_to_scripts_and_other_sites() {
        assert!(set("x", true).starts_with("__Host-gpuaas-app=x; Path=/; Secure; HttpOnly; SameSite=Lax"));
        assert!(!set("x", false).contains("Secure"));
    }
}
