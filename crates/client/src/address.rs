//! From a path template and typed parameters to an address.

use serde_json::Value;
use url::Url;

use crate::{ClientError, request::unserializable};

/// Checks where the server is said to be.
pub(crate) fn base(text: &str) -> Result<Url, ClientError> {
    let refuse = |why: &str| {
        Err(ClientError::Unsendable(format!("the server URL {why}; expected a URL such as `https://gpu.example.com`")))
    };
    let Ok(url) = Url::parse(text) else {
        return refuse("is not valid");
    };
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return refuse("must start with `https://` or `http://`");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("must not contain credentials");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return refuse("must not have a query or a fragment");
    }
    Ok(url)
}

/// Fills `{name}` in the template from the fields of `path` and appends `query`.
pub(crate) fn build(
    base: &Url,
    template: &str,
    path: &impl serde::Serialize,
    query: &impl serde::Serialize,
) -> Result<Url, ClientError> {
    let path = serde_json::to_value(path).map_err(unserializable)?;
    let query = serde_json::to_value(query).map_err(unserializable)?;
    let mut url = base.clone();
    {
        let mut segments = url
            .path_segments_mut()
            .map_err(|()| ClientError::Unsendable("the server URL must not have a path".into()))?;
        segments.pop_if_empty();
        for part in template.split('/').skip(1) {
            segments.push(&segment(part, &path)?);
        }
    }
    for (name, value) in query.as_object().into_iter().flatten() {
        for text in texts(value) {
            url.query_pairs_mut().append_pair(name, &text);
        }
    }
    Ok(url)
}

fn segment(part: &str, path: &Value) -> Result<String, ClientError> {
    let Some(name) = part.strip_prefix('{').and_then(|it| it.strip_suffix('}')) else {
        return Ok(part.to_owned());
    };
    let text = texts(&path[name]).pop().unwrap_or_default();
    // These would silently name another address, whatever their encoding.
    if matches!(text.as_str(), "" | "." | "..") {
        return Err(ClientError::Unsendable(format!("`{name}` is `{text}`, which cannot be part of a URL")));
    }
    Ok(text)
}

/// A value as it is written into an address; a list is written item by item.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Null => Vec::new(),
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        other => vec![other.to_string()],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn built(base_url: &str, template: &str, path: Value, query: Value) -> String {
        build(&base(base_url).unwrap(), template, &path, &query).unwrap().to_string()
    }

    #[test]
    fn parameters_are_encoded_and_stay_in_their_segment() {
        let address = built(
            "https://gpu.example.com",
            "/v1/work/{kind}/{id}/retry",
            json!({ "kind": "a/b?c#d%e ä", "id": 7 }),
            json!({ "name": "x&y=z", "limit": 50, "state": null, "open": true }),
        );
        assert_eq!(
            address,
            "https://gpu.example.com/v1/work/a%2Fb%3Fc%23d%25e%20%C3%A4/7/retry?limit=50&name=x%26y%3Dz&open=true"
        );
    }

    #[test]
    fn a_server_url_may_have_a_path() {
        for base in ["http://host:8080/gpu", "http://host:8080/gpu/"] {
            let address = built(base, "/v1/whoami", json!({}), json!({}));
            assert_eq!(address, "http://host:8080/gpu/v1/whoami");
        }
    }

    #[test]
    fn a_path_parameter_cannot_change_the_url() {
        let base = base("http://host").unwrap();
        for text in ["", ".", ".."] {
            let path = json!({ "key": text });
            let error = build(&base, "/v1/platform/policies/{key}", &path, &json!({})).unwrap_err();
            assert!(matches!(error, ClientError::Unsendable(_)), "{error}");
        }
    }

    #[test]
    fn an_invalid_server_url_is_refused_with_an_example() {
        for text in ["", "host", "ftp://host", "http://me:secret@host", "http://host/?a=b"] {
            let error = base(text).unwrap_err().to_string();
            assert!(error.contains("https://gpu.example.com") && !error.contains("secret"), "{error}");
        }
    }
}
