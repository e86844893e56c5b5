//! Whether a page of another origin asks. Web services are neighbors below one domain, so
//! that a browser calls them the same site and sends their cookies along: what
//! keeps them apart stands here.

use super::WebOrigin;
use http::{Method, Request, header};

/// Going to a web service by a link is fine; everything else must come from its own pages.
pub fn is_foreign<B>(request: &Request<B>, web: &WebOrigin, is_secure: bool) -> bool {
    let header = |name: &str| request.headers().get(name).and_then(|it| it.to_str().ok());
    let is_reading = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let is_upgrade = request.headers().contains_key(header::UPGRADE);
    if let Some(origin) = header("origin")
        && (!is_reading || is_upgrade)
    {
        let own = format!("{}://{}", if is_secure { "https" } else { "http" }, web.host);
        return !origin.eq_ignore_ascii_case(&own);
    }
    let comes_from_elsewhere = matches!(header("sec-fetch-site"), Some("same-site" | "cross-site"));
    comes_from_elsewhere && header("sec-fetch-mode") != Some("navigate")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_foreign(method: &str, headers: &[(&str, &str)]) -> bool {
        let web = WebOrigin { port: 80, allocation: "a".into(), host: "80--a.web.example".into() };
        let mut request = Request::builder().method(method);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        super::is_foreign(&request.body(()).unwrap(), &web, true)
    }

    #[test]
    fn a_neighbor_can_link_and_nothing_else() {
        let own = ("origin", "https://80--a.web.example");
        let neighbor = ("origin", "https://80--b.web.example");
        let upgrade = ("upgrade", "websocket");
        assert!(!is_foreign("GET", &[]));
        assert!(!is_foreign("POST", &[own]) && !is_foreign("GET", &[own, upgrade]));
        assert!(is_foreign("POST", &[neighbor]) && is_foreign("GET", &[neighbor, upgrade]));
        assert!(is_foreign("POST", &[("origin", "http://80--a.web.example")]), "another scheme is another origin");
        assert!(is_foreign("DELETE", &[("origin", "null")]));
        let site = ("sec-fetch-site", "same-site");
        assert!(is_foreign("GET", &[site, ("sec-fetch-mode", "no-cors")]));
        assert!(!is_foreign("GET", &[site, ("sec-fetch-mode", "navigate")]));
        assert!(!is_foreign("GET", &[("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "cors")]));
    }
}
