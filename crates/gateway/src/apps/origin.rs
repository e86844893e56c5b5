//! Whether a page of another origin asks. Apps are neighbors below one domain, so
//! that a browser calls them the same site and sends their cookies along: what
//! keeps them apart stands here.

use super::AppName;
use http::{Method, Request, header};

/// Going to an app by a link is fine; everything else must come from its own pages.
pub fn is_foreign<B>(request: &Request<B>, app: &AppName, is_secure: bool) -> bool {
    let header = |name: &str| request.headers().get(name).and_then(|it| it.to_str().ok());
    let is_reading = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let is_upgrade = request.headers().contains_key(header::UPGRADE);
    if let Some(origin) = header("origin")
        && (!is_reading || is_upgrade)
    {
        let own = format!("{}://{}", if is_secure { "https" } else { "http" }, app.host);
        return !origin.eq_ignore_ascii_case(&own);
    }
    let comes_from_elsewhere = matches!(header("sec-fetch-site"), Some("same-site" | "cross-site"));
    comes_from_elsewhere && header("sec-fetch-mode") != Some("navigate")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_foreign(method: &str, headers: &[(&str, &str)]) -> bool {
        let app = AppName { port: 80, allocation: "a".into(), host: "80--a.apps.example".into() };
        let mut request = Request::builder().method(method);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        super::is_foreign(&request.body(()).unwrap(), &app, true)
    }

    #[test]
    fn a_neighbor_can_link_and_nothing_else() {
        let own = ("origin", "https://80--a.apps.example");
        let neighbor = ("origin", "https://80--b.apps.example");
        let upgrade = ("upgrade", "websocket");
        assert!(!is_foreign("GET", &[]));
        assert!(!is_foreign("POST", &[own]) && !is_foreign("GET", &[own, upgrade]));
        assert!(is_foreign("POST", &[neighbor]) && is_foreign("GET", &[neighbor, upgrade]));
        assert!(is_foreign("POST", &[("origin", "http://80--a.apps.example")]), "another scheme is another origin");
        assert!(is_foreign("DELETE", &[("origin", "null")]));
        let site = ("sec-fetch-site", "same-site");
        assert!(is_foreign("GET", &[site, ("sec-fetch-mode", "no-cors")]));
        assert!(!is_foreign("GET", &[site, ("sec-fetch-mode", "navigate")]));
        assert!(!is_foreign("GET", &[("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "cors")]));
    }
}
