//! Every endpoint and channel, and requests to it that are well formed.

use contract::{Channel, Endpoint, EndpointInfo};
use serde_json::{Map, Value, json};

use crate::sweep::victim::{KINDS, Victim};

/// One endpoint or channel as the contract and the OpenAPI document have it.
pub struct Route {
    pub info: EndpointInfo,
    /// `Null` for a channel.
    operation: Value,
    /// Why its body type refuses a value.
    refuses: fn(&Value) -> Option<String>,
}

/// All of them, in the contract's order.
pub struct Routes {
    pub all: Vec<Route>,
    document: Value,
}

fn refusal<B: contract::Payload>(body: &Value) -> Option<String> {
    serde_json::from_value::<B>(body.clone()).err().map(|it| it.to_string())
}

impl Routes {
    pub fn new() -> Routes {
        let document = contract::openapi::document();
        let mut all = Vec::new();
        let described = |info: &EndpointInfo| document["paths"][info.path][info.verb.as_str().to_lowercase()].clone();
        macro_rules! endpoints { ($($endpoint:path),* $(,)?) => { $(
            let info = <$endpoint as Endpoint>::INFO;
            let operation = described(&info);
            assert!(operation.is_object(), "{} is in the document", info.operation);
            all.push(Route { info, operation, refuses: refusal::<<$endpoint as Endpoint>::Body> });
        )* } }
        contract::for_each_endpoint!(endpoints);
        macro_rules! channels { ($($channel:path),* $(,)?) => { $(
            let info = <$channel as Channel>::INFO;
            all.push(Route { info, operation: Value::Null, refuses: refusal::<contract::Nothing> });
        )* } }
        contract::for_each_channel!(channels);
        Routes { all, document }
    }

    /// A body that the endpoint understands; every id in it is the victim's.
    pub fn body(&self, route: &Route, victim: &Victim) -> Option<Value> {
        let content = route.operation.pointer("/requestBody/content/application~1json/schema")?;
        let body = self.example("", content, victim);
        if let Some(why) = (route.refuses)(&body) {
            panic!("the body made for {} is not understood: {why}: {body}", route.info.operation);
        }
        Some(body)
    }

    /// What a query needs, and every id that it can hold, the victim's.
    pub fn query(&self, route: &Route, victim: &Victim) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        for parameter in route.operation["parameters"].as_array().into_iter().flatten() {
            let is_wanted = parameter["required"] == true || self.has_id(&parameter["schema"]);
            if parameter["in"] == "query" && is_wanted {
                let value = self.example("", &parameter["schema"], victim);
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                pairs.push((parameter["name"].as_str().unwrap().to_owned(), value));
            }
        }
        pairs
    }

    /// Whether a request can hold ids outside its path, and whether in its body.
    pub fn holds_ids(&self, route: &Route) -> (bool, bool) {
        let body = route.operation.pointer("/requestBody/content/application~1json/schema");
        let in_body = body.is_some_and(|it| self.has_id(it));
        let parameters = route.operation["parameters"].as_array().into_iter().flatten();
        let in_query = parameters.filter(|it| it["in"] == "query").any(|it| self.has_id(&it["schema"]));
        (in_body || in_query, in_body)
    }

    fn target<'a>(&'a self, reference: &'a str) -> (&'a str, &'a Value) {
        let name = reference.rsplit('/').next().unwrap();
        (name, &self.document["components"]["schemas"][name])
    }

    fn has_id(&self, schema: &Value) -> bool {
        if let Some(reference) = schema["$ref"].as_str() {
            return self.has_id(self.target(reference).1);
        }
        let inner = ["allOf", "anyOf", "oneOf"].iter().filter_map(|it| schema[it].as_array()).flatten();
        let fields = schema["properties"].as_object().into_iter().flat_map(Map::values);
        id_prefix(schema).is_some() || inner.chain(fields).chain(schema.get("items")).any(|it| self.has_id(it))
    }

    fn example(&self, name: &str, schema: &Value, victim: &Victim) -> Value {
        if let Some(reference) = schema["$ref"].as_str() {
            let (name, schema) = self.target(reference);
            return self.example(name, schema, victim);
        }
        if let Some(inner) = ["allOf", "anyOf", "oneOf"].iter().find_map(|it| schema[it].as_array()) {
            return self.example(name, &inner[0], victim);
        }
        if let Some(words) = schema["enum"].as_array() {
            return words[0].clone();
        }
        match schema["type"].as_str() {
            Some("object") => {
                let required: Vec<&str> =
                    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                let fields = schema["properties"].as_object().into_iter().flatten();
                let wanted = fields.filter(|(name, it)| required.contains(&name.as_str()) || self.has_id(it));
                wanted.map(|(name, it)| (name.clone(), self.example("", it, victim))).collect::<Map<_, _>>().into()
            }
            Some("array") => json!([self.example("", &schema["items"], victim)]),
            Some("integer" | "number") => json!(schema["minimum"].as_i64().unwrap_or(1).max(1)),
            Some("boolean") => json!(false),
            _ => match id_prefix(schema) {
                Some(prefix) => json!(victim.id_with(prefix)),
                None if schema["format"] == "date-time" => json!("2040-01-01T00:00:00Z"),
                None => json!(text(name)),
            },
        }
    }
}

/// The prefix of the ids that a schema admits.
fn id_prefix(schema: &Value) -> Option<&str> {
    let (prefix, rest) = schema["pattern"].as_str()?.strip_prefix('^')?.split_once('-')?;
    (rest.starts_with("[0-7]") && prefix != "c").then_some(prefix)
}

/// A text that a named schema admits.
fn text(schema: &str) -> String {
    let key = "AAAAC3NzaC1lZDI1NTE5AAAAIIgnXTEJsvjwQcBOI3p0HN1Imf8UwJ8HyUzUGTaRF0qr";
    match schema {
        "Email" => "swept@example.test".into(),
        "CurrencyCode" => "USD".into(),
        "Month" => "2026-01".into(),
        "PublicKey" => format!("ssh-ed25519 {key}"),
        "SshSignature" => {
            format!("-----BEGIN SSH SIGNATURE-----\n{}\n-----END SSH SIGNATURE-----", "U1NIU0lH".repeat(9))
        }
        "EventPattern" => "*".into(),
        "WebhookUrl" | "AgentUrl" | "MaasUrl" => "https://swept.example.test/swept".into(),
        "GatewayAgentUrl" => "https://swept.example.test:8443".into(),
        "GatewayPublicUrl" => "wss://swept.example.test".into(),
        "HostAndPort" => "swept.example.test:22".into(),
        "Domain" => "swept.example.test".into(),
        "Sha256Hex" => "0".repeat(64),
        "Label" => "swept".into(),
        _ => "swept-by-a-test".into(),
    }
}

/// The names in a path's braces.
pub fn params(path: &str) -> Vec<&str> {
    path.split('{').skip(1).map(|it| it.split('}').next().unwrap()).collect()
}

/// Those of them that name a row beside the organization and the project.
pub fn children(path: &str) -> Vec<&str> {
    let is_child = |it: &&str| !["organization_id", "project_id"].contains(it) && KINDS.iter().any(|k| k.param == *it);
    params(path).into_iter().filter(is_child).collect()
}
